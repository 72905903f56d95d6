"""Claims about Figures 5, 6 and 7: networks read after every layer, and losses not adjusted.

Source: Vladymyrov et al. (arXiv 2402.14180), Appendix B, on U(0,5). Rows of a network of L layers
are read after K = 0, 1, ..., L layers, over the noise law and at every noise level.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_models import trained_in_full
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.stats import Estimate

SOURCE = "Vladymyrov et al., Appendix B"
DEPTHS = range(2, grids.DEEPEST + 1)
SECOND_MOMENT = 25 / 3  # of the noise level of U(0,5)
VISIBLE = 0.1  # of the loss, our threshold for what a picture shows


def reads(view: View, model: str, layers: int, sigma: float | None = None) -> dict[int, Estimate]:
    """The losses on U(0,5) by the layer that is read, over the law or at one level."""
    rows: list[Any] = results.rows_of(view, model, grids.U5)
    return {
        row.read: results.loss_of(row)
        for row in rows
        if row.layers == layers and row.sigma == sigma
    }


def read_profiles(view: View, model: str, layers: int) -> dict[int, Profile]:
    """The profile over sigma on U(0,5), by the layer that is read."""
    found: dict[int, Profile] = {}
    for row in results.rows_of(view, model, grids.U5):
        if row.layers == layers and row.sigma is not None and row.read:
            found.setdefault(row.read, {})[row.sigma] = results.loss_of(row)
    return found


def minimum(profile: Profile) -> float:
    """The noise level with the least loss."""
    return min(profile, key=lambda sigma: profile[sigma].value)


def _last_read(view: View) -> Judgement:
    found, above, margins, refuted = [], [], [], False
    for model in ("GD++", "DIAG", "FULL"):
        if not results.cells_of(model, grids.U5, view):
            continue
        for depth in DEPTHS:
            losses = reads(view, model, depth)
            if not losses:
                continue
            last = losses[depth]
            if not results.steady(last):
                continue  # a heavy tail
            before = min(losses[k].value for k in losses if k < depth)
            found.append(f"{model} L = {depth}: {last.value:.3g} (before {before:.3g})")
            nearest = min((losses[k] for k in losses if k < depth), key=lambda loss: loss.value)
            margins.append(results.margin(last, last))
            if clearly_below(nearest, last):
                above.append(f"{model} L = {depth}")
                refuted |= trained_in_full(view, model, grids.U5, depth)
    return Judgement(
        "fails" if refuted else UNDECIDED if above else "holds",
        results.listed(found, most=6),
        "the last layer read has the least loss, at every depth",
        f"{MARGIN:g} standard errors",
        f"Not so: {results.listed(above)}."
        + (f" {results.decides('standard')}" if above and view.scale == "quick" else ""),
        **results.trained_evidence(view, grids.U5),
        resolution=Resolution(max(margins), 0.25, "of the loss after the last layer"),
    )


def _compared(view: View, levels: list[float]) -> dict[str, Profile]:
    """ADARR, TUNEDRR and the deepest DIAG and FULL without a heavy tail at any of the levels."""
    found = {name: results.ridge_profile(view, name, grids.U5) for name in ("ADARR", "TUNEDRR")}
    for name in ("DIAG", "FULL"):
        for depth in range(grids.DEEPEST, 1, -1):
            profile = results.profile(view, name, grids.U5, depth)
            if all(sigma in profile and results.steady(profile[sigma]) for sigma in levels):
                found[f"{name} (L = {depth})"] = profile
                break
    return found


def _not_adjusted(view: View) -> Judgement:
    """Differences of methods in the height of the picture, without the adjustment and with it."""
    oracle = within(results.ridge_profile(view, "oracle (unadjusted)", grids.U5), grids.U5)
    levels = sorted(oracle)
    profiles = _compared(view, levels)
    if len(profiles) == 2:
        return results.open_until("no network without a heavy tail at some level", "standard")
    low, high = (
        {s: pick((p[s] for p in profiles.values()), key=lambda x: x.value) for s in levels}
        for pick in (min, max)
    )
    apart = {s: high[s].value - low[s].value for s in levels}
    heights = {s: oracle[s].value + high[s].value for s in levels}
    height = max(heights.values()) - min(oracle[s].value + low[s].value for s in levels)
    adjusted = max(loss.value for loss in high.values()) - min(x.value for x in low.values())
    plain, after = max(apart.values()) / height, max(apart.values()) / adjusted
    error = max(math.hypot(low[s].standard_error, high[s].standard_error) for s in levels)
    near = [s for s in levels if apart[s] > VISIBLE * (oracle[s].value + low[s].value)]
    good = plain <= VISIBLE < after
    return Judgement(
        results.after_training(view, "holds" if good else "fails"),
        f"{', '.join(profiles)} differ by at most {plain:.1%} of the height of the picture at the "
        f"levels of U(0,5); adjusted, by up to {after:.0%}",
        "hardly to be told apart without the adjustment",
        f"at every level from 0 to 5 at most {VISIBLE:.0%} of the range of the losses over the "
        "levels, and adjusted by more than that at some level; our thresholds",
        "Of the loss at the level itself they differ by more than that at "
        f"{results.listed([f'σ = {s:g}' for s in near])}, where all losses are small."
        + (f" {results.decides('standard')}" if not good and view.scale == "quick" else ""),
        **results.trained_evidence(view, grids.U5),
        resolution=Resolution(MARGIN * error / height, VISIBLE, "of the height of the picture"),
    )


def _noise_degrades(view: View) -> Judgement:
    oracle = results.ridge_profile(view, "oracle (unadjusted)", grids.U5)
    levels = sorted(oracle)
    rises = all(oracle[a].value < oracle[b].value for a, b in pairwise(levels))
    return Judgement(
        "holds" if rises else "fails",
        "the oracle's loss is "
        + ", ".join(f"{oracle[s].value:.2f} at σ = {s:g}" for s in (0.0, 1.0, 3.0, 5.0)),
        "rising with the noise level, even when that is known",
        "exact expectations over the eigenvalues of Σ",
        **results.EXACT,
    )


def _gd_reads(view: View) -> Judgement:
    rising, shown = [], []
    for depth in DEPTHS:
        profiles = read_profiles(view, "GD++", depth)
        places = [minimum(profiles[k]) for k in sorted(profiles)]
        shown.append(f"L = {depth}: {', '.join(f'{place:g}' for place in places)}")
        if any(b > a for a, b in pairwise(places)) or places[0] <= places[-1]:
            rising.append(f"L = {depth}")
    step = _level_step(view)
    return Judgement(
        results.after_training(view, "fails" if rising else "holds"),
        f"the noise level of the least loss, by the layer read: {'; '.join(shown)}",
        "falling from layer to layer, from high noise to lower noise",
        f"to the distance {step:g} of the noise levels",
        f"Not so: {results.listed(rising)}."
        + (f" {results.decides('standard')}" if rising and view.scale == "quick" else ""),
        **results.trained_evidence(view),
        resolution=Resolution(step, 2.0, "of the noise level"),
    )


def _level_step(view: View) -> float:
    levels = sorted(results.ridge_profile(view, "CONSTRR", grids.U5))
    return max(b - a for a, b in pairwise(levels))


def _gain(first: Profile, last: Profile, levels: list[float]) -> float:
    """The mean log ratio of two profiles over some levels."""
    return sum(math.log(first[s].value / last[s].value) for s in levels) / len(levels)


def _diag_reads(view: View) -> Judgement:
    odd, gains, margins = [], {}, []
    for depth in range(3, grids.DEEPEST + 1):
        profiles = {k: within(p, grids.U5) for k, p in read_profiles(view, "DIAG", depth).items()}
        wide, middle = read_profiles(view, "DIAG", depth), depth // 2
        early, late = minimum(wide[1]), minimum(wide[depth])
        low = [s for s in profiles[depth] if s <= 2.5]
        high = [s for s in profiles[depth] if s > 2.5]
        first, last = profiles[middle], profiles[depth]
        gains[depth] = _gain(first, last, low), _gain(first, last, high)
        margins += [results.margin(last[s], first[s]) for s in low]
        falls = early > math.sqrt(SECOND_MOMENT) and late < early
        if not falls or gains[depth][0] <= max(gains[depth][1], math.log(2)):
            odd.append(f"L = {depth}")
    verdict: Verdict = results.after_training(view, "fails" if odd else "holds")
    return Judgement(
        verdict,
        "from the middle layer to the last the loss falls by a factor of "
        + "; ".join(
            f"{math.exp(a):.1f} for σ ≤ 2.5 and {math.exp(b):.1f} above (L = {depth})"
            for depth, (a, b) in gains.items()
        ),
        "first like GD++, then a large gain, above all at low noise",
        "the first layer has its least loss above √E σ² and the last at a lower level; from the "
        "middle layer on the mean gain at σ ≤ 2.5 is more than a factor of 2, our threshold, and "
        "more than above",
        f"Not so: {results.listed(odd)}."
        + (f" {results.decides('standard')}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view),
        resolution=Resolution(max(margins), 0.5, "of the loss of the middle layer"),
    )


CLAIMS = (
    Claim(
        "figure-5-at-the-end",
        "Ours, beside Figure 5",
        "Read after K = 0, 1, ..., L layers, a network of L layers has its least loss at K = L.",
        _last_read,
        ("fig-5",),
        ours=True,
    ),
    Claim(
        "noise-degrades",
        "Vladymyrov et al., Section 6",
        "High noise makes predictions much worse, even when its level is known.",
        _noise_degrades,
        ("fig-6",),
    ),
    Claim(
        "figure-6",
        f"{SOURCE}, Figure 6",
        "Without the adjustment methods can hardly be compared over noise levels: they differ by "
        "little of the range that the loss has over the levels.",
        _not_adjusted,
        ("fig-6",),
    ),
    Claim(
        "figure-7-gd",
        f"{SOURCE}, Figure 7",
        "Early layers of GD++ fit high noise, and later ones lower noise.",
        _gd_reads,
        ("fig-7",),
    ),
    Claim(
        "figure-7-diag",
        f"{SOURCE}, Figure 7",
        "DIAG begins like GD++ and then improves greatly, above all at low noise.",
        _diag_reads,
        ("fig-7",),
    ),
)
