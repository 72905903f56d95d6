"""What a training step of the study `rank` costs on a CPU, against eager PyTorch in the same run.

    ATTNLAB_TORCH_PYTHON=/path/to/python python benchmarks/rank.py [rounds] [cores] [heads]

prints (1) the time of a step of the encoder, forward, backward and AdamW (d = 64, N = 16, batch
256, one block, perceptron 2048), with H = 1, r = 64 and H = 512, r = 8; our program and PyTorch's
take turns, and the fastest of PyTorch's attentions and optimisers counts; (2) the time of drawing
a batch, against loops over its points. The interpreter of the variable, or this one, must have
PyTorch; without it (1) shows our side alone. `cores` binds both programs to so many cores, `heads`
chooses one case. On a busy machine, processor time on one core is the steadier comparison.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rank_gradient import batch_loss_and_gradient

from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.models.encoder_shape import EncoderShape

D, POINTS, BATCH, CHUNK = 64, 16, 256, 32
CASES = {1: (64, 1, 6), 512: (8, 64, 2)}  # heads: rank, width multiplier, steps per turn


@jax.jit
def batch(key):
    """Uniform points on the sphere and, for each, the farthest of its sequence."""
    x = jax.random.normal(key, (BATCH, POINTS, D))
    x = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    farthest = jnp.argmin(jnp.einsum("bid,bjd->bij", x, x), axis=-1)
    return x, jnp.take_along_axis(x, farthest[..., None], axis=1)


def looped_batch(rng: np.random.Generator):
    """The same, drawn point by point and searched pair by pair."""
    sequences, targets = [], []
    for _ in range(BATCH):
        points = []
        for _ in range(POINTS):
            point = rng.standard_normal(D)
            points.append(point / np.linalg.norm(point))
        farthest = [max(points, key=lambda other, p=p: np.linalg.norm(p - other)) for p in points]
        sequences.append(np.stack(points))
        targets.append(np.stack(farthest))
    return np.stack(sequences), np.stack(targets)


class Ours:
    """The step in JAX, compiled before it is timed."""

    def __init__(self, shape: EncoderShape) -> None:
        optimiser = optax.adamw(1e-4, 0.9, 0.95, weight_decay=0)
        self.data = batch(jax.random.key(1))

        @eqx.filter_jit(donate="all-except-first")
        def step(data, state):
            model, moments = state
            loss, gradient = batch_loss_and_gradient(model, *data, CHUNK)
            updates, moments = optimiser.update(gradient, moments, model)
            return (eqx.apply_updates(model, updates), moments), loss

        model = initialise(shape, jax.random.key(0))
        self.step, self.state = step, (model, optimiser.init(model))
        self.times(1)

    def times(self, steps: int) -> list[tuple[float, float]]:
        spent = []
        for _ in range(steps):
            wall, processor = time.perf_counter(), time.process_time()
            self.state, loss = self.step(self.data, self.state)
            jax.block_until_ready((self.state, loss))
            spent.append((time.perf_counter() - wall, time.process_time() - processor))
        return spent


class Torch:
    """The step in eager PyTorch, in a process of its own."""

    def __init__(self, python: str, shape: EncoderShape, kind: str, optimiser: str) -> None:
        self.name = f"{kind}, {optimiser} AdamW"
        script = Path(__file__).with_name("rank_torch.py")
        sizes = map(str, (shape.heads, shape.rank, shape.width_multiplier))
        command = [python, str(script), *sizes, kind, optimiser]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.times(2)

    def times(self, steps: int) -> list[tuple[float, float]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline().split() for _ in range(steps)]
        return [(float(wall), float(processor)) for wall, processor in lines]

    def close(self) -> None:
        self.process.communicate()


def torch_python() -> str | None:
    """An interpreter that can import PyTorch, if there is one."""
    python = os.environ.get("ATTNLAB_TORCH_PYTHON", sys.executable)
    probe = [python, "-c", "import torch; print(torch.__version__)"]
    found = subprocess.run(probe, capture_output=True, text=True, check=False)
    if found.returncode:
        print(
            f"  PyTorch cannot be imported by {python}: only our side is timed "
            "(set ATTNLAB_TORCH_PYTHON to an interpreter that has it)"
        )
        return None
    print(
        f"  PyTorch {found.stdout.strip()} against jax {jax.__version__}, "
        f"{len(os.sched_getaffinity(0))} core(s)"
    )
    return python


def medians(spent: list[tuple[float, float]]) -> tuple[float, float]:
    walls, processors = zip(*spent, strict=True)
    return statistics.median(walls) * 1e3, statistics.median(processors) * 1e3


def fastest(python: str, shape: EncoderShape, turn: int) -> Torch:
    """The fastest of PyTorch's ways; the others are closed."""
    ways = [(kind, how) for kind in ("sdpa", "baddbmm") for how in ("foreach", "fused")]
    best: tuple[float, Torch] | None = None
    for kind, how in ways:
        candidate = Torch(python, shape, kind, how)
        wall = min(wall for wall, _ in candidate.times(turn))
        if best is None or wall < best[0]:
            best, beaten = (wall, candidate), best
        else:
            beaten = (wall, candidate)
        if beaten is not None:
            beaten[1].close()
    assert best is not None
    return best[1]


def compare(heads: int, python: str | None, rounds: int) -> None:
    rank, multiplier, turn = CASES[heads]
    name = f"H={heads} r={rank}"
    shape = EncoderShape(D, rank, width_multiplier=multiplier)
    ours = Ours(shape)
    if python is None:
        wall, processor = medians(ours.times(rounds * turn))
        print(f"  {name}: {wall:.0f} ms per step, {processor:.0f} ms of processor")
        return
    theirs = fastest(python, shape, turn)
    left, right, ratios = [], [], []
    for _ in range(rounds):
        a, b = ours.times(turn), theirs.times(turn)
        ratios.append(medians(b)[0] / medians(a)[0])
        left, right = left + a, right + b
    theirs.close()
    (wall, processor), (their_wall, their_processor) = medians(left), medians(right)
    print(
        f"  {name}: ours {wall:.0f} ms per step ({processor:.0f} ms of processor), "
        f"PyTorch ({theirs.name}) {their_wall:.0f} ms ({their_processor:.0f}): "
        f"{their_wall / wall:.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f} over the "
        f"rounds), {their_processor / processor:.2f} in processor time",
        flush=True,
    )


def drawing(rounds: int) -> None:
    rng = np.random.default_rng(0)
    jax.block_until_ready(batch(jax.random.key(0)))
    ours, loops = [], []
    for i in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(batch(jax.random.key(i)))
        middle = time.perf_counter()
        looped_batch(rng)
        ours.append(middle - start)
        loops.append(time.perf_counter() - middle)
    fast, slow = statistics.median(ours), statistics.median(loops)
    print(
        f"  vectorised {fast * 1e3:.1f} ms, by loops {slow * 1e3:.0f} ms: {slow / fast:.0f} times"
    )


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    rounds, cores = int(given[0] or 7), int(given[1] or os.cpu_count() or 1)
    # Before the first use of JAX, which counts the cores once; PyTorch's process inherits them.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    print(f"1. a training step, {BATCH} sequences of {POINTS} points in {D} dimensions")
    python = torch_python()
    for heads in [int(given[2])] if given[2] else CASES:
        compare(heads, python, rounds)
    print(f"2. drawing a batch of {BATCH} sequences")
    drawing(rounds)


if __name__ == "__main__":
    main()
