"""Levenberg-Marquardt on fresh sequences: second-order training of FULL linear transformers.

The networks are FULL or of the small family of `axis_weights`. A fixed sample is over-fitted, so
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
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from attnlab.errors import UserError
from attnlab.estimators.in_context_regression import ridge_weights
from attnlab.models.axis_weights import AxisWeights
from attnlab.models.linear_transformer import final_weights
from attnlab.models.linear_weights import FullWeights
from attnlab.problems import arguments
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.training.recipes import NoiseTable, draw, with_noise

DAMPINGS = (0.1, 1.0, 10.0, 100.0)  # tried in every iteration, times the present one
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


class Search(NamedTuple):
    """A state of the search: the network, its damping, and the objective it was accepted with."""

    weights: FullWeights | AxisWeights
    damping: Float[Array, ""]
    value: Float[Array, ""]
    plain: Float[Array, ""]  # the mean loss there
    largest: Float[Array, ""]  # of these losses
    accepted: Int[Array, ""]


@partial(jax.jit, static_argnums=(0, 1))
def search(
    problem: NoisyRegression,
    sampling: Sampling,
    start: Search,
    key: Any,
    objective: Objective,
    iterations: Int[Array, ""],
    chunks: Int[Array, ""],
) -> Search:
    """`iterations` steps with samples of `chunks` pools of sequences; one program a depth.

    A step solves (J^T W J + mu D) delta = -J^T W r with W the weights of the robust loss; the best
    of the present weights and four dampings on fresh sequences is kept, so none is worse there.
    """

    def step(i: Any, state: Search) -> Search:
        own = jax.random.fold_in(key, i)
        theta, unravel = ravel_pytree(state.weights)
        A, g = _normal_equations(problem, sampling, theta, unravel, own, objective, chunks)
        D = jnp.diag(A)
        D = jnp.maximum(D, SMALLEST * D.max())

        def moved(mu: Array) -> Array:
            factor = jax.scipy.linalg.cho_factor(A + mu * jnp.diag(D), lower=True)
            return theta - jax.scipy.linalg.cho_solve(factor, g[:, None])[:, 0]

        mu = state.damping * jnp.asarray(DAMPINGS, theta.dtype)
        tried = jnp.concatenate([theta[None], jax.lax.map(moved, mu)])
        compare = jax.random.fold_in(own, 1)
        found = _values(problem, sampling, tried, unravel, compare, objective, 2 * chunks)
        value = jnp.where(jnp.isfinite(found[0]), found[0], jnp.inf)
        best = jnp.argmin(value)
        damping = jnp.where(best > 0, mu[best - 1], 30 * state.damping)
        return Search(
            balanced(unravel(tried[best])),
            jnp.clip(damping, 1e-8, 1e4),
            value[best],
            found[1][best],
            found[2][best],
            state.accepted + (best > 0),
        )

    return jax.lax.fori_loop(0, iterations, step, start)


@partial(jax.jit, static_argnums=(0, 1))
def search_many(
    problem: NoisyRegression,
    sampling: Sampling,
    starts: Search,
    key: Any,
    objective: Objective,
    iterations: Int[Array, ""],
    chunks: Int[Array, ""],
) -> Search:
    """`search` from several starts, stacked, on the same sequences."""

    def one(start: Search) -> Search:
        return search(problem, sampling, start, key, objective, iterations, chunks)

    # A CPU gains nothing from a batch, and jaxlib may hang on batched factorisations there.
    if jax.default_backend() == "cpu":
        return jax.lax.map(one, starts)
    return jax.vmap(one)(starts)


def begin(weights: FullWeights | AxisWeights, damping: float = 1e-1) -> Search:
    """The state before the first step."""
    one = jnp.ones((), jax.tree.leaves(weights)[0].dtype)
    infinite = one * jnp.inf
    zero = jnp.zeros((), jnp.int32)
    return Search(balanced(weights), damping * one, infinite, infinite, infinite, zero)


def balanced(weights: Any) -> Any:
    """The same network with |P| = |Q| in every layer and head: the scale between them is free."""
    if isinstance(weights, AxisWeights):
        p, q = _square(weights.p, weights.p_rest), _square(weights.q, weights.q_rest)
        scale = _scale(p, q)
        blocks = scale[:, None, None]
        parts = weights.p * blocks, weights.p_rest * scale
        return AxisWeights(*parts, weights.q / blocks, weights.q_rest / scale)
    p, q = (jnp.square(part).sum((-2, -1), keepdims=True) for part in (weights.P, weights.Q))
    scale = _scale(p, q)
    return FullWeights(weights.P * scale, weights.Q / scale)


def _square(block: Float[Array, "layers 2 2"], rest: Float[Array, " layers"]) -> Array:
    return jnp.square(block).sum((-2, -1)) + jnp.square(rest)


def _scale(p: Array, q: Array) -> Array:
    """(q / p)^(1/4) of the squared norms, 1 where one of them is 0."""
    usable = (p > 0) & (q > 0)
    return jnp.where(usable, (q / jnp.where(usable, p, 1)) ** 0.25, 1)


@partial(jax.jit, static_argnums=(0, 1))
def score(
    problem: NoisyRegression,
    sampling: Sampling,
    weights: FullWeights | AxisWeights,
    key: Any,
    objective: Objective,
    chunks: Int[Array, ""],
) -> tuple[Array, Array, Array, Array]:
    """The objective, the mean loss, its largest and its variance on `chunks` times `compared`."""
    theta, unravel = ravel_pytree(weights)
    found = _values(problem, sampling, theta[None], unravel, key, objective, chunks)
    return tuple(part[0] for part in found)  # pyright: ignore[reportReturnType]


def _sample(
    problem: NoisyRegression, key: Any, noise: NoiseTable, count: int, dtype: Any
) -> tuple[Float[Array, "count p p"], Float[Array, "count d"]]:
    """Gram matrices and the oracle's weights."""
    drawn = draw(problem, key, count, dtype)
    sigma = jax.vmap(noise.quantile)(drawn.u)
    G = jax.vmap(with_noise)(drawn.G, drawn.w, sigma)
    return G, jax.vmap(ridge_weights)(G, sigma**2)


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
    return jnp.where(jnp.isinf(c), loss, c * jnp.log1p(loss / c))


def _losses(
    problem: NoisyRegression, weights: FullWeights | AxisWeights, G: Array, aim: Array
) -> Array:
    answers = jax.vmap(partial(_answer, weights))(G)
    variances = problem.variances(G.dtype)
    return jnp.dot(jnp.square(answers - aim), variances, precision="highest") / 2


def _answer(weights: FullWeights | AxisWeights, G: Float[Array, "p p"]) -> Float[Array, " d"]:
    # Layers written out are half as many kernels on a GPU, and more to compile elsewhere.
    return final_weights(weights, G, unroll=jax.default_backend() == "gpu")


def _normal_equations(
    problem: NoisyRegression,
    sampling: Sampling,
    theta: Float[Array, " k"],
    unravel: Any,
    key: Any,
    objective: Objective,
    chunks: Any,
) -> tuple[Float[Array, "k k"], Float[Array, " k"]]:
    root = jnp.sqrt(problem.variances(theta.dtype))

    def one(G: Array, aim: Array) -> tuple[Array, Array]:
        w, back = jax.vjp(lambda theta: root * _answer(unravel(theta), G), theta)
        return w - root * aim, jax.vmap(back)(jnp.eye(problem.d, dtype=theta.dtype))[0]

    def add(i: Any, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        own = jax.random.fold_in(key, 2 * i)
        G, aim = _sample(problem, own, objective.noise, sampling.pool, theta.dtype)
        loss = _losses(problem, unravel(theta), G, aim)
        places, share = chosen(loss, sampling)
        r, J = jax.vmap(one)(G[places], aim[places])
        loss = jnp.square(r).sum(1) / 2
        # A sequence that overflows has no direction to give: it is left to the comparison.
        good = jnp.isfinite(loss) & jnp.isfinite(J).all((1, 2))
        share = jnp.where(good, share / (1 + loss / objective.c), 0)
        J = jnp.where(good[:, None, None], J, 0).reshape(-1, theta.size)
        r = jnp.where(good[:, None], r, 0).reshape(-1)
        scaled = jnp.repeat(share, problem.d)[:, None] * J
        return (
            sums[0] + jnp.dot(scaled.T, J, precision="highest"),
            sums[1] + jnp.dot(scaled.T, r, precision="highest"),
        )

    p = theta.size
    start = jnp.zeros((p, p), theta.dtype), jnp.zeros(p, theta.dtype)
    A, g = jax.lax.fori_loop(0, chunks, add, start)
    return A / chunks, g / chunks


def _values(
    problem: NoisyRegression,
    sampling: Sampling,
    several: Float[Array, "some k"],
    unravel: Any,
    key: Any,
    objective: Objective,
    chunks: Any,
) -> tuple[Array, Array, Array, Array]:
    """For several networks: the objective, the mean loss, the largest loss, the loss's variance."""

    def add(i: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        own = jax.random.fold_in(key, 2 * i + 1)
        G, aim = _sample(problem, own, objective.noise, sampling.compared, several.dtype)
        loss = jax.vmap(lambda theta: _losses(problem, unravel(theta), G, aim))(several)
        return (
            sums[0] + _robust(loss, objective.c).mean(1),
            sums[1] + loss.mean(1),
            jnp.maximum(sums[2], loss.max(1)),
            sums[3] + jnp.square(loss).mean(1),
        )

    start = tuple(jnp.zeros(len(several), several.dtype) for _ in range(4))
    value, mean, largest, square = jax.lax.fori_loop(0, chunks, add, start)
    mean = mean / chunks
    return value / chunks, mean, largest, square / chunks - mean**2
