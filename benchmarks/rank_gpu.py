"""The training experiments of the study `rank` on one accelerator: steps per second of populations.

    python benchmarks/rank_gpu.py [seconds] [d] [perceptron] [batch] [steps]

trains populations of five seeds as the standard-width panels of Figure 1 do (N = 16, fresh data on
the device, AdamW with its schedule), in float32, TF32 and bfloat16. It prints steps per second, the
least that a step must compute and move, the share of that floor that is reached, and the minutes
that 1e5 steps of all 105 models would take; then the same for wider panels. It stops before a
population that would not end within `seconds` (220 unless given; d 64, perceptron 2048, batch 256,
100 timed steps). It needs JAX, equinox, optax and the library.
"""

import dataclasses
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from rank_gradient import batch_loss_and_gradient

from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.models.encoder_shape import EncoderShape

POINTS, SEEDS, LAYERS, RANKS, PAPER_STEPS = 16, 5, (1, 3, 5), (1, 2, 4, 8, 16, 32, 64), 100_000


def batch(key, size: int, d: int, n: int = POINTS):
    """Uniform points on the sphere and, for each, the farthest of its sequence of n."""
    x = jax.random.normal(key, (size, n, d))
    x = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    farthest = jnp.argmin(jnp.einsum("bid,bjd->bij", x, x, precision="highest"), axis=-1)
    return x, jnp.take_along_axis(x, farthest[..., None], axis=1)


def timed(call) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def rates(size: int, length: int) -> tuple[dict[str, float], float]:
    """Operations per second of large products, by precision, and bytes per second of a copy."""
    found = {}
    for name, precision, dtype in (
        ("float32", "highest", jnp.float32),
        ("tensorfloat32", "high", jnp.float32),
        ("bfloat16", "default", jnp.bfloat16),
    ):
        # On numbers that are all equal a product runs faster than on others.
        a = jax.random.normal(jax.random.key(0), (size, size)).astype(dtype)
        product = jax.jit(lambda a, p=precision: jnp.matmul(a, a, precision=p))
        timed(lambda a=a, f=product: f(a))
        found[name] = 2 * size**3 / min(timed(lambda a=a, f=product: f(a)) for _ in range(5))
    a = jnp.ones(length, jnp.float32)
    copy = jax.jit(lambda a: a + 1)
    timed(lambda: copy(a))
    return found, 8 * length / min(timed(lambda: copy(a)) for _ in range(5))


def products(shape: EncoderShape, batch_size: int, n: int = POINTS) -> list[tuple[float, float]]:
    """Operations and bytes of everything that one step of one model cannot do without.

    A product reads its factors and writes its result once, four bytes per number, in bfloat16 two;
    attention reads q, k, v and writes its output, and in the derivative reads them with the
    output's gradient and writes three; AdamW reads parameter, gradient and two moments and writes
    three. The first block's input needs no gradient.
    """
    points, d, inner = n * batch_size, shape.width, shape.heads * shape.rank
    size = 2 if shape.matmul == "bfloat16" else 4

    def product(k: int, m: int, n: int) -> tuple[float, float]:
        return 2.0 * k * m * n, float(size * (k * m + m * n + k * n))

    step, weights = [], 0
    for layer in range(shape.layers):
        inputs = [(3 * inner, d), (shape.mlp, d)] if shape.mlp else [(3 * inner, d)]
        outputs = [(d, inner), (d, shape.mlp)] if shape.mlp else [(d, inner)]
        for k, m in inputs + outputs:
            weights += k * m + k
            step += [product(k, m, points), product(k, points, m)]
            if layer or (k, m) != (3 * inner, d):
                step.append(product(m, k, points))
        step += inside_heads(shape, batch_size, n)
    return [*step, (0.0, 28.0 * weights)]


def inside_heads(shape: EncoderShape, batch_size: int, n: int) -> list[tuple[float, float]]:
    """The part of `products` that is inside the heads of one layer: forward, and derivative."""
    points, inner = n * batch_size, shape.heads * shape.rank
    mixing = 4.0 * points * n * inner
    moved = float((2 if shape.matmul == "bfloat16" else 4) * points * inner)
    return [(mixing, 4 * moved), (2.5 * mixing, 7 * moved)]


def trainer(
    shape: EncoderShape,
    batch_size: int,
    steps: int,
    total: int = PAPER_STEPS,
    seeds: int = SEEDS,
    n: int = POINTS,
):
    """(function of a state and of keys that makes `steps` of `total` steps, first state, keys)."""
    schedule = optax.warmup_cosine_decay_schedule(0, 0.01, total // 20, total)
    optimiser = optax.adamw(schedule, 0.9, 0.95, weight_decay=0)

    def member(model, moments, key):
        x, target = batch(key, batch_size, shape.d, n)
        loss, gradient = batch_loss_and_gradient(model, x, target)
        updates, moments = optimiser.update(gradient, moments, model)
        return eqx.apply_updates(model, updates), moments, loss

    @jax.jit
    def start(keys):
        models = jax.vmap(lambda key: initialise(shape, key))(keys)
        return models, jax.vmap(optimiser.init)(models)

    @eqx.filter_jit(donate="all")
    def run(state, keys):
        def step(state, t):
            at = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
            *state, loss = jax.vmap(member)(*state, at)
            return tuple(state), loss

        return jax.lax.scan(step, state, jnp.arange(steps))

    keys = jax.random.split(jax.random.key(0), seeds)
    return run, start(keys), keys


def train(shape: EncoderShape, batch_size: int, steps: int):
    """(last losses, seconds to compile and warm up, seconds of the timed steps)."""
    begin = time.perf_counter()
    run, state, keys = trainer(shape, batch_size, steps)
    state, losses = run(state, jnp.copy(keys))
    jax.block_until_ready(losses)
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    _, losses = run(state, jnp.copy(keys))
    jax.block_until_ready(losses)
    return float(losses.mean()), compiled, time.perf_counter() - begin


def populations(base: EncoderShape):
    """Label, shape; the most telling first, since the time may run out."""
    d = base.d
    low = min(8, d)
    for matmul in ("tensorfloat32", "bfloat16", "float32"):
        for layers in LAYERS:
            yield dataclasses.replace(base, rank=low, layers=layers, matmul=matmul)
    wide = dataclasses.replace(base, rank=low, matmul="tensorfloat32")
    for multiplier in (8, d):
        yield dataclasses.replace(wide, width_multiplier=multiplier)
    yield dataclasses.replace(wide, width_multiplier=d, products="dot")
    yield dataclasses.replace(wide, width_multiplier=d, matmul="bfloat16")
    for rank in (d, 1):
        for matmul in ("tensorfloat32", "bfloat16"):
            yield dataclasses.replace(base, rank=rank, matmul=matmul)
    yield dataclasses.replace(wide, layers=3, width_multiplier=8)


def extrapolate(measured: dict[EncoderShape, float]) -> None:
    """Minutes for the 105 models; a rank that was not timed counts as the slowest that was."""
    for matmul in ("float32", "tensorfloat32", "bfloat16"):
        minutes = {}
        for layers in LAYERS:
            seconds = [
                spent
                for shape, spent in measured.items()
                if (shape.layers, shape.matmul, shape.width_multiplier) == (layers, matmul, 1)
            ]
            if seconds:
                minutes[layers] = max(seconds) * PAPER_STEPS * len(RANKS) / 60
        parts = ", ".join(f"L={layers} {spent:.1f}" for layers, spent in minutes.items())
        if len(minutes) == len(LAYERS):
            print(f"{matmul}: 105 models x 1e5 steps in {sum(minutes.values()):.1f} min ({parts})")
        elif minutes:
            print(f"{matmul}: not every depth was timed ({parts} min)")


def main() -> None:
    begin = time.perf_counter()
    given = sys.argv[1:] + [""] * 5
    budget, d, mlp = float(given[0] or 220), int(given[1] or 64), int(given[2] or 2048)
    batch_size, steps = int(given[3] or 256), int(given[4] or 100)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, population of {SEEDS} seeds")
    on_cpu = jax.default_backend() == "cpu"
    speed, bandwidth = rates(*((512, 1 << 20) if on_cpu else (8192, 1 << 28)))
    listed = ", ".join(f"{name} {rate / 1e12:.1f}" for name, rate in speed.items())
    print(f"measured TFLOP/s: {listed}; copy {bandwidth / 1e9:.0f} GB/s")
    print(
        "matmul         L  r  wm    H products | steps/s ms/step | GFLOP  GB  floor ms share"
        " TFLOP/s | compile s"
    )
    measured, longest = {}, 0.0
    for shape in populations(EncoderShape(d, d, mlp=mlp)):
        left = budget - (time.perf_counter() - begin)
        if left < 1.5 * longest:
            print(f"stopped with {left:.0f} s left before {shape.matmul} L={shape.layers} ...")
            break
        one = time.perf_counter()
        _, compiled, spent = train(shape, batch_size, steps)
        longest = max(longest, time.perf_counter() - one)
        counted = [(SEEDS * ops, SEEDS * moved) for ops, moved in products(shape, batch_size)]
        operations, moved = (sum(column) for column in zip(*counted, strict=True))
        rate = speed[shape.matmul]
        floor = sum(max(ops / rate, size / bandwidth) for ops, size in counted)
        each = spent / steps
        measured[shape] = each
        print(
            f"{shape.matmul:13} {shape.layers:2} {shape.rank:2} {shape.width_multiplier:3} "
            f"{shape.heads:4} {shape.products:8} | {1 / each:7.1f} {each * 1e3:7.3f} | "
            f"{operations / 1e9:5.1f} {moved / 1e9:4.1f} {floor * 1e3:7.3f} {floor / each:5.0%} "
            f"{operations / each / 1e12:7.1f} | {compiled:.1f}",
            flush=True,
        )
    extrapolate(measured)
    print(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
