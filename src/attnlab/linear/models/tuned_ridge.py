"""Tuning of the ridge constants: CONSTRR's penalty, TUNEDRR's multiplier and threshold.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. Both minimise the adjusted loss on a fixed
sample of the problem. In the eigenbasis of each Sigma a ridge is d divisions, so that trying other
constants costs one pass over the sample.
"""

from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import optimize

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.predictors import ConstRidge, TunedRidge, ridge_weights
from attnlab.linear.problem import NoisyRegression


class RidgeSample(NamedTuple):
    """Sequences in the eigenbasis of their Sigma, where ridge with penalty v is b / (s + v).

    `oracle` is the ridge with the true noise level, `estimate` the noise estimate of ADARR.
    """

    s: Float[np.ndarray, "samples d"]
    b: Float[np.ndarray, "samples d"]
    oracle: Float[np.ndarray, "samples d"]
    estimate: Float[np.ndarray, " samples"]

    @staticmethod
    def of(
        G: Float[np.ndarray, "samples p p"], oracle: Float[np.ndarray, "samples d"], n: int
    ) -> "RidgeSample":
        """The sample with these Gram matrices of n tokens and these weights of the oracle."""
        s, V = np.linalg.eigh(G[:, :-1, :-1])
        b, rotated = (np.einsum("ki,kij->kj", w, V) for w in (G[:, :-1, -1], oracle))
        residual = np.maximum(G[:, -1, -1] - (b**2 / s).sum(1), 0)
        return RidgeSample(s, b, rotated, residual / (n - s.shape[1]))

    def loss(self, penalty: Float[np.ndarray, " #samples"]) -> float:
        """The adjusted loss of ridge with these penalties."""
        error = self.b / (self.s + penalty[:, None]) - self.oracle
        return float(0.5 * np.mean(np.sum(error**2, axis=1)))


def ridge_sample(problem: NoisyRegression, key: PRNGKeyArray, samples: int) -> RidgeSample:
    """Draw a sample of a problem with inputs of variance 1 and n > d."""
    samples = arguments.integer("samples", samples, 1)
    if problem.variance != 1.0:
        raise UserError(f"variance must be 1 for tuning a ridge, got {problem.variance!r}.")
    if problem.n <= problem.d:
        raise UserError(f"n must be at least d + 1 = {problem.d + 1} here, got {problem.n}.")
    with jax.enable_x64(True):
        G, oracle = map(np.asarray, _draw(problem, jax.random.split(key, samples)))
    return RidgeSample.of(G, oracle, problem.n)


@partial(jax.jit, static_argnums=0)
def _draw(problem: NoisyRegression, keys: Array) -> tuple[Array, Array]:
    def one(key: Array) -> tuple[Array, Array]:
        G, _, sigma = problem.direct_gram(key)
        return G, ridge_weights(G, sigma**2)

    return jax.vmap(one)(keys)


def tune_const_ridge(
    problem: NoisyRegression, samples: int = 20_000, *, seed: int = 0
) -> ConstRidge:
    """CONSTRR with the least adjusted loss on a sample.

    As the sample grows, its penalty tends to that of `ConstRidge.optimal`.
    """
    if problem.noise.second_moment() == 0:
        return ConstRidge(0.0)
    sample = ridge_sample(problem, _key(seed), samples)
    found = optimize.minimize_scalar(
        lambda log: sample.loss(np.exp([log])), bracket=(0.0, np.log(problem.n))
    )
    return ConstRidge(float(np.exp(found.x)))


def tune_ridge(problem: NoisyRegression, samples: int = 20_000, *, seed: int = 0) -> TunedRidge:
    """TUNEDRR with the least adjusted loss on a sample, by Nelder-Mead in log m and log t.

    Without noise all m and t are equally good, and both are 1 in the result.
    """
    if problem.noise.second_moment() == 0:
        return TunedRidge(1.0, 1.0)
    return fit_tuned_ridge(
        ridge_sample(problem, _key(seed), samples), problem.noise.second_moment()
    )


def fit_tuned_ridge(sample: RidgeSample, variance: float) -> TunedRidge:
    """TUNEDRR on a given sample; the search starts at t = `variance`, the law's E sigma^2."""

    def loss(log: np.ndarray) -> float:
        m, t = np.exp(log)
        return sample.loss(np.minimum(sample.estimate, t) * m)

    scale = np.log(arguments.positive("variance", variance))
    starts = [np.array([0.0, scale]), np.array([0.0, scale + 2]), np.array([0.5, scale])]
    options = {"xatol": 1e-4, "fatol": 1e-9}
    results = [
        optimize.minimize(loss, start, method="Nelder-Mead", options=options) for start in starts
    ]
    m, t = np.exp(min(results, key=lambda result: result.fun).x)
    return TunedRidge(float(m), float(t))


def _key(seed: int) -> PRNGKeyArray:
    return jax.random.key(arguments.integer("seed", seed, 0))
