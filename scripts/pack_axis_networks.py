"""Pack the networks that `scripts/linear_grid_gpu.py` wrote into the file that ships.

    python scripts/pack_axis_networks.py axis.npz --card "NVIDIA H200" --date 2026-01-31 ...

The keys of the npz file are "<noise law>/<run>/<depth>/P|Q|loss". The other arguments describe how
the networks were trained; they go into the metadata of the file unchanged. After packing, the table
`attnlab.linear.study.shipped_table` has to be updated; a test compares it with the file.
"""

import argparse
import math
from pathlib import Path

import numpy as np

from attnlab.errors import UserError
from attnlab.linear.weights.collection import write_collection
from attnlab.linear.weights.shipped import FILE, FORMAT

PROVENANCE = ("command", "card", "versions", "seconds", "date")


def pack(source: Path, target: Path, provenance: dict[str, str]) -> int:
    """Write `target` from the npz file `source`; returns the number of networks."""
    with np.load(source, allow_pickle=False) as given:
        arrays = {name: given[name] for name in given.files}
    names = sorted({name.rpartition("/")[0] for name in arrays})
    if not names:
        raise UserError(f"{source} must hold networks, got none.")
    tensors, losses = {}, {}
    for name in names:
        P, Q = (np.asarray(arrays[f"{name}/{part}"], np.float64) for part in "PQ")
        depth = int(name.split("/")[2])
        if P.shape != Q.shape or P.ndim != 4 or P.shape[0] != depth:
            raise UserError(
                f"{name} in {source} must have P and Q of shape ({depth}, heads, d + 1, d + 1), "
                f"got {P.shape} and {Q.shape}."
            )
        if not (np.isfinite(P).all() and np.isfinite(Q).all()):
            raise UserError(f"{name} in {source} must hold finite numbers only.")
        tensors[f"{name}/P"], tensors[f"{name}/Q"] = P, Q
        # JSON has no infinity: a loss that overflowed is written as a very large number.
        recorded = [float(value) for value in np.ravel(arrays[f"{name}/loss"])]
        losses[name] = [value if math.isfinite(value) else 1e308 for value in recorded]
    write_collection(target, tensors, FORMAT, {**provenance, "losses": losses})
    return len(names)


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
