"""Claims about the algorithm that DIAG finds: momentum, adaptive steps, and rescaling.

Source: Vladymyrov et al. (arXiv 2402.14180), Abstract. Diagonal networks that were trained without
one of the two parts are compared with DIAG, and so is GD++, which has neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from attnlab.lab.study import (
    UNDECIDED,
    Claim,
    Judgement,
    Missing,
    Resolution,
    Verdict,
    View,
    all_of,
)
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.claims_table_cells import SLIGHT
from attnlab.linear.study.questions_ablation import WITHOUT
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import law_name
from attnlab.stats import Estimate, student_threshold

SMALLER = "four layers on U(0,5) alone"
STARTS_LEVEL = 0.05  # of Student's law
TWICE = math.log(2)  # of the log loss: what training without both parts of the algorithm costs
FACTOR = 0.1  # of y: a factor that changes by less is one that does not adapt
ADAM = {"printed-gd++": "GD++", "printed-diag": "DIAG"}  # the paper's recipe of these families


def shown_losses(rows: Sequence[FullLossRow]) -> str:
    """The losses of some starts as text."""
    losses = [_value(row) for row in rows]
    return ", ".join(f"{loss:.3g}" if math.isfinite(loss) else "diverged" for loss in losses)


def _value(row: FullLossRow) -> float:
    return results.loss_of(row).value


@dataclass(frozen=True)
class Ablated:
    """The DIAG network of the paper's recipe with and without some of its omegas.

    `gains` is what the loss gains without one of them, `steps` by how much the factor of y falls
    from one noise level to the next.
    """

    loss: Estimate
    gains: tuple[Estimate, ...]
    factors: dict[float, Estimate]
    steps: tuple[Estimate, ...]

    @property
    def shown(self) -> str:
        """The factors of y as text."""
        return ", ".join(f"{self.factors[s].value:.2f} at σ = {s:g}" for s in sorted(self.factors))


def _ablated(view: View) -> Ablated | None:
    cells = grids_full.ablated(view.scale, view.seed)
    if not cells:
        return None
    rows = view.rows(cells[0])
    found = {row.quantity: Estimate(row.value, row.error) for row in rows if row.sigma is None}
    factors = {row.sigma: Estimate(row.value, row.error) for row in rows if row.sigma is not None}
    # A step of the factor is noticed where it is larger than the errors of both ends.
    steps = tuple(
        Estimate(*results.difference(factors[low], factors[high]))
        for low, high in pairwise(sorted(factors))
    )
    return Ablated(found["loss"], tuple(found[name] for name in WITHOUT), factors, steps)


def _ablated_if_stored(view: View) -> Ablated | None:
    try:
        return _ablated(view)
    except Missing:
        return None


def _log_gap(first: Sequence[FullLossRow], second: Sequence[FullLossRow]) -> tuple[float, float]:
    """Mean log loss of the first starts minus that of the second, and its error by Student's law.

    The error is that of the starts, of which a few decide where training ends.
    """
    logs = [
        Estimate.of([math.log(results.loss_of(row).value) for row in rows])
        for rows in (first, second)
    ]
    gap, error = results.difference(*logs)
    freedom = min(len(first), len(second)) - 1
    return gap, student_threshold(freedom, level=STARTS_LEVEL) * error


def _smaller(evidence: results.Evidence) -> results.Evidence:
    """The same, with the sizes at which the algorithm is looked at."""
    differs = "; ".join(filter(None, (SMALLER, evidence.get("differs"))))
    return {"grade": "smaller setting", "differs": differs}


def _each_part(view: View) -> Judgement:
    """DIAG with one head against networks that were trained without one of its omegas.

    These have free omegas otherwise, so that they include every network with one head that lacks
    the omega.
    """
    depth = grids_full.RECIPE_DEPTH
    models = ("DIAG", *grids.ABLATED)
    losses = {model: results.held(view, model, grids.U5).get(depth) for model in models}
    found = {m: loss for m, loss in losses.items() if loss is not None and results.steady(loss)}
    if len(found) < len(losses):
        return results.open_until(
            "no DIAG network trained without one of its omegas, or one with a heavy tail",
            "standard" if view.scale == "quick" else "paper",
        )
    whole = found.pop("DIAG")
    # A gap of a twentieth could be one between two training runs.
    gains = [results.log_ratio(loss, whole) for loss in found.values()]
    beyond = [Estimate(gain.value - SLIGHT, gain.standard_error) for gain in gains]
    refuting = [gain for gain in gains if results.clearly_negative(gain)]
    verdict: Verdict = UNDECIDED
    if refuting:
        verdict = results.after_training(view, "fails")
    elif all(map(results.clearly_positive, beyond)):
        verdict = "holds"
    named = ", ".join(f"{model.removeprefix('DIAG ')} {loss}" for model, loss in found.items())
    seen = _ablated_if_stored(view)
    beside = (
        f" Set to 0 in the DIAG network of the paper's recipe, they cost {seen.gains[0].value:.3g} "
        f"and {seen.gains[1].value:.3g}."
        if seen
        else ""
    )
    return Judgement(
        verdict,
        f"{depth} layers on {law_name(grids.U5)}: DIAG {whole}, trained {named}",
        "a larger loss without ω_xy, and a larger loss without ω_yy",
        f"a log ratio above {SLIGHT:g} by {MARGIN:g} standard errors, where each of these is at "
        f"most {results.STEADY:.0%} of its loss",
        "ω_xy writes y into the inputs, from where momentum comes and steps that adapt to the "
        "noise; ω_yy rescales y. The networks without one of them may use the other three freely, "
        "which one head cannot; all were trained with the same effort, and the best of the runs "
        f"is taken.{beside}" + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **_smaller(results.trained_evidence(view)),
        resolution=Resolution(
            max(MARGIN * each.standard_error for each in refuting or gains) + SLIGHT,
            2 * SLIGHT,
            "of the log ratio",
        ),
    )


def _both_parts(view: View) -> Judgement:
    """DIAG against GD++, which is DIAG trained without omega_xy and omega_yy, and the factor."""
    seen = _ablated(view)
    kinds = {model: full_results.starts(view, name) for name, model in ADAM.items()}
    depth = grids_full.RECIPE_DEPTH
    if seen is None or not all(depth in found for found in kinds.values()):
        return full_results.no_full_network()
    gd, diag = (kinds[model][depth] for model in ("GD++", "DIAG"))
    compared = [[row for row in rows if math.isfinite(_value(row))] for rows in (gd, diag)]
    if min(map(len, compared)) < 2:
        return results.open_until("fewer than two starts that did not diverge", "paper")
    lost = len(gd) + len(diag) - sum(map(len, compared))
    gap, error = _log_gap(*compared)
    larger: Verdict = "holds" if gap > error else "fails" if gap < -error else UNDECIDED
    parts = (*seen.steps, seen.factors[max(seen.factors)])
    falls: Verdict = UNDECIDED
    if all(map(results.clearly_positive, parts)):
        falls = "holds"
    elif any(map(results.clearly_negative, parts)):
        falls = "fails"
    noticed = max(MARGIN * one.standard_error for one in parts)
    verdict, resolution = all_of(
        [
            (larger, Resolution(error, TWICE, "of the log ratio, over starts")),
            (falls, Resolution(noticed, FACTOR, "of the factor of y")),
        ]
    )
    return Judgement(
        verdict,
        f"{depth} layers on {law_name(grids.U5)}: DIAG {shown_losses(diag)}, trained without ω_xy "
        f"and ω_yy {shown_losses(gd)}; mean log ratio {gap:.2f} ± {error:.2f}; factor of y of the "
        f"best {seen.shown}",
        "a larger loss without both, and a positive factor that falls with the noise",
        f"the log ratio by Student's law of the starts, level {STARTS_LEVEL:g}; the factor by "
        f"{MARGIN:g} standard errors, from level to level",
        "GD++ is DIAG without both, trained by the same recipe."
        + (f" Starts that diverged and are not compared: {lost}." if lost else "")
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **_smaller(full_results.setting([*gd, *diag], "printed")),
        resolution=resolution,
    )


CLAIMS = (
    Claim(
        "found-algorithm",
        "Vladymyrov et al., Abstract",
        "The algorithm that DIAG finds uses ω_xy, from which momentum and adaptive steps come, and "
        "the rescaling ω_yy: trained without one of them, diagonal networks of four layers are "
        "worse (U(0,5)).",
        _each_part,
        ("heads", "recipes"),
    ),
    Claim(
        "found-algorithm-together",
        "Ours, beside the Abstract",
        "DIAG that is trained without momentum and rescaling, which is GD++, has a larger loss, "
        "and the rescaling of DIAG falls with the noise.",
        _both_parts,
        ("recipes",),
        ours=True,
    ),
)
