"""Fixed samples of noisy regression for second-order training: drawn, thinned and joined.

A deep linear transformer is a polynomial of high degree, so that a few extreme sequences decide its
loss. A sample here is therefore stratified: all of a large pool's worst sequences for a given model
at their own weight, and a thinned body that stands for the rest. Drawing is on the host, where it
costs microseconds a sequence and compiles nothing; the law of a sequence is that of
`NoisyRegression.direct_gram`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.estimate import Estimate
from attnlab.problems import arguments
from attnlab.problems.noise import NoiseLaw, PRNGKey
from attnlab.problems.noisy_regression import NoisyRegression

CHUNK = 1024  # sequences at once on the host: what is held between two steps stays in a cache


class Sample(NamedTuple):
    """Sequences with weights that sum to 1; `drawn` is how many draws they stand for."""

    G: Float[np.ndarray, "N d+1 d+1"]
    oracle: Float[np.ndarray, "N d"]
    weight: Float[np.ndarray, " N"]
    drawn: int

    def mean(self, losses: Float[np.ndarray, " N"]) -> Estimate:
        """The weighted mean of a loss; infinite where a sequence overflowed."""
        if not np.isfinite(losses).all():
            return Estimate(np.inf, np.inf, self.drawn)
        value = float(self.weight @ losses)
        error = float(np.sqrt(np.square(self.weight * (losses - value)).sum()))
        return Estimate(value, error, self.drawn)


def draw(problem: NoisyRegression, key: PRNGKey, count: int) -> Sample:
    """`count` sequences: G = F F^T with F = [B_x; w^T B_x + sigma B_y] and B Bartlett's factor."""
    count = arguments.integer("count", count, 1)
    d, n, p = problem.d, problem.n, problem.d + 1
    rng = generator(key)
    k = min(n, p)
    normals = rng.standard_normal((count, p, k))
    diagonal = np.sqrt(rng.chisquare(n - np.arange(k), (count, k)))
    w = rng.standard_normal((count, d))
    sigma = _levels(problem.noise, key, count)
    if n < d and not sigma.all():
        raise UserError(f"n must be at least d = {d} where the noise can be 0, got {n!r}.")
    G, oracle = np.empty((count, p, p)), np.empty((count, d))
    for start in range(0, count, CHUNK):
        some = slice(start, start + CHUNK)
        B = np.tril(normals[some], -1)
        B[:, range(k), range(k)] = diagonal[some]
        _fill(problem, B, w[some], sigma[some], G[some], oracle[some])
    return Sample(G, oracle, np.full(count, 1 / count), count)


def draw_extremes(
    problem: NoisyRegression, key: PRNGKey, draws: int, count: int, kept: int
) -> Sample:
    """Of `draws` times `count` sequences the `kept` largest in |Sigma| and in lambda = sum y^2.

    Those are the sequences on which a deep network blows up (found here). Every one has the weight
    of itself alone, so that the weights sum to less than 1; `with_extremes` joins them to a sample.
    """
    kept_G, kept_oracle = [], []
    for i in range(arguments.integer("draws", draws, 1)):
        some = draw(problem, jax.random.fold_in(key, i), count)
        places = _largest(some.G, kept)
        kept_G.append(some.G[places])
        kept_oracle.append(some.oracle[places])
    G, oracle = np.concatenate(kept_G), np.concatenate(kept_oracle)
    places = _largest(G, kept)
    weight = np.full(len(places), 1 / (draws * count))
    return Sample(G[places], oracle[places], weight, draws * count)


def with_extremes(sample: Sample, extremes: Sample) -> Sample:
    """The sample for all but what the extremes stand for, and the extremes."""
    body = sample.weight * (1 - extremes.weight.sum())
    return Sample(
        np.concatenate([sample.G, extremes.G]),
        np.concatenate([sample.oracle, extremes.oracle]),
        np.concatenate([body, extremes.weight]),
        sample.drawn,
    )


def thin(pool: Sample, losses: Float[np.ndarray, " N"], tail: int, body: int) -> Sample:
    """The pool's `tail` worst sequences at their own weights, and its first `body` others for all
    the rest of the weight: an unbiased sample of tail + body sequences at most.
    """
    worst, rest = _worst(losses, tail), np.ones(len(losses), bool)
    rest[worst] = False
    body_places = np.flatnonzero(rest)[:body]
    weight = pool.weight[body_places] * (pool.weight[rest].sum() / pool.weight[body_places].sum())
    places = np.concatenate([worst, body_places])
    weight = np.concatenate([pool.weight[worst], weight])
    return Sample(pool.G[places], pool.oracle[places], weight, pool.drawn)


def join_tail(
    sample: Sample,
    losses: Float[np.ndarray, " N"],
    fresh: Sample,
    fresh_losses: Float[np.ndarray, " M"],
    tail: int,
) -> Sample:
    """The sample with the `tail` worst of `fresh`, and weights as if all of `fresh` had joined.

    Both samples speak for the sequences as bad as the worst, each with its number of draws; of the
    others, only those of `sample` are kept, at the total weight that both give them.
    """
    worst = _worst(fresh_losses, tail)
    bar = _finite(fresh_losses)[worst].min()
    total = sample.drawn + fresh.drawn
    ours, theirs = sample.drawn / total, fresh.drawn / total
    bad = _finite(losses) >= bar
    rest = ours * sample.weight[~bad].sum() + theirs * (1 - fresh.weight[worst].sum())
    body = sample.weight[~bad] * (rest / sample.weight[~bad].sum())
    weight = np.empty(len(losses))
    weight[bad], weight[~bad] = ours * sample.weight[bad], body
    return Sample(
        np.concatenate([sample.G, fresh.G[worst]]),
        np.concatenate([sample.oracle, fresh.oracle[worst]]),
        np.concatenate([weight, theirs * fresh.weight[worst]]),
        total,
    )


def generator(key: PRNGKey) -> np.random.Generator:
    """NumPy's generator with a JAX key for its seed."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def _fill(
    problem: NoisyRegression,
    B: Float[np.ndarray, "N p k"],
    w: Float[np.ndarray, "N d"],
    sigma: Float[np.ndarray, " N"],
    G: Float[np.ndarray, "N p p"],
    oracle: Float[np.ndarray, "N d"],
) -> None:
    """Writes the Gram matrices and the oracle's weights of some sequences to G and `oracle`."""
    d = problem.d
    inputs = B[:, :d] * np.sqrt(np.broadcast_to(problem.variance, (d,)))[:, None]
    labels = w[:, None] @ inputs + sigma[:, None, None] * B[:, d:]
    factor = np.concatenate([inputs, labels], axis=1)
    np.matmul(factor, factor.swapaxes(1, 2), out=G)
    system = G[:, :d, :d] + sigma[:, None, None] ** 2 * np.eye(d)
    oracle[:] = np.linalg.solve(system, G[:, :d, d:])[..., 0]


def _largest(G: Float[np.ndarray, "N p p"], kept: int) -> np.ndarray:
    sizes = np.square(G[:, :-1, :-1]).sum((1, 2)), G[:, -1, -1]
    return np.unique([np.argsort(-size, kind="stable")[:kept] for size in sizes])


def _levels(noise: NoiseLaw, key: PRNGKey, count: int) -> Float[np.ndarray, " count"]:
    return np.asarray(_sampler(noise, count)(jax.random.split(key, count)))


@lru_cache(maxsize=64)
def _sampler(noise: NoiseLaw, count: int) -> Any:
    return jax.jit(jax.vmap(noise.sample))


def _worst(losses: Float[np.ndarray, " N"], tail: int) -> np.ndarray:
    tail = min(arguments.integer("tail", tail, 1), len(losses) - 1)
    return np.argsort(-_finite(losses), kind="stable")[:tail]


def _finite(losses: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    return np.where(np.isfinite(losses), losses, np.inf)
