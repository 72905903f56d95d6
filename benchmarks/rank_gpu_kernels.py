"""The study `rank` through the kernels of its encoder on one accelerator, in one command.

    python benchmarks/rank_gpu_kernels.py [seconds] [d] [perceptron] [batch] [part ...]

`kernels` compares every kernel with plain float32 and times it alone. The other parts train
populations of five seeds as `rank_gpu` does: `steps` times the training step of every population of
Figure 1's standard width, profiles the kernels of one step, and extrapolates the minutes that the
105 models would take; `wide` compares the wider panels with the floor of what they must compute and
move; `precision` shows what bfloat16 and TF32 do to a trained result; `plain` times the step
without the kernels. Without `part` all of those run, as far as they fit into `seconds` (300 unless
given). `published` trains rank 8 for the paper's 1e5 steps, in five minutes. Programs are compiled
in parallel and timed when all of them are compiled. It needs JAX, equinox, optax and the library.
"""

import collections
import dataclasses
import statistics
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

sys.path.insert(0, "src")

import jax
import jax.numpy as jnp
import rank_gpu
from kernel_times import profile
from rank_gpu import LAYERS, PAPER_STEPS, POINTS, RANKS, SEEDS

from attnlab.rank.kernels.attention_pallas import attend_rows, attend_rows_backward
from attnlab.rank.kernels.kernel_launch import PROGRAMS
from attnlab.rank.kernels.norm_pallas import residual_norm, residual_norm_backward
from attnlab.rank.kernels.perceptron_pallas import perceptron, perceptron_backward
from attnlab.rank.models.encoder import batch_loss
from attnlab.rank.models.encoder_shape import EncoderShape

BEGIN = time.perf_counter()
GIVEN = [*sys.argv[1:5], "", "", "", ""]
PARTS = sys.argv[5:] or ("kernels", "steps", "wide", "precision", "plain")
BUDGET = float(GIVEN[0] or 300)
D, MLP, BATCH = int(GIVEN[1] or 64), int(GIVEN[2] or 2048), int(GIVEN[3] or 256)
TOKENS, HALF, REPEATS = BATCH * POINTS, jnp.bfloat16, 20
ON_GPU = jax.default_backend() == "gpu"
STEPS = 100 if ON_GPU else 2
TRAINED, HELD_OUT, TRAINED_SEEDS = (1500, 4096, 3) if ON_GPU else (10, 64, 3)
PAPER = PAPER_STEPS if ON_GPU else 20


def left() -> float:
    return BUDGET - (time.perf_counter() - BEGIN)


def normal(seed: int, *size: int, dtype=HALF):
    return jax.random.normal(jax.random.key(seed), (SEEDS, *size)).astype(dtype)


def line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def dot(left, right):
    return jnp.matmul(left, right, precision="highest")


def plain_perceptron(x, up, bias, down):
    return dot(jax.nn.relu(dot(x, up.T) + bias), down.T)


def plain_norm(x, y, bias, gain):
    z = x + y + bias
    return gain * z / jnp.linalg.norm(z, axis=-1, keepdims=True)


def plain_attention(qkv, bias):
    q, k, v = jnp.moveaxis(qkv + bias, (2, 3), (0, 2))
    w = jax.nn.softmax(q.shape[-1] ** -0.5 * dot(q, jnp.swapaxes(k, -1, -2)))
    return jnp.moveaxis(dot(w, v), 1, 2)


def perceptron_case():
    """(label, function and its derivative as the kernels give them, plain function, operands,
    derivative of the output)"""

    def forward(*a):
        return perceptron(*a, PROGRAMS.perceptron)

    def backward(g, x, *weights):
        return perceptron_backward(x, g, *weights, PROGRAMS.perceptron_backward)

    bias = normal(3, MLP, dtype=jnp.float32)
    operands = normal(0, TOKENS, D) / 8, normal(1, MLP, D) / 4, bias, normal(2, D, MLP) / 16
    return "perceptron", forward, backward, plain_perceptron, operands, normal(4, TOKENS, D)


def norm_case():
    def forward(*a):
        return residual_norm("scalar", *a, HALF, PROGRAMS.norm)[1]

    def backward(g, x, y, bias, gain):
        zero = jnp.zeros_like(g, HALF)
        dz, _, *by_norm = residual_norm_backward(
            "scalar", x + y + bias[None], gain, (g, zero), PROGRAMS.norm
        )
        return dz, dz, *by_norm

    operands = [normal(i, *n, dtype=jnp.float32) for i, n in enumerate([(TOKENS, D)] * 2)]
    operands += [normal(2, D, dtype=jnp.float32), normal(3, 1, dtype=jnp.float32)]
    return "norm", forward, backward, plain_norm, operands, normal(4, TOKENS, D, dtype=jnp.float32)


def attention_case(rank: int):
    def forward(qkv, bias):
        return attend_rows(qkv, bias, rank**-0.5, False, PROGRAMS.attention)

    def backward(g, qkv, bias):
        program = PROGRAMS.attention_backward
        dqkv, sums = attend_rows_backward(qkv, bias, g, rank**-0.5, False, program)
        return dqkv, sums.sum(0)

    heads = D // rank, rank
    operands = normal(0, BATCH, POINTS, 3, *heads), normal(1, 3, *heads, dtype=jnp.float32)
    g = normal(2, BATCH, POINTS, *heads)
    return f"attention r={rank}", forward, backward, plain_attention, operands, g


def kernels() -> None:
    """Print the relative error of every output and derivative, and the times alone."""
    ranks = sorted({min(rank, D) for rank in (1, 2, 8, 64)})
    for case in (perceptron_case, norm_case, *(lambda r=r: attention_case(r) for r in ranks)):
        label, forward, backward, plain, operands, g = case()
        try:
            forward, backward = jax.jit(jax.vmap(forward)), jax.jit(jax.vmap(backward))
            found = [forward(*operands), *backward(g, *operands)]

            @jax.jit
            @jax.vmap
            def exact(g, *operands, plain=plain):
                out, pull = jax.vjp(plain, *(array.astype(jnp.float32) for array in operands))
                return out, *pull(g.astype(jnp.float32))

            errors = " ".join(map(relative, found, exact(g, *operands)))
            print(f"{label}: relative errors {errors}", end="; ")
            spent = alone(forward, *operands), alone(backward, g, *operands)
            print(f"alone {spent[0] * 1e6:.1f} us, derivative {spent[1] * 1e6:.1f} us", flush=True)
        except Exception as error:
            print(f"{label}:", line(error), flush=True)


def alone(function, *operands) -> float:
    """Median seconds of the kernel in a function that has one."""
    runs = profile(lambda: jax.block_until_ready([function(*operands) for _ in range(REPEATS)]))
    return statistics.median([spent for name, spent in runs if name.startswith("_")] or [0.0])


def relative(found, expected) -> str:
    a, b = found.astype(jnp.float32).ravel(), expected.ravel()
    return f"{float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b)):.1e}"


class TrainingLoop(NamedTuple):
    """A compiled training loop with the first of its states and its keys."""

    run: Any
    state: Any
    keys: Any


def compiled(shapes: Iterable[EncoderShape], *sizes: int) -> dict[EncoderShape, TrainingLoop]:
    """The training loops that compile, side by side, of the sizes that `trainer` takes last."""

    def one(shape: EncoderShape) -> TrainingLoop:
        run, state, keys = rank_gpu.trainer(shape, BATCH, *sizes)
        return TrainingLoop(run.lower(state, keys).compile(), state, keys)

    shapes, begin, found = list(shapes), time.perf_counter(), {}
    with ThreadPoolExecutor(len(shapes)) as pool:
        for shape, made in [(shape, pool.submit(one, shape)) for shape in shapes]:
            try:
                found[shape] = made.result()
            except Exception as error:
                print(f"{named(shape)}:", line(error), flush=True)
    print(f"{len(found)} programs compiled in {time.perf_counter() - begin:.0f} s", flush=True)
    return found


def named(shape: EncoderShape) -> str:
    return f"{shape.products} L={shape.layers} r={shape.rank} wm={shape.width_multiplier}"


def step(shape: EncoderShape, program: TrainingLoop, profiled: bool = False) -> float:
    """Seconds of a step in a scan of many; printed, if asked with each kernel in it."""
    run, state, keys = program
    held = [jax.block_until_ready(run(state, jnp.copy(keys)))]

    def again():
        held[0] = jax.block_until_ready(run(held[0][0], jnp.copy(keys)))

    each = statistics.median(rank_gpu.timed(again) for _ in range(3)) / STEPS
    print(
        f"step {named(shape)}: {each * 1e3:.3f} ms, {each / shape.layers * 1e3:.3f} ms per layer "
        f"(loss {held[0][1].mean():.4f})",
        flush=True,
    )
    if profiled:
        by_name = collections.defaultdict(list)
        for name, spent in profile(again):
            by_name[name].append(spent / STEPS)
        rows = sorted((sum(times), len(times), name) for name, times in by_name.items())
        for spent, count, name in reversed(rows[-40:]):
            print(f"  {spent * 1e6:7.2f} us {count / STEPS:5.2f} x {name[:80]}")
    return each


def standard_width(base: EncoderShape) -> None:
    """Every depth of three ranks, then of the others if there is time, and the minutes of all."""
    measured, begin = {}, time.perf_counter()
    first = [rank for rank in RANKS if rank in (1, 8, 64)]
    for ranks in (first, [rank for rank in RANKS if rank not in first]):
        wanted = [
            dataclasses.replace(base, rank=rank, layers=layers)
            for rank in ranks
            for layers in LAYERS
            if rank <= D
        ]
        if measured and left() < 1.5 * (time.perf_counter() - begin):
            print(f"no time for ranks {ranks}")
        elif wanted:
            for shape, program in compiled(wanted, STEPS).items():
                profiled = (shape.rank, shape.layers) == (8, 3)
                measured[shape.layers, shape.rank] = step(shape, program, profiled)
    minutes(measured)


def minutes(measured: dict[tuple[int, int], float]) -> None:
    """For the 105 models; a rank that was not timed counts as the slowest that was."""
    spent = {}
    for layers in LAYERS:
        own = {rank: each for (n, rank), each in measured.items() if n == layers}
        if not own:
            return print(f"no population of {layers} layers was timed")
        each = sum(own.get(rank, max(own.values())) for rank in RANKS)
        spent[layers] = each * PAPER_STEPS / 60
    parts = ", ".join(f"L={n} {part:.1f}" for n, part in spent.items())
    print(
        f"105 models x 1e5 steps: {sum(spent.values()):.1f} min ({parts}) from "
        f"{len(measured)} of {len(RANKS) * len(LAYERS)} populations",
        flush=True,
    )


def wide_panels(base: EncoderShape) -> None:
    speed, bandwidth = rank_gpu.rates(*((8192, 1 << 28) if ON_GPU else (512, 1 << 20)))
    print(f"{speed[base.matmul] / 1e12:.0f} TFLOP/s in products, {bandwidth / 1e9:.0f} GB/s")
    wanted = [
        dataclasses.replace(base, width_multiplier=multiplier, rank=min(rank, D), layers=layers)
        for multiplier in dict.fromkeys((round(D**0.5), D))
        for rank, layers in ((1, 1), (8, 1), (64, 1), (8, 3))
    ]
    for shape, program in compiled(dict.fromkeys(wanted), STEPS).items():
        each = step(shape, program)
        counted = [(SEEDS * a, SEEDS * b) for a, b in rank_gpu.products(shape, BATCH)]
        operations, moved = (sum(column) for column in zip(*counted, strict=True))
        rate = speed[shape.matmul]
        floor = sum(max(ops / rate, size / bandwidth) for ops, size in counted)
        print(
            f"  {operations / 1e9:.1f} GFLOP, {moved / 1e9:.2f} GB, floor {floor * 1e3:.3f} ms,"
            f" share {floor / each:.0%}",
            flush=True,
        )


def precision(base: EncoderShape) -> None:
    """Held-out losses of models trained in each precision."""
    names = "float32", "tensorfloat32", "bfloat16"
    wanted = [dataclasses.replace(base, rank=D, matmul=matmul) for matmul in names]
    for shape, program in compiled(wanted, TRAINED, TRAINED, TRAINED_SEEDS).items():
        trained(shape, program, f"in {shape.matmul}, r={D}, {TRAINED} steps")


def published(base: EncoderShape) -> None:
    """Figure 1 at standard width and low rank, as long as the paper trains."""
    wanted = [dataclasses.replace(base, layers=layers) for layers in LAYERS]
    for shape, program in compiled(wanted, PAPER).items():
        begin = time.perf_counter()
        trained(shape, program, f"{named(shape)}, {PAPER} steps")
        print(f"  {time.perf_counter() - begin:.0f} s", flush=True)


def trained(shape: EncoderShape, program: TrainingLoop, label: str) -> None:
    """Print the losses of every seed on fresh data, computed in float32, and on the way there."""
    run, state, keys = program
    (models, _), losses = run(state, keys)
    models = in_float32(models, dataclasses.replace(shape, matmul="float32", products="dot"))
    x, target = jax.jit(lambda key: rank_gpu.batch(key, HELD_OUT, D))(jax.random.key(99))
    tests = jax.jit(jax.vmap(lambda model: batch_loss(model, x, target)))(models)
    listed = " ".join(f"{float(test):.4f}" for test in tests)
    way = " ".join(f"{float(part.mean()):.3f}" for part in jnp.array_split(losses, 10))
    print(f"trained {label}: {listed}, mean {tests.mean():.4f}; by tenths {way}", flush=True)


def in_float32(models, shape: EncoderShape):
    """The same weights in an encoder of another shape."""
    from attnlab.rank.models.encoder_init import initialise

    empty = jax.eval_shape(lambda key: initialise(shape, key), jax.random.key(0))
    return jax.tree.unflatten(jax.tree.structure(empty), jax.tree.leaves(models))


def main() -> None:
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, d={D} mlp={MLP} batch={BATCH}")
    base = EncoderShape(D, min(8, D), mlp=MLP, matmul="bfloat16")
    without = dataclasses.replace(base, products="unrolled")
    work = {
        "kernels": kernels,
        "steps": lambda: standard_width(base),
        "wide": lambda: wide_panels(base),
        "precision": lambda: precision(base),
        "published": lambda: published(base),
        "plain": lambda: [step(*each) for each in compiled([without], STEPS).items()],
    }
    for part in PARTS:
        if left() > 30:
            work[part]()
        else:
            print(f"no time for {part}")
    print(f"{time.perf_counter() - BEGIN:.0f} s in all")


if __name__ == "__main__":
    main()
