"""Claims about Figures 5 and 7: networks read after every layer; Figure 6 is `claims_unadjusted`.

Source: Vladymyrov et al. (arXiv 2402.14180), Appendix B, on U(0,5). Rows of a network of L layers
are read after K = 0, 1, ..., L layers, over the noise law and at every noise level.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import claims_unadjusted, grids, results
from attnlab.linear.study.claims_models import trained_in_full
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.stats import Estimate

SOURCE = "Vladymyrov et al., Appendix B"
DEPTHS = range(2, grids.DEEPEST + 1)
SECOND_MOMENT = 25 / 3  # of the noise level of U(0,5)


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
    *claims_unadjusted.CLAIMS,
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
