"""What the exact law, the distinct rows and the counts of bits save, in one run on one core.

    python benchmarks/separation.py

prints (1) the seconds for every exact point of Figures 4 and 5, problems built inside; (2) the time
per Monte Carlo trial on distinct rows, on all n rows of attention computed once, and on all n rows
of attention recomputed in each trial, with the counts of the three (the first two include the
attention, spread over 200 trials); (3) the law against a Monte Carlo with a standard error of about
0.01; (4) the time per trial of the regression model by counts of bits, with sums in float64 where
they leave it open, against plain products in float64, with the successes of both.
"""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from attnlab import separation
from attnlab.separation.models import NETWORKS, attention_output, exceeds, normalise
from attnlab.separation.rademacher import generators, rademacher, random_words, unpacked
from attnlab.separation.simulation.attention_trials import AttentionTrials
from attnlab.separation.simulation.regression_trials import RegressionTrials
from attnlab.separation.study import grids

Answer = TypeVar("Answer")


def timed(call: Callable[[], Answer], repeats: int = 5) -> tuple[float, Answer]:
    """The median wall-clock seconds of `repeats` calls after one that is not counted."""
    answer = call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), answer


def every_exact_point() -> int:
    """All points of Figures 4 and 5; a sweep over m needs the one-neuron law only once."""
    points = 0
    for x in grids.XS:
        for panel, swept in grids.PANELS.items():
            sweep = [cell.config for cell in grids.attention_sweep(panel, x, seed=0)]
            first = separation.neuron_law(sweep[0].problem(), sweep[0].network())
            for point in sweep:
                alike = swept == "m"
                law = first if alike else separation.neuron_law(point.problem(), point.network())
                separation.success_from(law, point.m)
                points += 1
    return points


def all_rows(
    pair: separation.SelfAttentionPair, network: separation.AttentionNetwork
) -> np.ndarray:
    """The attention outputs of the four networks from the full matrices, n rows each."""
    X, V = network.matrices(pair.d)
    return np.stack(
        [
            attention_output(pair.queries(label), pair.keys(label), pair.keys(label), X, V, kind)
            for kind, label in NETWORKS
        ]
    )


def compare_rows(n: int, d: int, trials: int, recomputed: int) -> None:
    """One line: microseconds per trial and counts, the last way on fewer trials as it is slow."""
    pair, network = separation.SelfAttentionPair(n, d), separation.AttentionNetwork(15)
    experiment = AttentionTrials(pair, network)
    (rng,) = generators(0, 1)
    signs = rademacher(rng, trials, network.width, d)

    distinct, first = timed(lambda: experiment.outcomes(signs))
    once, second = timed(lambda: experiment.outcomes(signs, all_rows(pair, network)), repeats=3)

    def each() -> list[bool]:
        return [
            bool(experiment.outcomes(signs[i : i + 1], all_rows(pair, network))[0])
            for i in range(recomputed)
        ]

    again, third = timed(each, repeats=3)
    per_trial = [1e6 * distinct / trials, 1e6 * once / trials, 1e6 * again / recomputed]
    same = bool((first == second).all()) and third == first[:recomputed].tolist()
    print(
        f"  n={n} d={d} m=15  distinct rows {per_trial[0]:.1f} us/trial, "
        f"all rows once {per_trial[1]:.1f} us/trial ({per_trial[1] / per_trial[0]:.0f}x), "
        f"all rows recomputed {per_trial[2]:.0f} us/trial ({per_trial[2] / per_trial[0]:.0f}x); "
        f"successes {int(first.sum())} and {int(second.sum())} of {trials}, trial by trial "
        f"{'equal' if same else 'DIFFERENT'}"
    )


def compare_law(n: int, d: int, trials: int) -> None:
    """One line: the law, and a Monte Carlo of the same probability."""
    pair, network = separation.SelfAttentionPair(n, d), separation.AttentionNetwork(15)
    law, exact = timed(lambda: separation.success(pair, network), repeats=51)
    sampling, sampled = timed(lambda: separation.simulate(pair, network, trials=trials))
    print(
        f"  n={n} d={d} m=15  law {1e6 * law:.0f} us gives {exact.value:.6f}; {trials} trials take "
        f"{1e3 * sampling:.1f} ms and give {sampled.value:.4f} +- {sampled.standard_error:.4f} "
        f"({sampling / law:.0f}x)"
    )


def compare_counts(n: int, m: int, trials: int) -> None:
    """One line: the same trials of the regression model by both ways."""
    problem, network = separation.RegressionPair(n), separation.RegressionNetwork(m)
    experiment = RegressionTrials(problem, network)
    data, signs = generators(0, 2)
    levels = problem.draw_levels(data, trials)
    words = random_words(signs, trials, m, n)
    bits = unpacked(words, n)

    def plainly() -> np.ndarray:
        u = levels.astype(np.float64) * problem.unit
        by_label = (u, problem.spiked(u))
        f = np.stack([normalise(by_label[label], kind) for kind, label in NETWORKS], axis=2)
        fires = exceeds(((2.0 * bits - 1) @ f).max(axis=1), network.tau)
        return fires[:, 0] & ~(fires[:, 1] | fires[:, 2] | fires[:, 3])

    fast, first = timed(lambda: experiment.outcomes(levels, words))
    plain, second = timed(plainly, repeats=3)
    print(
        f"  n={n} m={m}  counts of bits {1e6 * fast / trials:.1f} us/trial, products in float64 "
        f"{1e6 * plain / trials:.1f} us/trial ({plain / fast:.1f}x); successes {int(first.sum())} "
        f"and {int(second.sum())} of {trials}, trial by trial "
        f"{'equal' if bool((first == second).all()) else 'DIFFERENT'}"
    )


def main() -> None:
    with threadpool_limits(limits=1):
        seconds, points = timed(every_exact_point)
        print(f"1. exact sweeps of Figures 4 and 5: {points} points in {seconds:.3f} s")
        print("2. Monte Carlo, attention between distinct rows against all rows")
        for d in (12, 22):
            compare_rows(1000, d, trials=200, recomputed=5)
        print("3. exact law against Monte Carlo")
        for n, d in ((200, 22), (1000, 12)):
            compare_law(n, d, trials=2500)
        print("4. regression model, counts of bits against products in float64")
        for n, m in ((1000, 6), (1000, 50)):
            compare_counts(n, m, trials=40)


if __name__ == "__main__":
    main()
