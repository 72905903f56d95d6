"""Claims about several panels of a figure are judged on the panels that are stored.

A panel of Figure 1 is a depth and a width, with one cell per rank. Where all of a statement's
panels are stored at the scale `paper`, the evidence has the paper's setting. Where some are
missing, it has a smaller setting, and `Panels.lacks` says which of them are there. Such a verdict
may say "holds" of the panels that are there, and "fails" where one of them is a counterexample,
which no further panel takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import Missing, View
from attnlab.rank.study import grids

Key = tuple[int, str]  # depth and width
DEPTHS = {1: "one layer", 3: "three layers", 5: "five layers"}
APART: Key = (5, "d²")  # of the paper's statements about L > 1: it has a statement of its own


@dataclass(frozen=True)
class Panels:
    """The stored cells of each panel, and what is missing in words ("" where nothing is)."""

    cells: Mapping[Key, Sequence[Cell]]
    lacks: str

    @property
    def every(self) -> list[Cell]:
        """The stored cells of all panels."""
        return [cell for cells in self.cells.values() for cell in cells]

    def at(self, layers: int) -> list[Cell]:
        """The stored cells of one depth."""
        return [cell for cell in self.every if cell.config.layers == layers]


def is_stored(view: View, cell: Cell) -> bool:
    """Whether the view has the rows of a cell."""
    try:
        view.rows(cell)
    except Missing:
        return False
    return True


def panels(
    view: View,
    planned: Mapping[Key, Sequence[Cell]],
    ranks: Sequence[int],
    usable: Callable[[Cell], bool] = lambda cell: True,
) -> Panels:
    """The panels of a statement; `Missing` where none of their cells is stored.

    Parameters
    ----------
    view
        The stored results.
    planned
        The cells of each panel, of which only those of the named ranks count.
    ranks
        The ranks that the statement is about.
    usable
        Whether a stored cell can be judged, which may take another cell.
    """
    asked = {
        key: [cell for cell in cells if cell.config.rank in ranks] for key, cells in planned.items()
    }
    found = {
        key: [cell for cell in cells if is_stored(view, cell) and usable(cell)]
        for key, cells in asked.items()
    }
    found = {key: cells for key, cells in found.items() if cells}
    if not found:
        raise _missing(view, (cell for cells in asked.values() for cell in cells))
    complete = all(len(found.get(key, ())) == len(ranks) for key in planned)
    return Panels(found, "" if complete else _lacks(found, len(planned), ranks))


def _missing(view: View, cells: Iterable[Cell]) -> Missing:
    """Names the first cell without a result, or the figure where the scale plans none."""
    return Missing(
        next((str(cell) for cell in cells if not is_stored(view, cell)), "any panel of the figure")
    )


def _lacks(found: Mapping[Key, Sequence[Cell]], count: int, ranks: Sequence[int]) -> str:
    """Which panels and ranks there are, and how many panels the statement has."""
    named = []
    for (layers, width), cells in found.items():
        some = [cell.config.rank for cell in cells]
        which = f" (r = {', '.join(map(str, some))})" if len(some) < len(ranks) else ""
        named.append(f"{DEPTHS[layers]} of width {width}{which}")
    return f"{', '.join(named)} of the statement's {count} panel{'' if count == 1 else 's'}"


def lacking_heads(known: Iterable[int], asked: Iterable[int]) -> str:
    """Which numbers of heads there are of those of a statement; "" where none is missing."""
    some, every = (", ".join(map(str, heads)) for heads in (known, asked))
    return "" if some == every else f"H = {some} of the statement's H = {every}"


def figure_1(
    view: View,
    depths: Sequence[int],
    ranks: Sequence[int] | None = None,
    usable: Callable[[Cell], bool] = lambda cell: True,
    apart: Sequence[Key] = (APART,),
) -> Panels:
    """The panels of Figure 1 at some depths, with all of its ranks or with some."""
    d = grids.PANELS[view.scale].base.d
    planned = {
        (layers, width): grids.figure_1(view.scale, layers, width, view.seed)
        for layers in depths
        for width in grids.widths(d)
        if (layers, width) not in apart
    }
    return panels(view, planned, figure_ranks(d) if ranks is None else ranks, usable)


def figure_ranks(d: int) -> list[int]:
    """The ranks of Figure 1: the powers of 2 up to d."""
    return [rank for rank in grids.PANELS["paper"].ranks if rank <= d]


def low_ranks(view: View) -> list[int]:
    """Those below full rank."""
    return figure_ranks(grids.PANELS[view.scale].base.d)[:-1]


def sides(view: View, cells: Sequence[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Cells of low and of full rank; `Missing` where a side has none."""
    low = [cell for cell in cells if cell.config.rank < cell.config.d]
    full = [cell for cell in cells if cell.config.rank == cell.config.d]
    if not low or not full:
        lacking = "full" if low else "low"
        raise Missing(f"an encoder of {lacking} rank of Figure 1 at scale {view.scale}")
    return low, full


def standard_width(view: View, depths: Sequence[int]) -> Panels:
    """The panels of width d² at the depths that have cells of low and of full rank."""
    planned = {
        (layers, "d²"): grids.figure_1(view.scale, layers, "d²", view.seed) for layers in depths
    }
    ranks = figure_ranks(grids.PANELS[view.scale].base.d)
    every = panels(view, planned, ranks)
    both = _both_sides(every, depths)
    return panels(view, planned, ranks, lambda cell: cell.config.layers in both)


def _both_sides(every: Panels, depths: Sequence[int]) -> set[int]:
    """The depths with cells of low and of full rank."""
    return {
        layers
        for layers in depths
        if len({cell.config.rank < cell.config.d for cell in every.at(layers)}) == 2
    }


def opposed(view: View, depths: Sequence[int], apart: Sequence[Key] = (APART,)) -> Panels:
    """The panels of Figure 1 at the depths that have cells of low and of full rank."""
    every = figure_1(view, depths, apart=apart)
    both = _both_sides(every, depths)
    return figure_1(view, depths, usable=lambda cell: cell.config.layers in both, apart=apart)
