"""Losses of the trained models, written for one member of a population and one key.

They are frozen dataclasses that can be called, so that the population trainer compiles one program
per shape; what differs between members, such as rates and keys, is data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab.compiling import fast_compile
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.encoder import Encoder, batch_loss, with_float32_products
from attnlab.rank.problem import Neighbours, SelfNeighbours


@dataclass(frozen=True)
class EncoderLoss:
    """The squared error of every point's neighbour, averaged over points and sequences.

    With `in_float32` an encoder of lower precision is evaluated in float32.
    """

    problem: SelfNeighbours
    batch: int
    in_float32: bool = False

    def __call__(self, encoder: Encoder, key: PRNGKeyArray, member: Any) -> Float[Array, ""]:
        encoder = with_float32_products(encoder) if self.in_float32 else encoder
        prompts = self.problem.sample_batch(key, self.batch, jnp.float32)
        return batch_loss(encoder, prompts.X, prompts.target)


@dataclass(frozen=True)
class LayerLoss:
    """The squared error of a bare layer whose query is the source of a prompt."""

    problem: Neighbours
    batch: int

    def __call__(self, layer: RankAttention, key: PRNGKeyArray, member: Any) -> Float[Array, ""]:
        prompts = self.problem.sample_batch(key, self.batch, jnp.float32)
        return jnp.mean(jnp.sum((layer.answer_batch(prompts) - prompts.target) ** 2, axis=1))


@fast_compile
def held_out_losses(
    loss: EncoderLoss | LayerLoss, parts: int, models: Any, key: PRNGKeyArray
) -> Float[Array, "members parts"]:
    """The loss of every model of a population on `parts` fresh batches, the same for all models."""

    def one(model: Any) -> Array:
        return jax.lax.map(lambda key: loss(model, key, None), jax.random.split(key, parts))

    return jax.vmap(one)(models)
