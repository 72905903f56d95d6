"""Study `linear`: linear transformers as in-context learners of noisy regression.

Source: Vladymyrov, von Oswald, Sandler, Ge (arXiv 2402.14180). The mathematics lives in
`attnlab.problems`, `models`, `theory`, `estimators` and `training`; this folder only says what to
compute, what to draw and what to check. FULL networks come from `attnlab.reference`.
"""

from attnlab.lab.study import Study
from attnlab.studies import PAPERS
from attnlab.studies.linear import cells as losses
from attnlab.studies.linear import cells_theory
from attnlab.studies.linear.grids import cells

TITLE, SOURCE = PAPERS["linear"]

study = Study(
    name="linear",
    title=TITLE,
    source=SOURCE,
    summary="x",
    kinds=(*losses.KINDS, *cells_theory.KINDS),
    cells=cells,
    figures=(),
    claims=(),
)
