"""Stored losses by model, noise law and depth, as claims and figures use them.

Of several runs the best is taken, as in Table 1. It is chosen by the loss on sequences that are not
part of the evaluation, so that the choice does not bias the loss that is shown. A run whose
evaluation has a heavy tail is taken only where all have one: its mean is not known. A loss that
overflowed or diverged is infinite here. What other sequences show of a heavy tail counts in the
standard error of a loss over a noise law (`tails`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import NO_SCALE, UNDECIDED, Judgement, Missing, Scale, Verdict, View
from attnlab.linear.study import grids, grids_full
from attnlab.linear.study.comparisons import MARGIN as MARGIN
from attnlab.linear.study.comparisons import at_most as at_most
from attnlab.linear.study.comparisons import clearly_below as clearly_below
from attnlab.linear.study.comparisons import clearly_negative as clearly_negative
from attnlab.linear.study.comparisons import clearly_positive as clearly_positive
from attnlab.linear.study.comparisons import difference as difference
from attnlab.linear.study.comparisons import log_ratio as log_ratio
from attnlab.linear.study.comparisons import margin as margin
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.table_1 import LAWS, SEQUENCES, paper_error
from attnlab.linear.study.tails import STEADY as STEADY
from attnlab.linear.study.tails import steady as steady
from attnlab.linear.study.tails import with_tail
from attnlab.stats import Estimate

DIVERGED = 1e100  # a mean loss above this is infinite for every comparison
LIGHT = 0.01  # of the mean: a larger standard error over the paper's sequences has a tail
Evidence = dict[str, Any]  # grade and what differs, for a Judgement
AS_IN_PAPER: Evidence = {"grade": "paper's setting"}
EXACT: Evidence = {"grade": "exact"}
PAPER_STEPS = 200_000
CLIPPED = (
    "gradients clipped to norm 0.5, a warm-up and a cosine, updates that are not finite skipped, "
    "the weights of least held-out loss kept, and the loss averaged over the query"
)
OPTIMISER = "GD++ and DIAG trained by Levenberg-Marquardt instead of Adam"
DIFFERS: dict[Scale, str] = {
    "quick": f"{OPTIMISER}, one run with reduced effort, on some of the noise laws",
    "standard": f"{OPTIMISER}, two runs instead of five",
    "paper": OPTIMISER,
}


def loss_of(row: Any) -> Estimate:
    """The loss of a row, infinite where it overflowed or diverged; the value of a law is exact.

    A network whose loss had a heavy tail on other sequences (`FullLossRow.steady`) has a mean that
    this sample need not show: its standard error counts as at least the mean itself.
    """
    if row.loss is None or row.loss > DIVERGED:
        return Estimate(math.inf, math.inf, row.samples)
    error = row.error if getattr(row, "steady", True) else max(row.error, row.loss)
    return Estimate(row.loss, error, row.samples or None)


def cells_of(model: str, law: str, view: View) -> list[Cell]:
    """The cells of a model on a law: one per run, for AXIS the best of the shipped runs.

    FULL has one cell per law, with all depths and starts.
    """
    if model == "AXIS":
        return [grids.axis(law, view.scale, view.seed)]
    if model == "FULL":
        return grids_full.shipped(law, view.scale, view.seed)
    return grids.trained(model, law, view.scale, view.seed)


def candidates(model: str, law: str, view: View) -> list[Cell]:
    """The cells among whose networks the best is chosen: for FULL also those trained as printed."""
    found = cells_of(model, law, view)
    if model == "FULL":
        found = found + grids_full.by_recipe("printed", view.scale, view.seed, law)
    return found


def rows_of(view: View, model: str, law: str) -> list[Any]:
    """All rows of the best run at every depth."""
    chosen: dict[int, tuple[tuple[bool, float], list[Any]]] = {}
    for cell in candidates(model, law, view):
        networks: dict[tuple[int, int], list[Any]] = {}
        for row in view.rows(cell):
            networks.setdefault((row.layers, getattr(row, "start", 0)), []).append(row)
        for (layers, _), rows in networks.items():
            selection = getattr(rows[0], "selection", 0.0)
            tail = not steady(_known(rows, model, law)[0])
            worth = tail, math.inf if selection is None else selection
            if layers not in chosen or worth < chosen[layers][0]:
                chosen[layers] = worth, rows
    return [row for layers in sorted(chosen) for row in chosen[layers][1]]


def by_depth(view: View, model: str, law: str) -> dict[int, Estimate]:
    """The loss over the noise law by depth, for the depths of this scale, with known tails."""
    found: dict[int, list[Any]] = {}
    for row in rows_of(view, model, law):
        found.setdefault(row.layers, []).append(row)
    return {layers: _known(rows, model, law)[0] for layers, rows in found.items()}


def networks(
    view: View, model: str, law: str, layers: int
) -> dict[int, tuple[Estimate, dict[float, Estimate]]]:
    """The loss over the law and the profile of every start or run of a depth, by its number."""
    found: dict[int, list[Any]] = {}
    for run, cell in enumerate(cells_of(model, law, view)):
        for row in view.rows(cell):
            if row.layers == layers:
                found.setdefault(getattr(row, "start", run), []).append(row)
    return {number: _known(rows, model, law) for number, rows in found.items()}


def _known(rows: Iterable[Any], model: str, law: str) -> tuple[Estimate, dict[float, Estimate]]:
    """The loss of one network with its known tails, and its profile."""
    losses = {row.sigma: (row.layers, loss_of(row)) for row in rows if row.read == row.layers}
    layers, loss = losses[None]
    profile = {sigma: each for sigma, (_, each) in losses.items() if sigma is not None}
    return with_tail(loss, profile, model, law, layers), profile


def held(view: View, model: str, law: str) -> dict[int, Estimate]:
    """The same as `by_depth`, empty where the store or this scale lacks the model."""
    try:
        return by_depth(view, model, law) if cells_of(model, law, view) else {}
    except Missing:
        return {}


def tails(view: View, model: str, law: str) -> dict[int, tuple[float | None, float | None]]:
    """By depth, the largest loss of a sequence and the share of the mean in the worst 0.1%.

    Shipped networks have them, which are AXIS and FULL. The cells that train GD++ and DIAG do not
    record them, so that it is empty for these.
    """
    return {
        row.layers: (row.largest, row.worst_share)
        for row in rows_of(view, model, law)
        if row.sigma is None and row.read == row.layers and hasattr(row, "largest")
    }


def profile(view: View, model: str, law: str, layers: int) -> dict[float, Estimate]:
    """The loss of a model of this depth by noise level; empty where there is no profile."""
    return {
        row.sigma: loss_of(row)
        for row in rows_of(view, model, law)
        if row.sigma is not None and row.layers == layers == row.read
    }


def ridge(view: View, name: str, law: str) -> Estimate:
    """The loss of a predictor without layers, or the value of an exact law."""
    return _ridge_rows(view, name, law)[None]


def ridge_profile(view: View, name: str, law: str) -> dict[float, Estimate]:
    """The loss of a predictor without layers by noise level."""
    rows = _ridge_rows(view, name, law)
    return {sigma: loss for sigma, loss in rows.items() if sigma is not None}


def _ridge_rows(view: View, name: str, law: str) -> dict[float | None, Estimate]:
    rows = view.rows(grids.ridges(law, view.scale, view.seed))
    return {row.sigma: loss_of(row) for row in rows if row.model == name}


def laws_with(view: View, model: str, laws: Iterable[str] = LAWS) -> list[str]:
    """The noise laws on which this scale has the model."""
    return [law for law in laws if cells_of(model, law, view)]


def error_of_paper(
    view: View, law: str, loss: Estimate, at: float | None = None, light: bool = False
) -> float:
    """The standard error of the paper's evaluation of a model with this loss.

    Parameters
    ----------
    view, law
        The results, and the noise law of the evaluation.
    loss
        A loss of ours, whose spread over the sequences the paper's losses are taken to have.
    at
        The mean loss of the paper's model, by default ours; the spread is scaled with it, so that
        a larger loss of ours does not widen the paper's error.
    light
        Whether the spread is at most that of a network without a tail (`LIGHT`), so that a tail of
        ours does not widen it either.
    """
    if not math.isfinite(loss.value) or not loss.value:
        return 0.0
    spread = 1 + (loss.standard_error / loss.value) ** 2 * (loss.samples or 0)
    if light:
        spread = min(spread, 1 + LIGHT**2 * SEQUENCES)
    mean = loss.value if at is None else at
    return paper_error(mean, spread * mean**2, ridge(view, "oracle (unadjusted)", law).value)


def trained_evidence(
    view: View, *full_laws: str, layers: Collection[int] | None = None
) -> Evidence:
    """The grade of what trained networks show, with FULL on these laws where it is part of it.

    The steps of FULL are those of the networks of these depths, or of all.
    """
    rows = [
        row
        for law in full_laws
        for row in rows_of(view, "FULL", law)
        if row.sigma is None and row.read == row.layers
        if layers is None or row.layers in layers
    ]
    differs = DIFFERS[view.scale]
    if rows:
        differs += f"; FULL trained with {clipped_adam(rows)}"
    return {"grade": "smaller setting", "differs": differs}


def is_grown(row: FullLossRow) -> bool:
    """Whether a shipped FULL network was grown layer by layer: those after the random starts."""
    return row.start >= grids_full.STARTS


def clipped_adam(rows: Sequence[FullLossRow]) -> str:
    """How the recipe of the FULL networks that ship differs from the paper's.

    See `attnlab.linear.training.full_networks`, and `full_growth` for those that were grown.
    """
    grown = [row for row in rows if is_grown(row)]
    fewer = [row for row in rows if row not in grown and row.steps_trained < PAPER_STEPS]
    found = CLIPPED
    if fewer:
        found += f", and {_steps(fewer)} instead of {PAPER_STEPS:,}"
    if grown:
        subject = "all" if len(grown) == len(rows) else f"{len(grown)} of {len(rows)} networks"
        found += f", and {subject} grown layer by layer at the rate 0.001 in {_steps(grown)}"
    return found


def _steps(rows: Sequence[FullLossRow]) -> str:
    counts = [row.steps_trained for row in rows]
    few, many = min(counts), max(counts)
    return f"{few:,} steps" if few == many else f"{few:,} to {many:,} steps"


def decides(scale: Scale) -> str:
    """The sentence that names the scale which decides a claim."""
    return f"'attnlab reproduce linear --scale {scale}' decides."


def left_open(view: View) -> str:
    """The sentence that says what decides a claim which is undecided at this scale."""
    if view.scale == "paper":
        return f"{NO_SCALE} That takes more sequences, or other training runs."
    return decides("standard" if view.scale == "quick" else "paper")


def after_training(view: View, verdict: Verdict) -> Verdict:
    """The verdict, undecided where networks miss a loss that `quick` trained with little effort."""
    return UNDECIDED if verdict == "fails" and view.scale == "quick" else verdict


def open_until(missing: str, scale: Scale) -> Judgement:
    """A verdict that waits for the networks of a larger scale."""
    return Judgement(
        UNDECIDED,
        missing,
        "networks of the families that the statement is about",
        "none, because nothing is compared",
        decides(scale),
    )


def listed(items: Sequence[str], none: str = "none", most: int = 8) -> str:
    """The items as text, with a count in place of those beyond the first few."""
    if not items:
        return none
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
