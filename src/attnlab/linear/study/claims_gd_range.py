"""Claims about GD++ over the range of noise levels: where it is poor, and where it is the best.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Figure 2. GD++ behaves like ridge with
one constant (claim gd-profile): it has the oracle's loss where the noise level is that constant,
and a large loss far from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.linear.study import grids, results
from attnlab.linear.study.results import MARGIN, at_most, clearly_below
from attnlab.linear.study.table_1 import RIDGES, UNIFORM, law_name, trained_range
from attnlab.stats import Estimate

SOURCE = "Vladymyrov et al., Section 6, Figure 2"
APART = 0.5  # of the loss of the best other method: GD++ is not near it where it is further above
MOST = 0.5  # of the levels, and of the loss of GD++
Profile = dict[float, Estimate]


def _profiles(view: View, law: str) -> tuple[Profile, dict[str, Profile]]:
    """GD++ of the largest depth up to 7, and ADARR, TUNEDRR, DIAG and FULL beside it."""
    depth = max(d for d in results.by_depth(view, "GD++", law) if d <= grids.DEEPEST)
    own = results.profile(view, "GD++", law, depth)
    others = {name: results.ridge_profile(view, name, law) for name in ("ADARR", "TUNEDRR")}
    for model in ("DIAG", "FULL"):
        if results.cells_of(model, law, view):
            others[model] = results.profile(view, model, law, depth)
    return own, others


def _trusted(others: dict[str, Profile], level: float) -> list[Estimate]:
    """The losses at a level without heavy tails; that of a ridge may be a rounding error."""
    found = {name: profile[level] for name, profile in others.items() if level in profile}
    return [x for name, x in found.items() if name in RIDGES or results.steady(x)]


@dataclass(frozen=True)
class _Range:
    """What GD++ does at the trained levels of a law."""

    far: list[float]  # levels where it is more than APART above the best other method
    levels: list[float]
    share: float  # of its loss, at levels where it is above every other method
    tails: list[str]  # levels at which another method has a heavy tail
    seen: float  # the difference that would be noticed, as a share of the loss of GD++


def _ranges(view: View, law: str) -> _Range:
    own, others = _profiles(view, law)
    low, high = trained_range(law)
    levels = [s for s in sorted(own) if low <= s <= high]
    best = {s: min(_trusted(others, s), key=lambda x: x.value) for s in levels}
    far = [s for s in levels if not at_most(own[s], best[s], APART)]
    # A method with a heavy tail at a level is not one that GD++ is above there.
    poor = [
        s
        for s in levels
        if len(_trusted(others, s)) == len(others)
        and all(clearly_below(x, own[s]) for x in _trusted(others, s))
    ]
    tails = [
        f"{name} {law_name(law)} σ = {s:g}"
        for name, profile in others.items()
        for s in levels
        if name not in RIDGES and s in profile and not results.steady(profile[s])
    ]
    seen = max(
        MARGIN * results.difference(own[s], best[s])[1] / own[s].value for s in far or levels
    )
    share = sum(own[s].value for s in poor) / sum(own[s].value for s in levels)
    return _Range(far, levels, share, tails, seen)


def _range(view: View) -> Judgement:
    laws = results.laws_with(view, "GD++", UNIFORM[1:])
    found = {law: _ranges(view, law) for law in laws}
    verdict: Verdict = "holds"
    if any(len(x.far) <= MOST * len(x.levels) or x.share <= MOST for x in found.values()):
        verdict = results.after_training(view, "fails")
    words = [
        f"{law_name(law)} {len(x.far)} of {len(x.levels)} ({x.share:.0%})"
        for law, x in found.items()
    ]
    tails = [name for x in found.values() for name in x.tails]
    return Judgement(
        verdict,
        f"levels at which GD++ is far from the best other method: {', '.join(words)}; in brackets "
        "the share of its loss at levels where it is above every other method",
        "most levels of the range, and most of the loss, on every U(0, s_max)",
        f"far is more than {APART:.0%} above the best of ADARR, TUNEDRR, DIAG and FULL of the same "
        f"depth, and above is above each of them, by more than {MARGIN:g} standard errors; more "
        f"than {MOST:.0%} of the trained levels and of the sum of its losses over them, our lines",
        "Next to its constant it is the best method (claim gd-best-at-its-constant). Heavy tail, "
        f"counted as a level where GD++ is not above: {results.listed(tails)}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, *laws),
        resolution=Resolution(max(x.seen for x in found.values()), APART, "of the loss of GD++"),
    )


def _best(view: View, law: str) -> tuple[Verdict, Resolution, str]:
    """Whether GD++ is below every other method at the level nearest to the root of E sigma^2."""
    own, others = _profiles(view, law)
    constant = trained_range(law)[1] / math.sqrt(3)
    level = min(own, key=lambda s: abs(s - constant))
    rivals = _trusted(others, level)
    verdict: Verdict = "holds" if all(clearly_below(own[level], x) for x in rivals) else "fails"
    least = min(rivals, key=lambda x: x.value)
    seen = max(results.margin(own[level], x) for x in rivals)
    words = f"{law_name(law)} {own[level].value:.2g} at σ = {level:g} (others {least.value:.2g})"
    return verdict, Resolution(seen, APART, "of the loss of another method"), words


def _at_constant(view: View) -> Judgement:
    laws = results.laws_with(view, "GD++", UNIFORM[1:])
    parts = [_best(view, law) for law in laws]
    verdict, seen = all_of([part[:2] for part in parts])
    verdict = results.after_training(view, verdict)
    return Judgement(
        verdict,
        f"GD++ on {'; '.join(part[2] for part in parts)}",
        "below ADARR, TUNEDRR, DIAG and FULL, on every U(0, s_max)",
        f"at the level nearest to √E σ², by more than {MARGIN:g} standard errors",
        results.left_open(view) if verdict == UNDECIDED else "",
        **results.trained_evidence(view, *laws),
        resolution=seen,
    )


CLAIMS = (
    Claim(
        "gd-range",
        SOURCE,
        "The poor loss of GD++ comes from its inability to estimate well over the whole range of "
        "noise levels.",
        _range,
        ("fig-2-deepest",),
    ),
    Claim(
        "gd-best-at-its-constant",
        "Ours, beside Figure 2",
        "GD++ is not poor at every noise level: near √E σ² it is better than ADARR, TUNEDRR, DIAG "
        "and FULL.",
        _at_constant,
        ("fig-2-deepest",),
        ours=True,
    ),
)
