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

from attnlab.problems.noise import Categorical, Uniform, parse_noise
from attnlab.problems.noisy_regression import NoisyRegression

LAWS = (*(Uniform(high) for high in range(8)), Categorical((1, 3)), Categorical((1, 3, 5)))
FAMILIES = ("gd++", "diag")
DEPTH = 7
PAPER = {  # Table 1 by depth
    "gd++": (
        (1.768, 1.639, 1.396, 1.175, 1.015, 0.907, 0.841, 0.806, 1.007, 0.819),
        (0.341, 0.295, 0.243, 0.265, 0.347, 0.366, 0.440, 0.530, 0.305, 0.427),
        (0.019, 0.021, 0.071, 0.161, 0.259, 0.344, 0.454, 0.530, 0.222, 0.422),
        (9.91e-5, 0.014, 0.066, 0.160, 0.258, 0.344, 0.454, 0.530, 0.222, 0.422),
        (1.14e-7, 0.014, 0.066, 0.161, 0.265, 0.344, 0.454, 0.530, 0.222, 0.422),
        (2.37e-10, 0.009, 0.066, 0.161, 0.265, 0.344, 0.454, 0.530, 0.222, 0.422),
        (2.65e-12, 0.009, 0.066, 0.161, 0.265, 0.344, 0.454, 0.530, 0.222, 0.422),
    ),
    "diag": (
        (1.767, 1.639, 1.396, 1.175, 1.015, 0.906, 0.841, 0.806, 1.007, 0.819),
        (0.265, 0.214, 0.173, 0.188, 0.219, 0.242, 0.254, 0.259, 0.201, 0.246),
        (0.013, 0.015, 0.048, 0.087, 0.109, 0.118, 0.121, 0.123, 0.098, 0.119),
        (1.19e-4, 0.006, 0.024, 0.041, 0.050, 0.059, 0.065, 0.073, 0.043, 0.062),
        (1.81e-7, 0.004, 0.016, 0.029, 0.041, 0.051, 0.058, 0.062, 0.026, 0.051),
        (2.57e-10, 0.003, 0.014, 0.028, 0.040, 0.048, 0.054, 0.059, 0.020, 0.047),
        (2.50e-12, 0.002, 0.014, 0.027, 0.040, 0.047, 0.052, 0.059, 0.018, 0.046),
    ),
}


def one(family: str, law: str, seed: int, out: str) -> None:
    """Grow one network to every depth in this process."""
    from attnlab.training.growth import grow

    found: dict[str, np.ndarray] = {}
    with jax.enable_x64(True):
        problem = NoisyRegression(10, 20, parse_noise(law))
        start = time.perf_counter()
        for depth, grown in enumerate(grow(family, problem, jax.random.key(seed), DEPTH), 1):
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
                command = [
                    sys.executable,
                    __file__,
                    "--one",
                    family,
                    law.name,
                    str(seed),
                    str(part),
                ]
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
    for family in FAMILIES:
        print(f"{family}: best of {seeds} seed(s) | standard error | paper")
        for depth in range(1, DEPTH + 1):
            cells = []
            for i, law in enumerate(LAWS):
                losses = [found[f"{family}/{law.name}/{s}/{depth}/loss"] for s in range(seeds)]
                loss, error = min(losses, key=lambda pair: pair[0])
                cells.append(f"{loss:.3g}|{error:.1g}|{PAPER[family][depth - 1][i]:g}")
            print(depth, "  ".join(cells))
    models = len(FAMILIES) * len(LAWS) * seeds * DEPTH
    print(f"{models} models in {spent:.0f} s with {processes} processes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
