"""Looks for heavy tails in the shipped FULL networks, and records them in the file.

    python scripts/full_tails.py [--draws 64]

A sequence that comes once in millions can make up the mean of a deep network, and the sequences by
which the best start was chosen need not contain it. For every noise law `draws` times 65,536
sequences are drawn, and the 256 largest of each draw in |Sigma| and in sum y^2 are kept. What they
contribute to the mean becomes the record "extremes" of a network, and counts when the best start is
chosen, as for AXIS (`axis_tails.py`). The last lines are the digests for
`attnlab.linear.study.grids_full`.
"""

import argparse
import math

import jax

from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import sequence_losses
from attnlab.linear.training.fixed_sample import most_extreme
from attnlab.linear.training.full_networks import STEADY
from attnlab.linear.weights.full import FILE, TOKENS, full_networks, write_full


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=64)
    draws = parser.parse_args().draws
    held = full_networks.__wrapped__(FILE)
    records = {name: dict(record) for name, record in held.records.items()}
    heavy = 0
    for law in held.laws():
        extremes = most_extreme(NoisyRegression(10, TOKENS, parse_noise(law)), draws)
        for name in sorted(name for name in records if name.split("/")[1] == law):
            recipe, _, depth, seed = name.split("/")
            network = held.weights(law, int(depth), int(seed), recipe)
            added = float(extremes.weight @ sequence_losses(network, extremes))
            records[name]["extremes"] = added if math.isfinite(added) else None
            heavy += not added <= STEADY * (records[name]["loss"] or 0)
        print(f"{law}: {heavy} networks so far with extremes above {STEADY:.0%}", flush=True)
    matrices = {name: tensor.block() for name, tensor in held.tensors.items()}
    write_full(FILE, matrices, records, {**held.about, "extremes_of": extremes.drawn})
    print(f"{heavy} of {len(records)} networks have extremes above {STEADY:.0%} of their loss.")
    for name, digest in full_networks.__wrapped__(FILE).digests().items():
        print(f'    "{name}": "{digest}",')


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
