"""Claims of Figure 4: low and full rank as the number of points grows.

All errors are held-out ones. A member that diverged is worse than any other and never the best.
"""

from __future__ import annotations

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Claim, Judgement, View, all_of
from attnlab.rank.study import grids
from attnlab.rank.study.claims_figure_1 import ACCURATE, accurate
from attnlab.rank.study.results import (
    LINE,
    Contrast,
    at_paper,
    beyond_scale,
    contrast,
    held_out,
    longer,
    setting,
)

PAPER = "Amsel, Yehudai, Bruna"
FIGURE_4 = "Figure 4 has two layers of width d³, and N up to 256"


def figure_4_cells(view: View) -> list[Cell]:
    """The cells of Figure 4."""
    lengths = grids.PANELS[view.scale].lengths
    return [cell for N in lengths for cell in grids.figure_4(view.scale, N, view.seed)]


def _ends(view: View) -> tuple[dict, dict]:
    lengths = grids.PANELS[view.scale].lengths
    few, many = (
        {
            cell.config.rank: held_out(view, cell)
            for cell in grids.figure_4(view.scale, N, view.seed)
        }
        for N in (lengths[0], lengths[-1])
    )
    return few, many


def _length_low(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper", "standard"), FIGURE_4):
        return found
    d, lengths = grids.PANELS[view.scale].base.d, grids.PANELS[view.scale].lengths
    few, many = _ends(view)
    low = [rank for rank in few if rank < d]
    contrasts = [Contrast(many[rank], few[rank]) for rank in low]
    verdict, seen = all_of([one.judged for one in contrasts])
    # One rank that does not get worse is no refutation: the others may.
    if verdict == "fails" and any(one.verdict != "fails" for one in contrasts):
        verdict = UNDECIDED
    return Judgement(
        at_paper(view, verdict),
        f"N = {lengths[0]} to {lengths[-1]}: "
        + ", ".join(f"{few[r].mean:.3f} to {many[r].mean:.3f} (r = {r})" for r in low),
        "larger errors for more points; published 0.006 to 0.54 (r = 32) from N = 4 to 256",
        LINE,
        longer(view),
        resolution=seen,
        **setting(view, figure_4_cells(view)),
    )


def _length_full(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper", "standard"), FIGURE_4):
        return found
    d, lengths = grids.PANELS[view.scale].base.d, grids.PANELS[view.scale].lengths
    cells = [grids.figure_4(view.scale, N, view.seed)[-1] for N in lengths]
    errors = [held_out(view, cell) for cell in cells]
    verdict, seen = accurate(view, errors)
    return Judgement(
        verdict,
        f"rank {d}: "
        + ", ".join(f"{e.mean:.3f} (N = {N})" for N, e in zip(lengths, errors, strict=True)),
        f"at most {ACCURATE:g} at every N; published 0.007, 0.005, 0.04 at N = 4, 16, 256",
        f"every seed at most {ACCURATE:g}, our choice",
        longer(view),
        resolution=seen,
        **setting(view, cells),
    )


def _largest_length(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper", "standard"), FIGURE_4):
        return found
    d, lengths = grids.PANELS[view.scale].base.d, grids.PANELS[view.scale].lengths
    _, many = _ends(view)
    gap = contrast([many[rank] for rank in many if rank < d], [many[d]])
    return Judgement(
        at_paper(view, gap.verdict),
        f"N = {lengths[-1]}: "
        + ", ".join(f"{error.mean:.3f} (r = {rank})" for rank, error in many.items()),
        "every network of rank below d is far worse than full rank; published 1.17, 0.54 and 0.04 "
        "at r = 1, 32 and 64",
        LINE,
        "Trained networks of one size, which confirm no conjecture about all of them. "
        f"{longer(view)}",
        resolution=gap.resolution,
        **setting(view, figure_4_cells(view)),
    )


CLAIMS = (
    Claim(
        "figure-4-full-rank",
        f"{PAPER}, Figure 4",
        "Heads of full rank learn the target accurately for every N.",
        _length_full,
        ("fig-4",),
    ),
    Claim(
        "figure-4-low-rank",
        f"{PAPER}, Figure 4",
        "Heads of low rank lose accuracy as N grows.",
        _length_low,
        ("fig-4",),
    ),
    Claim(
        "figure-4-largest-n",
        "ours, about Conjecture 8",
        "At the largest N of Figure 4 every trained network of rank below d is considerably worse "
        "than full rank.",
        _largest_length,
        ("fig-4",),
        ours=True,
    ),
)
