"""Study `linear`: linear transformers as in-context learners of noisy regression.

Source: Vladymyrov, von Oswald, Sandler, Ge (arXiv 2402.14180). The mathematics is in the other
folders of `attnlab.linear`; this one says what is computed, drawn and checked. FULL is the paper's
family, with all entries of P and Q free; AXIS is ours, and its networks ship with the package
(`attnlab.linear.weights`).
"""

from pathlib import Path

from attnlab.lab.study import Study
from attnlab.linear.study import (
    claims_appendix,
    claims_constructions,
    claims_figures,
    claims_full,
    claims_full_weights,
    claims_layers,
    claims_levels,
    claims_models,
    claims_noiseless,
    claims_ours,
    claims_outperform,
    claims_profiles,
    claims_readings,
    claims_recipes,
    claims_state,
    claims_symmetry,
    claims_table,
    claims_tuned,
    figures,
    figures_full,
    figures_other,
    figures_profiles,
    figures_recipes,
    figures_table,
)
from attnlab.linear.study.cells import KINDS
from attnlab.linear.study.cells_axis import AXIS_KINDS
from attnlab.linear.study.cells_explorers import EXPLORER_KINDS
from attnlab.linear.study.cells_full import FULL_KINDS
from attnlab.linear.study.explorers import EXPLORERS
from attnlab.linear.study.grids_full import cells
from attnlab.linear.study.introduction import ARTICLE
from attnlab.linear.study.networks import LinearNetworks
from attnlab.linear.study.statements import STATEMENTS

study = Study(
    name="linear",
    article=ARTICLE,
    networks=LinearNetworks(),
    explorers=EXPLORERS,
    title="Linear transformers as in-context learners",
    source="Vladymyrov, von Oswald, Sandler, Ge, “Linear Transformers are Versatile In-Context "
    "Learners”, NeurIPS 2024, arXiv:2402.14180",
    summary="Layers of attention without softmax solve regression problems in context, although "
    "every sequence has a noise level of its own. The paper interprets the layers as a regression "
    "with momentum, and compares three trained families with ridge regressions that estimate the "
    "noise. Here the theorems are checked, and GD++ and DIAG are trained here. Networks of "
    "the paper's FULL family, and of AXIS, a family of ours between DIAG and FULL, ship with the "
    "package and are evaluated on this machine. The Bayes predictor is added to every comparison.",
    kinds=(*KINDS, *AXIS_KINDS, *FULL_KINDS, *EXPLORER_KINDS),
    cells=cells,
    figures=(
        *figures_table.FIGURES[:1],
        *figures.FIGURES,
        *figures_profiles.FIGURES,
        *figures_other.FIGURES,
        *figures_full.FIGURES,
        *figures_recipes.FIGURES,
        *figures_table.FIGURES[1:],
    ),
    claims=(
        *claims_state.CLAIMS,
        *claims_readings.CLAIMS,
        *claims_constructions.CLAIMS,
        *claims_appendix.CLAIMS,
        *claims_table.CLAIMS,
        *claims_noiseless.CLAIMS,
        *claims_models.CLAIMS,
        *claims_layers.CLAIMS,
        *claims_tuned.CLAIMS,
        *claims_outperform.CLAIMS,
        *claims_profiles.CLAIMS,
        *claims_levels.CLAIMS,
        *claims_figures.CLAIMS,
        *claims_ours.CLAIMS,
        *claims_symmetry.CLAIMS,
        *claims_full.CLAIMS,
        *claims_full_weights.CLAIMS,
        *claims_recipes.CLAIMS,
    ),
    statements=STATEMENTS,
    evidence=Path(__file__).parents[1] / "evidence",
)
