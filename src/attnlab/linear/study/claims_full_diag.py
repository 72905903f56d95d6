"""Claims that FULL and DIAG are comparable on uniform noise (Figures 1 and 2).

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. FULL was trained by Adam from random
weights. A network with a heavy tail is left out of the comparison of depths, and a noise level with
one out of the comparison of profiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import (
    DEPTHS,
    PAPER,
    UNIFORM,
    law_name,
    rounding,
    trained_range,
)
from attnlab.stats import Estimate

SOURCE = "Vladymyrov et al., Section 6"
FEW = 0.1  # of all cells may be left out of a statement about all of them


@cache
def comparable() -> float:
    """The largest ratio of two losses that the paper calls comparable.

    The largest one in its own table of FULL and DIAG on uniform noise that its printed digits
    prove: half a digit is taken from the larger loss and added to the smaller one.
    """
    pairs = [
        sorted(PAPER[model, depth, law] for model in ("FULL", "DIAG"))
        for law in UNIFORM[1:]
        for depth in DEPTHS
    ]
    return max((high - rounding(high)) / (low + rounding(low)) for low, high in pairs)


@dataclass(frozen=True)
class Pair:
    """Losses of FULL and DIAG that are compared, and whether this FULL can refute.

    It can with the paper's steps and a loss near the paper's: one that ends far above shows that
    our training missed what the paper's found.
    """

    full: Estimate
    diag: Estimate
    telling: bool
    printed: float = 1.0  # the largest ratio that the paper's digits of these losses allow

    @property
    def ratio(self) -> float:
        """FULL over DIAG."""
        return self.full.value / self.diag.value

    @property
    def error(self) -> float:
        """The error of the log ratio, MARGIN standard errors."""
        return MARGIN * results.log_ratio(self.full, self.diag).standard_error

    @property
    def beyond(self) -> float:
        """How far the log ratio is beyond the line, in either direction."""
        return abs(math.log(self.ratio)) - math.log(comparable())

    @property
    def hidden(self) -> bool:
        """Whether it is beyond the line, and not known to be beyond what the paper's digits allow.

        The paper calls its own losses comparable, so that such a pair says nothing about it.
        """
        past = abs(math.log(self.ratio)) - math.log(max(comparable(), self.printed))
        return self.printed > comparable() and self.beyond > -self.error and past <= self.error

    @property
    def refutes(self) -> bool:
        """Whether the two are not comparable, and further apart than the paper's own may be."""
        return self.telling and self.beyond > self.error and not self.hidden


def printed_ratio(law: str, depth: int) -> float:
    """The largest ratio of FULL and DIAG that the digits of the paper's table allow.

    Half a digit is added to the larger loss and taken from the smaller one. The paper calls its own
    losses comparable, so that a ratio up to this one does not refute it.
    """
    low, high = sorted(PAPER[model, depth, law] for model in ("FULL", "DIAG"))
    return (high + rounding(high)) / (low - rounding(low))


def _telling(row: FullLossRow, law: str) -> bool:
    return full_results.enough([row]) and full_results.as_good(row, law)


def _full_diag_depths(view: View) -> Judgement:
    pairs, left_out, used = {}, [], []
    for law in results.laws_with(view, "DIAG", UNIFORM[1:]):
        full, diag = full_results.trusted(view, law), results.by_depth(view, "DIAG", law)
        rows = full_results.best_rows(view, law)
        used += rows.values()
        for depth in sorted(d for d in diag if d <= grids.DEEPEST):
            name = f"{law_name(law)} L = {depth}"
            if depth in full and math.isfinite(diag[depth].value):
                telling = _telling(rows[depth], law)
                printed = printed_ratio(law, depth)
                pairs[name] = Pair(full[depth], diag[depth], telling, printed)
            else:
                left_out.append(name)
    return _full_diag(view, pairs, left_out, used)


def _full_diag_levels(view: View) -> Judgement:
    """At the levels from 0 to s_max + 1, as far as neither network has a heavy tail there."""
    pairs, left_out, used = {}, [], []
    for law in results.laws_with(view, "DIAG", UNIFORM[1:]):
        depth = min(grids.DEEPEST, max(results.by_depth(view, "DIAG", law)))
        both = [results.profile(view, model, law, depth) for model in ("FULL", "DIAG")]
        last = trained_range(law)[1] + 1
        levels = [sigma for sigma in both[1] if sigma in both[0] and sigma <= last]
        if levels:
            used.append(full_results.best_rows(view, law)[depth])
            telling = _telling(used[-1], law)
            for sigma in levels:
                name = f"{law_name(law)} σ = {sigma:g}"
                pairs[name] = Pair(both[0][sigma], both[1][sigma], telling)
        else:
            left_out.append(f"{law_name(law)} L = {depth}")
    finite = {
        name: pair
        for name, pair in pairs.items()
        if all(loss.value > 0 and results.steady(loss) for loss in (pair.full, pair.diag))
    }
    left_out += [name for name in pairs if name not in finite]
    return _full_diag(view, finite, left_out, used)


def _full_diag(
    view: View, pairs: dict[str, Pair], left_out: Sequence[str], rows: Sequence[FullLossRow]
) -> Judgement:
    """Whether all pairs are comparable; `rows` are the FULL networks among them."""
    every, pairs = pairs, {name: pair for name, pair in pairs.items() if not pair.hidden}
    if not pairs:
        return full_results.no_full_network()
    hidden = [f"{name} {pair.ratio:.2f}" for name, pair in every.items() if pair.hidden]
    left_out = [*left_out, *(name for name in every if name not in pairs)]
    apart = {name: pair for name, pair in pairs.items() if pair.beyond > pair.error}
    near = all(pair.beyond < -pair.error for pair in pairs.values())
    whole = view.scale != "quick" and len(left_out) <= FEW * (len(pairs) + len(left_out))
    refuting = [pair for pair in apart.values() if pair.refutes]
    verdict: Verdict = UNDECIDED
    if refuting and view.scale != "quick":
        verdict = "fails"
    elif near and whole:
        verdict = "holds"
    shown = [f"{name} {p.full.value:.3g}, {p.diag.value:.3g}" for name, p in apart.items()]
    note = (
        f"Further apart: {results.listed(shown)}. Left out (heavy tail, diverged, not trained, or "
        f"too few digits in the paper): {results.listed(left_out)}"
        + (f"; the paper's digits allow {results.listed(hidden)}." if hidden else ".")
    )
    ratios = [pair.ratio for pair in pairs.values()]
    telling = refuting if verdict == "fails" else pairs.values()
    return Judgement(
        verdict,
        f"FULL / DIAG from {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} comparisons",
        "comparable",
        f"neither has more than {comparable():.2g} times the loss of the other, the largest ratio "
        f"that the digits of the paper's own table prove, by {MARGIN:g} standard errors; a larger "
        "one that these digits allow is left out, and at most a tenth may be",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(
            max(math.expm1(pair.error) for pair in telling),
            comparable() - 1,
            "of the smaller loss",
        ),
    )


CLAIMS = (
    Claim(
        "full-diag-uniform",
        SOURCE,
        "On uniform noise FULL and DIAG are comparable at every depth and every s_max.",
        _full_diag_depths,
        ("fig-1", "full-table"),
    ),
    Claim(
        "full-diag-sigma",
        f"{SOURCE}, Figure 2",
        "On uniform noise seven layers of FULL and of DIAG are comparable at every noise level "
        "from 0 to s_max + 1.",
        _full_diag_levels,
        ("fig-2-deepest",),
    ),
)
