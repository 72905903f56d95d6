"""Claims about two and three noise levels (Figure 3): FULL against DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The trained levels are {1, 3} and
{1, 3, 5}; a profile has the same X, w and xi at every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attnlab.lab.judgement import all_of
from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_models import SOURCE, shown
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import PAPER, law_name, trained_range
from attnlab.stats import Estimate

MODELS = ("FULL", "DIAG")
CHANCE = math.erfc(MARGIN / math.sqrt(2))  # of a normal number beyond MARGIN standard errors
APART = 0.5  # of the log loss: a difference that a picture of the profiles shows


def _missing(view: View, law: str) -> Judgement | None:
    """The verdict that waits, where this scale lacks one of the models."""
    for model in MODELS:
        if not results.cells_of(model, law, view):
            scale = "standard" if model == "DIAG" and view.scale == "quick" else "paper"
            return results.open_until(f"no {model} on {law_name(law)} at this scale", scale)
    return None


def _unready(view: View, law: str) -> Judgement | None:
    """The verdict that waits for FULL networks of more steps, or for more sequences."""
    depth, full, _ = _deepest(view, law)
    if full_results.ready(view, law, depth):
        return None
    found = f"FULL on {law_name(law)} with {depth} layers: {full}"
    scale = "standard" if view.scale == "quick" and not results.steady(full) else "paper"
    waits = results.open_until(f"{found} (paper {PAPER['FULL', depth, law]:g})", scale)
    return replace(waits, note=full_results.DECIDES) if view.scale == "paper" else waits


def _deepest(view: View, law: str) -> tuple[int, Estimate, Estimate]:
    """The largest depth up to 7 that both models have, and their losses."""
    full, diag = (results.by_depth(view, model, law) for model in MODELS)
    depth = max(d for d in full.keys() & diag.keys() if d <= grids.DEEPEST)
    return depth, full[depth], diag[depth]


def _in_distribution(view: View) -> Judgement:
    if waits := _missing(view, grids.TWO):
        return waits
    depth, full, diag = _deepest(view, grids.TWO)
    verdict: Verdict = "holds" if clearly_below(full, diag) else "fails"
    # At quick DIAG is trained with little effort, so FULL must be below the paper's DIAG as well.
    if view.scale == "quick":
        beaten = full.value + MARGIN * full.standard_error < PAPER["DIAG", depth, grids.TWO]
        verdict = verdict if verdict == "holds" and beaten else UNDECIDED
    if verdict == "fails" and (waits := _unready(view, grids.TWO)):
        return waits
    return Judgement(
        verdict,
        f"{depth} layers: FULL {shown(full)}, DIAG {shown(diag)}",
        "FULL below DIAG" + (" and below the paper's DIAG" if view.scale == "quick" else ""),
        f"by more than {MARGIN:g} standard errors",
        results.decides("standard") if verdict == UNDECIDED else "",
        **results.trained_evidence(view, grids.TWO),
        resolution=Resolution(results.margin(full, diag), 0.5, "of the loss of DIAG"),
    )


class _Side(NamedTuple):
    """At how many levels of a range DIAG is clearly better or worse, and what was noticed there."""

    better: list[float]
    worse: list[float]
    open: list[float]
    seen: float  # the largest of MARGIN standard errors of log FULL / DIAG at a decided level

    @property
    def verdict(self) -> Verdict:
        """Whether DIAG is better at most of the levels."""
        most = (len(self.better) + len(self.worse) + len(self.open)) / 2
        if len(self.better) > most:
            return "holds"
        return "fails" if len(self.worse) > most else UNDECIDED


def _clearly_larger(first: Estimate, second: Estimate) -> bool:
    """Whether a mean is above a steady one, which a heavy tail of the first does not hide.

    A mean of numbers that are not negative is above m / CHANCE with a probability of at most
    CHANCE, if m is its expectation (Markov): under a heavy tail the expectation is at least CHANCE
    times the mean.
    """
    if not results.steady(second):
        return False
    if results.steady(first):
        return clearly_below(second, first)
    return CHANCE * first.value > second.value + MARGIN * second.standard_error


def _side(full: Profile, diag: Profile, levels: Sequence[float]) -> _Side:
    better = [s for s in levels if _clearly_larger(full[s], diag[s])]
    worse = [s for s in levels if _clearly_larger(diag[s], full[s])]
    steady = [s for s in (*better, *worse) if results.steady(full[s]) and results.steady(diag[s])]
    errors = [results.log_ratio(full[s], diag[s]).standard_error for s in steady]
    decided = {*better, *worse}
    seen = MARGIN * max(errors, default=math.inf)
    return _Side(better, worse, [s for s in levels if s not in decided], seen)


def _untrained(view: View, sides: dict[str, Callable[[float], bool]]) -> Judgement:
    """Whether DIAG is better than FULL at most levels of every one of some untrained ranges.

    As in the paper's profiles, the levels end at the largest trained one plus 1.
    """
    if waits := _missing(view, grids.TWO) or _unready(view, grids.TWO):
        return waits
    depth, *_ = _deepest(view, grids.TWO)
    full, diag = (results.profile(view, model, grids.TWO, depth) for model in MODELS)
    last = trained_range(grids.TWO)[1] + 1
    untrained = [s for s in sorted(full.keys() & diag.keys()) if s not in (1.0, 3.0) and s <= last]
    found = {
        name: _side(full, diag, [s for s in untrained if within_side(s)])
        for name, within_side in sides.items()
    }
    parts: list[tuple[Verdict, Resolution]] = [
        (each.verdict, Resolution(each.seen, APART, "of the log loss")) for each in found.values()
    ]
    verdict, seen = all_of(parts)
    verdict = results.after_training(view, verdict)
    shown = [
        f"{name} DIAG is better at {len(each.better)}, worse at {len(each.worse)}"
        + (f", open at {len(each.open)}" if each.open else "")
        for name, each in found.items()
    ]
    heavy = [
        f"{model} at σ = {s:g}"
        for model, profile in zip(MODELS, (full, diag), strict=True)
        for s in untrained
        if not results.steady(profile[s])
    ]
    return Judgement(
        verdict,
        f"{depth} layers, noise levels up to {last:g}: {'; '.join(shown)}",
        "DIAG below FULL at most of the untrained levels" + (" of each side" * (len(sides) > 1)),
        f"by more than {MARGIN:g} standard errors; a heavy tail (standard error above "
        f"{results.STEADY:.0%}) counts against its network where {CHANCE:.2g} times the sample "
        "mean is above the other loss, and leaves the level open elsewhere",
        f"Heavy tail: {results.listed(heavy)}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.TWO),
        resolution=seen,
    )


def _interpolation(view: View) -> Judgement:
    return _untrained(view, {"between 1 and 3": lambda s: 1 < s < 3})


def _extrapolation(view: View) -> Judgement:
    return _untrained(view, {"below 1": lambda s: s < 1, "above 3": lambda s: s > 3})


def _deepest_ready(view: View, law: str) -> int | None:
    """The deepest network of FULL up to 7 layers that may refute (`full_results.ready`)."""
    diag = results.by_depth(view, "DIAG", law)
    depths = [d for d in diag if d <= grids.DEEPEST and full_results.ready(view, law, d)]
    known = full_results.trusted(view, law)
    return max((d for d in depths if d in known), default=None)


def _steady_within(view: View, law: str, depth: int) -> bool:
    """Whether both profiles are without a heavy tail inside the trained range."""
    profiles = (within(results.profile(view, model, law, depth), law) for model in MODELS)
    return all(results.steady(loss) for profile in profiles for loss in profile.values())


def squared_roughness(profile: Profile) -> Estimate:
    """The mean square of the second differences of log loss, without what noise adds to it.

    With relative standard errors e the second difference has variance v = e_0^2 + 4 e_1^2 + e_2^2
    (an upper limit, because neighbouring levels have the same sequences), its square a bias of v
    and a variance of 4 D^2 v + 2 v^2.
    """
    losses = [profile[sigma] for sigma in sorted(profile)]
    D2 = np.square(np.diff(np.log([loss.value for loss in losses]), 2))
    e2 = np.square([loss.standard_error / loss.value for loss in losses])
    v = e2[:-2] + 4 * e2[1:-1] + e2[2:]
    error = np.sqrt(np.sum(4 * np.maximum(D2 - v, 0) * v + 2 * v**2)) / len(v)
    return Estimate(float(np.mean(D2 - v)), float(error))


def _rough(view: View) -> Judgement:
    if waits := _missing(view, grids.THREE):
        return waits
    depth = _deepest_ready(view, grids.THREE)
    if depth is None or not _steady_within(view, grids.THREE, depth):
        return _unready(view, grids.THREE) or results.open_until("heavy tails", "paper")
    full, diag = (
        squared_roughness(within(results.profile(view, model, grids.THREE, depth), grids.THREE))
        for model in MODELS
    )
    gap, error = results.difference(full, diag)
    verdict: Verdict = UNDECIDED
    if abs(gap) > MARGIN * error:
        verdict = "holds" if gap > 0 else "fails"
    return Judgement(
        verdict,
        f"{depth} layers: FULL {full.value:.4f} ± {full.standard_error:.4f}, DIAG "
        f"{diag.value:.4f} ± {diag.standard_error:.4f}",
        "FULL has the larger roughness",
        "the roughness is the mean square of the second differences of the log loss between 1 and "
        f"5, without the part that sampling adds; larger by more than {MARGIN:g} standard errors",
        results.decides("paper") if verdict == UNDECIDED else "",
        **results.trained_evidence(view, grids.THREE),
        resolution=Resolution(MARGIN * error, max(abs(gap), error), "of squared roughness"),
    )


def _not_better(view: View) -> Judgement:
    """From two layers on: with one layer all families have the same best loss."""
    if waits := _missing(view, grids.THREE):
        return waits
    full = full_results.trusted(view, grids.THREE)
    diag = results.by_depth(view, "DIAG", grids.THREE)
    depths = [d for d in full.keys() & diag.keys() if 2 <= d <= grids.DEEPEST]
    depths = sorted(d for d in depths if results.steady(diag[d]))
    better = [d for d in depths if clearly_below(full[d], diag[d])]
    most = (grids.DEEPEST - 1) / 2
    verdict: Verdict = UNDECIDED
    if len(better) >= most:
        verdict = results.after_training(view, "fails")
    elif (
        not better
        and len(depths) > most
        and all(full_results.ready(view, grids.THREE, d) for d in depths)
    ):
        verdict = "holds"
    compared = better if verdict == "fails" else depths
    if not compared:
        return _unready(view, grids.THREE) or results.open_until("heavy tails", "paper")
    words = [f"{d} layers FULL {shown(full[d])}, DIAG {shown(diag[d])}" for d in depths]
    return Judgement(
        verdict,
        f"FULL is below DIAG at {len(better)} of {len(depths)} depths: {'; '.join(words)}",
        "FULL is not below DIAG",
        f"below by more than {MARGIN:g} standard errors at half of the depths from two to seven, "
        "or more, refutes, at none confirms; networks with a heavy tail are left out",
        f"The paper's own table has {PAPER['FULL', 7, grids.THREE]:g} for FULL and "
        f"{PAPER['DIAG', 7, grids.THREE]:g} for DIAG on {law_name(grids.THREE)} with 7 layers."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.THREE),
        resolution=Resolution(
            max(results.margin(full[d], diag[d]) for d in compared), 0.1, "of the loss of DIAG"
        ),
    )


CLAIMS = (
    Claim(
        "two-levels-full-better",
        f"{SOURCE}, Figure 3",
        "On {1,3} FULL is better than DIAG in distribution.",
        _in_distribution,
        ("fig-3-layers", "fig-3-depths"),
    ),
    Claim(
        "two-levels-diag-interpolates",
        f"{SOURCE}, Figure 3",
        "On {1,3} DIAG is better than FULL at the noise levels between the trained ones.",
        _interpolation,
        ("fig-3-deepest",),
    ),
    Claim(
        "two-levels-diag-extrapolates",
        f"{SOURCE}, Figure 3",
        "On {1,3} DIAG is better than FULL at the noise levels below and above the trained ones.",
        _extrapolation,
        ("fig-3-deepest",),
    ),
    Claim(
        "three-levels-rough",
        f"{SOURCE}, Figure 3",
        "On {1,3,5} the profile of FULL is less smooth than that of DIAG.",
        _rough,
        ("fig-3-deepest",),
    ),
    Claim(
        "three-levels-not-better",
        f"{SOURCE}, Figure 3",
        "On {1,3,5} FULL is not better than DIAG.",
        _not_better,
        ("fig-3-layers",),
    ),
)
