"""What the exact law and the distinct rows save, measured in one run on one core.

    python benchmarks/separation.py

prints (1) the seconds for every exact point of Figures 4 and 5, problems built inside; (2) the time
a Monte Carlo trial takes on distinct rows, on all n rows of attention computed once, and on all n
rows of attention recomputed in each trial, with the counts of the three (the first two include
the attention, spread over 200 trials); (3) the law against a Monte Carlo good to about 0.01.
"""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

from threadpoolctl import threadpool_limits

from attnlab.separation import simulation, theory
from attnlab.separation.models import AttentionNetwork
from attnlab.separation.problem import SelfAttentionPair
from attnlab.separation.rademacher import generators, rademacher
from attnlab.separation.simulation import success_indicators, success_indicators_full
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
            first = theory.neuron_law(sweep[0].problem(), sweep[0].network())
            for point in sweep:
                alike = swept == "m"
                law = first if alike else theory.neuron_law(point.problem(), point.network())
                theory.success_from(law, point.m)
                points += 1
    return points


def compare_rows(n: int, d: int, trials: int, recomputed: int) -> None:
    """One line: microseconds a trial and counts, the last way on fewer trials as it is slow."""
    pair, network = SelfAttentionPair(n, d), AttentionNetwork(15)
    (rng,) = generators(0, 1)
    signs = rademacher(rng, (trials, network.width, d))

    distinct, first = timed(lambda: success_indicators(pair, network, signs))
    once, second = timed(lambda: success_indicators_full(pair, network, signs), repeats=3)

    def each() -> list[bool]:
        return [
            bool(success_indicators_full(pair, network, signs[i : i + 1])[0])
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
    pair, network = SelfAttentionPair(n, d), AttentionNetwork(15)
    law, exact = timed(lambda: theory.success(pair, network), repeats=51)
    sampling, sampled = timed(lambda: simulation.success(pair, network, trials=trials))
    print(
        f"  n={n} d={d} m=15  law {1e6 * law:.0f} us gives {exact.value:.6f}; {trials} trials take "
        f"{1e3 * sampling:.1f} ms and give {sampled.value:.4f} +- {sampled.standard_error:.4f} "
        f"({sampling / law:.0f}x)"
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


if __name__ == "__main__":
    main()
