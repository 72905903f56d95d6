"""Which trained cells each figure and claim needs at each scale, and the list of all cells.

Source of the grids: Amsel, Yehudai, Bruna (arXiv 2407.16153), training experiments. `paper` has the
settings of its table; `standard` the same panels at d = 16, and `quick` those few configurations
of them that show the effects in a minute, with two seeds. In the 4000 steps of `standard`, three
layers at the paper's rate of .01 learn to answer 0 and stay there (an error of 1.000 for all seeds
of the seven configurations tried), so that more than one layer gets the rate .003.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.rank.study import grids_theory
from attnlab.rank.study.cells import encoder, pair
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.study.questions_pair import PairRun, Start


@dataclass(frozen=True)
class Panel:
    """The settings of a scale: what all its encoders share, and which are trained."""

    base: EncoderRun
    ranks: tuple[int, ...]
    layers: tuple[int, ...]
    deep_rate: float  # of more than one layer in Figure 1
    lengths: tuple[int, ...]  # Figure 4
    long_steps: int  # Figures 3 and 4
    long_rate: float
    pair_d: int
    pair_heads: tuple[int, ...]
    pair_steps: int


PANELS: dict[Scale, Panel] = {
    "quick": Panel(
        EncoderRun(d=16, N=8, mlp=64, steps=2000, batch=64, seeds=2),
        (1, 8, 16),
        (1,),
        0.01,
        (4, 8),
        800,
        0.01,
        8,
        (8,),
        400,
    ),
    "standard": Panel(
        EncoderRun(d=16, N=8, mlp=64, steps=4000, batch=64, seeds=3),
        (1, 8, 16),
        (1, 3, 5),
        0.003,
        (4, 8, 16),
        4000,
        0.003,
        8,
        (4, 16, 64),
        5000,
    ),
    "paper": Panel(
        EncoderRun(
            d=64, N=16, rank=64, mlp=2048, steps=100_000, batch=256, seeds=5, products="auto"
        ),
        (1, 2, 4, 8, 16, 32, 64),
        (1, 3, 5),
        0.01,
        (4, 16, 64, 256),
        200_000,
        0.005,
        16,
        (4, 16, 64, 256),
        20_000,
    ),
}


def widths(d: int) -> dict[str, int]:
    """The paper's three width multipliers, by the number of weights that a layer then has."""
    return {"d²": 1, "d^2.5": round(math.sqrt(d)), "d³": d}


def _cell(config: EncoderRun) -> Cell:
    heads = config.shape().heads
    work = config.steps * config.batch * config.N * config.layers * config.seeds
    return encoder(
        config, cost=200 + work * (config.d * (config.d + config.mlp) + heads * 50) / 2e7
    )


def encoder_cell(scale: Scale, seed: int, **changes: Any) -> Cell:
    """The scale's encoder with some fields changed."""
    panel = PANELS[scale]
    base = replace(panel.base, rate=panel.deep_rate) if changes.get("layers", 1) > 1 else panel.base
    return _cell(replace(base, seed=seed, **changes))


def figure_1(scale: Scale, layers: int, width: str, seed: int) -> list[Cell]:
    """One panel: MSE against the rank at one depth and width."""
    panel = PANELS[scale]
    d, ranks = panel.base.d, panel.ranks
    multiplier = widths(d)[width]
    if scale == "quick":
        ranks = QUICK.get((layers, width), ())
    elif scale == "standard" and (layers, width) in TOO_LONG:
        ranks = ()
    return [
        encoder_cell(scale, seed, layers=layers, rank=rank, width_multiplier=multiplier)
        for rank in ranks
    ]


# What `quick` has of Figure 1, by depth and width.
QUICK: dict[tuple[int, str], tuple[int, ...]] = {
    (1, "d²"): (8, 16),
    (1, "d³"): (8,),
}

# Left out of `standard`, which should take an hour; the claim about five layers is about d².
TOO_LONG = ((5, "d^2.5"), (5, "d³"))


def figure_1_cells(scale: Scale, seed: int) -> list[Cell]:
    """All panels of Figure 1."""
    depths = (1, 3, 5)
    names = widths(PANELS[scale].base.d)
    return [
        cell for layers in depths for name in names for cell in figure_1(scale, layers, name, seed)
    ]


ENCODINGS = ("none", "additive", "concatenated", "padded")


def figure_3(scale: Scale, layers: int, encoding: str, seed: int) -> list[Cell]:
    """Positional encodings at width d^2.5; "padded" is our control of the doubled width."""
    if scale == "quick":
        return []
    panel = PANELS[scale]
    multiplier = widths(panel.base.d)["d^2.5"]
    return [
        encoder_cell(
            scale, seed, layers=layers, rank=rank, width_multiplier=multiplier, encoding=encoding,
            steps=panel.long_steps, rate=panel.long_rate,
        )
        for rank in (1, 8, panel.base.d)
    ]  # fmt: skip


def figure_4(scale: Scale, N: int, seed: int) -> list[Cell]:
    """Two layers of width d^3 at one N; `quick` takes one layer of width d^2."""
    panel = PANELS[scale]
    d = panel.base.d
    if scale == "quick":
        return [encoder_cell(scale, seed, N=N, rank=rank) for rank in (8, 16)]
    # Rank 1 takes most of the time, and `standard` should take an hour.
    ranks = [rank for rank in (1, 8, 16, 32, 64) if rank <= d and (rank > 1 or scale == "paper")]
    return [
        encoder_cell(
            scale, seed, N=N, rank=rank, layers=2, width_multiplier=d, steps=panel.long_steps,
            rate=panel.long_rate,
        )
        for rank in ranks
    ]  # fmt: skip


def without_mlp(scale: Scale, seed: int) -> list[Cell]:
    """The ablation of the perceptron: one layer of width d^2, low and full rank."""
    d = PANELS[scale].base.d
    return [encoder_cell(scale, seed, rank=rank, mlp=0) for rank in (d // 2, d)]


def replayed(scale: Scale, seed: int) -> Cell:
    """The published stream of 100 batches, at rank d / 2."""
    return encoder_cell(scale, seed, rank=PANELS[scale].base.d // 2, replay=100)


def fresh(scale: Scale, seed: int) -> Cell:
    """The same with prompts that never repeat."""
    return encoder_cell(scale, seed, rank=PANELS[scale].base.d // 2)


def pair_cells(scale: Scale, seed: int, start: Start = "random") -> list[Cell]:
    """Bare layers of rank 1 on an orthonormal pair, trained from random weights or from q, k."""
    panel = PANELS[scale]
    return [
        pair(
            PairRun(panel.pair_d, 1, heads, start, steps=panel.pair_steps, seed=seed),
            cost=100 + panel.pair_steps * heads * panel.pair_d / 1e3,
        )
        for heads in panel.pair_heads
    ]


def cells(scale: Scale, seed: int) -> Sequence[Cell]:
    """Every cell of a scale."""
    planned = chain(
        grids_theory.cells(scale, seed),
        pair_cells(scale, seed),
        pair_cells(scale, seed, "construction"),
        figure_1_cells(scale, seed),
        [replayed(scale, seed), fresh(scale, seed)],
        without_mlp(scale, seed),
        *(figure_4(scale, N, seed) for N in PANELS[scale].lengths),
        *(figure_3(scale, layers, kind, seed) for layers in (1, 3) for kind in ENCODINGS),
    )
    return list(dict.fromkeys(planned))
