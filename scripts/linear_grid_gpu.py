"""Trains all networks of Table 1 on one machine with a GPU: every model, law, depth and seed.

    python scripts/linear_grid_gpu.py OUT [seconds] [seeds]

The AXIS networks are trained on the GPU. At the same time GD++ and DIAG are
trained on all processors but two by scripts/linear_diagonal.py; a DIAG network (GD++ where there is
no noise) is a further starting point for the axis network of its law, seed and depth. Calling the
GPU takes the processor longer than the GPU computes, so that two processes call it, each for the
networks whose programs it compiles. Weights and losses are written to OUT/axis.npz and
OUT/diag.npz, and those of the axis networks also to one file per process while it runs. No further
law is begun after `seconds` (400); `seeds` is 5 unless given. The last lines are the tables (loss
of the best seed, standard error, the paper's value) and the total time.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

# Autotuning of kernels takes the compiler longer than the training takes.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false")
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.4")  # of the GPU's memory, per process

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.linear.models.weights import DiagWeights
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.table_1 import DEPTHS, LAWS, PAPER
from attnlab.linear.training.axis_growth import AxisGrowthEffort, compile_depth, grow_axis
from attnlab.linear.training.batches import NoiseTable, noise_tables
from attnlab.linear.training.fresh_sample import Sampling

DEPTH = DEPTHS[-1]
PROBLEM = NoisyRegression(10, 20)
# Without noise a loss is smaller than float32 can tell from 0. In double precision the same search
# takes eight times as long, and breaking the symmetry gains nothing there, so it is smaller.
NOISELESS = AxisGrowthEffort(draws=1, kept=2, parents=1, coarse=Sampling(256, 1024, 32, 1024))


def settings(law: NoiseLaw, seed: int) -> dict:
    """The options of a seed; even seeds treat two directions differently, odd ones one."""
    if law.second_moment():
        return {"effort": AxisGrowthEffort(), "axes": 2 - seed % 2, "dtype": jnp.float32}
    return {"effort": NOISELESS, "axes": 1, "dtype": jnp.float64}


def shares(laws: list[NoiseLaw], seeds: int) -> list[list[tuple[NoiseLaw, int]]]:
    """The tasks of both processes, in order; the processes have no program in common."""
    tasks = [(law, seed) for seed in range(seeds) for law in laws if law.second_moment()]
    noiseless = [(law, seed) for seed in range(seeds) for law in laws if not law.second_moment()]
    two = [task for task in tasks if settings(*task)["axes"] == 2]
    return [two, noiseless + [task for task in tasks if task not in two]]


def compile_all(tasks: list[tuple[NoiseLaw, int]], noise: NoiseTable) -> None:
    """Compile the programs of all depths at the same time."""

    def one(depth: int, given: dict) -> None:
        with jax.enable_x64(True):
            compile_depth(PROBLEM, noise, depth, True, **given)

    kinds = {tuple(map(str, given.items())): given for given in (settings(*task) for task in tasks)}
    with ThreadPoolExecutor(len(kinds) * DEPTH) as pool:
        depths = range(DEPTH, 0, -1)
        waiting = [pool.submit(one, depth, given) for depth in depths for given in kinds.values()]
        for each in waiting:
            each.result()


def diagonal(path: Path, law: NoiseLaw, seed: int) -> list[DiagWeights]:
    """The diagonal networks of this seed, or those of seed 0 if these are not there yet.

    Without noise they are GD++, which is trained on the law of the eigenvalues and has no tail.
    """
    family = "diag" if law.second_moment() else "gd++"
    parts = ("p_x", "p_y", "q_x", "q_y")
    while True:
        ended = path.with_suffix(".ended").exists()
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
    """Weights and losses of every depth, with the names that `pack_axis_networks.py` reads."""
    found = {}
    key = jax.random.fold_in(jax.random.key(seed), LAWS.index(law.name))
    for model in grow_axis(PROBLEM, noise, key, DEPTH, starts=starts, **settings(law, seed)):
        name = f"{law.name}/{seed}/{model.depth}"
        found[f"{name}/P"], found[f"{name}/Q"] = (
            np.asarray(part) for part in (model.weights.P, model.weights.Q)
        )
        loss = model.loss
        found[f"{name}/loss"] = np.array([loss.value, loss.standard_error, model.largest])
    return found


def train(share: int, out: Path, start: float, budget: float, seeds: int) -> dict[str, np.ndarray]:
    """One process: compile the programs, and train its tasks until `budget` seconds have passed."""
    with jax.enable_x64(True):
        laws = [parse_noise(law) for law in LAWS]
        every = noise_tables(laws, jnp.float64)
        tables = {law: jax.tree.map(lambda part, i=i: part[i], every) for i, law in enumerate(laws)}
        tasks = shares(laws, seeds)[share]
        if share == 0:
            device = jax.devices()[0].device_kind
            print(f"{device}, jax {jax.__version__}, {os.cpu_count()} processors", flush=True)
        compile_all(tasks, next(iter(tables.values())))
        print(f"[{time.time() - start:5.0f} s] compiled", flush=True)
        found: dict[str, np.ndarray] = {}
        for law, seed in tasks:
            if time.time() - start > budget:
                break
            starts = diagonal(out / "diag.npz", law, seed)
            begun = time.time()
            found |= grown(law, seed, tables[law], starts)
            losses = [found[f"{law.name}/{seed}/{depth}/loss"][0] for depth in DEPTHS]
            print(
                f"[{time.time() - start:5.0f} s] {law.name} seed {seed}: "
                f"{' '.join(f'{loss:.3g}' for loss in losses)} {time.time() - begun:.1f} s",
                flush=True,
            )
            np.savez(out / f"axis-{share}.npz", **found)
    return found


def start_diagonal(out: Path, seeds: int) -> subprocess.Popen:
    """Start the training of GD++ and DIAG on the processors that the GPU does not need."""
    script = Path(__file__).with_name("linear_diagonal.py")
    processes = max((os.cpu_count() or 2) - 2, 1)
    command = [sys.executable, str(script), str(out / "diag.npz"), str(seeds), str(processes)]
    with (out / "diag.txt").open("w") as output:
        return subprocess.Popen(
            ["nice", "-n", "15", *command],
            stdout=output,
            stderr=output,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    out, budget, seeds = Path(given[0] or "."), float(given[1] or 400), int(given[2] or 5)
    for name in ("diag.npz", "diag.ended"):
        (out / name).unlink(missing_ok=True)  # of an earlier run
    start = time.time()
    diagonal_training = start_diagonal(out, seeds)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        waiting = [pool.submit(train, i, out, start, budget, seeds) for i in range(2)]
        diagonal_training.wait()
        (out / "diag.ended").touch()
        print(f"[{time.time() - start:5.0f} s] GD++ and DIAG ended", flush=True)
        found = waiting[0].result() | waiting[1].result()
    np.savez(out / "axis.npz", **found)
    spent = time.time() - start
    print((out / "diag.txt").read_text().rstrip())
    print("AXIS: best seed by loss and three standard errors | standard error | paper's FULL")
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
        f"AXIS: {len(losses)} models, {np.isfinite(losses).sum()} with a finite loss; all three "
        f"models in {spent:.0f} s"
    )


if __name__ == "__main__":
    main()
