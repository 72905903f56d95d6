"""Claims of ours about Figure 1 with lower learning rates for more than one layer.

The paper has the rate .01 for all depths. Here every network of three and five layers and of the
standard width has the best of .01, .003 and .001, which is the one with the fewest diverged seeds
and then the least mean of the held-out error.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.rank.study import grids
from attnlab.rank.study.results import (
    FACTOR,
    LINE,
    PAPER_SETTING,
    HeldOut,
    beyond_scale,
    contrast,
    held_out,
    larger,
    longer,
)
from attnlab.stats import normal_threshold

DEEP = (3, 5)
NO_WORSE = 1.25  # of the other error; trouble is a factor of 2
NEEDS = "The claim needs three and five layers at three rates, d = 64 and 100,000 steps"


def best_rates(view: View, layers: int) -> dict[int, tuple[float, HeldOut]]:
    """The best rate and its held-out errors, by rank."""
    found: dict[int, tuple[float, HeldOut]] = {}
    for cell in grids.other_rates(view.scale, layers, view.seed):
        rank = cell.config.rank
        own = grids.encoder_cell(view.scale, view.seed, layers=layers, rank=rank)
        tried = [found[rank]] if rank in found else [(own.config.rate, held_out(view, own))]
        tried.append((cell.config.rate, held_out(view, cell)))
        found[rank] = min(tried, key=lambda one: (one[1].diverged, one[1].mean))
    return found


def _shown(found: dict[int, tuple[float, HeldOut]]) -> str:
    return ", ".join(
        f"{error.mean:.3f} (r = {rank}, rate {rate:g})" for rank, (rate, error) in found.items()
    )


def _ranks_and_depth(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper",), NEEDS):
        return found
    d = grids.PANELS[view.scale].base.d
    parts: list[tuple[Verdict, Resolution]] = []
    shown: list[str] = []
    for layers in DEEP:
        best = best_rates(view, layers)
        shown.append(f"L = {layers}: {_shown(best)}")
        low = {rank: error for rank, (_, error) in best.items() if rank < d}
        parts.append(contrast(list(low.values()), [best[d][1]]).judged)
        for rank, deep in low.items():
            shallow = held_out(view, grids.encoder_cell(view.scale, view.seed, rank=rank))
            parts.append(larger(shallow, deep))
            shown.append(f"one layer {shallow.mean:.3f} (r = {rank})")
    verdict, seen = all_of(parts)
    return Judgement(
        verdict,
        "; ".join(dict.fromkeys(shown)),
        "low rank well above full rank at both depths, and below the same rank with one layer",
        f"{LINE}; against one layer every seed by {normal_threshold(1):.2f} standard errors",
        longer(view),
        resolution=seen,
        **PAPER_SETTING,
    )


def _five_layers(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper",), NEEDS):
        return found
    three, five = (best_rates(view, layers) for layers in DEEP)
    pairs = [(five[rank][1], three[rank][1]) for rank in three]
    verdict: Verdict = UNDECIDED
    if all(a.diverged == 0 and a.mean <= NO_WORSE * b.mean for a, b in pairs):
        verdict = "holds"
    elif any(a.best > FACTOR * b.worst for a, b in pairs):
        verdict = "fails"
    return Judgement(
        verdict,
        f"five layers {_shown(five)}; three layers {_shown(three)}",
        "five layers no worse than three at every rank",
        f"holds where no mean is more than {NO_WORSE:g} times that of three layers, fails where "
        f"the best seed is above {FACTOR:g} times their worst (our choice)",
        f"The paper's rate is that of figure-1-five-layers. {longer(view)}",
        resolution=Resolution(
            max(a.spread + b.spread for a, b in pairs),
            math.log(FACTOR),
            "of the logarithm of the ratio of errors",
        ),
        **PAPER_SETTING,
    )


CLAIMS = (
    Claim(
        "figure-1-best-rate",
        "ours, about Figure 1, L > 1",
        "With the best of the rates .01, .003 and .001 low rank is still considerably worse than "
        "full rank with three and five layers of width d², and better than with one layer.",
        _ranks_and_depth,
        ("rates",),
        ours=True,
    ),
    Claim(
        "five-layers-best-rate",
        "ours, about Figure 1, L = 5",
        "The trouble of five layers of width d² is one of the rate: with the best of .01, .003 and "
        ".001 they are no worse than three.",
        _five_layers,
        ("rates",),
        ours=True,
    ),
)
