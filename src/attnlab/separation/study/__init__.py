"""Study `separation`: what softmax attention separates and linear attention cannot.

Source: Deng, Song, Zhou, "Superiority of Softmax: Unveiling the Performance Edge over Linear
Attention" (arXiv 2310.11685). The mathematics is in the other folders of `attnlab.separation`; this
one only says what to compute, what to draw and what to check.
"""

from pathlib import Path

import attnlab.separation.study.explorers as explorers
import attnlab.separation.study.introduction as introduction
from attnlab.lab.study import Study
from attnlab.separation.study import (
    claims_experiment,
    claims_hypothesis,
    claims_lemmas,
    claims_needs,
    claims_panels,
    claims_practice,
    claims_regression,
    claims_robust,
    claims_simulation,
    claims_theorems,
    claims_work,
)
from attnlab.separation.study.cells_attention import attention
from attnlab.separation.study.cells_hypothesis import equal_moments, linear_on_spikes
from attnlab.separation.study.cells_lemmas import sign_sums, sign_tail, tensor_form, worst_entries
from attnlab.separation.study.cells_map import success_map
from attnlab.separation.study.cells_published import published
from attnlab.separation.study.cells_regression import regression
from attnlab.separation.study.cells_rows import spike_rows
from attnlab.separation.study.cells_theorem import (
    largest_spike,
    least_dimension,
    least_spike,
    theorem,
)
from attnlab.separation.study.cells_widths import widths
from attnlab.separation.study.cells_work import work
from attnlab.separation.study.figures_sweeps import SWEEPS
from attnlab.separation.study.figures_theorem import THEOREM
from attnlab.separation.study.figures_theory import MAPS, THEORY
from attnlab.separation.study.grids import cells
from attnlab.separation.study.statements import STATEMENTS

study = Study(
    name="separation",
    article=introduction.ARTICLE,
    explorers=explorers.EXPLORERS,
    title="What softmax attention separates and linear attention cannot",
    source="Deng, Song, Zhou, “Superiority of Softmax: Unveiling the Performance Edge over Linear "
    "Attention”, arXiv:2310.11685",
    summary="Random neurons with a threshold read the output of an attention layer. On two "
    "datasets that differ in one spiked token, softmax attention lets a neuron fire on one and "
    "none on the other; linear attention averages the spike away. The paper proves this for large "
    "sizes and samples it at small ones; here the probability of success is computed exactly at "
    "both, and the experiments are repeated.",
    kinds=(
        attention,
        regression,
        sign_sums,
        sign_tail,
        worst_entries,
        tensor_form,
        success_map,
        theorem,
        least_dimension,
        least_spike,
        largest_spike,
        spike_rows,
        widths,
        work,
        published,
        equal_moments,
        linear_on_spikes,
    ),
    cells=cells,
    figures=(*SWEEPS, *THEOREM, *MAPS, *THEORY),
    claims=(
        *claims_hypothesis.CLAIMS,
        *claims_theorems.CLAIMS,
        *claims_needs.CLAIMS,
        *claims_lemmas.CLAIMS,
        *claims_regression.CLAIMS,
        *claims_robust.CLAIMS,
        *claims_panels.CLAIMS,
        *claims_experiment.CLAIMS,
        *claims_simulation.CLAIMS,
        *claims_practice.CLAIMS,
        *claims_work.CLAIMS,
    ),
    statements=STATEMENTS,
    evidence=Path(__file__).parents[1] / "evidence",
)
