"""Claims about profiles over the noise level, on uniform noise (Figure 2).

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. All levels of a profile, and all models,
have the same X, w and xi, so that the errors of two losses are alike and two standard errors are a
wide margin.
"""

from __future__ import annotations

import math
from itertools import pairwise

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import claims_gd_range, grids, results
from attnlab.linear.study.claims_models import SOURCE, trained_in_full
from attnlab.linear.study.results import MARGIN, at_most, clearly_below
from attnlab.linear.study.table_1 import LAWS, UNIFORM, law_name, trained_range
from attnlab.stats import Estimate

Profile = dict[float, Estimate]
ALIKE = 0.05  # our threshold for "mirrors"
NOTHING = 1e-20  # a loss that is rounding
FINE = 8  # a range with more levels than this shows a maximum in its middle


def shown_profile(profile: Profile, levels: list[float] | None = None) -> str:
    """The losses of a profile, or of some of its levels, as text."""
    chosen = profile if levels is None else {s: profile[s] for s in levels}
    return ", ".join(f"{loss.value:.3g} at {sigma:g}" for sigma, loss in chosen.items())


def within(profile: Profile, law: str) -> Profile:
    """The levels of a profile that the law has."""
    low, high = trained_range(law)
    return {sigma: loss for sigma, loss in profile.items() if low <= sigma <= high}


def _gd_profile(view: View) -> Judgement:
    off, margins, count = [], [], 0
    for law in results.laws_with(view, "GD++", LAWS[1:]):
        depths = [depth for depth in results.by_depth(view, "GD++", law) if depth <= grids.DEEPEST]
        ours = results.profile(view, "GD++", law, max(depths))
        constant = results.ridge_profile(view, "CONSTRR", law)
        top = trained_range(law)[1] + 1
        for sigma in sorted(s for s in ours if s <= top):
            count += 1
            loss, ridge = ours[sigma], constant[sigma]
            margins.append(results.margin(loss, ridge) + ALIKE)
            if not (at_most(loss, ridge, ALIKE) and at_most(ridge, loss, ALIKE)):
                off.append(f"{law_name(law)} σ = {sigma:g}: {loss.value:.3g} ({ridge.value:.3g})")
    verdict = results.after_training(view, "fails" if off else "holds")
    return Judgement(
        verdict,
        f"GD++ has the loss of CONSTRR at {count - len(off)} of {count} noise levels",
        "CONSTRR at every level from 0 to s_max + 1",
        f"{MARGIN:g} standard errors plus {ALIKE:.0%}, our threshold",
        f"Levels that differ: {results.listed(off)}."
        + (f" {results.decides('standard')}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view),
        resolution=Resolution(max(margins), 0.25, "of the loss of CONSTRR"),
    )


def _adarr(view: View) -> Judgement:
    """Every profile from 0 to s_max + 1: exact at 0, and rising from level to level."""
    inexact, falling, margins = [], [], []
    largest: Profile = {}
    for law in UNIFORM[1:]:
        top = trained_range(law)[1] + 1
        own = {s: x for s, x in results.ridge_profile(view, "ADARR", law).items() if s <= top}
        levels = sorted(own)
        last = own[levels[-1]]
        largest |= {levels[-1]: last}
        if own[0.0].value > NOTHING:
            inexact.append(law_name(law))
        falling += [
            f"{law_name(law)} σ = {b:g}"
            for a, b in pairwise(levels)
            if clearly_below(own[b], own[a])
        ]
        if not clearly_below(own[levels[len(levels) // 2]], last):
            falling.append(f"{law_name(law)} in the second half")
        margins += [results.margin(own[s], last) for s in levels]
    return Judgement(
        "fails" if inexact or falling else "holds",
        f"below {NOTHING:g} without noise on {len(UNIFORM) - 1 - len(inexact)} laws, and at "
        f"s_max + 1: {shown_profile(largest)}",
        "0 without noise, and rising with the noise, on every U(0, s_max) from 0 to s_max + 1",
        f"{NOTHING:g} (rounding) at σ = 0; no decrease from level to level by more than {MARGIN:g} "
        "standard errors, and an increase over the second half",
        f"Not exact: {results.listed(inexact)}; falling: {results.listed(falling)}. ADARR does not "
        "depend on s_max.",
        **results.AS_IN_PAPER,
        resolution=Resolution(max(margins), 0.5, "of the largest loss"),
    )


def inner_maximum(profile: Profile) -> float | None:
    """The level that exceeds one below and one above it clearly, by most; None if none does."""
    levels = sorted(profile)

    def height(sigma: float) -> float:
        """The height of a level above the larger of the minima on either side."""
        lower = min(profile[s].value for s in levels if s < sigma)
        upper = min(profile[s].value for s in levels if s > sigma)
        return profile[sigma].value - max(lower, upper)

    worst = max(levels[1:-1], key=height)
    before = any(clearly_below(profile[s], profile[worst]) for s in levels if s < worst)
    after = any(clearly_below(profile[s], profile[worst]) for s in levels if s > worst)
    return worst if before and after else None


def _tuned(view: View) -> Judgement:
    """TUNEDRR has a maximum inside the range of every U(0, s_max) with levels enough to show it."""
    found, without, coarse, ends, margins = [], [], [], [], []
    for law in UNIFORM[1:]:
        own = within(results.ridge_profile(view, "TUNEDRR", law), law)
        levels, name = sorted(own), law_name(law)
        largest = max(levels, key=lambda s: own[s].value)
        if largest == levels[-1]:
            ends.append(name)
        if len(levels) <= FINE:
            coarse.append(name)
            continue
        worst = inner_maximum(own)
        if worst is None:
            without.append(name)
            worst = levels[len(levels) // 2]
        else:
            found.append(f"{name} σ = {worst:g}: {own[worst].value:.3g}")
        margins += [results.margin(own[s], own[worst]) for s in levels[1:]]
    verdict: Verdict = "fails" if without else "holds" if found else UNDECIDED
    return Judgement(
        verdict,
        f"a local maximum at {results.listed(found)}",
        "a local maximum inside the range, on every U(0, s_max)",
        f"larger by more than {MARGIN:g} standard errors than at a level below and at one above; "
        f"judged where the range has more than {FINE} levels",
        f"Without one: {results.listed(without)}; too few levels to show one: "
        f"{results.listed(coarse)}. The largest loss within the range is not in its middle but at "
        f"σ = s_max on {results.listed(ends)}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.AS_IN_PAPER,
        resolution=Resolution(max(margins, default=math.inf), 0.5, "of the loss at the maximum"),
    )


def valley(profile: Profile) -> float | None:
    """The level of the only minimum; None if the profile does not fall to it and then rise."""
    levels = sorted(profile)
    best = min(levels, key=lambda sigma: profile[sigma].value)
    down = [s for s in levels if s <= best]
    up = [s for s in levels if s >= best]
    falls = all(at_most(profile[b], profile[a]) for a, b in pairwise(down))
    rises = all(at_most(profile[a], profile[b]) for a, b in pairwise(up))
    deep = all(profile[end].value > 3 * profile[best].value for end in (levels[0], levels[-1]))
    return best if falls and rises and deep and best not in (levels[0], levels[-1]) else None


def _two_layers(view: View) -> Judgement:
    found = {
        model: within(results.profile(view, model, grids.U5, 2), grids.U5)
        for model in ("GD++", "DIAG", "FULL")
        if results.cells_of(model, grids.U5, view)
    }
    found = {model: profile for model, profile in found.items() if profile}
    centres = {model: valley(profile) for model, profile in found.items()}
    other = [model for model, centre in centres.items() if centre is None]
    verdict: Verdict = UNDECIDED if other else "holds"
    if any(trained_in_full(view, model, grids.U5, 2) for model in other):
        verdict = "fails"
    root = math.sqrt(25 / 3)
    seen = max(results.margin(p[s], p[s]) for p in found.values() for s in (0.0, 5.0))
    return Judgement(
        verdict,
        "; ".join(
            f"{model} has its minimum at σ = {min(p, key=lambda s: p[s].value):g} "
            f"({shown_profile(p, [0.0, 5.0])})"
            for model, p in found.items()
        ),
        f"one minimum, near √E σ² = {root:.2f} for CONSTRR",
        f"falling before it and rising after it within {MARGIN:g} standard errors; more than 3 "
        "times the minimum at both ends, our threshold",
        "" if "FULL" in found else "FULL is not part of this scale.",
        **results.trained_evidence(view, grids.U5),
        resolution=Resolution(seen, 0.5, "of the losses at both ends"),
    )


def _three_layers(view: View) -> Judgement:
    worse, unclear, margins, count = [], [], [], 0
    refuting: list[tuple[float, float]] = []  # what would be noticed, and how much worse
    for model in ("DIAG", "FULL"):
        if not results.cells_of(model, grids.U5, view):
            continue
        two = within(results.profile(view, model, grids.U5, 2), grids.U5)
        for depth in range(3, grids.DEEPEST + 1):
            deeper = within(results.profile(view, model, grids.U5, depth), grids.U5)
            for sigma, loss in deeper.items():
                count += 1
                name = f"{model} L = {depth} σ = {sigma:g}"
                margins.append(results.margin(loss, two[sigma]))
                if clearly_below(two[sigma], loss):
                    worse.append(name)
                    if trained_in_full(view, model, grids.U5, depth):
                        refuting.append((margins[-1], loss.value / two[sigma].value - 1))
                elif not clearly_below(loss, two[sigma]):
                    unclear.append(name)
    verdict: Verdict = "fails" if refuting else UNDECIDED if worse or unclear else "holds"
    clearest = max(refuting, key=lambda pair: pair[1] - pair[0], default=(max(margins), 0.5))
    return Judgement(
        verdict,
        f"better than two layers at {count - len(worse) - len(unclear)} of {count} pairs of a "
        f"depth and a noise level, worse at {len(worse)}",
        "better at every level, at every depth from three on",
        f"better or worse by more than {MARGIN:g} standard errors",
        f"Worse: {results.listed(worse)}; neither: {results.listed(unclear)}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.U5),
        resolution=Resolution(*clearest, "of the loss of two layers"),
    )


CLAIMS = (
    Claim(
        "gd-profile",
        f"{SOURCE}, Figure 2",
        "At every noise level from 0 to s_max + 1, GD++ has the loss of ridge with one constant.",
        _gd_profile,
        ("fig-2-deepest",),
    ),
    Claim(
        "adarr-profile",
        f"{SOURCE}, Figure 2",
        "ADARR is exact without noise, and has more difficulty as the noise grows.",
        _adarr,
        ("fig-2-deepest",),
    ),
    Claim(
        "tuned-profile",
        f"{SOURCE}, Figure 2",
        "TUNEDRR has difficulties in the middle of the range of noise levels.",
        _tuned,
        ("fig-2-deepest",),
    ),
    Claim(
        "two-layers-one-variance",
        f"{SOURCE}, Figure 2",
        "Two layers fit a single noise variance, as GD++ does.",
        _two_layers,
        ("fig-2-depths",),
    ),
    Claim(
        "three-layers-improve",
        f"{SOURCE}, Figure 2",
        "On U(0,5) three layers or more are better than two at every noise level.",
        _three_layers,
        ("fig-2-depths",),
    ),
    *claims_gd_range.CLAIMS,
)
