"""Depth growth by Gauss-Newton against the paper's recipe, to the same loss, in one run.

    python benchmarks/linear_recipes.py [seconds] [depth] [noise law]

A one-head DIAG network of three layers is trained on U(0,5) by Levenberg-Marquardt with depth
growth. Another one is trained by Adam as in the paper (label target, learning rate 1e-4, batch
2,048) from small random weights, until its adjusted loss on 65,536 fresh sequences reaches that of
the first, or `seconds` (300) have passed. Compile time counts for both. The last line is the ratio
of the times, which is a lower bound if Adam did not reach the loss.
"""

import sys
import time

import jax

from attnlab.linear.models.weights import DiagWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.growth import grow
from attnlab.linear.training.recipes import PAPER, train_regression

SAMPLES, STEPS = 65_536, 500


def second_order(problem: NoisyRegression, depth: int) -> tuple[float, float]:
    """The time of depth growth in seconds, and its loss."""
    start = time.perf_counter()
    fresh = grow("diag", problem, jax.random.key(0), depth)[-1].fresh
    spent = time.perf_counter() - start
    print(f"Gauss-Newton: {fresh.value:.4f} +- {fresh.standard_error:.4f} in {spent:.1f} s")
    return spent, fresh.value


def papers_recipe(problem: NoisyRegression, depth: int, aim: float, limit: float):
    """Seconds, loss and steps until Adam reaches `aim`, or after about `limit` seconds."""
    one = DiagWeights(*(0.02 * jax.random.normal(jax.random.key(1), (4, depth, 1))))
    weights = jax.tree.map(lambda leaf: leaf[None], one)

    def train(steps: int):
        start = time.perf_counter()
        found = train_regression(
            problem,
            [problem.noise],
            weights,
            jax.random.key(2),
            PAPER,
            steps=steps,
            samples=SAMPLES,
            chunk=STEPS,
        )
        return found, time.perf_counter() - start

    _, compiling = train(STEPS)
    _, each = train(STEPS)
    found, spent = train(STEPS * max(1, round(limit / each)))
    scores = found.scores[:, 0]
    there = scores <= aim
    last = int(there.argmax()) if there.any() else len(scores) - 1
    for i in range(0, len(scores), max(1, len(scores) // 8)):
        print(f"  Adam: {scores[i]:.4f} after {found.ends[i]} steps")
    steps = int(found.ends[last])
    return compiling - each + spent * steps / int(found.ends[-1]), float(scores[last]), steps


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    limit, depth = float(given[0] or 300), int(given[1] or 3)
    problem = NoisyRegression(10, 20, parse_noise(given[2] or "uniform:5"))
    ours, aim = second_order(problem, depth)
    theirs, loss, steps = papers_recipe(problem, depth, aim, limit)
    print(f"paper's recipe: {loss:.4f} after {steps} steps in {theirs:.1f} s")
    at_least = "" if loss <= aim else "more than "
    print(f"{depth} layers, {problem.noise.name}: {at_least}{theirs / ours:.0f} times as long")


if __name__ == "__main__":
    main()
