"""Claims of ours about the printed losses of five layers of width d² (Figure 1, L = 5).

The published runs replay 100 batches, and for one and three layers such training gives what is
printed (`claims_stream`). The published code also starts all layers as copies of one, where ours
draws each. Training from both starts is compared with the numbers read off the picture.
"""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.rank.study import grids, panels, published
from attnlab.rank.study.claims_memory import NOTHING, training_losses
from attnlab.rank.study.claims_stream import CLOSE
from attnlab.rank.study.results import beyond_scale, longer, setting

SOURCE = "ours, about Figure 1, L = 5"
PRINTED = dict(zip(published.RANKS_1, published.FIGURE_1[panels.APART], strict=True))
# A rank where the picture cannot be told from the loss 1 of the answer 0 says nothing here.
TELLING = tuple(rank for rank, value in PRINTED.items() if (1 + CLOSE) * value < 1)


def _trained(view: View, cells: Sequence[Cell], reached: bool) -> Judgement:
    """Whether training on the replayed batches ends at the printed losses or at the answer 0.

    `reached` is what the claim says; where some ranks end at neither, nothing is decided.
    """
    if not_here := beyond_scale(view, ("paper",), "The claim needs five layers at d = 64"):
        return not_here
    known = panels.panels(view, {panels.APART: cells}, TELLING)
    losses = {cell.config.rank: sorted(training_losses(view, cell)) for cell in known.every}
    near = all(abs(seeds[0] / PRINTED[rank] - 1) <= CLOSE for rank, seeds in losses.items())
    nothing = all(seeds[0] >= NOTHING for seeds in losses.values())
    verdict: Verdict = UNDECIDED
    if near or nothing:
        verdict = "holds" if near == reached else "fails"
    spread = max((seeds[-1] - seeds[0]) / PRINTED[rank] for rank, seeds in losses.items())
    return Judgement(
        verdict,
        "least training loss on 100 replayed batches, best of the seeds: "
        + ", ".join(f"{seeds[0]:.3f} (r = {rank})" for rank, seeds in losses.items()),
        ("the printed losses " if reached else "1, the loss of the answer 0; printed are ")
        + ", ".join(f"{PRINTED[rank]:g} (r = {rank})" for rank in losses),
        f"every rank: its best seed within {CLOSE:g} of the number read off the picture, or all "
        f"seeds at {NOTHING:g} and more, which is the answer 0; undecided between",
        "A rank whose printed loss cannot be told from 1 is left out: "
        f"{', '.join(f'r = {rank}' for rank in PRINTED if rank not in TELLING)}. "
        f"{longer(view, known.lacks)}",
        resolution=Resolution(
            CLOSE + spread,
            min(1 / PRINTED[rank] - 1 for rank in losses),
            "of the published number",
        ),
        **setting(view, known.every, known.lacks),
    )


def _drawn(view: View) -> Judgement:
    return _trained(view, grids.figure_1_replayed(view.scale, 5, view.seed), reached=False)


def _copied(view: View) -> Judgement:
    return _trained(view, grids.five_layers_as_published(view.scale, view.seed), reached=True)


CLAIMS = (
    Claim(
        "five-layers-answer-0",
        SOURCE,
        "Replayed batches do not explain the printed losses of five layers of width d²: with every "
        "layer drawn, these learn only to answer 0 on them too.",
        _drawn,
        ("replay",),
        ours=True,
    ),
    Claim(
        "five-layers-published-start",
        SOURCE,
        "Five layers of width d² that start as copies of one, as in the published code, reach the "
        "printed losses on the replayed batches.",
        _copied,
        ("replay",),
        ours=True,
    ),
)
