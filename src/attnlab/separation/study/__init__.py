"""Study `separation`: what softmax attention separates and linear attention cannot.

Source: Deng, Song, Zhou, "Superiority of Softmax: Unveiling the Performance Edge over Linear
Attention" (arXiv 2310.11685). The mathematics lives in the
other folders of `attnlab.separation`; this one only says what to compute, what to draw and what to
check.
"""

from attnlab.lab.study import Study
from attnlab.separation.study import claims_lemmas, claims_sweeps, claims_theorems
from attnlab.separation.study.cells import KINDS
from attnlab.separation.study.figures import FIGURES
from attnlab.separation.study.grids import cells

study = Study(
    name="separation",
    title="What softmax attention separates and linear attention cannot",
    source="Deng, Song, Zhou, “Superiority of Softmax: Unveiling the Performance Edge over Linear "
    "Attention”, arXiv:2310.11685",
    summary="Random neurons with a threshold read the output of an attention layer. On two "
    "datasets that differ in one spiked token, softmax attention lets a neuron fire on one and "
    "none on the other; linear attention averages the spike away. The paper proves this for large "
    "sizes and samples it at small ones; here the probability of success is computed exactly, "
    "sampled beside it, and the theorem is held against both.",
    kinds=KINDS,
    cells=cells,
    figures=FIGURES,
    claims=(*claims_theorems.CLAIMS, *claims_lemmas.CLAIMS, *claims_sweeps.CLAIMS),
)
