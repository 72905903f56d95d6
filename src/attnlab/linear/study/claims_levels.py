"""Claims about two and three noise levels (Figure 3): FULL against DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The trained levels are {1, 3} and
{1, 3, 5}; a profile has the same X, w and xi at every level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import claims_untrained, full_results, grids, results
from attnlab.linear.study.claims_models import SOURCE, shown
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.claims_untrained import FEWEST, as_good
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import PAPER, law_name
from attnlab.stats import Estimate, student_threshold

MODELS = ("FULL", "DIAG")
TWICE = math.log(2)  # of the log roughness: a profile with twice the roughness is less smooth
STARTS_LEVEL = 0.05  # of Student's law
# For the law of Student; two starts of FULL, which differ more than those of DIAG, decide nothing.
NEEDED = {"FULL": 3, "DIAG": FEWEST}


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
        **results.trained_evidence(view, grids.TWO, layers=[depth]),
        resolution=Resolution(results.margin(full, diag), 0.5, "of the loss of DIAG"),
    )


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


def _log_roughness(view: View, model: str, depth: int) -> dict[int, Estimate]:
    """The log roughness between 1 and 5 of all starts or runs as good as the paper's.

    It is half the logarithm of `squared_roughness`, which counts as at least its standard error.
    Networks with a heavy tail at one of these levels are left out.
    """
    found = {}
    for number, profile in as_good(view, model, grids.THREE, depth).items():
        inside = within(profile, grids.THREE)
        if all(map(results.steady, inside.values())):
            rough = squared_roughness(inside)
            value = max(rough.value, rough.standard_error)
            found[number] = Estimate(math.log(value) / 2, rough.standard_error / value / 2)
    return found


def _over_starts(found: Sequence[Estimate]) -> Estimate:
    """The mean over starts, with the error by Student's law and that of the sequences."""
    mean = Estimate.of([each.value for each in found])
    spread = student_threshold(len(found) - 1, level=STARTS_LEVEL) * mean.standard_error
    sampling = MARGIN * sum(each.standard_error for each in found) / len(found)
    return Estimate(mean.value, math.hypot(spread, sampling))


def _rough(view: View) -> Judgement:
    """At the largest depth with enough networks that are as good as the paper's (`NEEDED`)."""
    if waits := _missing(view, grids.THREE):
        return waits
    single: list[str] = []
    for depth in range(grids.DEEPEST, 1, -1):
        found = {model: _log_roughness(view, model, depth) for model in MODELS}
        if all(len(found[model]) >= NEEDED[model] for model in MODELS):
            break
        if all(found.values()):
            ranges = ", ".join(f"{model} {_range(each)}" for model, each in found.items())
            single.append(f"{depth} layers {ranges}")
    else:
        scale = "standard" if view.scale == "quick" else "paper"
        few = f"fewer than {NEEDED['FULL']} starts of FULL as good as the paper's"
        return results.open_until(few, scale)
    full, diag = (_over_starts(list(found[model].values())) for model in MODELS)
    gap, error = results.difference(full, diag)
    verdict: Verdict = UNDECIDED
    if abs(gap) > error:
        verdict = "holds" if gap > 0 else "fails"
    evidence = dict(results.trained_evidence(view, grids.THREE, layers=[depth]))
    if depth < grids.DEEPEST:
        evidence["differs"] = f"{depth} layers instead of 7; {evidence['differs']}"
    shown = ", ".join(f"{len(each)} of {model} {_range(each)}" for model, each in found.items())
    return Judgement(
        verdict,
        f"roughness with {depth} layers: {shown}; mean log ratio {gap:+.2f} ± {error:.2f}",
        "FULL has the larger roughness",
        "the roughness is the root of the mean square of the second differences of the log loss "
        "between 1 and 5, without the part that sampling adds; a log ratio above 0 by Student's "
        f"law of the starts, level {STARTS_LEVEL:g}, and the error of the sequences",
        "Networks within a quarter of the paper's loss and without a heavy tail between 1 and 5; "
        f"deeper ones with fewer than {NEEDED['FULL']} of FULL: {results.listed(single)}."
        + (f" {full_results.left_open(view)}" if verdict == UNDECIDED else ""),
        **evidence,
        resolution=Resolution(error, TWICE, "of the log ratio of roughness"),
    )


def _range(found: dict[int, Estimate]) -> str:
    values = [math.exp(each.value) for each in found.values()]
    low, high = min(values), max(values)
    return f"{low:.3f}" if len(values) == 1 else f"{low:.3f} to {high:.3f}"


def _not_better(view: View) -> Judgement:
    """From two layers on: with one layer all families have the same best loss."""
    if waits := _missing(view, grids.THREE):
        return waits
    full = full_results.trusted(view, grids.THREE)
    diag = results.by_depth(view, "DIAG", grids.THREE)
    depths = [d for d in full.keys() & diag.keys() if 2 <= d <= grids.DEEPEST]
    depths = sorted(d for d in depths if results.steady(diag[d]))
    better = [d for d in depths if clearly_below(full[d], diag[d])]
    every = range(2, grids.DEEPEST + 1)
    left_out = [f"{d} layers" for d in every if d not in depths]
    most = len(every) / 2
    verdict: Verdict = UNDECIDED
    if len(better) > most:
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
        f"below by more than {MARGIN:g} standard errors at more than half of the depths from two "
        "to seven refutes, at none confirms; networks with a heavy tail are left out, and count "
        "among these depths",
        f"Left out: {results.listed(left_out)}; the paper's profile is that of 7 layers. Its own "
        f"table has {PAPER['FULL', 7, grids.THREE]:g} for FULL and "
        f"{PAPER['DIAG', 7, grids.THREE]:g} for DIAG on {law_name(grids.THREE)} with 7 layers."
        + (f" {full_results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.THREE, layers=depths),
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
    *claims_untrained.CLAIMS,
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
