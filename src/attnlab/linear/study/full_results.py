"""Rows about FULL networks, as claims and figures use them.

A network counts only where its loss can be trusted: one whose standard error is more than a few
per cent of its mean has a heavy tail, and one that overflows on a sequence has diverged. The best
of the starts is chosen on other sequences than it is evaluated on (`results.rows_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from attnlab.lab.cell import Cell
from attnlab.lab.study import Judgement, Missing, View
from attnlab.linear.study import grids, grids_full, results
from attnlab.linear.study.claims_table_cells import LARGEST
from attnlab.linear.study.questions_full import FullLossRow, StartRow, StructureRow
from attnlab.linear.study.table_1 import PAPER
from attnlab.linear.study.tails import heavy_levels
from attnlab.stats import Estimate

DECIDES = (
    "'attnlab reproduce linear --scale paper --cells linear_full' trains every network for 200,000 "
    "steps, and scripts/pack_full_networks.py puts them in the place of those that ship."
)
NULL_DRAWS, NULL_QUANTILE = 4000, 0.99


def no_full_network() -> Judgement:
    """A verdict that waits for networks."""
    return results.open_until("no FULL network at this scale", "paper")


def left_open(view: View) -> str:
    """What decides a claim that waits for other FULL networks, at this scale."""
    return DECIDES if view.scale == "paper" else results.left_open(view)


def best_rows(view: View, law: str) -> dict[int, FullLossRow]:
    """The row of the whole network on its noise law, by depth, for the best of the starts.

    A network with a heavy tail at a noise level of the law is not `steady`. Starts of the paper's
    recipe as printed count with the others.
    """
    groups: dict[int, dict[Cell, FullLossRow]] = {}
    for cell in results.candidates("FULL", law, view):
        for row in view.rows(cell):
            groups.setdefault(row.layers, {})[cell] = row
    return {
        row.layers: replace(
            row,
            trained_starts=sum(one.trained_starts for one in groups[row.layers].values()),
            steady_starts=sum(one.steady_starts for one in groups[row.layers].values()),
        )
        for row in whole(results.rows_of(view, "FULL", law), law)
    }


def is_printed(view: View, law: str, row: FullLossRow) -> bool:
    """Whether a row of `best_rows` is of a network by the paper's recipe as printed."""
    return any(row.loss == other.loss for other in starts(view, "printed", law).get(row.layers, ()))


def every_start(view: View, law: str, *, grown: bool) -> dict[int, list[FullLossRow]]:
    """The rows of whole networks by depth: grown layer by layer, or from random weights of all."""
    found: dict[int, list[FullLossRow]] = {}
    for cell in grids_full.shipped(law, view.scale, view.seed):
        for row in whole(view.rows(cell), law):
            if results.is_grown(row) == grown:
                found.setdefault(row.layers, []).append(row)
    return found


def whole(rows: Iterable[FullLossRow], law: str) -> list[FullLossRow]:
    """The rows of whole networks on their law, marked as not steady where a level has a tail."""
    found: list[FullLossRow] = []
    profiles: dict[tuple[int, int], dict[float, Estimate]] = {}
    for row in rows:
        if row.read == row.layers and row.sigma is None:
            found.append(row)
        elif row.read == row.layers and row.sigma is not None:
            own = profiles.setdefault((row.layers, row.start), {})
            own[row.sigma] = results.loss_of(row)
    return [
        replace(row, steady=row.steady and not heavy_levels(results.loss_of(row), profile, law))
        for row in found
        for profile in [profiles.get((row.layers, row.start), {})]
    ]


def ready(view: View, law: str, depth: int) -> bool:
    """Whether a FULL network may refute: trained long enough, or as good as the paper's.

    As good is at most a quarter above the paper's loss, and without a heavy tail.
    """
    row = best_rows(view, law).get(depth)
    if row is None:
        return False
    return enough([row]) or as_good(row, law)


def as_good(row: FullLossRow | StartRow, law: str) -> bool:
    """Whether a network comes within a quarter of the paper's loss, without a heavy tail."""
    loss, paper = results.loss_of(row), PAPER.get(("FULL", row.layers, law))
    return paper is not None and results.steady(loss) and loss.value <= (1 + LARGEST) * paper


def trusted(view: View, law: str) -> dict[int, Estimate]:
    """The losses of the best networks by depth, without heavy tails and diverged ones."""
    found = {depth: results.loss_of(row) for depth, row in best_rows(view, law).items()}
    return {depth: loss for depth, loss in found.items() if results.steady(loss)}


def setting(rows: Sequence[FullLossRow], recipe: str = "clipped") -> results.Evidence:
    """The grade of evidence from networks of a recipe, and what differs from the paper's training.

    The paper does not say from which weights it starts, so that this is no difference.
    """
    if recipe.startswith("printed") and enough(rows):
        return results.AS_IN_PAPER
    return {
        "grade": "smaller setting",
        "differs": results.clipped_adam(rows),
    }


def enough(rows: Sequence[FullLossRow]) -> bool:
    """Whether all networks were trained for as many steps as the paper's, or were grown.

    Every depth of a grown network has the steps of its recipe, after which its loss has settled.
    """
    return bool(rows) and all(
        row.steps_trained >= results.PAPER_STEPS or results.is_grown(row) for row in rows
    )


def starts(view: View, recipe: str, law: str = grids.U5) -> dict[int, list[FullLossRow]]:
    """The rows of whole networks of a recipe on a law by depth, one per start."""
    found: dict[int, list[FullLossRow]] = {}
    for cell in grids_full.by_recipe(recipe, view.scale, view.seed, law):
        for row in whole(view.rows(cell), law):
            found.setdefault(row.layers, []).append(row)
    return found


def best(rows: Sequence[FullLossRow]) -> FullLossRow:
    """The best start without a heavy tail, chosen on other sequences than it is evaluated on."""

    def rank(row: FullLossRow) -> tuple[bool, float]:
        tail = not results.steady(results.loss_of(row))
        return tail, math.inf if row.selection is None else row.selection

    return min(rows, key=rank)


def structure(view: View, law: str, layers: int) -> list[StructureRow]:
    """The structure of the shipped networks of a law and depth, every start."""
    return [
        row
        for cell in grids_full.structures()
        if cell.config.noise == law
        for row in view.rows(cell)
        if row.layers == layers
    ]


def many_starts(view: View) -> list[StartRow]:
    """The same for the network of Figure 4 from twenty starts; empty where they are not stored."""
    try:
        cells = grids_full.figure_4_starts(view.scale, view.seed)
        return [row for cell in cells for row in view.rows(cell)]
    except Missing:
        return []


def by_matrix(rows: Iterable[StructureRow], column: str) -> dict[str, dict[int, float]]:
    """A column of every matrix that matters, by "P of layer 1" and so on, and by start.

    P of the last layer is left out: its rows of x change nothing.
    """
    gathered: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.matrix == "Q" or row.layer < row.layers:
            name = f"{row.matrix} of layer {row.layer}"
            gathered.setdefault(name, {})[row.start] = getattr(row, column)
    return gathered


@lru_cache(maxsize=4)
def rank_two_by_chance(side: int = 11) -> tuple[float, float]:
    """Mean and 99% quantile of `rank_two` for a matrix of independent normal entries."""
    drawn = np.random.default_rng(0).standard_normal((NULL_DRAWS, side, side))
    drawn[:, np.arange(side), np.arange(side)] = 0
    squares = np.square(np.linalg.svd(drawn, compute_uv=False))
    share = squares[:, :2].sum(1) / squares.sum(1)
    return float(share.mean()), float(np.quantile(share, NULL_QUANTILE))


def read_profile(
    rows: Iterable[FullLossRow], layers: int, low: float, high: float
) -> dict[int, Estimate]:
    """The mean loss over the levels from `low` to `high`, by the layer that is read."""
    gathered: dict[int, list[Estimate]] = {}
    for row in rows:
        if row.layers == layers and row.sigma is not None and low <= row.sigma <= high:
            gathered.setdefault(row.read, []).append(results.loss_of(row))
    return {
        read: Estimate(
            float(np.mean([loss.value for loss in losses])),
            # The levels share their sequences, so that their errors add up.
            float(np.mean([loss.standard_error for loss in losses])),
            losses[0].samples,
        )
        for read, losses in gathered.items()
    }
