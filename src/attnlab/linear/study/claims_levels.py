"""Claims about two and three noise levels (Figure 3): FULL against DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The trained levels are {1, 3} and
{1, 3, 5}; a profile has the same X, w and xi at every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from attnlab.lab.judgement import all_of
from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_models import SOURCE, shown
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import PAPER, law_name
from attnlab.stats import Estimate

MODELS = ("FULL", "DIAG")
APART = 0.5  # of the log loss: a difference that a picture of the profiles shows
FEW = 0.1  # of the levels may have a heavy tail


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
    return results.open_until(f"{found} (paper {PAPER['FULL', depth, law]:g})", scale)


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


def _ratio(full: Profile, diag: Profile, levels: Sequence[float]) -> Estimate:
    """The mean of log FULL / DIAG over the levels, which share their sequences."""
    found = [results.log_ratio(full[s], diag[s]) for s in levels]
    errors = [each.standard_error for each in found]
    return Estimate(float(np.mean([each.value for each in found])), float(np.mean(errors)))


def _side(
    full: Profile, diag: Profile, levels: Sequence[float]
) -> tuple[Verdict, Resolution, list[float]]:
    """Whether DIAG is better on average over some levels, and the levels with a heavy tail.

    Those count for nothing, and nothing is decided where more than a few have one.
    """
    steady = [s for s in levels if results.steady(full[s]) and results.steady(diag[s])]
    tails = [s for s in levels if s not in steady]
    if not steady:
        return UNDECIDED, Resolution(math.inf, APART, "of the log loss"), tails
    ratio = _ratio(full, diag, steady)
    verdict: Verdict = UNDECIDED
    if len(tails) > FEW * len(levels):
        verdict = UNDECIDED
    elif results.clearly_positive(ratio):
        verdict = "holds"
    elif results.clearly_negative(ratio):
        verdict = "fails"
    return verdict, Resolution(MARGIN * ratio.standard_error, APART, "of the log loss"), tails


def _untrained(view: View, sides: dict[str, Callable[[float], bool]]) -> Judgement:
    """Whether DIAG is better than FULL on every one of some ranges of untrained levels."""
    if waits := _missing(view, grids.TWO) or _unready(view, grids.TWO):
        return waits
    depth, *_ = _deepest(view, grids.TWO)
    full, diag = (results.profile(view, model, grids.TWO, depth) for model in MODELS)
    untrained = [s for s in sorted(full.keys() & diag.keys()) if s not in (1.0, 3.0)]
    parts, shown, tails = [], [], []
    for name, within_side in sides.items():
        levels = [s for s in untrained if within_side(s)]
        verdict, seen, heavy = _side(full, diag, levels)
        known = [s for s in levels if s not in heavy]
        parts.append((verdict, seen))
        tails += heavy
        wins, losses = (
            sum(clearly_below(a[s], b[s]) for s in known) for a, b in ((diag, full), (full, diag))
        )
        shown.append(f"{name} DIAG is better at {wins} of {len(known)}, worse at {losses}")
        if known:
            ratio = _ratio(full, diag, known)
            shown[-1] += (
                f" (mean of log FULL / DIAG {ratio.value:+.2f} ± {ratio.standard_error:.2f})"
            )
    verdict, seen = all_of(parts)
    verdict = results.after_training(view, verdict)
    takes = f"{NO_SCALE} That takes networks without a heavy tail at these levels."
    return Judgement(
        verdict,
        f"{depth} layers: {'; '.join(shown)}",
        "DIAG below FULL on average over the untrained levels"
        + (" of each side" * (len(sides) > 1)),
        f"mean of the log ratio above 0 by {MARGIN:g} standard errors; levels with a heavy tail "
        f"(standard error above {results.STEADY:.0%}) are left out, at most {FEW:.0%} of a side",
        f"Heavy tail: {results.listed([f'σ = {s:g}' for s in tails])}."
        + (f" {takes if tails else results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.TWO),
        resolution=seen,
    )


def _interpolation(view: View) -> Judgement:
    return _untrained(view, {"between 1 and 3": lambda s: 1 < s < 3})


def _extrapolation(view: View) -> Judgement:
    return _untrained(view, {"below 1": lambda s: s < 1, "above 3": lambda s: s > 3})


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
    if waits := _missing(view, grids.THREE) or _unready(view, grids.THREE):
        return waits
    depth, *_ = _deepest(view, grids.THREE)
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
        f"{depth} layers: FULL {full}, DIAG {diag}",
        "FULL has the larger roughness",
        "the roughness is the mean square of the second differences of the log loss between 1 and "
        f"5, without the part that sampling adds; larger by more than {MARGIN:g} standard errors",
        results.decides("paper") if verdict == UNDECIDED else "",
        **results.trained_evidence(view, grids.THREE),
        resolution=Resolution(MARGIN * error, max(abs(gap), error), "of squared roughness"),
    )


def _not_better(view: View) -> Judgement:
    if waits := _missing(view, grids.THREE):
        return waits
    depth, full, diag = _deepest(view, grids.THREE)
    verdict: Verdict = "fails" if clearly_below(full, diag) else "holds"
    if verdict == "holds" and (waits := _unready(view, grids.THREE)):
        return waits
    return Judgement(
        verdict,
        f"{depth} layers: FULL {shown(full)}, DIAG {shown(diag)}",
        "FULL is not below DIAG",
        f"below by more than {MARGIN:g} standard errors",
        f"The paper's own table has {PAPER['FULL', 7, grids.THREE]:g} for FULL and "
        f"{PAPER['DIAG', 7, grids.THREE]:g} for DIAG on {law_name(grids.THREE)} with 7 layers.",
        **results.trained_evidence(view, grids.THREE),
        resolution=Resolution(results.margin(full, diag), 0.1, "of the loss of DIAG"),
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
