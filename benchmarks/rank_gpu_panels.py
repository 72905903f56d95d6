"""The wide panels of Figure 1, the encodings of Figure 3 and the lengths of Figure 4 on one
accelerator.

    python benchmarks/rank_gpu_panels.py [seconds] [panel ...]

A panel is a population of five seeds with d = 64, a perceptron of 2048 and batches of 256:
`w8-L3-r1` has width multiplier 8, three layers and rank 1 on 16 points, `N256-r8` two layers of
width d^3 and rank 8 on 256 points, `E-additive-L1-r8` one layer of width d^2.5 with additive
encodings. A beginning such as `N256` names all that begin so; without names all run.
`tune` times attention on 256 points alone for several divisions of its work, and `plain` runs the
panels without the kernels at the end. For every panel the attention of two sequences is compared
with plain float32; then come the time of a training step, the least time that its operations, bytes
and exponentials take at the best rates of an H200, the share of that which is reached, the share at
the rates of a large product and a copy in the same run, memory, and the hours of the panel's
training. What does not compile is one line, and the rest goes on. Without
a GPU the sizes are tiny and the kernels are interpreted, to try the file.
"""

import dataclasses
import functools
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

sys.path.insert(0, "src")

import jax
import jax.numpy as jnp
import rank_gpu

from attnlab.rank.kernels import row_encoder
from attnlab.rank.kernels.attention_pallas import attend_rows, attend_rows_backward
from attnlab.rank.kernels.blocked_attention import attend_blocks, attend_blocks_backward
from attnlab.rank.kernels.kernel_launch import PROGRAMS, Program
from attnlab.rank.kernels.row_blocks import in_blocks
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.head_products import attend

BEGIN = time.perf_counter()
ON_GPU = jax.default_backend() == "gpu"
BUDGET = float(sys.argv[1]) if len(sys.argv) > 1 else 240.0
NAMED = sys.argv[2:]
D, MLP, BATCH, SEEDS = (64, 2048, 256, rank_gpu.SEEDS) if ON_GPU else (16, 16, 2, 2)
RANKS = (1, 8, 64) if ON_GPU else (1, 8, 16)
WIDTHS, LENGTHS, DEPTHS = ((8, 64), (256, 64, 4), (1, 3, 5)) if ON_GPU else ((2,), (64,), (1,))
ENCODED = [(encoding, layers) for encoding in ("additive", "concatenated") for layers in (1, 3)]
WORKERS = max(2, os.cpu_count() or 2)
EXPONENTIALS = 132 * 16 * 1.98e9  # of an H200 per second


class Rates(NamedTuple):
    """Operations in bfloat16 and bytes per second."""

    operations: float
    moved: float


# Of an H200: about the best that a large product was seen to do, and the printed bandwidth.
BEST = Rates(790e12, 4.8e12)


@functools.cache
def measured_rates() -> Rates:
    """Those of a large product and of a copy on this device."""
    speed, bandwidth = rank_gpu.rates(*((8192, 1 << 29) if ON_GPU else (256, 1 << 16)))
    return Rates(speed["bfloat16"], bandwidth)


@dataclasses.dataclass(frozen=True)
class Panel:
    """A population: its encoders, their points, and how long the paper trains them."""

    group: str
    shape: EncoderShape
    n: int
    steps: int

    @property
    def name(self) -> str:
        return f"{self.group}-r{self.shape.rank}"


def panels() -> list[Panel]:
    base = EncoderShape(D, D, mlp=MLP, matmul="bfloat16")
    found = []
    for n in LENGTHS:
        long = dataclasses.replace(base, layers=2, width_multiplier=WIDTHS[-1])
        found += [(f"N{n}", dataclasses.replace(long, rank=r), n, 200_000) for r in RANKS]
    for encoding, layers in ENCODED:
        encoded = dataclasses.replace(
            base, layers=layers, width_multiplier=WIDTHS[0], encoding=encoding, length=16
        )
        group = f"E-{encoding}-L{layers}"
        found += [(group, dataclasses.replace(encoded, rank=r), 16, 200_000) for r in RANKS]
    for width in reversed(WIDTHS):
        for layers in DEPTHS:
            wide = dataclasses.replace(base, layers=layers, width_multiplier=width)
            group = f"w{width}-L{layers}"
            found += [(group, dataclasses.replace(wide, rank=r), 16, 100_000) for r in RANKS]
    return [Panel(*each) for each in found]


def left() -> float:
    return BUDGET - (time.perf_counter() - BEGIN)


def say(*parts: Any) -> None:
    print(*parts, flush=True)


def line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def floor_of(panel: Panel, rates: Rates = BEST) -> tuple[float, float, float]:
    """(least seconds, operations, exponentials) of one step of the population.

    Every product takes the longer of its operations and its bytes, attention also the time of one
    exponential per head and pair of points, and of another one in the derivative.
    """
    shape, n = panel.shape, panel.n
    pairs = float(SEEDS * BATCH * shape.heads * n * n)
    counted = rank_gpu.products(shape, BATCH, n)
    seconds = sum(least(item, rates) for item in counted)
    for item in rank_gpu.inside_heads(shape, BATCH, n):
        seconds += shape.layers * max(0.0, pairs / EXPONENTIALS - least(item, rates))
    return seconds, SEEDS * sum(a for a, _ in counted), 2 * shape.layers * pairs


def least(item: tuple[float, float], rates: Rates) -> float:
    """Seconds of an item of all members, from its operations and bytes."""
    return SEEDS * max(item[0] / rates.operations, item[1] / rates.moved)


def normal(seed: int, *size: int, dtype: Any = jnp.bfloat16):
    return jax.random.normal(jax.random.key(seed), size).astype(dtype)


def operands(shape: EncoderShape, n: int, sequences: int):
    heads = shape.heads, shape.rank
    return (
        normal(0, sequences, n, 3, *heads),
        normal(1, 3, *heads, dtype=jnp.float32),
        normal(2, sequences, n, *heads),
    )


def with_kernels(shape: EncoderShape, n: int, program: Program | None = None):
    scale = shape.scale

    def run(qkv, bias, g):
        if program is None and not in_blocks(n):
            mixed = attend_rows(qkv, bias, scale, False, PROGRAMS.attention)
            dqkv, sums = attend_rows_backward(
                qkv, bias, g, scale, False, PROGRAMS.attention_backward
            )
            return mixed, dqkv, jnp.sum(sums, axis=0)
        mixed, kept = attend_blocks(qkv, bias, scale, False, program or PROGRAMS.blocks)
        dqkv, sums = attend_blocks_backward(
            qkv, bias, mixed, kept, g, scale, False, program or PROGRAMS.blocks_backward
        )
        return mixed, dqkv, jnp.sum(sums, axis=(0, 1))

    return run


def without_kernels(shape: EncoderShape):
    def run(*given):
        def mix(qkv, bias):
            q, k, v = jnp.transpose(qkv, (2, 3, 4, 1, 0))
            biases = shape.scale * bias[0], bias[1], bias[2]
            mixed = attend(shape.scale * q, k, v, biases, products="dot")
            return jnp.transpose(mixed, (3, 2, 0, 1))

        qkv, bias, g = (array.astype(jnp.float32) for array in given)
        out, pull = jax.vjp(mix, qkv, bias)
        return out, *pull(g)

    return run


def check(panel: Panel) -> str:
    """Relative errors of attention on two sequences, its derivative, and that of the biases."""
    given = operands(panel.shape, panel.n, 2)
    found = jax.jit(with_kernels(panel.shape, panel.n))(*given)
    expected = jax.jit(without_kernels(panel.shape))(*given)
    errors = []
    for a, b in zip(found, expected, strict=True):
        a = a.astype(jnp.float32)
        errors.append(f"{float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b)):.1e}")
    return " ".join(errors)


def compiled(panel: Panel, steps: int):
    run, state, keys = rank_gpu.trainer(
        panel.shape, BATCH, steps, panel.steps, seeds=SEEDS, n=panel.n
    )
    program = run.lower(state, keys).compile()
    return program, state, keys


def seconds_of_a_step(program, state, keys, steps: int) -> tuple[float, float]:
    state, losses = jax.block_until_ready(program(state, jnp.copy(keys)))
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        state, losses = jax.block_until_ready(program(state, jnp.copy(keys)))
        times.append(time.perf_counter() - begin)
    return min(times) / steps, float(losses[-1].mean())


def memory(program) -> float:
    """Gigabytes that the program takes, by its compiler."""
    inside = getattr(program, "compiled", None)  # equinox wraps what JAX compiles
    if inside is None:
        return float("nan")
    held = inside.memory_analysis()
    return (held.temp_size_in_bytes + held.argument_size_in_bytes) / 1e9


def run_group(group: list[Panel], checked: bool = True) -> dict[Panel, float]:
    """Compile side by side, then check and time one by one."""
    measured, begin = {}, time.perf_counter()

    def prepare(panel: Panel):
        floor = floor_of(panel)[0]
        # Half a second of steps if half of the floor is reached; the plain form takes far longer.
        steps = max(2, min(50, int(0.25 / floor))) if ON_GPU and checked else 1
        return steps, *compiled(panel, steps)

    pool, done = ThreadPoolExecutor(WORKERS), {}
    waiting = [(panel, pool.submit(prepare, panel)) for panel in group]
    # Attention is the same in all depths.
    alike = {(p.n, p.shape.rank, p.shape.width_multiplier): p for p in group} if checked else {}
    errors = [(panel, pool.submit(check, panel)) for panel in alike.values()]
    for panel, made in waiting:
        try:
            done[panel] = made.result(timeout=max(1.0, left() - 20))
        except Exception as error:
            say(f"{panel.name}: not compiled,", line(error))
    say(f"{len(done)} of {len(group)} compiled in {time.perf_counter() - begin:.0f} s")
    for panel, made in errors:
        try:
            say(f"{panel.name}: relative errors {made.result(timeout=max(1.0, left() - 20))}")
        except Exception as error:
            say(f"{panel.name}: not checked,", line(error))
    pool.shutdown(wait=False, cancel_futures=True)
    for panel in group:
        if panel not in done:
            continue
        if left() < 5:
            say(f"{panel.name}: no time")
            continue
        steps, program, state, keys = done.pop(panel)
        try:
            size = memory(program)
            each, loss = seconds_of_a_step(program, state, keys, steps)
        except Exception as error:
            say(f"{panel.name}: not run,", line(error))
            continue
        measured[panel] = each
        floor, operations, exponentials = floor_of(panel)
        here = floor_of(panel, measured_rates())[0]
        say(
            f"{panel.name} {'kernels' if checked else 'plain'}: {each * 1e3:.2f} ms per step, "
            f"floor {floor * 1e3:.2f} ms, share {floor / each:.0%}, "
            f"at the measured rates {here / each:.0%}, {operations / 1e12:.2f} TFLOP, "
            f"{exponentials / 1e9:.1f} G exponentials, {size:.1f} GB, loss {loss:.4f}, "
            f"{each * panel.steps / 3600:.1f} h"
        )
        del program, state, keys
    return measured


def hours(measured: dict[Panel, float]) -> None:
    """Of a panel with all ranks of the paper; a rank that was not timed counts as the slower of the
    timed ones around it."""
    for group in dict.fromkeys(panel.group for panel in measured):
        own = {p.shape.rank: each for p, each in measured.items() if p.group == group}
        steps = next(p.steps for p in measured if p.group == group)
        ranks = {"N": (1, 8, 16, 32, 64), "E": (1, 8, 64)}.get(group[0], rank_gpu.RANKS)
        total = 0.0
        for rank in ranks:
            below = [r for r in own if r <= rank] or [min(own)]
            above = [r for r in own if r >= rank] or [max(own)]
            total += max(own[max(below)], own[min(above)]) * steps / 3600
        say(f"{group}: {total:.1f} h for ranks {ranks} from ranks {sorted(own)}")


# Rows, columns, warps and stages of programs for 256 points, and for 16.
LONG = (64, 64, 4, 2), (64, 64, 4, 3), (64, 64, 8, 2), (128, 64, 8, 2), (32, 64, 4, 2)
LONG += (64, 128, 4, 2), (128, 64, 4, 2)
FEW = (32, 64, 1, 1), (32, 64, 4, 1), (32, 32, 2, 1), (32, 128, 8, 1)


def tune() -> None:
    """Milliseconds of attention with its derivative, for several divisions of the work.

    Sequences of 16 points also go as the encoder takes them, as one block ("rows").
    """
    wanted: list[tuple[int, int, int, Program | None]] = []
    for rank in RANKS:
        wanted += [(256, 32, rank, Program(*program)) for program in LONG]
    for rank in RANKS[:2]:
        wanted += [(16, 1280, rank, None), *((16, 1280, rank, Program(*few)) for few in FEW)]
    if not ON_GPU:
        wanted = [(64, 1, 8, Program(*LONG[0])), (16, 1, 1, None), (16, 1, 1, Program(*FEW[0]))]

    def prepare(n: int, sequences: int, rank: int, program: Program | None):
        shape = EncoderShape(D, rank, width_multiplier=WIDTHS[-1])
        sizes = jax.eval_shape(lambda: operands(shape, n, sequences))
        return jax.jit(with_kernels(shape, n, program)).lower(*sizes).compile(), shape

    begin = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting = [(each, pool.submit(prepare, *each)) for each in wanted]
    say(f"tune: {len(wanted)} programs compiled in {time.perf_counter() - begin:.0f} s")
    for (n, sequences, rank, program), made in waiting:
        label = f"tune N{n}-r{rank}, {sequences} sequences, "
        label += "rows:" if program is None else f"{dataclasses.astuple(program)[:4]}:"
        try:
            function, shape = made.result()
            given = operands(shape, n, sequences)
            jax.block_until_ready(function(*given))
            times = [rank_gpu.timed(lambda f=function, g=given: f(*g)) for _ in range(5)]
            say(label, f"{statistics.median(times) * 1e3:.2f} ms")
        except Exception as error:
            say(label, line(error))


def main() -> None:
    say(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, d={D} mlp={MLP} batch={BATCH}")
    rates = measured_rates()
    say(f"measured: {rates.operations / 1e12:.0f} TFLOP/s, copy {rates.moved / 1e9:.0f} GB/s")
    if not ON_GPU:
        row_encoder.chosen = lambda shape, X: row_encoder.serves(shape, *X.shape[:2])
    parts = [name for name in NAMED if name in ("tune", "plain")]
    names = [name for name in NAMED if name not in parts]
    if not NAMED:
        parts, names = ["tune", "plain"], ["N", "E", "w"]
    wanted = [p for p in panels() if any(p.name.startswith(name) for name in names)]
    measured: dict[Panel, float] = {}
    groups = list(dict.fromkeys(panel.group[0] for panel in wanted))
    for group in groups:
        own = [panel for panel in wanted if panel.group[0] == group]
        if left() < 30:
            say(f"{', '.join(panel.name for panel in own)}: no time")
            continue
        measured |= run_group(own)
        hours({panel: each for panel, each in measured.items() if panel in own})
        if "tune" in parts:
            parts.remove("tune")
            tune()
    if "tune" in parts:
        tune()
    if "plain" in parts:
        # Those that the kernels did not run come first, then long sequences with few weights.
        plain = [
            dataclasses.replace(panel, shape=dataclasses.replace(panel.shape, products="dot"))
            for panel in sorted(
                wanted, key=lambda p: (p in measured, p.n < 64, p.n * p.n * p.shape.heads)
            )
        ]
        for panel in plain[: 6 if ON_GPU else 1]:
            if left() > 40 or not ON_GPU:
                run_group([panel], checked=False)
            else:
                say(f"{panel.name} plain: no time")
    peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    say(f"peak of the process {peak / 1e9:.1f} GB; {time.perf_counter() - BEGIN:.0f} s in all")


if __name__ == "__main__":
    main()
    os._exit(0)  # a compilation that did not end in time is not waited for
