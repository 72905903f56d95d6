"""Claims of Figure 1 about more than one layer, of width d² to d³, at the paper's rate.

Claims about several panels are judged on those that are stored (`panels`). Five layers of width d²
are left out of the others, since the paper has a sentence about them alone.
"""

from __future__ import annotations

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Missing, View, all_of
from attnlab.rank.study import grids, panels, published
from attnlab.rank.study.claims_figure_1 import SHOWN, compared, shown_errors
from attnlab.rank.study.results import (
    FACTOR,
    LINE,
    at_paper,
    beyond_scale,
    held_out,
    larger,
    listed,
    longer,
    setting,
)
from attnlab.stats import normal_threshold

PAPER = "Amsel, Yehudai, Bruna"


def _shallow(view: View, cell: Cell) -> Cell:
    """The encoder of one layer with the width and rank of a deeper one."""
    c = cell.config
    return grids.encoder_cell(
        view.scale, view.seed, layers=1, rank=c.rank, width_multiplier=c.width_multiplier
    )


def _depth(view: View) -> Judgement:
    if found := beyond_scale(view, ("standard", "paper"), "The claim needs three layers"):
        return found
    known = panels.figure_1(
        view,
        (3, 5),
        panels.low_ranks(view),
        lambda cell: panels.is_stored(view, _shallow(view, cell)),
    )
    pairs = [
        (key, deep.config.rank, held_out(view, _shallow(view, deep)), held_out(view, deep))
        for key, cells in known.cells.items()
        for deep in cells
    ]
    verdict, seen = all_of([larger(shallow, deep) for *_, shallow, deep in pairs])
    return Judgement(
        at_paper(view, verdict),
        "one layer and more, of the same width and rank: "
        + ", ".join(
            f"{a.shown} and {b.shown} (L = {layers}, {width}, r = {rank})"
            for (layers, width), rank, a, b in pairs
        ),
        "a smaller error with more layers; published "
        + "; ".join(
            f"{listed(published.FIGURE_1[1, width][:-1])} and "
            f"{listed(published.FIGURE_1[layers, width][:-1])} (L = {layers}, {width})"
            for layers, width in known.cells
        )
        + f" at r = {', '.join(map(str, published.RANKS_1[:-1]))}",
        f"every seed of one side above every seed of the other by {normal_threshold(1):.2f} "
        "standard errors; fails where no seed is; L = 5, d² left out as in the paper",
        longer(view, known.lacks),
        resolution=seen,
        **setting(view, [*known.every, *(_shallow(view, c) for c in known.every)], known.lacks),
    )


def _deep_low_rank(view: View) -> Judgement:
    if found := beyond_scale(view, ("standard", "paper"), "The claim needs three layers"):
        return found
    known = panels.opposed(view, (3, 5))
    depths = sorted({cell.config.layers for cell in known.every})
    gaps = [compared(view, *panels.sides(view, known.at(layers))) for layers in depths]
    verdict, seen = all_of([gap.judged for gap in gaps])
    return Judgement(
        at_paper(view, verdict),
        f"{SHOWN}: "
        + "; ".join(f"L = {layers}: {shown_errors(view, known.at(layers))}" for layers in depths),
        "low rank well above full rank of the same depth, whatever the widths; published least "
        "and largest 0.036 and 0.007 (L = 3), 0.014 and 0.0065 (L = 5)",
        f"{LINE}; L = 5, d² left out as in the paper",
        f"Every seed of full rank counts, the worst included. {longer(view, known.lacks)}",
        resolution=seen,
        **setting(view, known.every, known.lacks),
    )


def _five_layers(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper",), "The claim needs five layers at d = 64"):
        return found

    def of_three(cell: Cell) -> Cell:
        return grids.encoder_cell(view.scale, view.seed, layers=3, rank=cell.config.rank)

    d = grids.PANELS[view.scale].base.d
    known = panels.panels(
        view,
        {panels.APART: grids.figure_1(view.scale, *panels.APART, view.seed)},
        panels.figure_ranks(d),
        lambda cell: panels.is_stored(view, of_three(cell)),
    )
    five = {cell.config.rank: held_out(view, cell) for cell in known.every}
    three = {cell.config.rank: held_out(view, of_three(cell)) for cell in known.every}
    if d not in five:
        raise Missing("five layers of full rank")
    factors = {rank: FACTOR if rank == d else 1.0 for rank in five}
    verdict, seen = all_of([larger(five[r], three[r], factor) for r, factor in factors.items()])
    return Judgement(
        verdict,
        "; ".join(
            f"L = {layers}: {', '.join(f'{one.shown} (r = {r})' for r, one in errors.items())}"
            for layers, errors in ((5, five), (3, three))
        ),
        "five layers are worse than three at every rank, where answering 0 has the error 1; "
        f"published {listed(published.FIGURE_1[panels.APART], 2)} at r = "
        f"{', '.join(map(str, published.RANKS_1))}",
        f"every seed at every rank, and {FACTOR:g} times the error at full rank; fails where five "
        "layers are not worse at a rank, undecided between",
        longer(view, known.lacks),
        resolution=seen,
        **setting(view, known.every, known.lacks),
    )


CLAIMS = (
    Claim(
        "figure-1-depth",
        f"{PAPER}, Figure 1",
        "With more than one layer low rank has a smaller error.",
        _depth,
        ("fig-1",),
    ),
    Claim(
        "figure-1-deep-low-rank",
        f"{PAPER}, Figure 1, L > 1",
        "With more than one layer low rank is still considerably worse than full rank, even with "
        "more parameters.",
        _deep_low_rank,
        ("fig-1",),
    ),
    Claim(
        "figure-1-five-layers",
        f"{PAPER}, Figure 1, L = 5",
        "The standard model of five layers (d² parameters per layer) has trouble training.",
        _five_layers,
        ("fig-1",),
    ),
)
