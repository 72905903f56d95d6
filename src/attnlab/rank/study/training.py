"""Losses and scores of the trained models, written for one member and one key.

They are frozen dataclasses that can be called, so that the population trainer compiles one program
for a shape; what differs between members (rates, keys) is data. Which configurations are trained is
in `cells_training`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.compiling import fast_compile
from attnlab.lab.cell import stream
from attnlab.rank.models.attention import RankAttention, score_matrices
from attnlab.rank.models.encoder import Encoder, batch_loss
from attnlab.rank.problem import NeighbourPrompt, Neighbours, SelfPrompt
from attnlab.training.schedule import Betas, Schedule


class Member(NamedTuple):
    """What one member has of its own beside its weights and key."""

    schedule: Schedule
    betas: Betas


def key_seed(config: Any) -> int:
    """A seed of the configuration's own that fits in 31 bits, as jax.random.key wants it."""
    return stream(config) % 2**31


def alike(peak: float, steps: int, warmup: float, count: int) -> Member:
    """`count` members alike: linear warm-up to the peak, then a cosine to 0; betas (.9, .95)."""

    def column(value: float) -> Float[Array, " members"]:
        return jnp.full(count, value, jnp.float32)

    schedule = Schedule(column(peak), column(warmup * steps), column(steps), column(0.0))
    return Member(schedule, Betas(column(0.9), column(0.95)))


@dataclass(frozen=True)
class EncoderLoss:
    """The squared error of every point's neighbour, averaged over points and sequences."""

    problem: Neighbours
    batch: int

    def prompts(self, key: Any) -> SelfPrompt:
        d, N = self.problem.d, self.problem.N
        return jax.vmap(self.problem.self_prompt)(jax.random.normal(key, (self.batch, N, d)))

    def __call__(self, encoder: Encoder, key: Any, member: Any) -> Float[Array, ""]:
        X, targets = self.prompts(key)
        return batch_loss(encoder, X, targets)


@dataclass(frozen=True)
class PairLoss:
    """The squared error of a bare layer that asks with y for the nearest of its points."""

    problem: Neighbours
    batch: int

    def prompts(self, key: Any) -> NeighbourPrompt:
        d, N = self.problem.d, self.problem.N
        return jax.vmap(self.problem.prompt)(jax.random.normal(key, (self.batch, N + 1, d)))

    def __call__(self, layer: RankAttention, key: Any, member: Any) -> Float[Array, ""]:
        X, y, target = self.prompts(key)
        return jnp.mean(jnp.sum((answers(layer, X, y) - target) ** 2, axis=1))


def answers(
    layer: RankAttention, X: Float[Array, "batch N d"], y: Float[Array, "batch d"]
) -> Float[Array, "batch d"]:
    """What the layer returns for the source of every prompt."""
    return layer.columns(X.T, y.T[:, None, :])[:, 0].T


@fast_compile
def held_out(loss: Any, parts: int, models: Any, keys: Any) -> Float[Array, "members parts"]:
    """The loss of every model on `parts` fresh batches, the same for all."""

    def one(model: Any) -> Array:
        return jax.lax.map(lambda key: loss(model, key, None), jax.random.split(keys, parts))

    return jax.vmap(one)(models)


def angle_and_norm(layer: RankAttention, d: int) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    """Of every head the angle of K_h Q_h^T to the identity in degrees, and its Frobenius norm.

    Only the d x d part that the points see counts: encodings that are appended are left out.
    """
    forms = score_matrices(layer)[:, :d, :d]
    norms = jnp.sqrt(jnp.sum(forms**2, axis=(1, 2)))
    cosines = jnp.trace(forms, axis1=1, axis2=2) / (jnp.sqrt(d) * jnp.maximum(norms, 1e-30))
    return jnp.degrees(jnp.arccos(jnp.clip(cosines, -1, 1))), norms
