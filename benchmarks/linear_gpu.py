"""Loss and gradient of FULL linear transformers on one GPU: three programs, one operation count.

    python benchmarks/linear_gpu.py [seconds]

Seven layers, one head, d = 10, 2,048 sequences, float32, for one model and for a population of 32:
plain XLA (`jax.vmap` of `final_weights`), `attnlab.linear.kernels.gram` compiled by XLA, and the
fused kernel of `attnlab.linear.kernels.gram_cuda`. Prints milliseconds per model, the number of
operations, the least time at the card's measured float32 rate, and ratios. No further program is
started once `seconds` (120) have passed; a program that the card refuses is reported in one line.
"""

import statistics
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp

from attnlab.linear.kernels import gram, gram_cuda
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights

DEPTH, D, N, BATCH = 7, 10, 20, 2048


def operations(depth: int = DEPTH, heads: int = 1, p: int = D + 1, batch: int = BATCH) -> int:
    """Multiplications and additions of the (d+1) x (d+1) products, without use of symmetry.

    A layer with k heads has 6 k products (G Q, P G Q, P^T dS, P^T dS Q^T and the two gradients);
    all layers but the last have 5 more (T G, T G T^T, H T, H T G, T^T H T). Products with vectors
    are not counted.
    """
    products = 6 * heads * depth + 5 * (depth - 1)
    return 2 * p**3 * products * batch


def inputs(members: int):
    keys = jax.random.split(jax.random.key(0), 5)
    X, w = jax.random.normal(keys[0], (BATCH, N, D)), jax.random.normal(keys[1], (BATCH, D))
    y = jnp.einsum("bnd,bd->bn", X, w, precision="highest")
    Z = jnp.concatenate([X, (y + 2 * jax.random.normal(keys[2], y.shape))[..., None]], axis=2)
    G = jnp.einsum("bni,bnj->bij", Z, Z, precision="highest")
    shape = (members, DEPTH, 1, D + 1, D + 1)
    P, Q = (0.03 / N**0.5 * jax.random.normal(key, shape) for key in keys[3:])
    return jax.vmap(FullWeights)(P, Q), G, w


def plain(weights: FullWeights, G, targets):
    def loss(weights):
        w = jax.vmap(partial(final_weights, unroll=True), (None, 0))(weights, G)
        return jnp.mean(jnp.sum((w - targets) ** 2, axis=1)) / 2

    return jax.value_and_grad(loss)(weights)


def variants():
    shared = (0, None, None)
    yield "plain XLA, vmap", jax.vmap(plain, shared)
    ours = partial(gram.loss_and_gradient, chunk=BATCH)
    yield "gram kernel, XLA", jax.vmap(ours, shared)
    yield "fused kernel", gram_cuda.loss_and_gradient


def timed(call) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def seconds_of(step, weights, G, targets, steps: int = 50, repeats: int = 7) -> float:
    """The median time of one step of a training loop, with `steps` of them in one program."""

    def move(weights, _):
        loss, gradient = step(weights, G, targets)
        return jax.tree.map(lambda part, slope: part - 1e-6 * slope, weights, gradient), loss

    loop = jax.jit(lambda weights: jax.lax.scan(move, weights, length=steps))
    timed(lambda: loop(weights))
    return statistics.median(timed(lambda: loop(weights)) for _ in range(repeats)) / steps


def float32_rate(size: int = 8192) -> float:
    a = jax.random.normal(jax.random.key(0), (size, size))
    product = jax.jit(lambda a: jnp.matmul(a, a, precision="highest"))
    timed(lambda: product(a))
    return 2 * size**3 / min(timed(lambda: product(a)) for _ in range(5))


def off(found, expected) -> float:
    """The largest difference of any leaf, relative to that leaf's largest entry."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return max(float(jnp.abs(a - b).max() / jnp.abs(b).max()) for a, b in pairs)


def main() -> None:
    budget = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    start = time.perf_counter()
    device = jax.devices()[0]
    print(f"{device.device_kind}, jax {jax.__version__}")
    rate = float32_rate() if device.platform == "gpu" else float32_rate(1024)
    floor = operations() / rate
    print(
        f"float32 GEMM {rate / 1e12:.1f} TFLOP/s; {operations() / 1e9:.3f} GFLOP per model, "
        f"floor {1e3 * floor:.4f} ms"
    )
    for members in (1, 32):
        arguments = inputs(members)
        expected, first = None, None
        print(f"{members} models on one batch: milliseconds per model")
        for name, step in variants():
            if time.perf_counter() - start > budget:
                print(f"  stopped before {name}: {budget:g} s are spent")
                return
            many = jax.jit(step)
            try:
                compiling = timed(lambda a=arguments, many=many: many(*a))
                spent = seconds_of(many, *arguments) / members
                found = many(*arguments)
            except Exception as error:  # whatever a compiler or a driver may raise
                message = (str(error).strip() or type(error).__name__).splitlines()[0]
                print(f"  {name}: failed, {type(error).__name__}: {message}", flush=True)
                continue
            if expected is None:
                expected, first = found, spent
            print(
                f"  {name}: {1e3 * spent:.4f} ms, {spent / floor:.1f} times the floor, plain over "
                f"it {first / spent:.2f}, off by {off(found, expected):.0e}, "
                f"first call {compiling:.1f} s",
                flush=True,
            )
    print(f"in all {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
