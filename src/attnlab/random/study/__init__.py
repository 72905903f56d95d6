"""Study `random`: random transformers with an MLP head, and the models they are equivalent to.

Source: Demir, Dogan, "Asymptotic Study of In-Context Learning with Random Transformers through
Equivalent Models" (arXiv 2509.15152). The mathematics is in the other folders of
`attnlab.random`; this one says what to compute, what to draw and what to check.
"""

from pathlib import Path

import attnlab.random.study.explorers as explorers
import attnlab.random.study.introduction as introduction
from attnlab.lab.study import Study
from attnlab.random.study import (
    claims_activation,
    claims_conditional,
    claims_equal_norms,
    claims_equivalence,
    claims_law,
    claims_length,
    claims_linear_law,
    claims_refinement,
    claims_ridge,
    claims_ridge_factor,
    claims_samples,
    claims_samples_law,
    claims_theorem,
    claims_theory,
    claims_width,
    figures,
    figures_diagnostics,
)
from attnlab.random.study.cells import laws, run
from attnlab.random.study.cells_checks import distance, numbers, reduction
from attnlab.random.study.cells_conditional import conditional
from attnlab.random.study.cells_curves import curve
from attnlab.random.study.grids import cells as cells_of
from attnlab.random.study.statements import STATEMENTS

study = Study(
    name="random",
    article=introduction.ARTICLE,
    explorers=explorers.EXPLORERS,
    title="Random transformers and their equivalent polynomial models",
    source="Demir, Dogan, “Asymptotic Study of In-Context Learning with Random Transformers "
    "through Equivalent Models”, 2025, arXiv:2509.15152",
    summary="A transformer whose MLP has fixed random weights learns to regress in context by "
    "ridge regression on its last layer. The paper says that it is equivalent to a polynomial "
    "model with noise, and shows its error against the number of prompts, the context length and "
    "the width. Here the errors are simulated and compared with closed-form laws, with an "
    "intercept and a constant predictor as controls.",
    kinds=(run, laws, distance, conditional, reduction, numbers, curve),
    cells=cells_of,
    figures=(*figures.FIGURES, *figures_diagnostics.FIGURES),
    claims=(
        *claims_theory.CLAIMS,
        *claims_ridge_factor.CLAIMS,
        *claims_conditional.CLAIMS,
        *claims_linear_law.CLAIMS,
        *claims_theorem.CLAIMS,
        *claims_equivalence.CLAIMS,
        *claims_refinement.CLAIMS,
        *claims_equal_norms.CLAIMS,
        *claims_samples.CLAIMS,
        *claims_activation.CLAIMS,
        *claims_samples_law.CLAIMS,
        *claims_length.CLAIMS,
        *claims_width.CLAIMS,
        *claims_ridge.CLAIMS,
        *claims_law.CLAIMS,
    ),
    statements=STATEMENTS,
    evidence=Path(__file__).parents[1] / "evidence",
)
