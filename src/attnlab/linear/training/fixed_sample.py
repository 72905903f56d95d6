"""Fixed samples of noisy regression for second-order training: drawn, thinned and joined.

A deep linear transformer is a polynomial of high degree, so that a few extreme sequences dominate
its loss. A sample is therefore stratified: it holds all of a large pool's worst sequences for a
given model with their own weights, and some of the others with the weight of all others. Drawing is
done on the host, where it takes microseconds per sequence and compiles nothing. The law of a
sequence is that of `NoisyRegression.direct_gram`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.noise import Fixed, NoiseLaw, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.stats.estimate import Estimate

CHUNK = 1024  # sequences at once on the host, so that intermediate results stay in the cache
EXAGGERATION = 1.05, 1.12  # factors on the inputs, and on w and sigma, of an exaggerated sequence
EXAGGERATED = 1e-4  # the weight of an exaggerated sequence, relative to a drawn one


class Sample(NamedTuple):
    """Sequences with weights that sum to 1; `drawn` is the number of draws they represent."""

    G: Float[np.ndarray, "N d+1 d+1"]
    oracle: Float[np.ndarray, "N d"]
    weight: Float[np.ndarray, " N"]
    drawn: int

    def mean(self, losses: Float[np.ndarray, " N"]) -> Estimate:
        """The weighted mean of a loss, infinite if it overflowed on a sequence.

        With weights v_i the squared standard error is sum v_i^2 (loss_i - mean)^2, as for
        independent draws; for equal weights this is s^2 / n.
        """
        if not np.isfinite(losses).all():
            return Estimate(np.inf, np.inf, self.drawn)
        value = float(self.weight @ losses)
        error = float(np.sqrt(np.square(self.weight * (losses - value)).sum()))
        return Estimate(value, error, self.drawn)


def draw(problem: NoisyRegression, key: PRNGKeyArray, count: int) -> Sample:
    """Draw `count` sequences, with equal weights."""
    G, sigma = _sequences(problem, key, arguments.integer("count", count, 1))
    return Sample(G, _oracle(G, sigma), np.full(count, 1 / count), count)


def draw_extremes(
    problem: NoisyRegression, key: PRNGKeyArray, draws: int, count: int, kept: int
) -> Sample:
    """Of `draws` times `count` sequences, the `kept` largest in |Sigma| and in lambda = sum y^2.

    Deep networks diverge on such sequences. Each of them has the weight of one draw, so that the
    weights sum to less than 1; `with_extremes` joins them to a sample. Future sequences may lie
    further out: every sequence is therefore included a second time with inputs and labels
    multiplied by `EXAGGERATION`, with so small a weight that it matters only for a network that
    diverges there. Without noise the inputs are not multiplied: the network is then a polynomial
    in the eigenvalues of Sigma, and a wider range would increase its loss by orders of magnitude.
    """
    found = []
    for i in range(arguments.integer("draws", draws, 1)):
        G, sigma = _sequences(problem, jax.random.fold_in(key, i), count)
        places = _largest(G, kept)
        found.append((G[places], sigma[places]))
    G, sigma = (np.concatenate(parts) for parts in zip(*found, strict=True))
    places = _largest(G, kept)
    G, oracle = G[places], _oracle(G[places], sigma[places])
    inputs, labels = EXAGGERATION if problem.noise.second_moment() else (1.0, EXAGGERATION[1])
    scale = np.append(np.full(problem.d, inputs), inputs * labels)
    weight = np.full(len(places), 1 / (draws * count))
    return Sample(
        np.concatenate([G, scale[:, None] * G * scale]),
        np.concatenate([oracle, labels * oracle]),
        np.concatenate([weight, EXAGGERATED * weight]),
        draws * count,
    )


def most_extreme(
    problem: NoisyRegression, draws: int, count: int = 65_536, kept: int = 256
) -> Sample:
    """The extremes of every one of `draws` times `count` sequences, without exaggerated copies.

    The weighted sum of their losses is what they contribute to the mean over all of these
    sequences. The sequences are always the same, and no training and no evaluation uses them.
    """
    found = []
    for i in range(arguments.integer("draws", draws, 1)):
        one = draw_extremes(problem, jax.random.fold_in(jax.random.key(7), i), 1, count, kept)
        own = len(one.weight) // 2  # the second half is exaggerated
        found.append([part[:own] for part in one[:3]])
    G, oracle, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Sample(G, oracle, weight / draws, draws * count)


def with_extremes(sample: Sample, extremes: Sample) -> Sample:
    """The sample and the extremes together; the sample gets the weight that the extremes leave."""
    body = sample.weight * (1 - extremes.weight.sum())
    return Sample(
        np.concatenate([sample.G, extremes.G]),
        np.concatenate([sample.oracle, extremes.oracle]),
        np.concatenate([body, extremes.weight]),
        sample.drawn,
    )


def thin(pool: Sample, losses: Float[np.ndarray, " N"], tail: int, body: int) -> Sample:
    """An unbiased sample of at most tail + body sequences of the pool.

    It holds the `tail` worst sequences with their own weights, and the first `body` of the others
    with all the remaining weight.
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
    """The sample with the `tail` worst sequences of `fresh`, weighted as if all of `fresh` joined.

    Sequences at least as bad as these come from both samples, in proportion to their numbers of
    draws. Of the others only those of `sample` are kept, with the total weight that both samples
    give them.
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


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """NumPy's generator, seeded by a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def _sequences(
    problem: NoisyRegression, key: PRNGKeyArray, count: int
) -> tuple[Float[np.ndarray, "N p p"], Float[np.ndarray, " N"]]:
    """G = F F^T with F = [B_x; w^T B_x + sigma B_y] for Bartlett's factor B, and the sigmas."""
    d, n, p = problem.d, problem.n, problem.d + 1
    rng = generator(key)
    k = min(n, p)
    below = np.tril_indices(p, -1, k)
    normals = rng.standard_normal((count, len(below[0])))
    diagonal = np.sqrt(rng.chisquare(n - np.arange(k), (count, k)))
    w = rng.standard_normal((count, d))
    sigma = _levels(problem.noise, key, count)
    if n < d and not sigma.all():
        raise UserError(f"n must be at least d = {d} where the noise can be 0, got {n!r}.")
    variance = np.broadcast_to(problem.variance, (d,))
    G = np.empty((count, p, p))
    factor = np.zeros((min(count, CHUNK), p, k))
    for start in range(0, count, CHUNK):
        some = slice(start, start + CHUNK)
        F = factor[: len(G[some])]
        F[:, *below] = normals[some]
        F[:, range(k), range(k)] = diagonal[some]
        F[:, :d] *= np.sqrt(variance)[:, None]
        F[:, d] = (w[some, None] @ F[:, :d])[:, 0] + sigma[some, None] * F[:, d]
        np.matmul(F, F.swapaxes(1, 2), out=G[some])
    return G, sigma


def _oracle(
    G: Float[np.ndarray, "N p p"], sigma: Float[np.ndarray, " N"]
) -> Float[np.ndarray, "N d"]:
    """(Sigma + sigma^2 I)^-1 alpha."""
    d = G.shape[1] - 1
    oracle = np.empty((len(G), d))
    for start in range(0, len(G), CHUNK):
        some = slice(start, start + CHUNK)
        system = G[some, :d, :d] + sigma[some, None, None] ** 2 * np.eye(d)
        oracle[some] = np.linalg.solve(system, G[some, :d, d:])[..., 0]
    return oracle


def _largest(G: Float[np.ndarray, "N p p"], kept: int) -> np.ndarray:
    sizes = np.square(G[:, :-1, :-1]).sum((1, 2)), G[:, -1, -1]
    return np.unique([np.argsort(-size, kind="stable")[:kept] for size in sizes])


def _levels(noise: NoiseLaw, key: PRNGKeyArray, count: int) -> Float[np.ndarray, " count"]:
    if isinstance(noise, Fixed):  # profiles have many levels, and each would be compiled
        return np.full(count, noise.sigma)
    if isinstance(noise, Uniform):  # U(0, high) is high U(0, 1), so that all share a program
        return noise.high * _drawn(Uniform(1.0), key, count)
    return _drawn(noise, key, count)


def _drawn(noise: NoiseLaw, key: PRNGKeyArray, count: int) -> Float[np.ndarray, " count"]:
    return np.asarray(_sampler(noise, count)(jax.random.split(key, count)))


@lru_cache(maxsize=64)
def _sampler(noise: NoiseLaw, count: int) -> Any:
    return jax.jit(jax.vmap(noise.sample))


def _worst(losses: Float[np.ndarray, " N"], tail: int) -> np.ndarray:
    tail = min(arguments.integer("tail", tail, 1), len(losses) - 1)
    return np.argsort(-_finite(losses), kind="stable")[:tail]


def _finite(losses: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    return np.where(np.isfinite(losses), losses, np.inf)
