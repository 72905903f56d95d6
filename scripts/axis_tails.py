"""Looks for heavy tails in the shipped AXIS networks, and records them in the file.

    python scripts/axis_tails.py [draws]

Deep networks are polynomials of high degree: one rare sequence can make up their mean. For every
noise law `draws` times 65,536 sequences (256 times unless given) are drawn, and of each draw the
256 largest in |Sigma| and in sum y^2 are kept. What they contribute to the mean over all of these
sequences becomes the fourth recorded number of every network, and counts when the best run is
chosen. Without noise run 5 is from four layers on GD++, fitted to the exact law of the eigenvalues
without ends that are rarer than `RAREST`; it is trained here where the file lacks it. After this
the table `attnlab.linear.study.shipped_table` has to be updated; a test compares it with the file.
"""

import sys

import jax
import numpy as np

from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import drawn, sequence_losses
from attnlab.linear.training.fixed_sample import most_extreme
from attnlab.linear.training.growth import GrowthEffort, grow
from attnlab.linear.weights.shipped import FILE, MEASURED, TOKENS, shipped, write_shipped
from attnlab.stats import Estimate

RAREST = 1e-9  # eigenvalues per sequence
HEAVY = 0.05  # of the recorded loss
LARGEST = 1e300
NOISELESS, STEEP, RUN = "uniform:0", 4, 5


def noiseless_networks(depth: int = 7) -> dict[int, FullWeights]:
    """GD++ without noise, from four layers on, as AXIS networks that single out no direction."""
    effort = GrowthEffort(rarest=RAREST, screening=64, sequences=256, pool=1024, tail=64, fresh=64)
    problem = NoisyRegression(10, TOKENS, parse_noise(NOISELESS))
    grown = grow("gd++", problem, jax.random.key(0), depth, effort=effort)
    return {
        each.weights.depth: jax.tree.map(np.asarray, each.weights.full(problem.d))
        for each in grown
        if each.weights.depth >= STEEP
    }


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    held = shipped()
    tensors = {name: held.matrices(name) for name in held.tensors}
    losses = dict(held.losses)
    sample = drawn(NoisyRegression(10, TOKENS, parse_noise(NOISELESS)), 10**6, MEASURED)
    made = f"{NOISELESS}/{RUN}/{STEEP}" in losses
    for depth, network in ({} if made else noiseless_networks()).items():
        name = f"{NOISELESS}/{RUN}/{depth}"
        tensors[f"{name}/P"], tensors[f"{name}/Q"] = map(np.asarray, (network.P, network.Q))
        found = sequence_losses(network, sample)
        mean = Estimate.of(found)
        losses[name] = [float(mean.value), float(mean.standard_error), float(found.max())]
        print(name, losses[name], flush=True)
    for law in held.laws:
        problem = NoisyRegression(10, TOKENS, parse_noise(law))
        extremes = most_extreme(problem, draws)
        for name in sorted(name for name in losses if name.startswith(f"{law}/")):
            network = FullWeights(tensors[f"{name}/P"], tensors[f"{name}/Q"])
            found = sequence_losses(network, extremes)
            total = float(extremes.weight @ found)
            losses[name] = [*losses[name][:3], total if np.isfinite(total) else LARGEST]
            if not total <= HEAVY * losses[name][0]:
                print(name, losses[name], flush=True)
    heavy = sum(each[3] > HEAVY * each[0] for each in losses.values())
    about = {**held.provenance, "losses": losses, "extremes": f"of {extremes.drawn} sequences"}
    write_shipped(FILE, tensors, about)
    print(f"of {len(losses)} networks {heavy} have extremes above {HEAVY:.0%} of their loss")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
