"""Figures 1 and 2 of the study `random` at the paper's scale on one accelerator.

    python benchmarks/random_transformer_gpu.py [d] [runs] [seconds]

prints the device's own GEMM rates, the milliseconds that drawing the random numbers of one fit
takes, the share of the GEMM rates that one fit with 20,000 test prompts of each kind reaches, and
for every panel with all its models, sizes and ridges the seconds it takes, those of its first run
(which compiles) and the largest relative standard error of a well-conditioned point at 5,000 test
prompts of each kind. It stops before a panel once `seconds` are spent. d is 80, runs 20 and seconds
420 unless given. It needs JAX and only the library.
"""

import math
import statistics
import sys
import time
import warnings

import jax
import jax.numpy as jnp

from attnlab.random import (
    Accelerator,
    EquivalentModel,
    IllConditioned,
    LinearAttention,
    RandomTransformer,
    SingleIndexRegression,
    simulate,
)

TAUS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0)
ALPHAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
PSIS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0)
RIDGES = (1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0)
TEST, SHARE_TEST = 5_000, 20_000
SHOWN = 40  # points of a panel that are printed


def timed(call) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def gemm_rate(dtype, size: int = 8192) -> float:
    with jax.enable_x64(True):
        a = jax.random.normal(jax.random.key(0), (size, size), dtype)
        product = jax.jit(lambda a: jnp.matmul(a, a, precision="highest"))
        timed(lambda: product(a))
        return 2 * size**3 / min(timed(lambda: product(a)) for _ in range(5))


def models_of(width: int):
    yield from (LinearAttention(), LinearAttention(intercept=True))
    for activation in ("relu", "tanh"):
        yield RandomTransformer(width, activation)
        yield from (EquivalentModel(width, activation, degree) for degree in (1, 2, 4))


def panels(d: int):
    """Name -> problem, models, n and ridges, as the study's page fixes them."""
    square = d * d

    def problem(target: str, length: int) -> SingleIndexRegression:
        return SingleIndexRegression(d, length, d // 2, target, 0.01)

    sizes = [round(tau * square) for tau in TAUS]
    everything = list(models_of(square))
    yield "1(a)", problem("relu", d), everything, sizes, [1e-8]
    yield "1(b)", problem("tanh", d), everything, sizes, [1e-8]
    n = round(1.5 * square)
    for alpha in ALPHAS:
        yield f"2(a) l={alpha:g}d", problem("relu", round(alpha * d)), everything, [n], [1e-8]
    widths = [round(psi * n) for psi in PSIS]
    models = [model for width in widths for model in list(models_of(width))[2:]]
    yield "2(b)", problem("relu", d), models, [n], [1e-8]
    models = [
        make(width, "relu") for width in widths for make in (RandomTransformer, EquivalentModel)
    ]
    yield "2(c)", problem("relu", d), models, [n], list(RIDGES)


def draws(d: int, arrays: Accelerator) -> None:
    """Milliseconds of F, z and the prompts of one fit, each the fastest of five."""
    n, m, problem = round(1.5 * d * d), d * d, SingleIndexRegression(d, d, d // 2, "relu", 0.01)
    counts = [("pool", "train", n), ("fresh", "test", SHARE_TEST), ("pool", "test", SHARE_TEST)]
    for name, call in (
        (f"F, {problem.directions} x {m}", lambda: arrays.weights(1, problem.directions, m, 1.0)),
        (f"z, {n} x {m}", lambda: arrays.noise(1, 0, n, m)),
        (f"{n + 2 * SHARE_TEST} prompts", lambda: arrays.draws(problem, 1, counts)),
    ):
        timed(call)
        print(f"drawing {name}: {1e3 * min(timed(call) for _ in range(5)):.2f} ms")


def share(d: int, single: float, double: float, arrays: Accelerator) -> None:
    n, m, D = round(1.5 * d * d), d * d, d * (d + 1)
    model, problem = RandomTransformer(m, "relu"), SingleIndexRegression(d, d, d // 2, "relu", 0.01)

    def once(seed: int):
        options = {"n": n, "ridge": 0.1, "runs": 1, "seed": seed, "test": SHARE_TEST}
        return simulate(problem, model, arrays=arrays, **options)

    once(0)
    spent = statistics.median(timed(lambda s=s: once(s)) for s in range(1, 6))
    prompts = n + 2 * SHARE_TEST
    ideal = 2.0 * prompts * D * m / single + (float(n) * m * m + m**3 / 3) / double
    print(f"one fit, d={d} n={n} m={m}: {spent:.3f} s, {ideal / spent:.0%} of the GEMM rates")


def panel(name: str, problem, models, n, ridges, runs: int, arrays: Accelerator) -> float:
    """Seconds of a panel, printed with its points at n = 1.5 d^2."""
    start, ends = time.perf_counter(), []
    options = {"n": n, "ridge": ridges, "runs": runs, "seed": 1, "test": TEST}
    points = simulate(
        problem,
        models,
        arrays=arrays,
        finished=lambda _: ends.append(time.perf_counter() - start),
        **options,
    )
    spent = time.perf_counter() - start
    relative = [p.icl.standard_error / p.icl.value for p in points if not p.diagnosis]
    print(
        f"panel {name}: {spent:.1f} s, the first run {ends[0]:.1f} s, {len(points)} points, "
        f"{runs} runs, standard errors to {max(relative, default=math.nan):.2%} of "
        f"{len(relative)} well-conditioned points",
        flush=True,
    )
    for point in [p for p in points if p.n == round(1.5 * problem.d**2)][:SHOWN]:
        keys = ("intercept", "activation", "degree", "width")
        extra = [str(getattr(point.model, key)) for key in keys if hasattr(point.model, key)]
        error = point.typical()
        print(
            f"    {type(point.model).__name__} {' '.join(extra)} ridge {point.ridge:g}: "
            f"{error.value:.4f} +- {error.standard_error:.4f}"
        )
    return spent


def main() -> None:
    given = sys.argv[1:] + [""] * 3
    d, runs, budget = int(given[0] or 80), int(given[1] or 20), float(given[2] or 420)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    single, double = gemm_rate(jnp.float32), gemm_rate(jnp.float64)
    print(f"GEMM {single / 1e12:.1f} TFLOP/s in float32, {double / 1e12:.1f} in float64")
    arrays = Accelerator()
    draws(d, arrays)
    share(d, single, double, arrays)
    warnings.simplefilter("ignore", IllConditioned)
    total = 0.0
    for each in panels(d):
        if total > budget:
            print(f"stopped before {each[0]}")
            return
        total += panel(*each, runs=runs, arrays=arrays)
    print(f"all panels: {total:.0f} s")


if __name__ == "__main__":
    main()
