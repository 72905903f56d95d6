"""FULL linear transformers of Table 1 on one accelerator: every noise law, depth and seed.

    python benchmarks/linear_grid_gpu.py OUT [seconds] [seeds] [starts]

grows depths 1 to 7 for the ten noise laws, seed by seed, until `seconds` (400) are spent, and
writes the weights and losses of every finished law to OUT/full.npz as it goes. `starts` is a file
of diagonal solutions that benchmarks/linear_diagonal.py wrote: further proposals at their depths.
The last lines are Table 1's FULL rows: the best seed's loss, its standard error, the paper's value.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Trying out kernels takes the compiler longer than training does.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false")

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.models.linear_weights import DiagWeights
from attnlab.problems.noise import parse_noise
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.reference.linear_table import DEPTHS, LAWS, PAPER
from attnlab.training.full_growth import compile_depth, grow_full
from attnlab.training.recipes import NoiseTable, noise_tables

NOISE = [parse_noise(law) for law in LAWS]
ORDER = (5, 8, 9, 3, 6, 1, 4, 7, 2, 0)
DEPTH = DEPTHS[-1]


def diagonal(file, law, depth: int) -> DiagWeights | None:
    """A diagonal solution; where there is no noise that of GD++, which is trained on its law."""
    family = "diag" if law.second_moment() else "gd++"
    names = [f"{family}/{law.name}/0/{depth}/{part}" for part in ("p_x", "p_y", "q_x", "q_y")]
    if file is None or names[0] not in file:
        return None
    return DiagWeights(*(jnp.asarray(file[name]) for name in names))


def precision(law):
    """Of the search: a loss without noise is smaller than float32 can tell from 0."""
    return jnp.float32 if law.second_moment() else jnp.float64


def compile_all(problem: NoisyRegression, tables: NoiseTable, given: bool) -> None:
    """Every program of every depth, compiled side by side."""
    noise = jax.tree.map(lambda part: part[0], tables)

    def one(depth: int, dtype) -> None:
        with jax.enable_x64(True):
            compile_depth(problem, noise, depth, given, dtype=dtype)

    with ThreadPoolExecutor(2 * DEPTH) as pool:
        waiting = [
            pool.submit(one, depth, dtype)
            for dtype in (jnp.float32, jnp.float64)
            for depth in range(DEPTH, 0, -1)
        ]
        for each in waiting:
            each.result()


def main() -> None:
    given = sys.argv[1:] + [""] * 4
    out, budget, seeds = Path(given[0] or "."), float(given[1] or 400), int(given[2] or 5)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    tables = noise_tables(NOISE, jnp.float64)
    problem = NoisyRegression(10, 20)
    found: dict[str, np.ndarray] = {}
    best: dict[tuple[int, int], tuple[float, float]] = {}
    start = time.perf_counter()
    compile_all(problem, tables, bool(given[3]))
    print(f"[{time.perf_counter() - start:5.0f} s] compiled", flush=True)
    for seed in range(seeds):
        for i in ORDER:
            law = NOISE[i]
            # The diagonal solutions may still be in the making: each law takes what is there.
            starts = np.load(given[3]) if given[3] and Path(given[3]).exists() else None
            if time.perf_counter() - start > budget:
                break
            begun = time.perf_counter()
            said = []
            grown = grow_full(
                problem,
                jax.tree.map(lambda part, i=i: part[i], tables),
                jax.random.fold_in(jax.random.key(seed), i),
                DEPTH,
                starts=[diagonal(starts, law, depth) for depth in range(1, DEPTH + 1)],
                dtype=precision(law),
            )
            for model in grown:
                name = f"{law.name}/{seed}/{model.depth}"
                found[f"{name}/P"], found[f"{name}/Q"] = map(
                    np.asarray, (model.weights.P, model.weights.Q)
                )
                loss, error = model.loss.value, model.loss.standard_error
                found[f"{name}/loss"] = np.array([loss, error, model.largest])
                key = (model.depth, i)
                best[key] = min(best.get(key, (np.inf, 0.0)), (loss, error))
                said.append(f"{loss:.3g}({model.origin})")
            spent = time.perf_counter() - begun
            total = time.perf_counter() - start
            print(
                f"[{total:5.0f} s] seed {seed} {law.name}: {' '.join(said)} {spent:.1f} s",
                flush=True,
            )
            np.savez(out / "full.npz", **found)
    print("best of the seeds | standard error | paper's FULL")
    for depth in DEPTHS:
        cells = []
        for i, law in enumerate(LAWS):
            loss, error = best.get((depth, i), (np.nan, np.nan))
            cells.append(f"{loss:.3g}|{error:.1g}|{PAPER['FULL', depth, law]:g}")
        print(depth, "  ".join(cells))


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
