"""Claims of Section 7 about the training: a stream that never repeats, and one setting for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, openness
from attnlab.rank.study import grids, published
from attnlab.rank.study.claims_memory import training_losses
from attnlab.rank.study.results import FACTOR, PAPER_SETTING, beyond_scale, longer

PAPER = "Amsel, Yehudai, Bruna"
CLOSE = 0.15  # of a published number that was read off a picture


def _stream(view: View) -> Judgement:
    if found := beyond_scale(
        view, ("paper",), "The published numbers are for d = 64 and 100,000 steps"
    ):
        return found
    found = [
        _printed(view, layers, cell)
        for layers in (1, 3)
        for cell in grids.figure_1_replayed(view.scale, layers, view.seed)
        if cell.config.rank in published.RANKS_1
    ]
    beyond = [one for one in found if one.near("replayed") and one.fresh[0] > FACTOR * one.value]
    others = [one.where for one in found if not one.near("replayed")]
    replayed, fresh = (all(one.near(name) for one in found) for name in ("replayed", "fresh"))
    verdict: Verdict = UNDECIDED
    if beyond or (replayed and not fresh):
        verdict = "fails"
    elif fresh and not replayed:
        verdict = "holds"
    return Judgement(
        verdict,
        "least training loss with 100 batches replayed and with a fresh stream: "
        + "; ".join(map(str, found)),
        "the published numbers are those of a stream that never repeats",
        f"within {CLOSE:g} of the number read off the picture; one that the replayed stream gives "
        f"and that is less than 1/{FACTOR:g} of the fresh stream's refutes",
        f"Beyond a fresh stream: {', '.join(one.where for one in beyond) or 'none'}. The replayed "
        f"stream gives {len(found) - len(others)} of these {len(found)} published numbers"
        + (f", and not those of {', '.join(others)}" if others else "")
        + f". The published configuration replays 100 batches. {longer(view)}",
        resolution=min((one.seen for one in beyond), key=openness, default=_weakest(found)),
        **PAPER_SETTING,
    )


@dataclass(frozen=True)
class Printed:
    """A published number beside our least training losses on both streams, best seed first."""

    where: str
    value: float
    replayed: tuple[float, ...]
    fresh: tuple[float, ...]

    def near(self, stream: str) -> bool:
        """Whether the best seed of a stream is the published number, as far as it can be read."""
        return abs(getattr(self, stream)[0] / self.value - 1) <= CLOSE

    @property
    def spread(self) -> float:
        """What the picture and the seeds leave open, as a share of the published number."""
        ranges = (losses[-1] - losses[0] for losses in (self.replayed, self.fresh))
        return CLOSE + max(ranges) / self.value

    @property
    def seen(self) -> Resolution:
        """How far the fresh stream is from the published number, and what could hide it."""
        found = abs(self.fresh[0] / self.value - 1)
        return Resolution(self.spread, found, "of the published number")

    def __str__(self) -> str:
        both = f"{self.replayed[0]:.4f} and {self.fresh[0]:.4f}"
        return f"{self.where}: {both}, published {self.value:g}"


def _printed(view: View, layers: int, cell: Cell) -> Printed:
    rank = cell.config.rank
    fresh = grids.encoder_cell(view.scale, view.seed, layers=layers, rank=rank)
    losses = (tuple(sorted(training_losses(view, one))) for one in (cell, fresh))
    value = published.FIGURE_1[layers, "d²"][published.RANKS_1.index(rank)]
    return Printed(f"L = {layers}, r = {rank}", value, *losses)


def _weakest(found: Sequence[Printed]) -> Resolution:
    """Of a confirmation: a factor that the clearest number could not have hidden."""
    return Resolution(max(one.spread for one in found), FACTOR - 1, "of the published number")


def _same_training(view: View) -> Judgement:
    said = {name: setting == published.TEXT for name, setting in published.TRAINING.items()}
    verdict: Verdict = "holds" if all(said.values()) else "holds as corrected"
    if not any(said.values()):
        verdict = "fails"
    others = [name for name, same in said.items() if not same]
    return Judgement(
        verdict,
        "published configuration files: "
        + ", ".join(
            f"rate {rate:g} and {steps:,} batches ({name})"
            for name, (rate, steps) in published.TRAINING.items()
        ),
        f"rate {published.TEXT[0]:g} and {published.TEXT[1]:,} batches in all experiments",
        "exact: the settings of the files; Figure 2 shows networks of Figure 1",
        f"Corrected: in all but {' and '.join(others)}. Our scale 'paper' has the settings of the "
        "files."
        if others
        else "",
        grade="exact",
    )


CLAIMS = (
    Claim(
        "same-training",
        f"{PAPER}, Section 7",
        "All experiments have the same rate 0.01 and 100,000 batches.",
        _same_training,
    ),
    Claim(
        "stream-never-repeats",
        f"{PAPER}, Section 7",
        "The figures are trained and tested on a stream of samples that never repeats.",
        _stream,
        ("replay",),
    ),
)
