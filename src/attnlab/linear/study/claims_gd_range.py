"""Claims about GD++ over the range of noise levels: where it is poor, and where it is the best.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Figure 2. GD++ behaves like ridge with
one constant (claim gd-profile): it has the oracle's loss where the noise level is that constant,
and a large loss far from it.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.linear.study import grids, results
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import UNIFORM, law_name, trained_range
from attnlab.stats import Estimate

SOURCE = "Vladymyrov et al., Section 6, Figure 2"
APART = 0.5  # of the loss: the profiles differ by more at most levels
MOST = 0.5  # of the loss of GD++: what "comes from" means here
Profile = dict[float, Estimate]


def _profiles(view: View, law: str) -> tuple[Profile, list[Profile]]:
    """GD++ of the largest depth up to 7, and ADARR, TUNEDRR, DIAG and FULL beside it."""
    depth = max(d for d in results.by_depth(view, "GD++", law) if d <= grids.DEEPEST)
    own = results.profile(view, "GD++", law, depth)
    others = [results.ridge_profile(view, name, law) for name in ("ADARR", "TUNEDRR")]
    for model in ("DIAG", "FULL"):
        if results.cells_of(model, law, view):
            profile = results.profile(view, model, law, depth)
            others.append({s: loss for s, loss in profile.items() if results.steady(loss)})
    return own, others


def _poor(view: View, law: str) -> tuple[Verdict, Resolution, str]:
    """The share of the loss of GD++ at the levels where it is above every other method."""
    own, others = _profiles(view, law)
    low, high = trained_range(law)
    levels = [s for s in sorted(own) if low <= s <= high]
    poor = [s for s in levels if all(clearly_below(p[s], own[s]) for p in others if s in p)]
    share = sum(own[s].value for s in poor) / sum(own[s].value for s in levels)
    seen = max(results.margin(p[s], own[s]) for s in poor or levels for p in others if s in p)
    verdict: Verdict = "holds" if share > MOST else "fails"
    words = f"{law_name(law)} {len(poor)} of {len(levels)} levels with {share:.0%} of the loss"
    return verdict, Resolution(seen, APART, "of the loss of GD++"), words


def _range(view: View) -> Judgement:
    laws = results.laws_with(view, "GD++", UNIFORM[1:])
    parts = [_poor(view, law) for law in laws]
    verdict, seen = all_of([part[:2] for part in parts])
    verdict = results.after_training(view, verdict)
    return Judgement(
        verdict,
        f"GD++ is above every other method at {'; '.join(part[2] for part in parts)}",
        "most of the loss of GD++, on every U(0, s_max)",
        f"above ADARR, TUNEDRR, DIAG and FULL of the same depth by more than {MARGIN:g} standard "
        f"errors; more than {MOST:.0%} of the sum of its losses over the trained levels, our line",
        "It is not poor at every level: near its constant it is the best method (claim "
        "gd-best-at-its-constant)."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, *laws),
        resolution=seen,
    )


def _best(view: View, law: str) -> tuple[Verdict, Resolution, str]:
    """Whether GD++ is below every other method at the level nearest to the root of E sigma^2."""
    own, others = _profiles(view, law)
    constant = trained_range(law)[1] / math.sqrt(3)
    level = min(own, key=lambda s: abs(s - constant))
    rivals = [profile[level] for profile in others if level in profile]
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
        "The loss of GD++ comes from noise levels that it does not estimate well: it cannot do so "
        "over the whole range.",
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
