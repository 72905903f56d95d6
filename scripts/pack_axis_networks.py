"""Pack the networks that `attnlab reproduce linear --scale paper` trained into the file that ships.

    attnlab reproduce linear --scale paper --gpus all --cells linear_axis_training --store results
    python scripts/pack_axis_networks.py results
    python scripts/axis_tails.py

A store may come from another machine (`attnlab store import`). Its run logs say on which device
each run was trained. Networks that the store does not have stay in the file as they are, such as
run 5 of every law, the best of further searches. The last lines are the digests for
`attnlab.linear.study.shipped_table`, after which `axis_tails.py` adds what extreme sequences do to
the new networks, and so changes the digests once more.
"""

import argparse
import sys
from pathlib import Path

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import Cell
from attnlab.lab.packing import devices
from attnlab.lab.store import Store
from attnlab.linear.study import grids_axis
from attnlab.linear.study.questions_axis import AxisDepthRow
from attnlab.linear.weights.shipped import FILE, shipped, write_shipped

COMMAND = "attnlab reproduce linear --scale paper --cells linear_axis_training"
OVERFLOWED = 1e308  # JSON has no infinity


def recorded(row: AxisDepthRow) -> list[float]:
    """What the file says about the loss of one network."""
    numbers = (row.loss, row.error, row.largest)
    return [OVERFLOWED if number is None else number for number in numbers]


def pack(store: Store, cells: list[Cell], target: Path, device: str | None = None) -> int:
    """Add the networks of the cells that the store has; returns how many there were.

    `device` is where those were trained of which no run log says it.
    """
    trained_on = devices(store, device)
    held = shipped.__wrapped__(target) if target.exists() else None
    tensors = {} if held is None else {n: held.matrices(n) for n in held.tensors}
    losses = {} if held is None else dict(held.losses)
    about = {} if held is None else dict(held.provenance)
    by_cells = dict(about.get("by_cells", {"command": COMMAND, "devices": {}}))
    count = 0
    for cell in cells:
        rows, weights = store.rows(cell), store.weights(cell)
        if rows is None or weights is None:
            continue
        run = f"{cell.config.noise}/{cell.config.run}"
        for row in rows:
            for part in "PQ":
                tensors[f"{run}/{row.layers}/{part}"] = weights[f"{row.layers}/{part}"]
            losses[f"{run}/{row.layers}"] = recorded(row)
        by_cells["devices"] = {**by_cells["devices"], run: trained_on(cell)}
        count += len(rows)
    if not count:
        raise UserError(f"{store.root} must hold cells of the kind linear_axis_training, got none.")
    write_shipped(target, tensors, {**about, "losses": losses, "by_cells": by_cells})
    return count


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=Path, default=FILE, help="file to write")
    parser.add_argument("--device", help="on which those were trained of which no run log says it")
    options = parser.parse_args(given)
    try:
        store = Store(options.store, create=False)
        cells = grids_axis.trained("paper", options.seed)
        count = pack(store, cells, options.target, options.device)
    except AttnlabError as reason:
        print(f"pack_axis_networks: {reason}", file=sys.stderr)
        return reason.exit_code
    print(f"{count} networks of the store are in {options.target}.")
    held = shipped.__wrapped__(options.target)
    for law in held.laws:
        print(f'    "{law}": "{held.digest(law)}",')
    return 0


if __name__ == "__main__":
    sys.exit(main())
