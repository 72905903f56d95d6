"""The GD++ and DIAG part of Table 1 on the CPU: every noise law, depth and seed.

    python benchmarks/linear_diagonal.py OUT.npz [seeds] [processes]

grows depths 1 to 7 of GD++ and one-head DIAG for the ten noise laws by Levenberg-Marquardt (one
seed and two processes unless given), writes weights and losses to OUT.npz and prints the table:
loss, standard error and the paper's value, then the seconds that all of it took.
"""

import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

from attnlab.problems.noise import parse_noise
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.reference.linear_table import DEPTHS, LAWS, PAPER

FAMILIES = {"gd++": "GD++", "diag": "DIAG"}


def one(family: str, law: str, seed: int, out: str) -> None:
    """Grow one network to every depth in this process."""
    from attnlab.training.growth import grow

    found: dict[str, np.ndarray] = {}
    with jax.enable_x64(True):
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
    np.savez(out, **found)


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    out, seeds, processes = given[0], int(given[1] or 1), int(given[2] or 2)
    found: dict[str, np.ndarray] = {}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tasks = list(itertools.product(range(seeds), reversed(FAMILIES), LAWS))
        running: list[tuple[subprocess.Popen, Path]] = []
        while tasks or running:
            while tasks and len(running) < processes:
                seed, family, law = tasks.pop(0)
                part = Path(folder) / f"{len(tasks)}.npz"
                command = [sys.executable, __file__, "--one", family, law, str(seed), str(part)]
                running.append((subprocess.Popen(command), part))
            time.sleep(0.2)
            ended = [pair for pair in running if pair[0].poll() is not None]
            running = [pair for pair in running if pair not in ended]
            for process, part in ended:
                if process.returncode:
                    sys.exit(f"{process.args} ended with {process.returncode}")
                found |= dict(np.load(part))
                np.savez(f"{out}.new.npz", **found)
                Path(f"{out}.new.npz").replace(out)
    spent = time.perf_counter() - start
    for family, model in FAMILIES.items():
        print(f"{family}: best of {seeds} seed(s) | standard error | paper")
        for depth in DEPTHS:
            cells = []
            for law in LAWS:
                losses = [found[f"{family}/{law}/{s}/{depth}/loss"] for s in range(seeds)]
                loss, error = min(losses, key=lambda pair: pair[0])
                cells.append(f"{loss:.3g}|{error:.1g}|{PAPER[model, depth, law]:g}")
            print(depth, "  ".join(cells))
    models = len(FAMILIES) * len(LAWS) * seeds * len(DEPTHS)
    print(f"{models} models in {spent:.0f} s with {processes} processes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
