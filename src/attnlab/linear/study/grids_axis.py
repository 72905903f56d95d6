"""The cells that train AXIS networks at each scale.

`paper` trains what ships, five runs on each of the ten noise laws, which is meant for a GPU.
`standard` grows two layers on one law with little effort, and `quick` trains none. The table of
digests says which networks are further starting points, so that planning opens no file; a test
compares it with the file.
"""

from __future__ import annotations

from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.linear.study.cells_axis import axis_training
from attnlab.linear.study.questions_axis import AxisTraining
from attnlab.linear.study.table_1 import LAWS

# Of the shipped networks from which a run starts as well: GD++ without noise, DIAG with noise.
DIGESTS = {
    "uniform:0": "b90e6567099ece94",
    "uniform:1": "6abad609c05ac0ca",
    "uniform:2": "7af40520ba45f722",
    "uniform:3": "9126ee35b9eb9213",
    "uniform:4": "6dc8e18799626a74",
    "uniform:5": "75f53dd6cc8669bc",
    "uniform:6": "ff2f07e67e22f886",
    "uniform:7": "b5ea0f311b03b9ae",
    "categorical:1,3": "beaab04320eee413",
    "categorical:1,3,5": "a91049d2efb29656",
}
STARTS = 5
# Without noise a loss is smaller than float32 can tell from 0. In double precision the same search
# takes eight times as long, and breaking the symmetry gains nothing there, so it is smaller.
NOISELESS: dict[str, Any] = {
    "axes": 1,
    "precision": "float64",
    "draws": 1,
    "kept": 2,
    "parents": 1,
    "coarse_chunk": 256,
    "coarse_pool": 1024,
    "coarse_worst": 32,
    "coarse_compared": 1024,
}
# On a processor: two layers on U(0, 5), with steps and sequences that take about a minute.
SMALL: dict[str, Any] = {
    "depth": 2,
    "draws": 1,
    "kept": 2,
    "parents": 2,
    "screening": 8,
    "refinement": 8,
    "final": 3,
    "final_pools": 2,
    "evaluated": 4096,
    "coarse_chunk": 256,
    "coarse_pool": 1024,
    "coarse_worst": 32,
    "coarse_compared": 1024,
    "fine_chunk": 512,
    "fine_pool": 2048,
    "fine_worst": 64,
    "fine_compared": 2048,
}


def trained(scale: Scale, seed: int) -> list[Cell]:
    """Training of AXIS, one cell per noise law and run; `quick` has none."""
    if scale == "standard":
        return [_training("uniform:5", 1, seed, SMALL)]
    if scale == "quick":
        return []
    return [
        _training(law, run, seed, {} if law != "uniform:0" else NOISELESS)
        for law in LAWS
        for run in range(STARTS)
    ]


def _training(law: str, run: int, seed: int, effort: dict[str, Any]) -> Cell:
    """One run; even ones treat two directions differently and odd ones one."""
    shared: dict[str, Any] = {"axes": 2 - run % 2, "weights": DIGESTS[law]}
    config = AxisTraining(noise=law, run=run, seed=seed, **{**shared, **effort})
    return axis_training(config, cost=_cost(config))


def _cost(config: AxisTraining) -> float:
    """Seconds on a processor: ten to compile a depth, and those of its Jacobians and answers."""
    proposals = 12 * config.draws + 2  # see `attnlab.linear.training.layer_proposals`
    refined = config.kept * config.fine_chunk
    work = config.screening * proposals * config.coarse_chunk
    work += (config.refinement + config.final * config.final_pools) * refined
    work += 0.1 * config.evaluations * config.evaluated * (2 * config.kept + 2)
    layers = config.depth * (config.depth + 1) / 2  # of all depths
    slower = 1.0 if config.precision == "float32" else 2.0
    return 10.0 * config.depth + slower * layers * work / 13_000
