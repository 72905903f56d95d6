"""The whole of Table 1 on one machine with an accelerator: every model, noise law, depth and seed.

    python benchmarks/linear_grid_gpu.py OUT [seconds] [seeds]

trains FULL on the accelerator and, at the same time, GD++ and DIAG on all processors but two by
benchmarks/linear_diagonal.py; a DIAG network (GD++ where there is no noise) is a further proposal
for FULL of its law, seed and depth. Weights and losses are written to OUT/full.npz and
OUT/diag.npz as they come, FULL begins no further law after `seconds` (400), and `seeds` are five
unless given. The last lines are the tables (the best seed's loss, its standard error, the paper's
value) and the seconds that all of it took.
"""

import os
import subprocess
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
from attnlab.problems.noise import NoiseLaw, parse_noise
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.reference.linear_table import DEPTHS, LAWS, PAPER
from attnlab.training.fresh_sample import Sampling
from attnlab.training.full_growth import Effort, compile_depth, grow_full
from attnlab.training.recipes import NoiseTable, noise_tables

DEPTH = DEPTHS[-1]
PROBLEM = NoisyRegression(10, 20)
# Where there is no noise a loss is smaller than float32 can tell from 0. In double precision the
# same search takes eight times as long, and no direction helps there: it gets a smaller one.
NOISELESS = Effort(draws=1, kept=2, parents=1, coarse=Sampling(256, 1024, 32, 1024))


def settings(law: NoiseLaw, seed: int) -> dict:
    """Even seeds single out two directions, odd ones one."""
    if law.second_moment():
        return {"effort": Effort(), "axes": 2 - seed % 2, "dtype": jnp.float32}
    return {"effort": NOISELESS, "axes": 1, "dtype": jnp.float64}


def in_order(laws: list[NoiseLaw], seeds: int) -> list[tuple[NoiseLaw, int]]:
    """All laws of a seed before the next seed; without noise last."""
    noisy = [(law, seed) for seed in range(seeds) for law in laws if law.second_moment()]
    silent = [(law, seed) for seed in range(seeds) for law in laws if not law.second_moment()]
    return noisy + silent


def compile_all(tasks: list[tuple[NoiseLaw, int]], noise: NoiseTable) -> None:
    """Every program of every depth, side by side."""

    def one(depth: int, given: dict) -> None:
        with jax.enable_x64(True):
            compile_depth(PROBLEM, noise, depth, True, **given)

    kinds = {tuple(map(str, given.items())): given for given in (settings(*task) for task in tasks)}
    with ThreadPoolExecutor(len(kinds) * DEPTH) as pool:
        depths = range(DEPTH, 0, -1)
        waiting = [pool.submit(one, depth, given) for depth in depths for given in kinds.values()]
        for each in waiting:
            each.result()


def diagonal(path: Path, law: NoiseLaw, seed: int, making: subprocess.Popen) -> list[DiagWeights]:
    """The networks of the smaller model for this seed, or the first if they are not yet there.

    Without noise it is GD++, which is trained on the law of its eigenvalues and has no tail.
    """
    family = "diag" if law.second_moment() else "gd++"
    parts = ("p_x", "p_y", "q_x", "q_y")
    while True:
        ended = making.poll() is not None
        if path.exists():
            with np.load(path) as file:
                for own in (f"{family}/{law.name}/{seed}", f"{family}/{law.name}/0"):
                    if f"{own}/{DEPTH}/loss" in file:
                        names = [[f"{own}/{depth}/{part}" for part in parts] for depth in DEPTHS]
                        return [DiagWeights(*(jnp.asarray(file[n]) for n in row)) for row in names]
        if ended:
            sys.exit(f"linear_diagonal.py ended without {family} on {law.name}")
        time.sleep(0.2)


def grown(
    law: NoiseLaw, seed: int, noise: NoiseTable, starts: list[DiagWeights]
) -> dict[str, np.ndarray]:
    """The weights and losses of every depth, under the names that `reference.pack` reads."""
    found = {}
    key = jax.random.fold_in(jax.random.key(seed), LAWS.index(law.name))
    for model in grow_full(PROBLEM, noise, key, DEPTH, starts=starts, **settings(law, seed)):
        name = f"{law.name}/{seed}/{model.depth}"
        found[f"{name}/P"], found[f"{name}/Q"] = (
            np.asarray(part) for part in (model.weights.P, model.weights.Q)
        )
        loss = model.loss
        found[f"{name}/loss"] = np.array([loss.value, loss.standard_error, model.largest])
    return found


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    out, budget, seeds = Path(given[0] or "."), float(given[1] or 400), int(given[2] or 5)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {os.cpu_count()} processors")
    start = time.perf_counter()
    laws = [parse_noise(law) for law in LAWS]
    all_tables = noise_tables(laws, jnp.float64)
    tables = {
        law: jax.tree.map(lambda part, i=i: part[i], all_tables) for i, law in enumerate(laws)
    }
    tasks = in_order(laws, seeds)
    # Compiling beside the other processes would take both more than twice as long.
    compile_all(tasks, next(iter(tables.values())))
    print(f"[{time.perf_counter() - start:5.0f} s] compiled", flush=True)
    script = Path(__file__).with_name("linear_diagonal.py")
    processes = max((os.cpu_count() or 2) - 2, 1)
    command = [sys.executable, str(script), str(out / "diag.npz"), str(seeds), str(processes)]
    with (out / "diag.txt").open("w") as said:
        making = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, "JAX_PLATFORMS": "cpu"}
        )
    found: dict[str, np.ndarray] = {}
    for law, seed in tasks:
        if time.perf_counter() - start > budget:
            break
        starts = diagonal(out / "diag.npz", law, seed, making)
        begun = time.perf_counter()
        found |= grown(law, seed, tables[law], starts)
        losses = [found[f"{law.name}/{seed}/{depth}/loss"][0] for depth in DEPTHS]
        now = time.perf_counter()
        print(
            f"[{now - start:5.0f} s] {law.name} seed {seed}: "
            f"{' '.join(f'{loss:.3g}' for loss in losses)} {now - begun:.1f} s",
            flush=True,
        )
        np.savez(out / "full.npz", **found)
    making.wait()
    spent = time.perf_counter() - start
    print((out / "diag.txt").read_text().rstrip())
    print("FULL: best seed by loss and three standard errors | standard error | paper")
    for depth in DEPTHS:
        cells = []
        for law in LAWS:
            names = [f"{law}/{seed}/{depth}/loss" for seed in range(seeds)]
            losses = [found[name] for name in names if name in found]
            loss = min(losses, key=lambda pair: pair[0] + 3 * pair[1], default=[np.nan, np.nan])
            cells.append(f"{loss[0]:.3g}|{loss[1]:.1g}|{PAPER['FULL', depth, law]:g}")
        print(depth, "  ".join(cells))
    losses = [value[0] for name, value in found.items() if name.endswith("/loss")]
    print(
        f"FULL: {len(losses)} models, {np.isfinite(losses).sum()} with a finite loss; all three "
        f"models in {spent:.0f} s"
    )


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
