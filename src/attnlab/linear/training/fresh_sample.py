"""Levenberg-Marquardt on fresh sequences: second-order training of axis networks.

Many networks are trained together on the same sequences. A fixed sample would be over-fitted, so
every iteration draws a new one, and compares the steps for several dampings on another. A deep
network is a polynomial of high degree in its input, so its loss has a heavy tail. Two measures keep
the tail under control: a sequence counts with c log(1 + loss / c), so that one on which the network
diverges neither dominates the objective nor is ignored, and all of the worst sequences of a large
pool enter the Jacobian.
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
from attnlab.linear.training.batches import NoiseTable, draw_batch, with_noise

DAMPINGS = (0.1, 1.0, 10.0, 100.0)  # tried in every iteration, as multiples of the present one
LEAST_DAMPING = {"float32": 1e-6, "float64": 1e-8}  # below it rounding makes the system singular
LARGEST = 1e30  # losses above it, and those that overflow, count as this
SMALLEST = 1e-6  # the least scale of a parameter in Marquardt's scaling, relative to the largest


@dataclass(frozen=True)
class Sampling:
    """How many sequences are drawn and used at once.

    Parameters
    ----------
    chunk
        Sequences of a pool at which the Jacobian is taken: the worst ones, and of the others every
        `stride`-th in the order of their losses.
    pool
        Sequences that are drawn for them.
    worst
        The number of worst sequences.
    compared
        Fresh sequences on which steps are compared.
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
        """The distance, in the order of losses, between those of the others that are used."""
        return (self.pool - self.worst) // (self.chunk - self.worst)


class Objective(NamedTuple):
    """The objective E c log(1 + loss / c); an infinite c gives the plain loss."""

    noise: NoiseTable
    c: Float[Array, ""]


class Sequences(NamedTuple):
    """Gram matrices and the weights of the oracle."""

    G: Float[Array, "count p p"]
    aim: Float[Array, "count d"]


Equations = tuple[Float[Array, "members k k"], Float[Array, "members k"]]
"""J^T W J and J^T W r, in JAX's default precision."""


class SearchState(NamedTuple):
    """The state of a search: the network, its damping, and the objective at its acceptance.

    Where several networks are searched together, they are the first axis of every array.
    """

    weights: AxisWeights
    damping: Float[Array, "*members"]
    value: Float[Array, "*members"]
    accepted: Int[Array, "*members"]


def begin(weights: AxisWeights, damping: float = 1e-1) -> SearchState:
    """The state before the first step."""
    one = jnp.ones((), weights.p.dtype)
    return SearchState(weights.balanced(), damping * one, one * jnp.inf, jnp.zeros((), jnp.int32))


def search_many(
    problem: NoisyRegression,
    sampling: Sampling,
    starts: SearchState,
    key: Any,
    objective: Objective,
    iterations: int,
    chunks: int,
) -> SearchState:
    """Take `iterations` steps with several networks at once.

    A step solves (J^T W J + mu D) delta = -J^T W r with the weights W of the robust loss, for four
    dampings mu. Of these four and the present weights, the best on fresh sequences is kept.
    Drawing and stepping are separate programs, so that drawing is compiled once for all networks.

    Parameters
    ----------
    problem
        The problem; its noise law is replaced by that of the objective.
    sampling
        How many sequences are drawn and used.
    starts
        The states from which the searches start.
    key
        The JAX key of the draws.
    objective
        The noise law and the constant c of the robust loss.
    iterations
        The number of steps.
    chunks
        The number of pools over which the equations are summed.
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
    """The objective of each network, and the mean, largest value and variance of its loss."""

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
    """The score of every network on `chunks` times `count` draws.

    The networks are the first axis of `weights`; the other arguments are those of `search_many`.
    """
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
    """`sums` plus the means over these draws, with the mean square in place of the variance."""
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
def _tried(state: SearchState, sums: Equations) -> tuple[Array, AxisWeights, Array]:
    """The present numbers and those for every damping, the same as networks, and the dampings.

    The equations may be summed over any number of pools, because damping is relative to them.
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
def _accepted(state: SearchState, tried: Array, mu: Array, found: Score) -> SearchState:
    value = found.value.reshape(tried.shape[:2])
    value = jnp.where(jnp.isfinite(value), value, jnp.inf)
    best = jnp.argmin(value, axis=1)
    moved = best > 0
    damping = jnp.where(moved, _taken(mu, best - moved), 30 * state.damping)
    chosen = from_numbers(state.weights, _taken(tried, best))
    return SearchState(
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
    """(A + mu D)^-1 g, in JAX's default precision, because A is nearly singular."""
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
    drawn = draw_batch(problem, jax.random.fold_in(key, number), count, dtype)
    sigma = jax.vmap(noise.quantile)(drawn.u).astype(dtype)
    G = jax.vmap(with_noise)(drawn.G, drawn.w, sigma)
    return Sequences(G, jax.vmap(ridge_weights)(G, sigma**2))


def chosen(
    loss: Float[Array, " pool"], sampling: Sampling
) -> tuple[Int[Array, " chunk"], Float[Array, " chunk"]]:
    """The sequences of the pool that are used, and the share of the pool that each represents."""
    worst, others = sampling.worst, sampling.chunk - sampling.worst
    order = jnp.argsort(-jnp.where(jnp.isnan(loss), jnp.inf, loss))
    k = sampling.stride
    spread = order[worst:][: k * others].reshape(others, k)[:, k // 2]
    share = jnp.full(sampling.chunk, (sampling.pool - worst) / others / sampling.pool, loss.dtype)
    return jnp.concatenate([order[:worst], spread]), share.at[:worst].set(1 / sampling.pool)


def _robust(loss: Array, c: Array) -> Array:
    """c log(1 + loss / c). Where c is finite, overflow and NaN count as LARGEST."""
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
    """`sums` plus the equations of a pool."""
    dtype, summed = weights.p.dtype, sums[0].dtype
    variances = problem.variances(dtype)
    places, share = jax.vmap(partial(chosen, sampling=sampling))(
        _losses(problem, answers(weights, drawn.G), drawn.aim.T)
    )
    w, J = answers_and_jacobian(weights, drawn.G[places])
    r = w - drawn.aim[places].swapaxes(1, 2)
    loss = jnp.einsum("mds,d->ms", r**2, variances, precision="highest") / 2
    # A sequence that overflows has no derivative; it only counts when steps are compared.
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
