"""What the shared fits of the study `random` cost, measured in one run on this machine.

    python benchmarks/random_transformer.py [d]

prints (1) the share of the machine's own GEMM rate that a whole run reaches, every operation
counted at the rate of its precision; (2) how much longer separate fits take than shared ones;
(3) peak memory against n; (4) seconds against d; (5) the time of one random normal beside NumPy's
fastest generator. d is 48 unless given; the paper's is 80.
"""

import resource
import subprocess
import sys
import time

import numpy as np

from attnlab.random import (
    EquivalentModel,
    LinearAttention,
    RandomTransformer,
    SingleIndexRegression,
    simulate,
)
from attnlab.random.philox import Stream, host_normals, key_of

RIDGES = (1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0)


def problem_of(d: int) -> SingleIndexRegression:
    return SingleIndexRegression(d, d, d // 2, "relu", 0.01)


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def gemm_rate(dtype, size: int = 3000) -> float:
    """Floating-point operations per second, from the fastest of five products."""
    a = np.random.default_rng(0).standard_normal((size, size)).astype(dtype)
    return 2 * size**3 / min(seconds(lambda: a @ a) for _ in range(5))


def gemm_share(d: int, models, ridges, test: int) -> None:
    n, m, D = round(1.5 * d * d), d * d, d * (d + 1)
    single, double = gemm_rate(np.float32), gemm_rate(np.float64)
    kinds = len(models)
    operations = {
        "features": (2.0 * (n + 2 * test) * D * m, single),
        "Gram": (kinds * float(n) * m * m, single),
        "solves": (kinds * len(ridges) * m**3 / 3, double),
        "predictions": (kinds * 2.0 * 2 * test * m * len(ridges), double),
    }
    ideal = sum(count / rate for count, rate in operations.values())
    call = {"n": n, "ridge": ridges, "runs": 1, "test": test}
    simulate(problem_of(d), models, seed=1, **call)
    spent = min(
        seconds(lambda s=s: simulate(problem_of(d), models, seed=s, **call)) for s in (2, 3)
    )
    shares = ", ".join(f"{name} {c / r:.2f} s" for name, (c, r) in operations.items())
    print(
        f"  d={d} n={n} m={m}, {kinds} model(s), {len(ridges)} ridge(s): {spent:.2f} s against "
        f"{ideal:.2f} s at the GEMM rates {single / 1e9:.0f} and {double / 1e9:.0f} GFLOP/s "
        f"({shares}): {ideal / spent:.0%}"
    )


def sharing(d: int) -> None:
    """Figure 2(c) and its like: widths, sizes and ridges from one draw, or a draw for each."""
    sizes = [round(tau * d * d) for tau in (0.5, 1.25, 1.5, 2.0)]
    models = [
        make(round(f * d * d))
        for f in (0.25, 0.7, 1.0)
        for make in (RandomTransformer, lambda m: EquivalentModel(m, "relu", 2))
    ]
    options = {"runs": 1, "test": 500}
    together = seconds(lambda: simulate(problem_of(d), models, n=sizes, ridge=RIDGES, **options))
    apart = sum(
        seconds(lambda a=a: simulate(problem_of(d), a[0], n=a[1], ridge=a[2], **options))
        for a in [(model, n, ridge) for model in models for n in sizes for ridge in RIDGES]
    )
    fits = len(models) * len(sizes) * len(RIDGES)
    print(
        f"  d={d}, {fits} fits: shared {together:.2f} s, separate {apart:.2f} s: "
        f"{apart / together:.1f} times"
    )


def memory(d: int, n: int) -> float:
    """Peak resident MiB of a process of its own that fits m = d^2 / 2 features to n prompts."""
    command = [sys.executable, __file__, "--one-fit", str(d), str(n)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def normals(rows: int = 2000, width: int = 600) -> None:
    """Nanoseconds of processor time for each normal, the fastest of five draws."""

    def spent(draw) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            draw()
            times.append(time.process_time() - start)
        return 1e9 * min(times) / (rows * width)

    ours = spent(lambda: host_normals(key_of(0), Stream.WEIGHTS, 0, rows, width))
    generator = np.random.Generator(np.random.SFC64(0))
    numpys = spent(lambda: generator.standard_normal((rows, width), np.float32))
    print(f"  Philox and Box-Muller {ours:.1f} ns, NumPy's SFC64 and ziggurat {numpys:.1f} ns")


def one_fit(d: int, n: int) -> None:
    simulate(problem_of(d), RandomTransformer(d * d // 2), n=n, ridge=0.1, runs=1, test=500)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    if sys.argv[1:2] == ["--one-fit"]:
        return one_fit(int(sys.argv[2]), int(sys.argv[3]))
    d = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    relu = RandomTransformer(d * d)
    everything = [relu, RandomTransformer(d * d, "tanh"), EquivalentModel(d * d, "relu", 2)]
    print("1. share of the machine's own GEMM rate, end to end")
    gemm_share(d, [relu], [1e-8], test=1000)
    gemm_share(d, everything, [1e-8, 0.1], test=1000)
    print("2. shared against separate fits")
    sharing(d // 2)
    print("3. peak memory against n, m = d^2 / 2 = " + str(d * d // 2))
    for n in (d * d, 4 * d * d, 16 * d * d):
        print(f"  n={n}: {memory(d, n):.0f} MiB")
    print("4. seconds of a run against d (linear, ReLU and its equivalent, 6 ridges)")
    for size in (d // 4, d // 2, d):
        models = [LinearAttention(), RandomTransformer(size**2), EquivalentModel(size**2)]
        call = {"n": round(1.5 * size**2), "ridge": RIDGES, "runs": 1, "test": 1000}
        problem = problem_of(size)
        spent = seconds(lambda p=problem, m=models, c=call: simulate(p, m, **c))
        print(f"  d={size}: {spent:.2f} s")
    print("5. one float32 normal")
    normals()


if __name__ == "__main__":
    main()
