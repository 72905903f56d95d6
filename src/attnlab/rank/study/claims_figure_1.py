"""Claims of Figure 1: trained encoders of one to five layers, low rank against full rank.

All errors are held-out ones. A member that diverged is worse than any other and never the best.
"""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, View
from attnlab.rank.study import grids, published
from attnlab.rank.study.results import (
    FACTOR,
    LINE,
    beyond_scale,
    held_out,
    listed,
    sides,
    weights,
)
from attnlab.stats import normal_threshold

PAPER = "Amsel, Yehudai, Bruna"


def _needed(view: View) -> Judgement:
    low, full = sides(view, 1)
    best = min(held_out(view, cell).best for cell in low)
    worst = max(held_out(view, cell).worst for cell in full)
    shown = ", ".join(
        f"{held_out(view, cell).mean:.3f} (r = {cell.config.rank}, "
        f"H = {view.rows(cell)[0].head_count})"
        for cell in [*low, *full]
    )
    return Judgement(
        "holds" if FACTOR * worst < best else "fails",
        f"L = 1, mean over seeds: {shown}",
        "low rank well above full rank at every width; published (d = 64) "
        f"{published.FIGURE_1[1, 'd²'][2]} at r = 32 and {published.FIGURE_1[1, 'd²'][3]} at 64",
        LINE,
    )


def _half_rank(view: View) -> Judgement:
    d = grids.PANELS[view.scale].base.d
    wide = grids.encoder_cell(view.scale, view.seed, rank=d // 2, width_multiplier=d)
    full = grids.encoder_cell(view.scale, view.seed, rank=d)
    found, one = held_out(view, wide), held_out(view, full)
    return Judgement(
        "holds" if FACTOR * one.worst < found.best else "fails",
        f"{2 * d} heads of rank {d // 2}: {found.mean:.3f}; one head of rank {d}: {one.mean:.3f}",
        f"2d heads of rank d/2 fail where one head of rank d does not; published "
        f"{published.FIGURE_1[1, 'd³'][2]} and {published.FIGURE_1[1, 'd²'][3]}",
        LINE,
    )


def _parameters(view: View) -> Judgement:
    low, full = sides(view, 1)
    best = min(low, key=lambda cell: held_out(view, cell).best)
    worst = max(full, key=lambda cell: held_out(view, cell).worst)
    ratio = weights(view, best) / min(weights(view, cell) for cell in full)
    left, right = held_out(view, best).best, held_out(view, worst).worst
    return Judgement(
        "holds" if left > right else "fails",
        f"best low-rank seed {left:.3f} (r = {best.config.rank}), worst of full rank {right:.3f}, "
        f"{ratio:.1f} times the weights",
        "the best low-rank model of one layer is no better than the worst of full rank; the paper "
        "has up to 80 times the parameters",
        "the order of the held-out errors over all seeds and widths",
    )


def _depth(view: View) -> Judgement:
    if found := beyond_scale(view, ("standard", "paper"), "The claim needs three layers"):
        return found
    rank = 8
    shallow = held_out(view, grids.encoder_cell(view.scale, view.seed, rank=rank))
    deep = held_out(view, grids.encoder_cell(view.scale, view.seed, rank=rank, layers=3))
    error = math.hypot(*shallow.standard_errors[:1], *deep.standard_errors[:1])
    z = normal_threshold(1)
    verdict = "undecided at this scale"
    if deep.worst + z * error < shallow.best:
        verdict = "holds"
    elif deep.best > shallow.worst + z * error:
        verdict = "fails"
    index = published.RANKS_1.index(rank)
    return Judgement(
        verdict,
        f"rank {rank}: {shallow.mean:.3f} with one layer, {deep.mean:.3f} with three",
        f"a smaller error with three; published {published.FIGURE_1[1, 'd²'][index]} and "
        f"{published.FIGURE_1[3, 'd²'][index]} at d = 64, r = {published.RANKS_1[index]}",
        f"every seed of one side above every seed of the other by {z:.2f} standard errors",
        "" if verdict == "holds" else "The scale `paper` trains longer.",
    )


def _five_layers(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper", "standard"), "The claim needs five layers"):
        return found
    means = [held_out(view, cell).mean for cell in grids.figure_1(view.scale, 5, "d²", view.seed)]
    three = [held_out(view, cell).mean for cell in grids.figure_1(view.scale, 3, "d²", view.seed)]
    trouble = all(five > other for five, other in zip(means, three, strict=True))
    return Judgement(
        "holds" if trouble else "fails",
        f"five layers {listed(means)}; three layers {listed(three)}",
        "five layers are worse than three at every rank; published "
        + listed(published.FIGURE_1[5, "d²"]),
        "the order of the means over seeds",
    )


CLAIMS = (
    Claim(
        "figure-1-full-rank",
        f"{PAPER}, Figure 1, L = 1",
        "With one layer full rank is needed and sufficient.",
        _needed,
        ("fig-1",),
    ),
    Claim(
        "figure-1-half-rank",
        f"{PAPER}, Figure 1, L = 1",
        "Even 2d heads of rank d/2 fail.",
        _half_rank,
        ("fig-1",),
    ),
    Claim(
        "figure-1-parameters",
        f"{PAPER}, Figure 1",
        "The best low-rank model of one layer is no better than the worst full-rank one, however "
        "many parameters it has.",
        _parameters,
        ("fig-1",),
    ),
    Claim("figure-1-depth", f"{PAPER}, Figure 1", "Depth helps low rank.", _depth, ("fig-1",)),
    Claim(
        "figure-1-five-layers",
        f"{PAPER}, Figure 1, L = 5",
        "The standard model of five layers has trouble training at every rank.",
        _five_layers,
        ("fig-1",),
    ),
)
