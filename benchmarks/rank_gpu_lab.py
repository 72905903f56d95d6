"""What the lab adds to a long training on one accelerator, and whether a killed one has its bits.

    python benchmarks/rank_gpu_lab.py [steps] [part ...]

`overhead` trains populations of five encoders as Figure 1 does (rank 8, one and three layers of
standard width) for so many steps (10,000 unless given): by the bare loop of `rank_gpu`, which
guards, checkpoints and records nothing, and as a cell through the lab, whose seconds are divided by
those of the loop. What a cell of a hundred steps takes is the start and the evaluation; the ratio
is also given without it, and with it at the paper's 100,000 steps. `kernels` prints what runs on
the accelerator in a step of both, as time and number per step by the kernels' names. `resume` kills
`attnlab run` in the middle of a population of four times as many steps, continues it, and compares
the stored rows with those of an undisturbed run. Without `part` all of them run; 1 or 3 among them
is the only depth. Without a GPU the sizes are tiny, to try the file.
"""

import collections
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, "src")

import jax
import jax.numpy as jnp
import rank_gpu
from kernel_times import profile
from rich.console import Console

from attnlab.lab.engine import InProcess
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Plan
from attnlab.rank.problem import SelfNeighbours
from attnlab.rank.study import study
from attnlab.rank.study.cells import encoder
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.training.encoders import train_encoders

ON_GPU = jax.default_backend() == "gpu"
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
PARTS = [part for part in sys.argv[2:] if not part.isdigit()] or ["overhead", "kernels", "resume"]
BASE = EncoderRun(
    d=64, N=16, rank=8, mlp=2048, batch=256, seeds=5, matmul="bfloat16", products="auto"
)
if not ON_GPU:
    BASE = EncoderRun(d=16, N=8, rank=8, mlp=32, batch=8, seeds=2)
DEPTHS = tuple(map(int, filter(str.isdigit, sys.argv[2:]))) or ((1, 3) if ON_GPU else (1,))
PAPER_STEPS = 100_000
BARE = 100  # steps of one call of the bare loop, as many as a chunk of the trainer has
SHOWN = 30  # kernels


def config(layers: int, steps: int, seed: int) -> EncoderRun:
    return dataclasses.replace(BASE, layers=layers, steps=steps, seed=seed)


def bare_loop(layers: int) -> Any:
    """A function that makes some steps of the bare loop; it is compiled and warm."""
    asked = config(layers, STEPS, 0)
    run, *begun = rank_gpu.trainer(
        asked.shape(), asked.batch, BARE, STEPS, seeds=asked.seeds, n=asked.N
    )
    state, keys = begun
    program = run.lower(state, keys).compile()
    held = [state]

    def some(steps: int) -> None:
        for _ in range(max(1, steps // BARE)):
            held[0], losses = program(held[0], jnp.copy(keys))
        jax.block_until_ready(losses)

    some(BARE)
    return some


def through_the_lab(asked: EncoderRun, root: Path) -> None:
    cell = encoder(asked)
    plan = Plan(study, "paper", asked.seed, {cell.key: cell})
    (summary,) = run_plans([plan], Store(root), InProcess(), Console(quiet=True))
    assert (summary.computed, len(summary.failed)) == (1, 0)


def overhead() -> None:
    print(f"{STEPS} steps of {BASE.seeds} encoders, rank {BASE.rank}")
    with tempfile.TemporaryDirectory() as folder:
        for layers in DEPTHS:
            some = bare_loop(layers)
            root = Path(folder)
            through_the_lab(config(layers, BARE, 1), root)  # compiles
            fixed = seconds_of_cell(config(layers, BARE, 2), root)
            for turn in range(2):
                bare = rank_gpu.timed(lambda some=some: some(STEPS) or 0)
                ours = seconds_of_cell(config(layers, STEPS, 3 + turn), root)
                each = bare / STEPS
                steps = (ours - fixed) / (STEPS - BARE)
                paper = steps + fixed / PAPER_STEPS
                print(
                    f"  {layers} layers: bare loop {1e3 * each:.3f} ms per step, through the lab "
                    f"{1e3 * ours / STEPS:.3f} ms, ratio {ours / bare:.3f}; start and evaluation "
                    f"{fixed:.2f} s, without them {1e3 * steps:.3f} ms, ratio {steps / each:.3f}, "
                    f"{paper / each:.3f} with them at {PAPER_STEPS:,} steps",
                    flush=True,
                )


def seconds_of_cell(asked: EncoderRun, root: Path) -> float:
    return rank_gpu.timed(lambda: through_the_lab(asked, root) or 0)


def kernels() -> None:
    for layers in DEPTHS:
        some, asked = bare_loop(layers), config(layers, BARE, 0)

        def trained(asked=asked) -> None:
            train_encoders(
                SelfNeighbours(asked.d, asked.N),
                asked.shape(),
                jax.random.key(0),
                steps=BARE,
                batch=asked.batch,
                rate=asked.rate,
                seeds=asked.seeds,
            )

        trained()
        ours = by_name(trained)
        show(f"{layers} layers, bare loop", by_name(lambda some=some: some(BARE)))
        # Drawing the weights and evaluating them are no steps: kernels that ran fewer times.
        show(f"{layers} layers, the trainer", {k: v for k, v in ours.items() if len(v) >= BARE})


def by_name(call: Any) -> dict[str, list[float]]:
    found = collections.defaultdict(list)
    for name, spent in profile(call):
        found[name].append(spent)
    return found


def show(label: str, found: dict[str, list[float]]) -> None:
    total, count = sum(map(sum, found.values())), sum(map(len, found.values()))
    print(f"{label}: {1e6 * total / BARE:.1f} us and {count / BARE:.1f} kernels per step")
    rows = sorted(((sum(times), len(times), name) for name, times in found.items()), reverse=True)
    for spent, number, name in rows[:SHOWN]:
        print(f"  {1e6 * spent / BARE:7.2f} us {number / BARE:6.2f} x {name[:90]}")


def resume() -> None:
    """One run that is killed and continued, beside one that is not."""
    asked = config(DEPTHS[-1], 4 * STEPS, 9)
    with tempfile.TemporaryDirectory() as folder:
        stores = [Path(folder, name) for name in ("undisturbed", "killed")]
        begun = time.perf_counter()
        subprocess.run(command(asked, stores[0]), check=True, stdout=subprocess.DEVNULL)
        whole = time.perf_counter() - begun
        process = subprocess.Popen(command(asked, stores[1]), stdout=subprocess.DEVNULL)
        # The first checkpoint is saved after 20 seconds.
        while process.poll() is None and not list(stores[1].glob("checkpoints/*/*")):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        killed = process.wait() == -signal.SIGKILL
        begun = time.perf_counter()
        subprocess.run(command(asked, stores[1]), check=True, stdout=subprocess.DEVNULL)
        rest = time.perf_counter() - begun
        rows = [repr(Store(root, create=False).rows(encoder(asked))) for root in stores]
        print(
            f"resume: undisturbed {whole:.0f} s; {'killed' if killed else 'ENDED BEFORE THE KILL'},"
            f" continued in {rest:.0f} s; rows {'equal' if rows[0] == rows[1] else 'DIFFERENT'}"
        )


def command(asked: EncoderRun, root: Path) -> list[str]:
    given = [
        f"--{name.replace('_', '-') if len(name) > 1 else name}={value}"
        for name, value in vars(asked).items()
    ]
    return [sys.executable, "-m", "attnlab.cli", "run", "rank_encoder", *given, f"--store={root}"]


if __name__ == "__main__":
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    for part in PARTS:
        {"overhead": overhead, "kernels": kernels, "resume": resume}[part]()
