"""Looks for heavy tails in the shipped FULL networks that ordinary samples do not show.

    python scripts/full_tails.py [--draws 64]

A sequence that comes once in millions can make up the mean of a deep network. For every noise law
`draws` times 65,536 sequences are drawn, and the 256 largest of each draw in |Sigma| and in
sum y^2 are kept. For the best start of every depth this prints its loss and what they add to it;
the last line counts the networks to whose mean they add more than 5%. Nothing is written.
"""

import argparse

import jax

from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import sequence_losses
from attnlab.linear.training.fixed_sample import most_extreme
from attnlab.linear.training.full_networks import STEADY
from attnlab.linear.weights.full import TOKENS, full_networks


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=64)
    draws = parser.parse_args().draws
    held = full_networks()
    heavy = count = 0
    for law in held.laws():
        extremes = most_extreme(NoisyRegression(10, TOKENS, parse_noise(law)), draws)
        for depth in held.depths(law):
            best = held.best(law, depth)
            loss = held.record(law, depth, best)["loss"]
            added = extremes.weight @ sequence_losses(held.weights(law, depth, best), extremes)
            count, tail = count + 1, loss is None or not added <= STEADY * loss
            heavy += tail
            print(f"{law}, {depth} layers, start {best}: {loss}, extremes add {added:.3g}")
    print(f"to {heavy} of {count} networks the extremes add more than {STEADY:.0%}")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
