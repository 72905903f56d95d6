"""Claims about two and three noise levels (Figure 3): FULL against DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The trained levels are {1, 3} and
{1, 3, 5}; a profile has the same X, w and xi at every level.
"""

from __future__ import annotations

import numpy as np

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_models import SOURCE, shown
from attnlab.linear.study.claims_profiles import Profile, shown_profile, within
from attnlab.linear.study.results import MARGIN, UNDECIDED, clearly_below
from attnlab.linear.study.table_1 import PAPER, law_name
from attnlab.stats import Estimate

MODELS = ("FULL", "DIAG")


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


def _extrapolation(view: View) -> Judgement:
    if waits := _missing(view, grids.TWO) or _unready(view, grids.TWO):
        return waits
    depth, *_ = _deepest(view, grids.TWO)
    full, diag = (results.profile(view, model, grids.TWO, depth) for model in MODELS)
    untrained = [s for s in sorted(full.keys() & diag.keys()) if s not in (1.0, 3.0)]
    beyond = [s for s in untrained if s > 3]
    wins = [s for s in beyond if clearly_below(diag[s], full[s])]
    losses = [s for s in beyond if clearly_below(full[s], diag[s])]
    verdict: Verdict = "holds" if len(wins) == len(beyond) else "fails" if losses else UNDECIDED
    verdict = results.after_training(view, verdict)
    between = [s for s in untrained if s < 3]
    inside = sum(clearly_below(diag[s], full[s]) for s in between)
    ends = [beyond[0], beyond[len(beyond) // 2], beyond[-1]]
    telling = losses if verdict == "fails" else beyond
    ratios = [results.margin(full[s], diag[s]) for s in telling]
    return Judgement(
        verdict,
        f"DIAG is better at {len(wins)} of {len(beyond)} levels above 3 and worse at "
        f"{len(losses)}; FULL {shown_profile(full, ends)}; DIAG {shown_profile(diag, ends)}",
        "DIAG below FULL at every level beyond the trained ones",
        f"{MARGIN:g} standard errors at each level",
        f"Of the {len(between)} levels below 3 that were not trained, DIAG is better at {inside}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.TWO),
        resolution=Resolution(max(ratios), 0.5, "of the loss of DIAG"),
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
        "two-levels-diag-extrapolates",
        f"{SOURCE}, Figure 3",
        "On {1,3} DIAG is better than FULL at every noise level beyond the trained ones.",
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
