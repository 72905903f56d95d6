"""A small study for the report's tests: every kind of figure and verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt

from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.part import compute
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import Store
from attnlab.lab.study import Claim, Figure, Judgement, Study, View


@dataclass(frozen=True)
class Growing:
    plant: str
    water: float
    seed: int = 0


@dataclass(frozen=True)
class Height:
    height: float
    height_se: float
    day: int


def grow(config: Growing) -> Outcome[Height]:
    rate = {"bean": 1.0, "sunflower": 1.8}[config.plant] * config.water
    return Outcome([Height(rate * math.sqrt(day), 0.1 * rate, day) for day in range(1, 9)])


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


@dataclass(frozen=True)
class Likeness:
    likeness: float


def liken(config: Pair) -> Likeness:
    return Likeness(math.exp(-abs(config.left - config.right) / 3))


growing = CellKind("growing", Growing, Height, grow)
pair = CellKind("pair", Pair, Likeness, liken, version=2)

GROWN = [
    growing(Growing(plant, water, seed=0))
    for plant in ("bean", "sunflower")
    for water in (0.5, 1.0, 2.0)
]
PAIRS = [pair(Pair(left, right)) for left in range(8) for right in range(8)]
NEVER = growing(Growing("sunflower", 99.0))


def cells(scale: str, seed: int) -> list:
    return [*GROWN, *PAIRS, NEVER, GROWN[0]]


def heights(view: View) -> list[dict[str, Any]]:
    return [
        {
            "plant": cell.config.plant,
            "water": cell.config.water,
            "day": row.day,
            "height": row.height,
            "low": row.height - row.height_se,
            "high": row.height + row.height_se,
        }
        for cell in GROWN
        for row in view.rows(cell)
    ]


def draw_heights(rows: list[dict[str, Any]]) -> alt.LayerChart:
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("day:Q", title="day"), color=alt.Color("plant:N", title="Plant")
    )
    chosen = alt.selection_point(fields=["plant"], bind="legend")
    line = base.mark_line(point=True).encode(
        y=alt.Y("height:Q", title="height (cm)"),
        detail="water:N",
        opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.2)),
        tooltip=["plant:N", "water:Q", "height:Q"],
    )
    band = base.mark_area().encode(y="low:Q", y2="high:Q", detail="water:N")
    limit = alt.Chart(alt.Data(values=[{"y": 8}])).mark_rule(color="black").encode(y="y:Q")
    return band + line.add_params(chosen) + limit


def likenesses(view: View) -> list[dict[str, Any]]:
    return [
        {"left": c.config.left, "right": c.config.right, "likeness": view.row(c).likeness}
        for c in PAIRS
    ]


def draw_likenesses(rows: list[dict[str, Any]]) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(x="left:O", y="right:O", color=alt.Color("likeness:Q", title="Likeness"))
        .properties(width=320, height=320)
    )


def draw_beside(rows: list[dict[str, Any]]) -> alt.HConcatChart:
    base = alt.Chart(alt.Data(values=rows)).mark_line().encode(x="day:Q", color="plant:N")
    left = base.encode(y="height:Q", detail="water:N").properties(width=300, title="Height")
    right = base.encode(y="low:Q", detail="water:N").properties(width=300, title="At least")
    return left | right


def waves(view: View) -> list[dict[str, Any]]:
    """More rows than Altair's default limit, some of them not numbers."""
    top = max(row.height for row in view.rows(GROWN[0]))
    return [{"t": t, "y": top * math.sin(t / 300) if t % 1000 else math.nan} for t in range(6000)]


def draw_waves(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows)).mark_line().encode(x="t:Q", y="y:Q").interactive()


def never(view: View) -> list[dict[str, Any]]:
    return [{"height": row.height} for row in view.rows(NEVER)]


def check_taller(view: View) -> Judgement:
    bean, sunflower = (max(r.height for r in view.rows(GROWN[i])) for i in (0, 3))
    return Judgement("holds", sunflower / bean, 1.8, "exact up to rounding, 1e-12")


def check_never(view: View) -> Judgement:
    view.rows(NEVER)
    raise AssertionError("this cell is never run")


study = Study(
    name="garden",
    title="How a garden grows",
    source="Green, Thumb, “A Garden”, 2024, arXiv:2401.00001",
    summary="Beans and sunflowers are watered and measured.\n\nNothing here is about attention.",
    kinds=(growing, pair),
    cells=cells,
    figures=(
        Figure(
            "heights",
            "Height against time",
            "Height in centimetres with one standard error, for three amounts of water.",
            heights,
            draw_heights,
        ),
        Figure(
            "likeness",
            "Likeness of pairs",
            "Every plant with every other.",
            likenesses,
            draw_likenesses,
        ),
        Figure("beside", "Two views", "The heights and their lower bounds.", heights, draw_beside),
        Figure(
            "waves", "Many points", "Six thousand points, six of them missing.", waves, draw_waves
        ),
        Figure("never", "Never grown", "Needs a cell that was never run.", never, draw_heights),
    ),
    claims=(
        Claim(
            "garden-10",
            "Theorem 1",
            "Sunflowers grow taller than beans at the same amount of water, by a constant factor "
            "that does not depend on the day on which they are measured.",
            check_taller,
            ("heights", "beside"),
        ),
        Claim(
            "garden-2",
            "Section 2, eq. (3)",
            "Growth is linear in time <script>alert('grown')</script> & water.",
            lambda view: Judgement(
                "holds as corrected",
                "slope 0.5 ± 0.01",
                "slope 1",
                "3 standard errors",
                "Corrected: growth is the square root of time.",
            ),
            ("heights",),
        ),
        Claim(
            "garden-3",
            "Lemma 4",
            "Likeness does not decay with distance.",
            lambda view: Judgement("fails", 0.097, 1.0, "none: deterministic"),
            ("likeness",),
        ),
        Claim(
            "garden-4",
            "Conjecture",
            "Ninety-nine waters drown a sunflower.",
            check_never,
            ("never",),
        ),
    ),
)


def fill(store: Store) -> None:
    """Compute and keep every cell but one, as two runs."""
    for index, group in enumerate((GROWN, PAIRS)):
        log = RunLog(store.root / "runs", engine=f"in process, part {index + 1}")
        for cell in group:
            finished = compute(cell)
            store.add(cell, finished)
            log.finished(cell.key, cell.kind.name, finished.seconds)
        log.close()
