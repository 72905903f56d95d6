"""Study `linear`: linear transformers as in-context learners of noisy regression.

Source: Vladymyrov, von Oswald, Sandler, Ge (arXiv 2402.14180). The mathematics is in the other
folders of `attnlab.linear`; this one says what is computed, drawn and checked. FULL networks come
from `attnlab.linear.weights`.
"""

import attnlab.linear.study.introduction as introduction
import attnlab.linear.study.networks as networks
from attnlab.lab.study import Study
from attnlab.linear.study import (
    claims_constructions,
    claims_models,
    claims_profiles,
    claims_state,
    claims_table,
    figures,
    figures_other,
    figures_profiles,
    figures_table,
)
from attnlab.linear.study.cells import KINDS
from attnlab.linear.study.grids import cells

study = Study(
    name="linear",
    article=introduction.ARTICLE,
    networks=networks.LinearNetworks(),
    title="Linear transformers as in-context learners",
    source="Vladymyrov, von Oswald, Sandler, Ge, “Linear Transformers are Versatile In-Context "
    "Learners”, NeurIPS 2024, arXiv:2402.14180",
    summary="Layers of attention without softmax solve regression problems in context, although "
    "every sequence has a noise level of its own. The paper interprets the layers as a regression "
    "with momentum, and compares three trained families with ridge regressions that estimate the "
    "noise. Here the theorems are checked, and GD++ and DIAG are trained on this machine. FULL "
    "networks come from a reference run that ships with the package; they are evaluated on this "
    "machine. The Bayes predictor is added to every comparison.",
    kinds=KINDS,
    cells=cells,
    figures=(
        *figures_table.FIGURES[:1],
        *figures.FIGURES,
        *figures_profiles.FIGURES,
        *figures_other.FIGURES,
        *figures_table.FIGURES[1:],
    ),
    claims=(
        *claims_state.CLAIMS,
        *claims_constructions.CLAIMS,
        *claims_table.CLAIMS,
        *claims_models.CLAIMS,
        *claims_profiles.CLAIMS,
    ),
)
