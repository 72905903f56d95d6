"""`InContextRegressor` against RidgeCV, BayesianRidge and Bayes: accuracy and time, in one run.

    python benchmarks/regressor.py [problems]

prints the mean squared error at a fresh input (1) for the study's problem, d = 10 and
sigma ~ U(0, 5), at n / d from 1 to 8; (2) for other d, for correlated inputs, and far outside of
the training range; (3) for a network that is used at another n / d than it was trained for; (4) for
random subsets of scikit-learn's diabetes data; and (5) times. All methods have the same problems;
standard errors of means are in brackets. `problems` is 200 unless given.
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge, LinearRegression, RidgeCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from attnlab.linear import InContextRegressor, fit_many, predict_many
from attnlab.linear.models.bayes import Bayes, ScaleFreeBayes
from attnlab.linear.models.predictors import LinearPredictor
from attnlab.linear.noise import Uniform
from attnlab.linear.regressor.many import last_plausible
from attnlab.linear.regressor.recursion import answers
from attnlab.linear.regressor.scaling import restored, scaled
from attnlab.linear.regressor.shipped import shipped
from attnlab.stats import Estimate

ALPHAS = np.geomspace(1e-3, 1e3, 25)  # RidgeCV's three defaults are too few for a fair comparison


class Problems(NamedTuple):
    """Contexts with the truth: X (N, n, d), y (N, n), w (N, d), sigma (N,), variances (N, d)."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    sigma: np.ndarray
    C: np.ndarray


def draw(seed: int, count: int, d: int, n: int, high: float, decades: float = 0.0) -> Problems:
    """w ~ N(0, I), x ~ N(0, C) with C spread over `decades`, sigma ~ U(0, high)."""
    rng = np.random.default_rng((seed, d, n))
    C = 10 ** (-decades * rng.random((count, d)))
    X = rng.standard_normal((count, n, d)) * np.sqrt(C)[:, None]
    w, sigma = rng.standard_normal((count, d)), high * rng.random(count)
    y = (X @ w[..., None])[..., 0] + sigma[:, None] * rng.standard_normal((count, n))
    return Problems(X, y, w, sigma, C)


def looped(estimator: Callable[[], Any]) -> Callable[[Problems], np.ndarray]:
    def coefficients(problems: Problems) -> np.ndarray:
        pairs = zip(problems.X, problems.y, strict=True)
        return np.stack([estimator().fit(X, y).coef_ for X, y in pairs])

    return coefficients


def network(problems: Problems) -> np.ndarray:
    return fit_many(problems.X, problems.y, fit_intercept=False).coef


def of_predictor(predictor: LinearPredictor) -> Callable[[Problems], np.ndarray]:
    """The coefficients of a predictor of attnlab, in double precision."""
    weights = jax.jit(jax.vmap(lambda G, n: predictor.weights(G, n), (0, None)), static_argnums=1)

    def coefficients(problems: Problems) -> np.ndarray:
        E = np.concatenate([problems.X, problems.y[..., None]], axis=2)
        with jax.enable_x64(True):
            return np.asarray(weights(E.swapaxes(1, 2) @ E, problems.X.shape[1]))

    return coefficients


def oracle(problems: Problems) -> np.ndarray:
    """Ridge with the true sigma."""
    Xt, d = problems.X.swapaxes(1, 2), problems.X.shape[2]
    system = Xt @ problems.X + (problems.sigma**2)[:, None, None] * np.eye(d)
    return np.linalg.solve(system, Xt @ problems.y[..., None])[..., 0]


def methods(high: float) -> dict[str, Callable[[Problems], np.ndarray]]:
    return {
        "RidgeCV": looped(lambda: RidgeCV(ALPHAS, fit_intercept=False)),
        "network": network,
        "BayesianRidge": looped(lambda: BayesianRidge(fit_intercept=False)),
        "OLS": looped(lambda: LinearRegression(fit_intercept=False)),
        "scale-free Bayes": of_predictor(ScaleFreeBayes()),
        "Bayes": of_predictor(Bayes(Uniform(high))),
        "oracle": oracle,
    }


def errors(coefficients: np.ndarray, problems: Problems) -> np.ndarray:
    """E <w - w_true, x>^2 of every problem, at a fresh input."""
    return (problems.C * np.square(coefficients - problems.w)).sum(1)


def compared(found: dict[str, np.ndarray]) -> str:
    """Means with standard errors, and the mean differences between the network and two others."""
    parts = [f"{name} {_mean(values)}" for name, values in found.items()]
    for other in ("RidgeCV", "BayesianRidge"):
        parts.append(f"network - {other} {_mean(found['network'] - found[other])}")
    return ", ".join(parts)


def _mean(values: np.ndarray) -> str:
    found = Estimate.of(values)
    return f"{found.value:.4g}({found.standard_error:.2g})"


def accuracy(count: int) -> None:
    print("1. mean squared error at a fresh input, d = 10, sigma ~ U(0, 5), no intercept")
    for n in (10, 15, 20, 30, 40, 60, 80):
        problems = draw(1, count, 10, n, 5.0)
        found = {name: errors(by(problems), problems) for name, by in methods(5.0).items()}
        print(f"  n={n}: {compared(found)}", flush=True)
    print("2. other sizes, correlated inputs, and noise outside of the training range")
    for d, n, ratio, decades in (
        (2, 6, 1.6, 0),
        (5, 10, 1.6, 0),
        (20, 40, 1.6, 0),
        (50, 100, 1.6, 0),
        (20, 10, 1.6, 0),
        (100, 20, 1.6, 0),
        (10, 20, 1.6, 3),
        (10, 80, 1.6, 3),
        (10, 200, 1.6, 0),
        (10, 2000, 1.6, 0),
        (10, 20, 0.0, 0),
        (10, 20, 0.1, 0),
        (10, 20, 10.0, 0),
    ):
        problems = draw(2, count, d, n, ratio * d**0.5, decades)
        of = methods(ratio * d**0.5)
        found = {name: errors(of[name](problems), problems) for name in list(of)[:3]}
        if n > d:
            found["OLS"] = errors(of["OLS"](problems), problems)
        print(
            f"  d={d} n={n} sigma ~ U(0, {ratio:g} sqrt(d)) decades={decades}: {compared(found)}",
            flush=True,
        )


def elsewhere(count: int) -> None:
    print("3. error with the network of one n / d at another, over that with its own")
    mine = {network.n / network.d: network for network in shipped() if network.d == 10}
    for ratio in (0.5, 1, 2, 4, 8):
        problems = draw(3, 5 * count, 10, int(10 * ratio), 5.0)
        own = errors(network(problems), problems).mean()
        ratios = []
        for trained, chosen in mine.items():
            if 1 / 8 <= trained / ratio <= 8:
                context = scaled(problems.X, problems.y)
                w, layers = last_plausible(answers(chosen.omegas, context.G), context.G)
                error = errors(restored(w, context), problems).mean()
                refused = float((layers < len(chosen.omegas)).mean())
                note = f" ({100 * refused:.1f}% read early)" if refused else ""
                ratios.append(f"{trained:g}: {error / own:.3f}{note}")
        print(f"  n/d = {ratio:g}, trained at {', '.join(ratios)}")


def diabetes(subsets: int) -> None:
    print("4. diabetes (442 samples, 10 features standardised), test MSE on the other samples")
    X, y = load_diabetes(return_X_y=True, scaled=False)
    of = {
        "RidgeCV": lambda: RidgeCV(ALPHAS),
        "network": InContextRegressor,
        "BayesianRidge": BayesianRidge,
        "OLS": LinearRegression,
    }
    for n in (15, 20, 40, 80, 200):
        rng = np.random.default_rng((4, n))
        found: dict[str, list[float]] = {name: [] for name in of}
        early = 0
        for _ in range(subsets):
            order = rng.permutation(len(y))
            train, test = order[:n], order[n:]
            scaler = StandardScaler().fit(X[train])
            for name, make in of.items():
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = make().fit(scaler.transform(X[train]), y[train])
                early += bool(caught) and name == "network"
                answer = model.predict(scaler.transform(X[test]))
                found[name].append(float(np.square(answer - y[test]).mean()))
        means = compared({name: np.array(values) for name, values in found.items()})
        print(f"  n={n}: {means}; read early: {early} of {subsets}", flush=True)


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def time_single(n: int) -> None:
    X, y = (part[0] for part in draw(5, 1, 10, n, 5.0)[:2])
    times = [
        f"{type(model).__name__} {1e6 * median_seconds(lambda m=model: m.fit(X, y), 51):.0f} us"
        for model in (InContextRegressor(), RidgeCV(ALPHAS), RidgeCV(), BayesianRidge())
    ]
    print(f"  one fit, n={n} d=10: {', '.join(times)} (RidgeCV with 25 and with 3 penalties)")


def time_many(d: int, n: int) -> None:
    problems = draw(5, 1000, d, n, 1.6 * d**0.5)
    queries = problems.X[:, :1]

    def loop(penalties: Any) -> list[np.ndarray]:
        triples = zip(problems.X, problems.y, queries, strict=True)
        return [RidgeCV(penalties).fit(X, y).predict(query) for X, y, query in triples]

    many = median_seconds(lambda: predict_many(problems.X, problems.y, queries), 5)
    scale_free = of_predictor(ScaleFreeBayes())
    exact = median_seconds(lambda: scale_free(problems), 5)
    seconds = {len(a): median_seconds(lambda a=a: loop(a), 1) for a in (ALPHAS, (0.1, 1.0, 10.0))}
    loops = ", ".join(f"{k} penalties {s:.2f} s ({s / many:.0f}x)" for k, s in seconds.items())
    print(
        f"  1000 problems, n={n} d={d}: predict_many {1e3 * many:.1f} ms; scale-free Bayes "
        f"{1e3 * exact:.1f} ms; loop of RidgeCV, {loops}",
        flush=True,
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with threadpool_limits(limits=1):
        accuracy(count)
        elsewhere(count)
        diabetes(count)
        print("5. time, one thread, median")
        for n in (20, 200):
            time_single(n)
        for d, n in ((3, 12), (10, 20), (20, 40)):
            time_many(d, n)


if __name__ == "__main__":
    main()
