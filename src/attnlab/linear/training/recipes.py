"""How linear transformers are trained on noisy regression, all noise laws in one population.

Source: Vladymyrov et al. (arXiv 2402.14180). The target "label" is the paper's loss, half the
squared error on one noise-free query; "oracle" is 1/2 ||w^L - w_oracle||^2, its expectation over
the query and over w given the context, less the oracle's own loss: the same gradient in expectation
with less noise. A law enters as a traced table of its quantiles, so one program serves them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.predictors import ridge_weights
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import DiagWeights, FullWeights, GDPlusPlus, Omegas, Weights
from attnlab.linear.noise import Fixed, NoiseLaw, Uniform
from attnlab.linear.problem import NoisyRegression, sums
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import train
from attnlab.training.schedule import Betas, Schedule, adam, scheduled_rate

Target = Literal["oracle", "label"]
Family = Literal["full", "diag", "omegas", "gd++"]


class NoiseTable(NamedTuple):
    """The quantile function of a law in pieces: linear from `low` to `high` up to each of `ends`.

    sigma = quantile(u) with u uniform has the law. `ends` are the cumulated probabilities.
    """

    ends: Float[Array, "*members pieces"]
    low: Float[Array, "*members pieces"]
    high: Float[Array, "*members pieces"]

    def quantile(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The sigma below which a part u of the law lies."""
        piece = (u >= self.ends[:-1]).sum()
        start = jnp.where(piece > 0, self.ends[piece - 1], 0)
        within = (u - start) / jnp.maximum(self.ends[piece] - start, jnp.finfo(u.dtype).tiny)
        return self.low[piece] + (self.high[piece] - self.low[piece]) * within


def noise_tables(laws: Sequence[NoiseLaw], dtype: Any = float) -> NoiseTable:
    """One table a member. U(0, high) and discrete laws are exact.

    Another continuous law is replaced by its quadrature: levels and weights with its moments.
    """
    pieces = [_pieces(law) for law in laws]
    longest = max(ends.size for ends, _, _ in pieces)

    def padded(column: int) -> Array:
        rows = [np.pad(law[column], (0, longest - law[column].size), "edge") for law in pieces]
        return jnp.asarray(np.stack(rows), dtype)

    return NoiseTable(padded(0), padded(1), padded(2))


class RegressionMember(NamedTuple):
    """What a member of such a population has of its own besides its weights."""

    noise: NoiseTable
    schedule: Schedule
    betas: Betas


class Batch(NamedTuple):
    """Sequences before their noise level is known: [X xi]^T [X xi] with the unit noise xi."""

    G: Float[Array, "batch p p"]
    w: Float[Array, "batch d"]
    query: Float[Array, "batch d"]
    u: Float[Array, " batch"]  # sigma is the law's quantile at u


@dataclass(frozen=True)
class RegressionLoss:
    """The mean loss of one member over a batch of sequences drawn from one key.

    The inputs, w, the unit noise and the uniform behind sigma come from the key alone: members
    that are given the same key see the same sequences and differ in sigma only. The problem's own
    noise law is not looked at.
    """

    problem: NoisyRegression
    batch: int
    target: Target = "oracle"

    def __call__(self, weights: Weights, key: Any, member: RegressionMember) -> Float[Array, ""]:
        drawn = draw(self.problem, key, self.batch, jax.tree.leaves(weights)[0].dtype)

        def one(sequence: Batch) -> Array:
            G, w, query, u = sequence
            sigma = member.noise.quantile(u)
            G = with_noise(G, w, sigma)
            answer = final_weights(weights, G)
            if self.target == "oracle":
                error = jnp.square(answer - ridge_weights(G, sigma**2))
                return jnp.dot(error, self.problem.variances(G.dtype), precision="highest") / 2
            return jnp.square(jnp.dot(answer - w, query, precision="highest")) / 2

        return jax.vmap(one)(drawn).mean()


def draw(problem: NoisyRegression, key: Any, batch: int, dtype: Any) -> Batch:
    """A batch from two calls of the generators, whose code is most of what there is to compile."""
    for_normals, for_uniforms = jax.random.split(key)
    d, n = problem.d, problem.n
    normals = jax.random.normal(for_normals, (batch, n + 2, d + 1), dtype)
    scale = jnp.sqrt(problem.variances(dtype))
    tokens = normals[:, 2:] * jnp.append(scale, 1)[None, None, :]
    return Batch(
        jnp.einsum("bni,bnj->bij", tokens, tokens, precision="highest"),
        normals[:, 0, :-1],
        normals[:, 1, :-1] * scale[None, :],
        jax.random.uniform(for_uniforms, (batch,), dtype),
    )


def with_noise(
    G: Float[Array, "p p"], w: Float[Array, " d"], sigma: Float[Array, ""] | float
) -> Float[Array, "p p"]:
    """C G C^T with C = [[I, 0], [w^T, sigma]]: the Gram matrix of [X y] from that of [X xi].

    Written so that all but sigma is computed once for the members that share a batch.
    """
    Sigma, b, r = sums(G)
    a = jnp.dot(Sigma, w, precision="highest")
    p, q = (jnp.dot(w, vector, precision="highest") for vector in (a, b))
    alpha, lam = a + sigma * b, p + 2 * sigma * q + sigma**2 * r
    top = jnp.concatenate([Sigma, alpha[:, None]], axis=1)
    return jnp.concatenate([top, jnp.append(alpha, lam)[None, :]])


@dataclass(frozen=True)
class AdjustedScore:
    """The adjusted loss of one member on fixed sequences, the same ones at every evaluation."""

    problem: NoisyRegression
    samples: int
    seed: int = 0

    def __call__(self, weights: Weights, member: RegressionMember) -> Float[Array, ""]:
        held_out = RegressionLoss(self.problem, self.samples, "oracle")
        # A constant key would have the compiler draw the sequences itself, and slowly.
        hidden = jax.lax.optimization_barrier(jax.random.key_data(jax.random.key(self.seed)))
        return held_out(weights, jax.random.wrap_key_data(hidden), member)


@dataclass(frozen=True)
class Recipe:
    """How to train: the target, Adam's numbers and the schedule; see `Schedule` for the rate.

    `learning_rate`, `final`, `warmup` (a part of the steps), `betas` and `clip` are traced, and one
    value a member is accepted for each; `target` and `batch` are compiled.
    """

    target: Target = "oracle"
    batch: int = 2048
    learning_rate: Any = 1e-3
    warmup: Any = 0.0
    final: Any = 1.0
    betas: tuple[Any, Any] = (0.9, 0.999)
    clip: Any = np.inf

    def __post_init__(self) -> None:
        arguments.one_of("target", self.target, ("oracle", "label"))
        arguments.integer("batch", self.batch, 1)


PAPER = Recipe(target="label", batch=2048, learning_rate=1e-4)
PAPER_STEPS = 200_000


def train_regression(
    problem: NoisyRegression,
    laws: Sequence[NoiseLaw],
    weights: PyTree,
    key: Array,
    recipe: Recipe,
    *,
    steps: int,
    samples: int = 8192,
    held_out: int = 0,
    **options: Any,
) -> Trained:
    """Train one network for each law of `laws` from stacked `weights`, all in one program.

    The laws replace that of the problem. `key` is one key (all see the same sequences) or one a
    member; `samples` sequences of the seed `held_out` choose the best weights, by adjusted loss;
    `options` are fields of `TrainingOptions` (chunk, average, guard, ...) and the arguments
    progress, checkpoint, stop and devices of `population.train`.
    """
    samples = arguments.integer("samples", samples, 1)
    for law in laws:
        if problem.n < problem.d and law.second_moment() == 0:
            raise UserError(
                f"n must be at least d = {problem.d} where there is no noise, got {problem.n}."
            )
    dtype = jnp.result_type(*jax.tree.leaves(weights))
    # Compiled code is kept for the problem: its own law must not tell two runs apart.
    problem = replace(problem, noise=Fixed(0))
    members = RegressionMember(
        noise_tables(laws, dtype),
        _columns(
            len(laws),
            dtype,
            Schedule(recipe.learning_rate, np.multiply(recipe.warmup, steps), steps, recipe.final),
        ),
        _columns(len(laws), dtype, Betas(*recipe.betas)),
    )
    watched = ("progress", "checkpoint", "stop", "devices")
    given = {name: options.pop(name) for name in watched if name in options}
    return train(
        RegressionLoss(problem, recipe.batch, recipe.target),
        weights,
        members,
        key,
        adam,
        steps=steps,
        options=TrainingOptions(
            rate=scheduled_rate,
            evaluate=AdjustedScore(problem, samples, held_out),
            clip=recipe.clip,
            **options,
        ),
        **given,
    )


def small_random(
    family: Family,
    keys: Array,
    depth: int,
    d: int,
    *,
    heads: int = 1,
    scale: float = 0.02,
    dtype: Any = float,
) -> PyTree:
    """Stacked weights, one network a key, with every entry N(0, scale^2)."""
    family = arguments.one_of("family", family, ("full", "diag", "omegas", "gd++"))
    layers = arguments.integer("depth", depth, 1)
    heads = arguments.integer("heads", heads, 1)
    side = arguments.integer("d", d, 1) + 1
    if family == "full":
        shapes = FullWeights(*(jnp.zeros((layers, heads, side, side), dtype),) * 2)
    elif family == "diag":
        shapes = DiagWeights(*(jnp.zeros((layers, heads), dtype),) * 4)
    elif family == "omegas":
        shapes = Omegas(*(jnp.zeros((layers,), dtype),) * 4)
    else:
        shapes = GDPlusPlus(*(jnp.zeros((layers,), dtype),) * 2)
    return near(shapes, keys, scale)


def near(weights: Weights, keys: Array, scale: float = 1e-3) -> PyTree:
    """Stacked weights, one network a key: the given ones with N(0, scale^2) added to every entry.

    This starts FULL at a diagonal solution (`weights.full(d)`), or a seed at another's weights.
    """
    scale = arguments.non_negative("scale", scale)
    leaves, structure = jax.tree.flatten(weights)

    def one(key: Array) -> Weights:
        drawn = jax.random.split(key, len(leaves))
        noisy = [
            leaf + scale * jax.random.normal(part, leaf.shape, leaf.dtype)
            for leaf, part in zip(leaves, drawn, strict=True)
        ]
        return jax.tree.unflatten(structure, noisy)

    return jax.vmap(one)(keys)


def _pieces(law: NoiseLaw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(law, Uniform):
        return np.ones(1), np.zeros(1), np.array([law.high])
    levels, weights = law.quadrature()
    if (weights < 0).any() or (levels < 0).any():
        raise UserError(f"The levels and weights of the law {law.name} must be 0 or more.")
    kept = weights > 0
    ends = np.cumsum(weights[kept]) / weights.sum()
    ends[-1] = 1.0
    return ends, levels[kept], levels[kept]


def _columns(members: int, dtype: Any, numbers: Any) -> Any:
    """Every field as one number a member."""
    return type(numbers)(*(_column(members, dtype, value) for value in numbers))


def _column(members: int, dtype: Any, value: Any) -> Float[Array, " members"]:
    given = np.asarray(value, np.float64)
    if given.shape not in ((), (members,)) or not np.isfinite(given).all() or (given < 0).any():
        raise UserError(
            "A recipe's numbers must each be one finite number of at least 0, or one for each of "
            f"{members} members, got {value!r}."
        )
    return jnp.asarray(np.full(members, given), dtype)
