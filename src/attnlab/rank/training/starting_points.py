"""Weights of a population before training: random encoders and layers, or a construction."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from attnlab.compiling import fast_compile
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.encoder import Encoder
from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.rank_one_heads import optimised_heads, random_heads


@fast_compile
def random_encoders(shape: EncoderShape, keys: Key[Array, " members"]) -> Encoder:
    """One encoder per key, stacked."""
    return jax.vmap(lambda key: initialise(shape, key, jnp.float32))(keys)


@fast_compile
def random_layers(heads: int, rank: int, d: int, keys: Key[Array, " members"]) -> RankAttention:
    """One bare layer per key, stacked: normal Q and K, and V near I / H.

    Training then starts near uniform attention.
    """

    def one(key: PRNGKeyArray) -> RankAttention:
        normals = jax.random.normal(key, (heads, 2 * rank + d, d), jnp.float32)
        Q, K, noise = normals[:, :rank], normals[:, rank : 2 * rank], normals[:, 2 * rank :]
        V = jnp.eye(d, dtype=jnp.float32)[None] / heads + noise * (0.1 / d)
        return RankAttention(Q / math.sqrt(rank), K, V, None, products="dot")

    return jax.vmap(one)(keys)


def constructed_layer(d: int, heads: int, sharpness: float, seed: int) -> RankAttention:
    """The best rank-1 heads that L-BFGS finds, with softmax in the place of their hardmax.

    Parameters
    ----------
    d, heads
        Dimension and number of heads.
    sharpness
        Scale of the scores in units of d; infinity would be the hardmax.
    seed
        Seed of the directions from which L-BFGS starts.
    """
    built = optimised_heads(random_heads(d, heads, seed))
    size = math.sqrt(sharpness * d)
    Q, K = (jnp.asarray(size * part, jnp.float32)[:, None] for part in (built.q, built.k))
    V = np.eye(d)[None] * np.asarray(built.c)[:, None, None]
    return RankAttention(Q, K, jnp.asarray(V, jnp.float32), None, products="dot")


def stacked(models: Any) -> Any:
    """Several models of one shape as a population."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *models)
