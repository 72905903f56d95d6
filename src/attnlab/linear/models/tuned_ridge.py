"""Tuning of the baselines with constants: CONSTRR's penalty, TUNEDRR's multiplier and threshold.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. Both minimise the adjusted loss on a fixed
sample of the problem. In the eigenbasis of each Sigma a ridge is d divisions, so a trial of the
constants costs one pass over the sample.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import optimize

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.predictors import ConstRidge, TunedRidge, noise_estimate
from attnlab.linear.problem import NoisyRegression, sums


class RidgeSample(NamedTuple):
    """Sequences in the eigenbasis of their Sigma, where ridge with penalty v is b / (s + v)."""

    s: Float[np.ndarray, "samples d"]
    b: Float[np.ndarray, "samples d"]
    oracle: Float[np.ndarray, "samples d"]
    estimate: Float[np.ndarray, " samples"]

    def loss(self, penalty: Float[np.ndarray, " #samples"]) -> float:
        """The adjusted loss of ridge with these penalties."""
        error = self.b / (self.s + penalty[:, None]) - self.oracle
        return float(0.5 * np.mean(np.sum(error**2, axis=1)))


def ridge_sample(problem: NoisyRegression, key: PRNGKeyArray, samples: int) -> RidgeSample:
    """A sample of the problem; unit input variance and n > d."""
    samples = arguments.integer("samples", samples, 1)
    if problem.variance != 1.0:
        raise UserError(f"variance must be 1 for tuning a ridge, got {problem.variance!r}.")
    parts = _draw(problem, jax.random.split(key, samples))
    return RidgeSample(*(np.asarray(part, np.float64) for part in parts))


@partial(jax.jit, static_argnums=0)
def _draw(problem: NoisyRegression, keys: Array) -> tuple[Array, ...]:
    def one(key: Array) -> tuple[Array, ...]:
        G, _, sigma = problem.direct_gram(key)
        Sigma, alpha, _ = sums(G)
        s, V = jnp.linalg.eigh(Sigma)
        b = jnp.dot(alpha, V, precision="highest")
        return s, b, b / (s + sigma**2), noise_estimate(G, problem.n)

    return jax.vmap(one)(keys)


def tune_const_ridge(
    problem: NoisyRegression, key: PRNGKeyArray, samples: int = 20_000
) -> ConstRidge:
    """The constant with the least adjusted loss on a sample; its limit is `ConstRidge.optimal`."""
    if problem.noise.second_moment() == 0:
        return ConstRidge(0.0)
    sample = ridge_sample(problem, key, samples)
    found = optimize.minimize_scalar(
        lambda log: sample.loss(np.exp([log])), bracket=(0.0, np.log(problem.n))
    )
    return ConstRidge(float(np.exp(found.x)))


def tune_ridge(problem: NoisyRegression, key: PRNGKeyArray, samples: int = 20_000) -> TunedRidge:
    """m and t of TUNEDRR with the least adjusted loss on a sample, by Nelder-Mead in logarithms.

    Without noise every m and t is as good; 1 and 1 are returned.
    """
    if problem.noise.second_moment() == 0:
        return TunedRidge(1.0, 1.0)
    return fit_tuned_ridge(ridge_sample(problem, key, samples), problem.noise.second_moment())


def fit_tuned_ridge(sample: RidgeSample, variance: float) -> TunedRidge:
    """TUNEDRR on a given sample; the search starts at t = `variance`, E sigma^2 of its law."""

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
