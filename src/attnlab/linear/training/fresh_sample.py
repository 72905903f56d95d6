"""Levenberg-Marquardt on fresh sequences: second-order training of networks of `axis_weights`.

Many networks are trained side by side on the same sequences. A fixed sample is over-fitted, so
every iteration draws its own and compares the steps of several dampings on another. A deep network
is a polynomial of huge degree in its input, so its loss has a heavy tail. Sequences count by
c log(1 + loss / c), which an exploding one can neither rule nor escape, and of a large pool the
worst all enter the Jacobian: the tail is trained before it is met.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.kernels.axis import answers, answers_and_jacobian, from_numbers, numbers
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.predictors import ridge_weights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.recipes import NoiseTable, draw, with_noise

DAMPINGS = (0.1, 1.0, 10.0, 100.0)  # tried in every iteration, times the present one
LEAST_DAMPING = {"float32": 1e-6, "float64": 1e-8}  # below it A is not told from singular
LARGEST = 1e30
SMALLEST = 1e-6  # of the largest curvature: what Marquardt's scaling takes a parameter for


@dataclass(frozen=True)
class Sampling:
    """How many sequences are drawn and used at once.

    The Jacobian is taken at `chunk` of a pool: the `worst` of it, all of them, and of the others
    every k-th in the order of their losses. Steps are compared on `compared` fresh ones at a time.
    """

    chunk: int = 8192
    pool: int = 65536
    worst: int = 1024
    compared: int = 16384

    def __post_init__(self) -> None:
        for name in ("chunk", "pool", "worst", "compared"):
            arguments.integer(name, getattr(self, name), 1)
        if not self.worst < self.chunk <= self.pool:
            raise UserError(
                "worst must be below chunk and chunk at most pool, got "
                f"{self.worst}, {self.chunk} and {self.pool}."
            )

    @property
    def stride(self) -> int:
        """k."""
        return (self.pool - self.worst) // (self.chunk - self.worst)


class Objective(NamedTuple):
    """What is minimised: E c log(1 + loss / c); c infinite gives the plain loss."""

    noise: NoiseTable
    c: Float[Array, ""]


class Sequences(NamedTuple):
    """Gram matrices and the oracle's weights."""

    G: Float[Array, "count p p"]
    aim: Float[Array, "count d"]


Equations = tuple[Float[Array, "members k k"], Float[Array, "members k"]]
"""J^T W J and J^T W r, in double precision where it is on."""


class Search(NamedTuple):
    """A state of the search: the network, its damping, and the objective it was accepted with.

    Where several are searched together, every leaf has a leading axis of them.
    """

    weights: AxisWeights
    damping: Float[Array, "*members"]
    value: Float[Array, "*members"]
    accepted: Int[Array, "*members"]


def begin(weights: AxisWeights, damping: float = 1e-1) -> Search:
    """The state before the first step."""
    one = jnp.ones((), weights.p.dtype)
    return Search(weights.balanced(), damping * one, one * jnp.inf, jnp.zeros((), jnp.int32))


def search_many(
    problem: NoisyRegression,
    sampling: Sampling,
    starts: Search,
    key: Any,
    objective: Objective,
    iterations: int,
    chunks: int,
) -> Search:
    """`iterations` steps with samples of `chunks` pools of sequences.

    A step solves (J^T W J + mu D) delta = -J^T W r with W the weights of the robust loss; the best
    of the present weights and four dampings on fresh sequences is kept, so none is worse there.
    Drawing and stepping are programs of their own: what draws is compiled once for all networks.
    """
    state, dtype = starts, starts.weights.p.dtype
    for i in range(iterations):
        own = jax.random.fold_in(key, i)
        sums = _no_equations(state.weights)
        for chunk in range(chunks):
            drawn = _sample(problem, sampling.pool, dtype, own, 2 * chunk, objective.noise)
            sums = _equations(problem, sampling, state.weights, drawn, objective.c, sums)
        tried, networks, mu = _tried(state, sums)
        found = score(problem, sampling.compared, networks, own, objective, 2 * chunks)
        state = _accepted(state, tried, mu, found)
    return state


class Score(NamedTuple):
    """The objective of a network, its mean loss, the largest and the variance."""

    value: Float[Array, " members"]
    mean: Float[Array, " members"]
    largest: Float[Array, " members"]
    variance: Float[Array, " members"]


def score(
    problem: NoisyRegression,
    count: int,
    weights: AxisWeights,
    key: Any,
    objective: Objective,
    chunks: int,
) -> Score:
    """Each of them on `chunks` times `count` draws; networks are a leading axis of `weights`."""
    sums = Score(*(jnp.zeros(len(weights.p), weights.p.dtype) for _ in range(4)))
    for chunk in range(chunks):
        drawn = _sample(problem, count, weights.p.dtype, key, 2 * chunk + 1, objective.noise)
        sums = _scores(problem, weights, drawn, objective.c, sums)
    return _averaged(sums, chunks)


@partial(jax.jit, static_argnums=0)
def _scores(
    problem: NoisyRegression,
    weights: AxisWeights,
    drawn: Sequences,
    c: Float[Array, ""],
    sums: Score,
) -> Score:
    """`sums` and the means over these draws; of the squares instead of a variance."""
    loss = _losses(problem, answers(weights, drawn.G), drawn.aim.T)
    found = Score(
        _robust(loss, c.astype(loss.dtype)).mean(1),
        loss.mean(1),
        loss.max(1),
        jnp.square(loss).mean(1),
    )
    added = jax.tree.map(jnp.add, sums, found)
    return added._replace(largest=jnp.maximum(sums.largest, found.largest))


@jax.jit
def _averaged(sums: Score, chunks: Any) -> Score:
    mean = sums.mean / chunks
    return Score(sums.value / chunks, mean, sums.largest, sums.variance / chunks - mean**2)


@jax.jit
def _tried(state: Search, sums: Equations) -> tuple[Array, AxisWeights, Array]:
    """The present numbers and those of every damping, as networks too, and the dampings.

    The equations may be summed over any number of pools: damping is relative to their size.
    """
    A, g = sums
    theta = numbers(state.weights)
    D = jnp.diagonal(A, axis1=1, axis2=2)
    D = jnp.maximum(D, SMALLEST * D.max(1, keepdims=True))
    mu = state.damping[:, None] * jnp.asarray(DAMPINGS, theta.dtype)[None]
    steps = _solutions(A, g, D, mu).astype(theta.dtype)
    tried = theta[:, None] - jnp.concatenate([jnp.zeros_like(steps[:, :1]), steps], axis=1)
    return tried, from_numbers(state.weights, tried.reshape(-1, theta.shape[1])), mu


@jax.jit
def _accepted(state: Search, tried: Array, mu: Array, found: Score) -> Search:
    value = found.value.reshape(tried.shape[:2])
    value = jnp.where(jnp.isfinite(value), value, jnp.inf)
    best = jnp.argmin(value, axis=1)
    moved = best > 0
    damping = jnp.where(moved, _taken(mu, best - moved), 30 * state.damping)
    chosen = from_numbers(state.weights, _taken(tried, best))
    return Search(
        jax.vmap(AxisWeights.balanced)(chosen),
        jnp.clip(damping, LEAST_DAMPING[tried.dtype.name], 1e4),
        _taken(value, best),
        state.accepted + moved,
    )


def _solutions(
    A: Float[Array, "members k k"],
    g: Float[Array, "members k"],
    D: Float[Array, "members k"],
    mu: Float[Array, "members dampings"],
) -> Float[Array, "members dampings k"]:
    """(A + mu D)^-1 g, in double precision where it is on: A is all but singular."""
    A, g, D, mu = (part.astype(jax.dtypes.canonicalize_dtype(float)) for part in (A, g, D, mu))

    def solved(A: Array, g: Array, D: Array, mu: Array) -> Array:
        factor = jax.scipy.linalg.cho_factor(A + mu * jnp.diag(D), lower=True)
        return jax.scipy.linalg.cho_solve(factor, g[:, None])[:, 0]

    # jaxlib may hang on batched factorisations on a CPU.
    if jax.default_backend() != "cpu":
        return jax.vmap(jax.vmap(solved, (None, None, None, 0)))(A, g, D, mu)
    several = mu.shape[1]
    repeated = (jnp.repeat(part, several, axis=0) for part in (A, g, D))
    found = jax.lax.map(lambda part: solved(*part), (*repeated, mu.reshape(-1)))
    return found.reshape(*mu.shape, -1)


def _taken(table: Array, places: Int[Array, " members"]) -> Array:
    return jax.vmap(lambda row, place: row[place])(table, places)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _sample(
    problem: NoisyRegression, count: int, dtype: Any, key: Any, number: Any, noise: NoiseTable
) -> Sequences:
    """The draw of this number from a key."""
    drawn = draw(problem, jax.random.fold_in(key, number), count, dtype)
    sigma = jax.vmap(noise.quantile)(drawn.u).astype(dtype)
    G = jax.vmap(with_noise)(drawn.G, drawn.w, sigma)
    return Sequences(G, jax.vmap(ridge_weights)(G, sigma**2))


def chosen(
    loss: Float[Array, " pool"], sampling: Sampling
) -> tuple[Int[Array, " chunk"], Float[Array, " chunk"]]:
    """Places of the pool and the share of it that each stands for."""
    worst, others = sampling.worst, sampling.chunk - sampling.worst
    order = jnp.argsort(-jnp.where(jnp.isnan(loss), jnp.inf, loss))
    k = sampling.stride
    spread = order[worst:][: k * others].reshape(others, k)[:, k // 2]
    share = jnp.full(sampling.chunk, (sampling.pool - worst) / others / sampling.pool, loss.dtype)
    return jnp.concatenate([order[:worst], spread]), share.at[:worst].set(1 / sampling.pool)


def _robust(loss: Array, c: Array) -> Array:
    """c log(1 + loss / c); what overflows, or is no number, counts as LARGEST where c is finite."""
    bounded = jnp.where(loss < LARGEST, loss, LARGEST)
    return jnp.where(jnp.isinf(c), loss, c * jnp.log1p(bounded / c))


def _no_equations(weights: AxisWeights) -> Equations:
    members, numbers = len(weights.p), sum(leaf[0].size for leaf in jax.tree.leaves(weights))
    dtype = jax.dtypes.canonicalize_dtype(float)
    return jnp.zeros((members, numbers, numbers), dtype), jnp.zeros((members, numbers), dtype)


@partial(jax.jit, static_argnums=(0, 1))
def _equations(
    problem: NoisyRegression,
    sampling: Sampling,
    weights: AxisWeights,
    drawn: Sequences,
    c: Float[Array, ""],
    sums: Equations,
) -> Equations:
    """`sums` and those of a pool."""
    dtype, summed = weights.p.dtype, sums[0].dtype
    variances = problem.variances(dtype)
    places, share = jax.vmap(partial(chosen, sampling=sampling))(
        _losses(problem, answers(weights, drawn.G), drawn.aim.T)
    )
    w, J = answers_and_jacobian(weights, drawn.G[places])
    r = w - drawn.aim[places].swapaxes(1, 2)
    loss = jnp.einsum("mds,d->ms", r**2, variances, precision="highest") / 2
    # A sequence that overflows has no direction to give: it is left to the comparison.
    good = jnp.isfinite(loss) & jnp.isfinite(J).all((1, 2))
    share = jnp.where(good, share / (1 + loss / c.astype(dtype)), 0)
    scale = jnp.sqrt(share[:, None, :] * variances[None, :, None]).astype(summed)
    good = good[:, None]
    J = jnp.where(good[:, None], J, 0).astype(summed) * scale[:, None]
    r = jnp.where(good, r, 0).astype(summed) * scale
    J, r = J.reshape(*J.shape[:2], -1), r.reshape(len(r), -1)
    A = jnp.einsum("mkn,mln->mkl", J, J, precision="highest")
    g = jnp.einsum("mkn,mn->mk", J, r, precision="highest")
    return sums[0] + A, sums[1] + g


def _losses(
    problem: NoisyRegression,
    w: Float[Array, "members d sequences"],
    aim: Float[Array, "d sequences"],
) -> Float[Array, "members sequences"]:
    squares, variances = jnp.square(w - aim[None]), problem.variances(w.dtype)
    return jnp.einsum("mds,d->ms", squares, variances, precision="highest") / 2
