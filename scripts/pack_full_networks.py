"""Pack the networks that `attnlab reproduce linear --scale paper` trained into the file that ships.

    attnlab reproduce linear --scale paper --gpus all --cells linear_full linear_full_growth \
        --store results
    python scripts/pack_full_networks.py results

A store may come from another machine (`attnlab store import`). Its run logs say on which device
each network was trained. Networks that the store does not have stay in the file as they are. The
last lines are the digests for `attnlab.linear.study.grids_full`.
"""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import Cell
from attnlab.lab.packing import devices
from attnlab.lab.store import Store
from attnlab.linear.study import grids_full
from attnlab.linear.study.questions_full import (
    FullGrowth,
    FullTraining,
    GrownNetworkRow,
    TrainedNetworkRow,
)
from attnlab.linear.training.full_networks import RECIPES, recipe_of
from attnlab.linear.weights.full import FILE, GROWN_FROM, full_networks, write_full


def record_of(row: TrainedNetworkRow, steps: int, device: str) -> dict[str, Any]:
    """What the file says about one network."""
    return {
        "loss": row.loss,
        "standard_error": row.error,
        "body": row.body,
        "largest": row.largest,
        "share": row.worst_share,
        "overflowed": row.overflowed,
        "samples": row.samples,
        "diverged": row.overflowed > 0,
        "steps": steps,
        "device": device,
        "chosen_at_step": row.chosen_at_step,
        "status": row.status,
    }


def named(row: TrainedNetworkRow, config: FullTraining) -> tuple[str, str, int]:
    """The name of a network in its cell and in the file, and its steps.

    The name in the file is empty for a grown network of one layer: that is where growth begins.
    """
    if not isinstance(row, GrownNetworkRow):
        name = f"{config.recipe}/{row.noise}/{config.depth}/{row.start}"
        return f"{row.noise}/{row.start}", name, config.steps
    name = f"{config.recipe}/{row.noise}/{row.layers}/{GROWN_FROM + row.start}"
    place = f"{row.noise}/{row.layers}/{row.start}"
    return place, name if row.layers > 1 else "", row.layers * config.steps


def pack(store: Store, cells: list[Cell], target: Path, device: str | None = None) -> int:
    """Add the networks of the cells that the store has; returns how many there were.

    `device` is where those were trained of which no run log says it.
    """
    trained_on = devices(store, device)
    held = full_networks.__wrapped__(target) if target.exists() else None
    matrices = {} if held is None else {n: tensor.block() for n, tensor in held.tensors.items()}
    records = {} if held is None else dict(held.records)
    about = {} if held is None else dict(held.about)
    count = 0
    for cell in cells:
        rows, weights = store.rows(cell), store.weights(cell)
        if rows is None or weights is None:
            continue
        config, where = cell.config, trained_on(cell)
        for row in rows:
            place, name, steps = named(row, config)
            if not name:
                continue
            for part in "PQ":
                matrices[f"{name}/{part}"] = weights[f"{place}/{part}"][:, 0]
            records[name] = record_of(row, steps, where)
            count += 1
        kind = "grown" if isinstance(config, FullGrowth) else config.recipe
        recipe = RECIPES["grown"] if kind == "grown" else recipe_of(kind)
        about["recipes"] = {
            **about.get("recipes", {}),
            kind: asdict(replace(recipe, batch=config.batch)),
        }
        about["problem"], about["held_out"] = {"d": config.d, "n": config.n}, config.held_out
    if not count:
        raise UserError(f"{store.root} must hold cells of the kind linear_full, got none.")
    write_full(target, matrices, records, about)
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
        cells = [
            *grids_full.trained("paper", options.seed),
            *grids_full.grown("paper", options.seed),
        ]
        count = pack(store, cells, options.target, options.device)
    except AttnlabError as reason:
        print(f"pack_full_networks: {reason}", file=sys.stderr)
        return reason.exit_code
    print(f"{count} networks of the store are in {options.target}.")
    for name, digest in full_networks.__wrapped__(options.target).digests().items():
        print(f'    "{name}": "{digest}",')
    return 0


if __name__ == "__main__":
    sys.exit(main())
