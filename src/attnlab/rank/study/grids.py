"""Which trained cells each figure and claim needs at each scale, and the list of all cells.

Source of the grids: Amsel, Yehudai, Bruna (arXiv 2407.16153), training experiments. `paper` has the
settings of its table; `standard` the same panels at d = 16, and `quick` those few configurations
of them that show the effects in a minute, with two seeds. In the 4000 steps of `standard`, three
layers at the paper's rate of .01 learn to answer 0 and stay there (an error of 1.000 for all seeds
of the seven configurations tried), so that more than one layer gets the rate .003. `paper` keeps
.01 for the figure, and trains deep networks of the standard width at lower rates besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.rank.study import grids_theory, published
from attnlab.rank.study.cells import encoder, hardened, pair, variant
from attnlab.rank.study.questions_encoder import EncoderRun, EncoderVariant
from attnlab.rank.study.questions_hardened import HardenedRun
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
        (),
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
            d=64,
            N=16,
            rank=64,
            mlp=2048,
            steps=100_000,
            batch=256,
            seeds=5,
            matmul="bfloat16",
            products="auto",
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
    return encoder(config, cost=4 + work * (config.d * (config.d + config.mlp) + heads * 50) / 1e9)


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


def hardened_heads(scale: Scale, seed: int) -> list[Cell]:
    """The models of Figure 2, one layer of full rank at each width; `quick` has none."""
    if scale == "quick":
        return []
    d = PANELS[scale].base.d
    plain = [
        encoder_cell(scale, seed, rank=d, width_multiplier=multiplier)
        for multiplier in widths(d).values()
    ]
    return [hardened(HardenedRun(**vars(cell.config)), cost=cell.cost) for cell in plain]


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
    """Two layers of width d^3 at one N; `quick` has no lengths."""
    panel = PANELS[scale]
    d = panel.base.d
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


REPLAY = 100  # batches of the published stream


def replayed(scale: Scale, seed: int) -> Cell:
    """The published stream of 100 batches: one layer of width d^2 and rank d / 2."""
    return encoder_cell(scale, seed, rank=PANELS[scale].base.d // 2, replay=REPLAY)


def fresh(scale: Scale, seed: int) -> Cell:
    """The same with prompts that never repeat."""
    return encoder_cell(scale, seed, rank=PANELS[scale].base.d // 2)


def figure_1_replayed(scale: Scale, layers: int, seed: int) -> list[Cell]:
    """The standard width of Figure 1 with the published stream; `quick` has one of the cells."""
    if scale == "quick":
        return [replayed(scale, seed)] if layers == 1 else []
    ranks = PANELS[scale].ranks if scale == "paper" else (PANELS[scale].base.d // 2,)
    if scale == "standard" and layers > 3:
        return []
    return [encoder_cell(scale, seed, layers=layers, rank=rank, replay=REPLAY) for rank in ranks]


def five_layers_as_published(scale: Scale, seed: int) -> list[Cell]:
    """Five layers of width d² on the published stream, with the published start; `paper` only.

    Their ranks are those whose losses are printed.
    """
    if scale != "paper":
        return []
    plain = [
        encoder_cell(scale, seed, layers=5, rank=rank, replay=REPLAY) for rank in published.RANKS_1
    ]
    return [
        variant(EncoderVariant(**vars(cell.config), published_start=True), cost=cell.cost)
        for cell in plain
    ]


RATES = (0.003, 0.001)  # beside the paper's own, which is 0.01


def other_rates(scale: Scale, layers: int, seed: int) -> list[Cell]:
    """The standard width of Figure 1 with lower rates for several layers; at `paper` only."""
    if scale != "paper":
        return []
    d = PANELS[scale].base.d
    return [
        encoder_cell(scale, seed, layers=layers, rank=rank, rate=rate)
        for rank in (1, 8, d)
        for rate in RATES
    ]


def without_biases(scale: Scale, seed: int) -> list[tuple[Cell, Cell]]:
    """One layer of width d^2 with and without biases; `quick` has rank d / 2 only."""
    d = PANELS[scale].base.d
    pairs = []
    for rank in (d // 2,) if scale == "quick" else (d // 2, d):
        plain = encoder_cell(scale, seed, rank=rank)
        config = EncoderVariant(**vars(plain.config), bias=False)
        pairs.append((plain, variant(config, cost=plain.cost)))
    return pairs


def pair_cells(scale: Scale, seed: int, start: Start = "random") -> list[Cell]:
    """Bare layers of rank 1 on an orthonormal pair, trained from random weights or from q, k."""
    panel = PANELS[scale]
    return [
        pair(
            PairRun(panel.pair_d, 1, heads, start, steps=panel.pair_steps, seed=seed),
            cost=2 + panel.pair_steps * heads * panel.pair_d / 5e4,
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
        hardened_heads(scale, seed),
        [fresh(scale, seed)],
        *(figure_1_replayed(scale, layers, seed) for layers in (1, 3, 5)),
        five_layers_as_published(scale, seed),
        *(other_rates(scale, layers, seed) for layers in (3, 5)),
        *without_biases(scale, seed),
        without_mlp(scale, seed),
        *(figure_4(scale, N, seed) for N in PANELS[scale].lengths),
        *(figure_3(scale, layers, kind, seed) for layers in (1, 3) for kind in ENCODINGS),
    )
    return list(dict.fromkeys(planned))
