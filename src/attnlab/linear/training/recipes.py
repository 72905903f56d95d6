"""Training of linear transformers by Adam, with all noise laws in one population.

Source: Vladymyrov et al. (arXiv 2402.14180). The target "label" is the paper's loss, half the
squared error on one noise-free query. The target "oracle" is 1/2 ||w^L - w_oracle||^2, its
expectation over the query and over w given the context less the oracle's own loss: its gradient has
the same expectation and less noise. Batches are those of `batches`, so that one program serves all
noise laws.
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
from attnlab.linear.noise import Fixed, NoiseLaw
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import (
    Batch,
    NoiseTable,
    draw_batch,
    noise_tables,
    with_noise,
)
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import train
from attnlab.training.schedule import Betas, Schedule, adam, scheduled_rate

Target = Literal["oracle", "label"]
AdamFamily = Literal["full", "diag", "omegas", "gd++"]


class RegressionMember(NamedTuple):
    """The data of one member of the population besides its weights."""

    noise: NoiseTable
    schedule: Schedule
    betas: Betas


@dataclass(frozen=True)
class RegressionLoss:
    """The mean loss of one member over a batch of sequences drawn from one key.

    The noise law is that of the member; that of the problem is not used.
    """

    problem: NoisyRegression
    batch: int
    target: Target = "oracle"

    def __call__(self, weights: Weights, key: Any, member: RegressionMember) -> Float[Array, ""]:
        drawn = draw_batch(self.problem, key, self.batch, jax.tree.leaves(weights)[0].dtype)

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


@dataclass(frozen=True)
class AdjustedScore:
    """The adjusted loss of one member on sequences that are the same at every evaluation."""

    problem: NoisyRegression
    samples: int
    seed: int = 0

    def __call__(self, weights: Weights, member: RegressionMember) -> Float[Array, ""]:
        held_out = RegressionLoss(self.problem, self.samples, "oracle")
        # With a constant key the compiler would draw the sequences itself, which is slow.
        hidden = jax.lax.optimization_barrier(jax.random.key_data(jax.random.key(self.seed)))
        return held_out(weights, jax.random.wrap_key_data(hidden), member)


@dataclass(frozen=True)
class Recipe:
    """How to train by Adam.

    Another target or batch size needs another compilation. The other numbers do not, and may be
    one number or one per member.

    Parameters
    ----------
    target
        "label", the paper's loss, or "oracle", the same with less noise.
    batch
        Sequences per step.
    learning_rate
        The largest learning rate.
    warmup
        The fraction of the steps over which the rate rises from 0.
    final
        The rate at the last step as a fraction of the largest, reached along a cosine.
    betas
        Adam's decay rates of the first and second moment.
    clip
        The largest global norm of a gradient.
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
    """Train one network for each noise law, all of them in one program.

    Parameters
    ----------
    problem
        The problem, whose noise law is replaced by `laws`.
    laws
        The noise law of every member.
    weights
        The weights at the start, with the members as the first axis.
    key
        One key, by which all members have the same sequences, or one key per member.
    recipe
        Target, batch size, schedule and Adam's numbers.
    steps
        The number of steps.
    samples
        Sequences on which the best weights are chosen, by adjusted loss.
    held_out
        The seed of those sequences.
    options
        Further options of `attnlab.training.population.train`, such as `chunk`, `guard`,
        `progress` and `checkpoint`.
    """
    samples = arguments.integer("samples", samples, 1)
    for law in laws:
        if problem.n < problem.d and law.second_moment() == 0:
            raise UserError(
                f"n must be at least d = {problem.d} where there is no noise, got {problem.n}."
            )
    dtype = jnp.result_type(*jax.tree.leaves(weights))
    # Compiled programs are kept for the problem, so its unused noise law must always be the same.
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
    watched = ("progress", "reached", "checkpoint", "stop", "devices")
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
    family: AdamFamily,
    keys: Array,
    depth: int,
    d: int,
    *,
    heads: int = 1,
    scale: float = 0.02,
    dtype: Any = float,
) -> PyTree:
    """Random networks, one per key along the first axis, with entries N(0, scale^2).

    Parameters
    ----------
    family
        "full", "diag", "omegas" or "gd++".
    keys
        One JAX key per network.
    depth, d, heads
        The numbers of layers, inputs and heads.
    scale
        The standard deviation of every entry.
    dtype
        The precision; JAX's default unless given.
    """
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
    """The given network with N(0, scale^2) added to every entry, once per key.

    The networks are along the first axis. With `weights.full(d)` FULL starts near a diagonal
    network.
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


def _columns(members: int, dtype: Any, numbers: Any) -> Any:
    """Every field as one number per member."""
    return type(numbers)(*(_column(members, dtype, value) for value in numbers))


def _column(members: int, dtype: Any, value: Any) -> Float[Array, " members"]:
    given = np.asarray(value, np.float64)
    if given.shape not in ((), (members,)) or not np.isfinite(given).all() or (given < 0).any():
        raise UserError(
            "A recipe's numbers must each be one finite number of at least 0, or one for each of "
            f"{members} members, got {value!r}."
        )
    return jnp.asarray(np.full(members, given), dtype)
