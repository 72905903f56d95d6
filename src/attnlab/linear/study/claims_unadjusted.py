"""Claims about losses that are not adjusted: Figure 6, and what noise does to them.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Appendix B, on U(0,5). The methods of
the figure are the three ridges and the three models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_profiles import Profile, within
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import MODELS, RIDGES

VISIBLE = 0.1  # of the height, our threshold for what a picture shows


def _compared(view: View, levels: list[float]) -> dict[str, Profile]:
    """The ridges and the deepest GD++, DIAG and FULL without a heavy tail at any of the levels."""
    found = {name: results.ridge_profile(view, name, grids.U5) for name in RIDGES}
    for name in MODELS:
        for depth in range(grids.DEEPEST, 1, -1):
            profile = results.profile(view, name, grids.U5, depth)
            if all(sigma in profile and results.steady(profile[sigma]) for sigma in levels):
                found[f"{name} (L = {depth})"] = profile
                break
    return found


@dataclass(frozen=True)
class _Picture:
    """How far apart methods are in a picture of their losses, as shares of its height."""

    plain: float  # not adjusted
    adjusted: float
    seen: float  # the share that would be noticed
    apart: list[float]  # levels where more than VISIBLE of the height is between them, not adjusted
    near: list[float]  # levels where more than VISIBLE of the loss there is between them


def _picture(profiles: list[Profile], oracle: Profile) -> _Picture:
    levels = sorted(oracle)
    low, high = (
        {s: pick((p[s] for p in profiles), key=lambda x: x.value) for s in levels}
        for pick in (min, max)
    )
    gaps = {s: high[s].value - low[s].value for s in levels}
    top = max(oracle[s].value + high[s].value for s in levels)
    height = top - min(oracle[s].value + low[s].value for s in levels)
    adjusted = max(loss.value for loss in high.values()) - min(x.value for x in low.values())
    error = max(math.hypot(low[s].standard_error, high[s].standard_error) for s in levels)
    return _Picture(
        max(gaps.values()) / height,
        max(gaps.values()) / adjusted,
        MARGIN * error / height,
        [s for s in levels if gaps[s] > VISIBLE * height],
        [s for s in levels if gaps[s] > VISIBLE * (oracle[s].value + low[s].value)],
    )


def _not_adjusted(view: View) -> Judgement:
    """Differences of methods in the height of the picture, without the adjustment and with it."""
    oracle = within(results.ridge_profile(view, "oracle (unadjusted)", grids.U5), grids.U5)
    profiles = _compared(view, sorted(oracle))
    absent = [name for name in MODELS if not any(key.startswith(name) for key in profiles)]
    found = _picture(list(profiles.values()), oracle)
    others = {name: p for name, p in profiles.items() if not name.startswith(("CONSTRR", "GD++"))}
    few = _picture(list(others.values()), oracle)
    verdict: Verdict = UNDECIDED
    if found.plain - found.seen > VISIBLE or found.adjusted <= VISIBLE:
        verdict = results.after_training(view, "fails")
    elif found.plain + found.seen <= VISIBLE and not absent:
        verdict = "holds"
    return Judgement(
        verdict,
        f"{', '.join(profiles)} differ by up to {found.plain:.1%} of the height of the picture at "
        f"the levels of U(0,5); adjusted, by up to {found.adjusted:.0%}",
        "hardly to be told apart without the adjustment, all six of them",
        f"at every level from 0 to 5 at most {VISIBLE:.0%} of the range of the losses over the "
        f"levels, up to {MARGIN:g} standard errors, and adjusted by more than that at some level; "
        "our thresholds",
        f"More than that: {results.listed([f'σ = {s:g}' for s in found.apart])}. Heavy tail at "
        f"every depth, or not trained: {results.listed(absent)}. Without CONSTRR and GD++ the "
        f"others differ by at most {few.plain:.1%} (adjusted {few.adjusted:.0%}), and of the loss "
        f"at the level itself by more than {VISIBLE:.0%} at "
        f"{results.listed([f'σ = {s:g}' for s in few.near])}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, grids.U5),
        resolution=Resolution(found.seen, VISIBLE, "of the height of the picture"),
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


CLAIMS = (
    Claim(
        "noise-degrades",
        "Vladymyrov et al., Section 6",
        "High noise makes predictions much worse, even when its level is known.",
        _noise_degrades,
        ("fig-6",),
    ),
    Claim(
        "figure-6",
        "Vladymyrov et al., Appendix B, Figure 6",
        "Without the adjustment it is hardly possible to compare methods over noise levels: the "
        "losses of all six differ by little of the range that they have over the levels.",
        _not_adjusted,
        ("fig-6",),
    ),
)
