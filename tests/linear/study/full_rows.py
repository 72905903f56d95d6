"""Invented results of the cells about FULL: the paper's losses, weights near a diagonal."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial

from attnlab.linear.study import grids, grids_full
from attnlab.linear.study.questions_ablation import LEVELS, AblationRow
from attnlab.linear.study.questions_full import (
    FullEvaluation,
    FullGrowth,
    FullLossRow,
    GrownNetworkRow,
    StartRow,
    StructureRow,
    TrainedNetworkRow,
)
from attnlab.linear.study.table_1 import PAPER


def _rows(network: Callable, config, depths, starts, steps, model="FULL") -> list[FullLossRow]:
    # Networks that start near DIAG are all alike.
    spread = 0.0 if getattr(config, "recipe", "") == "from-diag" else 0.1
    return [
        FullLossRow(
            # All starts have the same profile.
            **{**row, "loss": (1 + spread * start * (row["sigma"] is None)) * row["loss"]},
            largest=3 * row["loss"],
            worst_share=0.01,
            start=start,
            selection=1.0 + start,
            steady=True,
            steps_trained=steps,
            steady_starts=5,
            trained_starts=5,
        )
        for start in range(starts)
        for row in network(model, config, depths)
    ]


# The loss of a grown network by depth, in units of one from random weights of all layers.
GROWN = {2: 0.9, 3: 0.9, 4: 0.9, 5: 0.9, 6: 1.1, 7: 1.1}


def _grown(network: Callable, config) -> list[FullLossRow]:
    """Five networks of every depth from two to seven, numbered after the random starts."""
    return [
        replace(
            row,
            start=grids_full.STARTS + row.start,
            selection=row.selection + grids_full.STARTS,
            loss=row.loss * (GROWN[row.layers] if row.sigma is None else 1),
            steps_trained=row.layers * FullGrowth().steps,
        )
        for row in _rows(network, config, range(2, 8), grids_full.STARTS, 0)
    ]


def _evaluation(network: Callable, config) -> list[FullLossRow]:
    starts = 5 if config.networks == "every" else 1
    if config.recipe == "clipped":
        depths: Sequence[int] = range(1, 9 if is_deep(config) else 8)
        scratch = _rows(network, config, depths, starts, grids_full.STEPS)
        scratch = [replace(row, steady=row.steady and not _tail(config, row)) for row in scratch]
        return scratch + (_grown(network, config) if starts > 1 else [])
    depths = {"from-diag": (7,), "printed": (_printed_depth(config.noise),)}.get(
        config.recipe, (4,)
    )
    model = {"printed-gd++": "GD++", "printed-diag": "DIAG"}.get(config.recipe, "FULL")
    return _rows(network, config, depths, starts, grids_full.STEPS, model)


def _printed_depth(law: str) -> int:
    return grids_full.PRINTED_ELSEWHERE.get(law, (grids_full.RECIPE_DEPTH, ""))[0]


def _tail(config, row) -> bool:
    """Of clipped networks all but the best, where others are trained as printed."""
    has_both = config.noise in (grids.U5, *grids_full.PRINTED_ELSEWHERE)
    return has_both and row.layers == _printed_depth(config.noise) and row.start > 0


def is_deep(config) -> bool:
    return config.noise == grids.U5


def _training(network: Callable, config) -> list[TrainedNetworkRow]:
    def rows(law: str) -> list[FullLossRow]:
        question = FullEvaluation(noise=law, d=config.d, n=config.n)
        return _rows(network, question, [config.depth], config.starts, config.steps)

    return [
        TrainedNetworkRow(
            noise=law,
            start=row.start,
            model=row.model,
            loss=row.loss,
            error=row.error,
            body=row.loss,
            largest=row.largest,
            worst_share=row.worst_share,
            overflowed=0,
            samples=row.samples,
            chosen_at_step=config.steps,
            status="finished",
        )
        for law in config.laws.split()
        for row in rows(law)
        if row.sigma is None and row.read == row.layers
    ]


def _growth(network: Callable, config) -> list[GrownNetworkRow]:
    return [
        GrownNetworkRow(**asdict(row), layers=depth)
        for depth in range(1, config.depth + 1)
        for row in _training(network, replace(config, depth=depth))
    ]


def _structure(depths: Sequence[int], starts: int) -> list[StructureRow]:
    return [
        StructureRow(
            layers=layers,
            start=start,
            best=start == 0,
            steady=True,
            matrix=name,
            layer=layer,
            # P of the later layers of deep networks is not diagonal.
            diagonal=0.2 + 0.02 * layers
            if name == "P" and layers >= 5 and layer > layers / 2
            else 0.7 + 0.01 * (start % 5),
            x_diagonal=0.75,
            x_identity=0.7,
            rank_one=0.6,
            rank_two=0.8 + 0.01 * (start % 5),
        )
        for layers in depths
        for start in range(starts)
        for name in "PQ"
        for layer in range(1, layers + 1)
    ]


def _many_starts(config) -> list[StartRow]:
    loss = PAPER["FULL", config.depth, config.laws]
    return [
        StartRow(**asdict(row), loss=loss, error=0.004 * loss, samples=config.fresh)
        for row in _structure([config.depth], config.starts)
    ]


def _ablation(config) -> list[AblationRow]:
    found = [("loss", None, 0.06), ("momentum", None, 0.8), ("rescaling", None, 3.0)]
    found += [("factor", sigma, 1.1 - 0.08 * sigma) for sigma in LEVELS]
    return [AblationRow(name, sigma, value, 0.001) for name, sigma, value in found]


def makers(network: Callable) -> dict[str, Callable]:
    """The rows of every kind of cell about FULL, from a function that invents a network."""
    return {
        "linear_full": partial(_training, network),
        "linear_full_growth": partial(_growth, network),
        "linear_full_evaluation": partial(_evaluation, network),
        "linear_full_structure": lambda config: _structure(range(1, 8), 2 * grids_full.STARTS),
        "linear_full_starts": _many_starts,
        "linear_ablation": _ablation,
    }
