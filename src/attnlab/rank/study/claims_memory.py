"""Claims of ours about the published stream: encoders that replay 100 batches memorise them.

A configuration on that stream is compared with the same one on prompts that never repeat. Networks
that learn only to answer 0 are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.cell import Cell
from attnlab.lab.study import (
    UNDECIDED,
    Claim,
    Judgement,
    Missing,
    Resolution,
    Verdict,
    View,
    all_of,
)
from attnlab.rank.study import grids, panels, published
from attnlab.rank.study.results import (
    FACTOR,
    HeldOut,
    at_paper,
    beyond_scale,
    held_out,
    listed,
    longer,
    setting,
)
from attnlab.stats import normal_threshold

NOTHING = 0.99  # a training loss of at least this is that of answering 0, which learns nothing
UNIT = "of squared error"
Part = tuple[Verdict, Resolution]


def _gaps(view: View, cell: Cell) -> tuple[float, ...]:
    """Held-out error minus least training loss, for every seed."""
    return tuple(
        row.test - row.least_training
        for row in view.rows(cell)
        if row.test is not None and row.least_training is not None
    )


def training_losses(view: View, cell: Cell) -> tuple[float, ...]:
    """The least training loss of every seed."""
    return tuple(row.least_training for row in view.rows(cell) if row.least_training)


@dataclass(frozen=True)
class Memory:
    """One configuration with the published stream beside the same on a fresh one."""

    cell: Cell
    training: tuple[float, ...]  # least training loss on the replayed batches, for every seed
    gaps: tuple[float, ...]  # held-out error minus that loss
    fresh_gaps: tuple[float, ...]  # the same on the fresh stream
    replayed: HeldOut
    fresh: HeldOut

    @property
    def allowed(self) -> float:
        """How far two held-out errors may be apart by chance."""
        return math.hypot(self.replayed.allowed, self.fresh.allowed)

    @property
    def learned(self) -> bool:
        """Whether it learned more than to answer 0, on both streams."""
        return min(self.training) < NOTHING and self.fresh.best < NOTHING

    @property
    def memorised(self) -> Part:
        """Memory: the training loss is below the fresh stream's error, the held-out error above."""
        knows = self.fresh.best - max(self.training)
        others = self.replayed.best - self.fresh.worst
        against = max(min(self.training) - self.fresh.worst, self.fresh.best - self.replayed.worst)
        return self._part(min(knows, others), against)

    @property
    def understated(self) -> Part:
        """The training loss is further below the held-out error than on a fresh stream."""
        return self._part(
            min(self.gaps) - max(self.fresh_gaps), min(self.fresh_gaps) - max(self.gaps)
        )

    def deeper(self, shallow: Memory) -> Part:
        """Whether it remembers more than `FACTOR` times what one layer does."""
        apart = min(self.gaps) - FACTOR * max(shallow.gaps)
        return self._part(apart, max(shallow.gaps) - max(self.gaps))

    def _part(self, apart: float, against: float) -> Part:
        """The verdict on two distances of which the positive one decides, beyond chance."""
        if apart > 0:
            return "holds", Resolution(self.allowed, apart, UNIT)
        if against > self.allowed:
            return "fails", Resolution(self.allowed, against, UNIT)
        return UNDECIDED, Resolution(self.allowed, 0.0, UNIT)

    def __str__(self) -> str:
        losses = f"{min(self.training):.3f} to {max(self.training):.3f}"
        shown = f"{losses}, {self.replayed.shown} and {self.fresh.shown}"
        where = f"L = {self.cell.config.layers}, r = {self.cell.config.rank}"
        return f"{where}: {shown}"


def _fresh(view: View, cell: Cell) -> Cell:
    """The configuration of a replayed cell on a fresh stream."""
    c = cell.config
    return grids.encoder_cell(view.scale, view.seed, layers=c.layers, rank=c.rank)


def _memory(view: View, cell: Cell) -> Memory:
    fresh = _fresh(view, cell)
    gaps, fresh_gaps = _gaps(view, cell), _gaps(view, fresh)
    errors = held_out(view, cell), held_out(view, fresh)
    return Memory(cell, training_losses(view, cell), gaps, fresh_gaps, *errors)


def _compared(view: View, ranks: Sequence[int]) -> tuple[panels.Panels, list[Memory]]:
    """The stored configurations of the standard width on both streams that learned something."""
    known = panels.panels(
        view,
        {
            (layers, "d²"): grids.figure_1_replayed(view.scale, layers, view.seed)
            for layers in (1, 3, 5)
        },
        ranks,
        lambda cell: panels.is_stored(view, _fresh(view, cell)) and _memory(view, cell).learned,
    )
    return known, [_memory(view, cell) for cell in known.every]


def _replay(view: View) -> Judgement:
    known, found = _compared(view, panels.figure_ranks(grids.PANELS[view.scale].base.d))
    verdict, seen = all_of([one.understated for one in found])
    return Judgement(
        verdict,
        "held-out error minus least training loss with 100 batches replayed, and with a fresh "
        "stream: "
        + "; ".join(
            f"{min(one.gaps):.4f} to {max(one.gaps):.4f} and {min(one.fresh_gaps):.4f} to "
            f"{max(one.fresh_gaps):.4f} (L = {one.cell.config.layers}, r = {one.cell.config.rank})"
            for one in found
        ),
        "larger with the replayed stream",
        f"every seed by {normal_threshold(1):.2f} standard errors of the held-out errors",
        "The published figures show the least training loss over replayed batches, best of five. "
        "Networks that learn only to answer 0 are left out. "
        + (
            "More steps replay them more often: 'attnlab reproduce rank --scale standard'."
            if view.scale == "quick"
            else longer(view, known.lacks)
        ),
        resolution=seen,
        **setting(view, known.every, known.lacks),
    )


def _memorised(view: View) -> Judgement:
    if found := beyond_scale(
        view, ("paper", "standard"), "The claim needs three layers on the replayed stream"
    ):
        return found
    known, learned = _compared(view, panels.low_ranks(view))
    shallow = {one.cell.config.rank: one for one in learned if one.cell.config.layers == 1}
    deep = [one for one in learned if one.cell.config.layers > 1]
    if not deep:
        raise Missing("three layers on the replayed and on a fresh stream")
    parts = [one.memorised for one in learned]
    parts += [
        one.deeper(shallow[one.cell.config.rank]) for one in deep if one.cell.config.rank in shallow
    ]
    verdict, seen = all_of(parts)
    return Judgement(
        at_paper(view, verdict),
        "width d²; least training loss and held-out error with 100 batches replayed, held-out "
        "error with a fresh stream: " + "; ".join(map(str, learned)),
        "a training loss below the error of the fresh stream and a held-out error above it, and a "
        f"gap of more than {FACTOR:g} times that of one layer; published (training, d = 64, "
        f"r = 1, 8, 32, 64) {listed(published.FIGURE_1[3, 'd²'])} with three layers",
        f"every seed by {normal_threshold(1):.2f} standard errors; a factor of {FACTOR:g}, our "
        "choice",
        "Networks that learn only to answer 0 are left out. A held-out error above 1 is worse than "
        f"that answer. {longer(view, known.lacks)}",
        resolution=seen,
        **setting(view, known.every, known.lacks),
    )


CLAIMS = (
    Claim(
        "figure-1-memorised",
        "ours, about the published experiment",
        "At every rank below d encoders that replay 100 batches, as published, memorise them: "
        "their training loss is below the error on a fresh stream and their held-out error above "
        "it; with more than one layer this gap is far larger than with one.",
        _memorised,
        ("replay",),
        ours=True,
    ),
    Claim(
        "replayed-stream",
        "ours, about the published experiment",
        "Where 100 batches are replayed, the least training loss understates the error.",
        _replay,
        ("replay",),
        ours=True,
    ),
)
