"""Weights of the encoder at the start of training: PyTorch's default initialisation.

The defaults are those of torch.nn.TransformerEncoderLayer, applied to each group of width / r heads
as one torch.nn.MultiheadAttention: the fused input projection (3 d x d) is Xavier-uniform, which is
U(-a, a) with a = sqrt(6 / (3 d + d)); its biases and the output bias are 0; the output projection
and the perceptron's maps and biases are U(-a, a) with a = 1 / sqrt(inputs). Gains are 1, and
learned positions are N(0, 1) as in torch.nn.Embedding. With `published_start` all layers are copies
of one, as torch.nn.TransformerEncoder makes them, and positions are N(-1, 1) or U(-1, 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.encoder import Block, Encoder, Gain, Perceptron
from attnlab.rank.models.encoder_shape import EncoderShape


def initialise(shape: EncoderShape, key: PRNGKeyArray, dtype: Any = float) -> Encoder:
    """An encoder drawn from the defaults above; `jax.vmap` over keys draws a population."""
    for_weights, for_positions = jax.random.split(key)
    positions = _positions(shape, for_positions, dtype) if shape.learns_positions else None
    bounded = [*_attention_bounds(shape), *_perceptron_bounds(shape)]
    total = sum(math.prod(size) for size, _ in bounded)
    # One call for all blocks: the code of the generator takes longest to compile.
    layers = 1 if shape.published_start else shape.layers
    drawn = jax.random.uniform(for_weights, (layers, total), dtype, -1, 1)
    blocks = tuple(
        _block(shape, _split(drawn[i % layers], bounded), dtype) for i in range(shape.layers)
    )
    return Encoder(blocks, positions, shape)


def _positions(shape: EncoderShape, key: PRNGKeyArray, dtype: Any) -> Array:
    assert shape.length is not None, "EncoderShape checks it"
    dims = shape.d if shape.encoding == "additive" else shape.width - shape.d
    size = (shape.length, dims)
    if shape.published_start and shape.encoding == "concatenated":
        return jax.random.uniform(key, size, dtype, -1, 1)
    return jax.random.normal(key, size, dtype) - (1 if shape.published_start else 0)


Bounds = list[tuple[tuple[int, ...], float]]  # the size of an array and the a of its U(-a, a)


def _attention_bounds(shape: EncoderShape) -> Bounds:
    """Q, K, V and O."""
    size, d = (shape.heads, shape.rank, shape.width), shape.width
    return [(size, math.sqrt(6 / (4 * d)))] * 3 + [(size, 1 / math.sqrt(d))]


def _perceptron_bounds(shape: EncoderShape) -> Bounds:
    """Both maps, and their biases where there are any."""
    if not shape.mlp:
        return []
    d, inner, outer = shape.width, 1 / math.sqrt(shape.width), 1 / math.sqrt(shape.mlp)
    maps: Bounds = [((shape.mlp, d), inner), ((d, shape.mlp), outer)]
    return [*maps, ((shape.mlp,), inner), ((d,), outer)] if shape.bias else maps


def _split(drawn: Float[Array, " total"], bounded: Bounds) -> Iterator[Array]:
    start = 0
    for size, bound in bounded:
        stop = start + math.prod(size)
        yield bound * drawn[start:stop].reshape(size)
        start = stop


def _block(shape: EncoderShape, arrays: Iterator[Array], dtype: Any) -> Block:
    normed = shape.norm != "none"
    return Block(
        attention=_attention(shape, arrays, dtype),
        attention_norm=_gain(shape, dtype) if normed else None,
        mlp=_perceptron(shape, arrays) if shape.mlp else None,
        mlp_norm=_gain(shape, dtype) if normed and shape.mlp else None,
    )


def _attention(shape: EncoderShape, arrays: Iterator[Array], dtype: Any) -> RankAttention:
    heads, r = shape.heads, shape.rank

    def zeros(*size: int) -> Array | None:
        return jnp.zeros(size, dtype) if shape.bias else None

    return RankAttention(
        *(next(arrays) for _ in range(4)),
        query_bias=zeros(heads, r),
        key_bias=zeros(heads, r),
        value_bias=zeros(heads, r),
        output_bias=zeros(shape.width),
        scale=shape.scale,
        groups=shape.width_multiplier,
        self_mask=shape.self_mask,
        matmul=shape.matmul,
        products=shape.products,
    )


def _perceptron(shape: EncoderShape, arrays: Iterator[Array]) -> Perceptron:
    up, down = next(arrays), next(arrays)
    up_bias, down_bias = (next(arrays), next(arrays)) if shape.bias else (None, None)
    return Perceptron(up, up_bias, down, down_bias, shape.matmul)


def _gain(shape: EncoderShape, dtype: Any) -> Gain:
    return Gain(jnp.ones(shape.width if shape.norm == "rms" else 1, dtype), shape.norm)
