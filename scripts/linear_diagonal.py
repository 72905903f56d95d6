"""Trains the GD++ and DIAG networks of Table 1 on the CPU: every noise law, depth and seed.

    python scripts/linear_diagonal.py OUT.npz [seeds] [processes] [law ...]

Depths 1 to 7 of GD++ and of one-head DIAG are grown by Levenberg-Marquardt for the given noise laws
(all ten by default), with one seed and two processes unless given. Weights and losses are written
to OUT.npz. The output is the table (loss, standard error, the paper's value), and the wall time and
processor time of all of it. A process keeps its compiled programs from one law to the next.
"""

import itertools
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import jax
import numpy as np

from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.table_1 import DEPTHS, LAWS, PAPER

FAMILIES = {"gd++": "GD++", "diag": "DIAG"}
SHORT = ("gd++", LAWS[0])  # a task of seconds, which is done first
# The arrays of a step are small, so that further threads cost more than they gain.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def one(seed: int, family: str, law: str) -> dict[str, np.ndarray]:
    """Train all depths of one family, law and seed."""
    from attnlab.linear.training.growth import grow

    found: dict[str, np.ndarray] = {}
    problem = NoisyRegression(10, 20, parse_noise(law))
    start = time.perf_counter()
    for depth, grown in enumerate(grow(family, problem, jax.random.key(seed), DEPTHS[-1]), 1):
        weights = grown.weights.diag() if family == "gd++" else grown.weights
        name = f"{family}/{law}/{seed}/{depth}"
        for part in ("p_x", "p_y", "q_x", "q_y"):
            found[f"{name}/{part}"] = np.asarray(getattr(weights, part))
        fresh = grown.fresh
        found[f"{name}/loss"] = np.array([fresh.value, fresh.standard_error])
    found[f"{family}/{law}/{seed}/seconds"] = np.array(time.perf_counter() - start)
    return found


def main() -> None:
    given = sys.argv[1:4] + [""] * 3
    out, seeds, processes = given[0], int(given[1] or 1), int(given[2] or 2)
    laws = sys.argv[4:] or LAWS
    os.environ.update(ONE_THREAD)  # for the processes to come
    found: dict[str, np.ndarray] = {}
    start = time.perf_counter()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        tasks = itertools.product(range(seeds), FAMILIES, laws)
        # Long tasks go first, except that the other script waits for seed 0 of both models.
        tasks = sorted(tasks, key=lambda task: (task[0] > 0, task[1:] != SHORT, task[1]))
        for ended in as_completed([pool.submit(one, *task) for task in tasks]):
            found |= ended.result()
            np.savez(f"{out}.new.npz", **found)
            Path(f"{out}.new.npz").replace(out)
    spent = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for family, model in FAMILIES.items():
        print(f"{family}: best of {seeds} seed(s) | standard error | paper")
        for depth in DEPTHS:
            cells = []
            for law in laws:
                losses = [found[f"{family}/{law}/{s}/{depth}/loss"] for s in range(seeds)]
                loss, error = min(losses, key=lambda pair: pair[0])
                cells.append(f"{loss:.3g}|{error:.1g}|{PAPER[model, depth, law]:g}")
            print(depth, "  ".join(cells))
    losses = [value[0] for name, value in found.items() if name.endswith("/loss")]
    print(
        f"{len(losses)} models, {np.isfinite(losses).sum()} with a finite loss, in {spent:.0f} s "
        f"with {processes} processes, {used.ru_utime + used.ru_stime:.0f} core-seconds"
    )


if __name__ == "__main__":
    main()
