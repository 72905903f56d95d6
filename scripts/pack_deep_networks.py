"""Pack the DIAG networks of seven to ten layers that a run trained into the file that ships.

    attnlab reproduce linear --scale paper --cells linear_training:depth=10 --store results
    python scripts/pack_deep_networks.py results

Of the runs of a noise law the one with the least loss on sequences outside the evaluation is kept,
depth by depth. The last lines are the digests for `attnlab.linear.study.shipped_table`.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import Cell
from attnlab.lab.store import Store
from attnlab.linear.study import grids
from attnlab.linear.study.questions_networks import TrainedLossRow
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.weights.collection import write_collection
from attnlab.linear.weights.diagonal import DEEP_FILE, FORMAT, PARTS, diagonal_networks

COMMAND = "attnlab reproduce linear --scale paper --cells linear_training:depth=10"


def chosen(store: Store, cells: list[Cell]) -> dict[int, tuple[Cell, TrainedLossRow]]:
    """The cell and the row of the best run, by depth; empty if the store lacks one of the cells."""
    best: dict[int, tuple[Cell, TrainedLossRow]] = {}
    for cell in cells:
        rows = store.rows(cell)
        if rows is None or store.weights(cell) is None:
            return {}
        for row in rows:
            if row.sigma is not None or not grids.DEEPEST <= row.layers == row.read:
                continue
            if row.layers not in best or _worth(row) < _worth(best[row.layers][1]):
                best[row.layers] = cell, row
    return best


def _worth(row: TrainedLossRow) -> float:
    return math.inf if row.selection is None else row.selection


def pack(store: Store, target: Path, seed: int) -> list[str]:
    """Write `target` from a store; returns the laws that the store has."""
    tensors, losses, runs = {}, {}, {}
    laws = []
    for law in LAWS:
        best = chosen(store, grids.ten_layers(law, "paper", seed))
        laws += [law] if best else []
        for depth, (cell, row) in best.items():
            name, weights = f"diag/{law}/{depth}", store.weights(cell)
            assert weights is not None
            parts = [np.asarray(weights[f"{depth}/{part}"], np.float64) for part in PARTS]
            tensors[name] = np.stack(parts)
            losses[name] = [row.loss, row.error, row.samples]
            runs[name] = cell.config.run
    if not tensors:
        raise UserError(
            f"{store.root} must hold all runs of ten layers of some noise law, got none."
        )
    write_collection(target, tensors, FORMAT, {"command": COMMAND, "losses": losses, "runs": runs})
    return laws


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=Path, default=DEEP_FILE, help="file to write")
    options = parser.parse_args(given)
    try:
        laws = pack(Store(options.store, create=False), options.target, options.seed)
    except AttnlabError as reason:
        print(f"pack_deep_networks: {reason}", file=sys.stderr)
        return reason.exit_code
    held = diagonal_networks.__wrapped__(options.target)
    print(f"{held!r} in {options.target}")
    for law in laws:
        print(f'    "{law}": "{held.digest("diag", law)}",')
    return 0


if __name__ == "__main__":
    sys.exit(main())
