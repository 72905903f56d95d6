"""Pack the GD++ and DIAG networks that a run trained into the files that ship.

    attnlab reproduce linear --scale paper --cells linear_training --store results
    python scripts/pack_diagonal_networks.py results
    python scripts/pack_diagonal_networks.py results --deep

The first file has one to seven layers of both families, the second seven to ten layers of DIAG. Of
the runs of a noise law the one with the least loss on sequences outside the evaluation is kept,
depth by depth. Networks of which the store does not have every run stay in the file as they are.
The last lines are the digests: those of DIAG (GD++ without noise) in the first file belong into
`attnlab.linear.study.grids_axis`, those of the second into `attnlab.linear.study.shipped_table`.
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import Cell
from attnlab.lab.store import Store
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.study import grids
from attnlab.linear.study.questions_networks import TrainedLossRow
from attnlab.linear.study.table_1 import DEPTHS, LAWS
from attnlab.linear.weights.collection import write_collection
from attnlab.linear.weights.diagonal import DEEP_FILE, FILE, FORMAT, PARTS, diagonal_networks

COMMAND = "attnlab reproduce linear --scale paper --cells linear_training"
DEEP = tuple(range(grids.DEEPEST, grids.TEN + 1))
Runs = dict[str, list[Cell]]


def runs_of(seed: int, *, deep: bool) -> Runs:
    """The cells that train each family on each law, by "<family>/<noise law>"."""
    if deep:
        return {f"diag/{law}": grids.ten_layers(law, "paper", seed) for law in LAWS[1:]}
    families = {"gd++": "GD++", "diag": "DIAG"}
    return {
        f"{family}/{law}": grids.trained(model, law, "paper", seed)
        for family, model in families.items()
        for law in LAWS
    }


def chosen(
    store: Store, cells: list[Cell], depths: Sequence[int]
) -> dict[int, tuple[Cell, TrainedLossRow]]:
    """The cell and the row of the best run, by depth; empty if the store lacks one of the cells."""
    best: dict[int, tuple[Cell, TrainedLossRow]] = {}
    for cell in cells:
        rows = store.rows(cell)
        if rows is None or store.weights(cell) is None:
            return {}
        for row in rows:
            if row.sigma is not None or row.layers != row.read or row.layers not in depths:
                continue
            if row.layers not in best or _worth(row) < _worth(best[row.layers][1]):
                best[row.layers] = cell, row
    return best


def _worth(row: TrainedLossRow) -> float:
    return math.inf if row.selection is None else row.selection


def numbers(weights: Mapping[str, np.ndarray], family: str, depth: int) -> np.ndarray:
    """p_x, p_y, q_x and q_y of a network of a cell, as the file holds them."""
    own: dict[str, Any] = {
        name.partition("/")[2]: part
        for name, part in weights.items()
        if name.startswith(f"{depth}/")
    }
    if family == "gd++":
        own = vars(GDPlusPlus(**own).diag())
    return np.stack([np.asarray(own[part], np.float64) for part in PARTS])


def pack(store: Store, target: Path, runs: Runs, depths: Sequence[int]) -> list[str]:
    """Add the best networks of a store to `target`; returns the families and laws that it has."""
    held = diagonal_networks.__wrapped__(target) if target.exists() else None
    tensors = {} if held is None else {n: tensor.block() for n, tensor in held.tensors.items()}
    losses: dict[str, Any] = {} if held is None else dict(held.losses)
    about = {} if held is None else dict(held.about)
    packed, run_of = [], dict(about.get("runs", {}))
    for name, cells in runs.items():
        best = chosen(store, cells, depths)
        packed += [name] if best else []
        for depth, (cell, row) in best.items():
            weights = store.weights(cell)
            assert weights is not None
            tensors[f"{name}/{depth}"] = numbers(weights, name.partition("/")[0], depth)
            losses[f"{name}/{depth}"] = [row.loss, row.error, row.samples]
            run_of[f"{name}/{depth}"] = cell.config.run
    if not packed:
        raise UserError(
            f"{store.root} must hold all runs of {depths[-1]} layers of some noise law, got none."
        )
    # Networks that are not named in `runs` were made as the other facts say.
    others = about if tensors.keys() - run_of.keys() else {}
    about = {**others, "by_cells": COMMAND, "runs": run_of, "losses": losses}
    write_collection(target, tensors, FORMAT, about)
    return packed


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--deep", action="store_true", help="DIAG with seven to ten layers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=Path, help="file to write")
    options = parser.parse_args(given)
    target = options.target or (DEEP_FILE if options.deep else FILE)
    try:
        runs = runs_of(options.seed, deep=options.deep)
        store = Store(options.store, create=False)
        packed = pack(store, target, runs, DEEP if options.deep else DEPTHS)
    except AttnlabError as reason:
        print(f"pack_diagonal_networks: {reason}", file=sys.stderr)
        return reason.exit_code
    held = diagonal_networks.__wrapped__(target)
    print(f"{held!r} in {target}")
    for name in packed:
        family, _, law = name.partition("/")
        print(f'    "{law}": "{held.digest(family, law)}",  # {family}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
