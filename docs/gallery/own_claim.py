"""A claim of your own

A study is a kind of cell, the cells that it asks for, a figure and claims. Here the cells are run
into a store, the claim is judged, and the figure is drawn from what was stored.
"""

from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.lab.cell import CellKind, seed_of
from attnlab.lab.ledger import Judged
from attnlab.lab.part import compute
from attnlab.lab.runner import look_up
from attnlab.lab.store import Store
from attnlab.lab.study import Claim, Figure, Judgement, Study
from attnlab.stats import LEVEL, agreement


@dataclass(frozen=True)
class Scores:
    """Two random tokens of d entries, each +1 or -1, in `pairs` draws."""

    d: int
    pairs: int = 2000


@dataclass(frozen=True)
class Zero:
    """How often their inner product was 0, and how often it should be."""

    zero: int
    exact: float


def run(config: Scores) -> Zero:
    from math import comb

    rng = np.random.default_rng(seed_of(config))
    products = 2 * rng.binomial(config.d, 0.5, config.pairs) - config.d
    return Zero(int((products == 0).sum()), comb(config.d, config.d // 2) / 2**config.d)


scores = CellKind("zero_scores", Scores, Zero, run)


def cells(scale, seed):
    return [scores(Scores(d)) for d in (2, 4, 8, 16, 32, 64)]


def follows_the_law(view):
    rows = [view.row(cell) for cell in cells(view.scale, view.seed)]
    test = agreement([row.zero for row in rows], 2000, [row.exact for row in rows], LEVEL)
    return Judgement(
        verdict="holds" if test.agrees else "fails",
        measured=f"smallest p-value {test.smallest:.2g}",
        reference=f"at least {test.threshold:.2g}",
        tolerance=f"{test.comparisons} exact binomial tests",
    )


def table(view):
    found = [(cell.config, view.row(cell)) for cell in cells(view.scale, view.seed)]
    return [{"d": c.d, "exact": row.exact, "sampled": row.zero / c.pairs} for c, row in found]


def draw(rows):
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("d:Q", scale=alt.Scale(type="log", nice=False))
    )
    return alt.layer(
        base.mark_line().encode(y=alt.Y("exact:Q", title="probability of a score of 0")),
        base.mark_point().encode(y="sampled:Q"),
    )


figure = Figure("zero", "Scores of 0", "Exact law and 2000 draws per point.", table, draw)
claim = Claim("zero-law", "binomial law", "Scores are 0 as often as the law says.",
              follows_the_law, figures=("zero",))  # fmt: skip
study = Study(
    name="scores",
    title="Scores of random tokens",
    source="binomial law",
    summary="How often are two random tokens orthogonal?",
    kinds=(scores,),
    cells=cells,
    figures=(figure,),
    claims=(claim,),
)

store = Store("store")
for cell in cells("quick", 0):
    store.add(cell, compute(cell))
plan = study.plan("quick", 0)
judged = Judged.of(plan, look_up(plan, store).view)
print(judged.ledger[0].verdict, judged.ledger[0].measured)
assert judged.ledger[0].verdict == "holds"
chart = draw(table(judged.view))
