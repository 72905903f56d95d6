"""Weights for the encoder: PyTorch's default initialisation, or those of a given construction.

The defaults are those of torch.nn.TransformerEncoderLayer, applied to each group of width / r heads
as one torch.nn.MultiheadAttention: the fused input projection (3 d x d) Xavier-uniform, which is
U(-a, a) with a = sqrt(6 / (3 d + d)); its biases and the output bias 0; the output projection and
the perceptron's two maps U(-a, a) with a = 1 / sqrt(inputs), the perceptron's biases too. Gains are
1 and learned positions N(0, 1), as in torch.nn.Embedding; starting training at a construction tells
what gradient descent cannot find from what low rank cannot express.
"""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from attnlab.errors import UserError
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.encoder import Block, Encoder, EncoderShape, Gain, Perceptron


def initialise(shape: EncoderShape, key: Key[Array, ""], dtype: Any = float) -> Encoder:
    """An encoder drawn from the defaults above; `jax.vmap` over keys draws a population."""
    keys = jax.random.split(key, shape.layers + 1)
    positions = None
    if shape.encoding in ("additive", "concatenated"):
        dims = shape.d if shape.encoding == "additive" else shape.width - shape.d
        positions = jax.random.normal(keys[-1], (_length(shape), dims), dtype)
    blocks = tuple(_block(shape, keys[i], dtype) for i in range(shape.layers))
    return Encoder(blocks, positions, shape)


def start_at(encoder: Encoder, layers: Sequence[RankAttention], quiet_mlp: bool = True) -> Encoder:
    """`encoder` with its attention set to compute exactly what `layers` compute, block by block.

    A layer may have fewer heads, a lower rank and a smaller dimension than the block: the missing
    query, key and value directions are zero, and the missing heads keep their own Q, K and V with
    O = 0, so that they add nothing at the start and can be trained. The block's scale and its mean
    over groups are divided out. `quiet_mlp` sets the perceptron's second map to zero for the same
    reason. The norms stay: a construction without them needs a shape with norm "none".
    """
    if len(layers) != len(encoder.blocks):
        raise UserError(
            f"layers must be one for each of the {len(encoder.blocks)} blocks, got {len(layers)}."
        )
    blocks = tuple(
        _block_at(block, layer, quiet_mlp)
        for block, layer in zip(encoder.blocks, layers, strict=True)
    )
    return Encoder(blocks, encoder.positions, encoder.shape)


def _block(shape: EncoderShape, key: Key[Array, ""], dtype: Any) -> Block:
    attention, mlp = jax.random.split(key)
    d = shape.width
    normed = shape.norm != "none"
    return Block(
        attention=_attention(shape, attention, dtype),
        attention_norm=_gain(shape, dtype) if normed else None,
        mlp=_perceptron(shape, d, mlp, dtype) if shape.mlp else None,
        mlp_norm=_gain(shape, dtype) if normed and shape.mlp else None,
    )


def _attention(shape: EncoderShape, key: Key[Array, ""], dtype: Any) -> RankAttention:
    d, heads, r = shape.width, shape.heads, shape.rank
    keys = jax.random.split(key, 4)
    bounds = [math.sqrt(6 / (4 * d))] * 3 + [1 / math.sqrt(d)]
    Q, K, V, O = (  # noqa: E741
        _uniform(k, (heads, r, d), bound, dtype) for k, bound in zip(keys, bounds, strict=True)
    )

    def zeros(*size: int) -> Array | None:
        return jnp.zeros(size, dtype) if shape.bias else None

    return RankAttention(
        Q,
        K,
        V,
        O,
        query_bias=zeros(heads, r),
        key_bias=zeros(heads, r),
        value_bias=zeros(heads, r),
        output_bias=zeros(d),
        scale=shape.scale,
        groups=shape.width_multiplier,
        self_mask=shape.self_mask,
        matmul=shape.matmul,
        products=shape.products,
    )


def _perceptron(shape: EncoderShape, d: int, key: Key[Array, ""], dtype: Any) -> Perceptron:
    up, up_bias, down, down_bias = jax.random.split(key, 4)
    inner, outer = 1 / math.sqrt(d), 1 / math.sqrt(shape.mlp)
    return Perceptron(
        up=_uniform(up, (shape.mlp, d), inner, dtype),
        up_bias=_uniform(up_bias, (shape.mlp,), inner, dtype) if shape.bias else None,
        down=_uniform(down, (d, shape.mlp), outer, dtype),
        down_bias=_uniform(down_bias, (d,), outer, dtype) if shape.bias else None,
        matmul=shape.matmul,
    )


def _gain(shape: EncoderShape, dtype: Any) -> Gain:
    return Gain(jnp.ones(shape.width if shape.norm == "rms" else 1, dtype), shape.norm)


def _uniform(key: Key[Array, ""], size: tuple[int, ...], bound: float, dtype: Any) -> Array:
    return jax.random.uniform(key, size, dtype, -bound, bound)


def _length(shape: EncoderShape) -> int:
    assert shape.length is not None, "EncoderShape checks it"
    return shape.length


def _block_at(block: Block, layer: RankAttention, quiet_mlp: bool) -> Block:
    own = block.attention
    _check_fits(own, layer)
    assert own.O is not None, "_check_fits refuses it"
    assert layer.O is not None, "_check_fits refuses it"
    arrays = {
        "Q": _set(own.Q, layer.Q * (layer.scale / own.scale)),
        "K": _set(own.K, layer.K),
        "V": _set(own.V, layer.V),
        "O": _set(jnp.zeros_like(own.O), layer.O * (own.groups / layer.groups)),
        "query_bias": _bias(own.query_bias, layer.query_bias, layer.scale / own.scale),
        "key_bias": _bias(own.key_bias, layer.key_bias, 1.0),
        "value_bias": _bias(own.value_bias, layer.value_bias, 1.0),
        "output_bias": _bias(own.output_bias, layer.output_bias, 1.0),
    }
    names = [name for name, array in arrays.items() if array is not None]
    attention = eqx.tree_at(
        lambda a: [getattr(a, name) for name in names], own, [arrays[name] for name in names]
    )
    mlp = block.mlp
    if quiet_mlp and mlp is not None:
        silent = (jnp.zeros_like(mlp.down), jax.tree.map(jnp.zeros_like, mlp.down_bias))
        mlp = Perceptron(mlp.up, mlp.up_bias, *silent, mlp.matmul)
    return Block(attention, block.attention_norm, mlp, block.mlp_norm)


def _set(own: Float[Array, "H r d"], given: Float[Array, "h s e"]) -> Float[Array, "H r d"]:
    """The given heads first, filled up with zeros; the block's own heads after them."""
    heads, *small = given.shape
    room = [(0, 0)] + [(0, size - s) for size, s in zip(own.shape[1:], small, strict=True)]
    return own.at[:heads].set(jnp.pad(given, room).astype(own.dtype))


def _bias(own: Array | None, given: Array | None, factor: float) -> Array | None:
    if own is None:
        return None
    if given is None:
        return jnp.zeros_like(own)
    where = tuple(slice(size) for size in given.shape)
    return jnp.zeros_like(own).at[where].set(factor * given)


def _check_fits(own: RankAttention, layer: RankAttention) -> None:
    if layer.O is None or own.O is None:
        raise UserError("layers must have an output matrix O in every head, got None.")
    for name, size, given in (
        ("heads", own.heads, layer.heads),
        ("rank", own.rank, max(layer.rank, layer.V.shape[1])),
        ("d", own.d, layer.d),
    ):
        if given > size:
            raise UserError(f"layers must have {name} of at most {size}, got {given}.")
    for name in ("scores", "self_mask"):
        if getattr(own, name) != getattr(layer, name):
            raise UserError(
                f"layers must have {name} {getattr(own, name)!r} as the encoder has, "
                f"got {getattr(layer, name)!r}."
            )
    for name in ("query_bias", "key_bias", "value_bias", "output_bias"):
        if getattr(own, name) is None and getattr(layer, name) is not None:
            raise UserError(f"layers must have no {name} where the encoder has no biases.")
