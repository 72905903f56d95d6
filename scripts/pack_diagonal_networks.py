"""Pack the networks that `scripts/linear_diagonal.py` wrote into the file that ships.

    python scripts/pack_diagonal_networks.py diag.npz --command "..." --date 2026-01-31 ...

Of several seeds the one with the least loss plus three standard errors is kept. The other arguments
describe how the networks were trained; they go into the metadata of the file unchanged.
"""

import argparse
from pathlib import Path

import numpy as np

from attnlab.errors import UserError
from attnlab.linear.training.growth import GrowthEffort
from attnlab.linear.weights.collection import write_collection
from attnlab.linear.weights.diagonal import FILE, FORMAT, PARTS

PROVENANCE = ("command", "machine", "versions", "seconds", "date")


def pack(source: Path, target: Path, provenance: dict[str, str]) -> int:
    """Write `target` from the npz file `source`; returns the number of networks."""
    with np.load(source, allow_pickle=False) as given:
        arrays = {name: given[name] for name in given.files}
    tensors, losses = {}, {}
    for name in sorted(name.removesuffix("/loss") for name in arrays if name.endswith("/loss")):
        family, law, _, depth = name.split("/")
        value, standard_error = (float(part) for part in arrays[f"{name}/loss"])
        kept = losses.get(f"{family}/{law}/{depth}", [np.inf, 0.0])
        if not np.isfinite(value) or value + 3 * standard_error >= kept[0] + 3 * kept[1]:
            continue
        losses[f"{family}/{law}/{depth}"] = [value, standard_error, GrowthEffort.fresh]
        parts = [np.asarray(arrays[f"{name}/{part}"], np.float64) for part in PARTS]
        tensors[f"{family}/{law}/{depth}"] = np.stack(parts)
    if not tensors:
        raise UserError(f"{source} must hold networks with finite losses, got none.")
    write_collection(target, tensors, FORMAT, {**provenance, "losses": losses})
    return len(tensors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="npz file with the networks")
    parser.add_argument("--target", type=Path, default=FILE, help="file to write")
    for name in PROVENANCE:
        parser.add_argument(f"--{name}", default="not recorded")
    given = parser.parse_args()
    count = pack(given.source, given.target, {name: getattr(given, name) for name in PROVENANCE})
    print(f"{count} networks in {given.target}")


if __name__ == "__main__":
    main()
