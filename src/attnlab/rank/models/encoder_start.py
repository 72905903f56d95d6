"""An encoder whose training starts at a construction instead of random weights.

Starting at the best construction tells what gradient descent does not find from what low rank
cannot express.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.rank.models.attention import RankAttention
from attnlab.rank.models.encoder import Block, Encoder, Perceptron


def start_at(encoder: Encoder, layers: Sequence[RankAttention], quiet_mlp: bool = True) -> Encoder:
    """`encoder` with its attention set to compute exactly what `layers` compute, block by block.

    A layer may have fewer heads, a lower rank and a smaller dimension than the block: the missing
    query, key and value directions are zero, and the missing heads keep their own Q, K and V with
    O = 0, so that they add nothing at the start and can be trained. The block's scale and its mean
    over groups are divided out. With `quiet_mlp` the perceptron's second map is zero, so that the
    perceptron adds nothing either. The norms stay: a construction without them needs a shape with
    norm "none".
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
        zeros = (jnp.zeros_like(mlp.down), jax.tree.map(jnp.zeros_like, mlp.down_bias))
        mlp = Perceptron(mlp.up, mlp.up_bias, *zeros, mlp.matmul)
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
