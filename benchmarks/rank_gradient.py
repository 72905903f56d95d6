"""The loss of the rank study's encoder and its gradient, summed over chunks of a batch.

The benchmarks of a training step use it: with chunks of 16 to 64 sequences a CPU keeps what it
works on in its cache and need not ask for new memory at every step. The library's trainer
differentiates whole batches.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.rank.models.encoder import Encoder, batch_loss, column_loss


def batch_loss_and_gradient(
    encoder: Encoder,
    X: Float[Array, "batch n d"],
    target: Float[Array, "batch n d"],
    chunk: int | None = None,
) -> tuple[Float[Array, ""], Encoder]:
    """`batch_loss` and its gradient; `chunk` must divide the batch, and None takes it whole."""
    batch = len(X)
    chunk = batch if chunk is None else chunk
    assert batch % chunk == 0, f"chunk must divide the batch, {batch}, got {chunk}."
    if chunk == batch:
        return eqx.filter_value_and_grad(batch_loss)(encoder, X, target)
    differentiate = eqx.filter_value_and_grad(column_loss)

    def add(total: Any, part: tuple[Array, Array]):
        return jax.tree.map(jnp.add, total, differentiate(encoder, *part)), None

    parts = _chunks(X, chunk), _chunks(target, chunk)
    zero = jnp.zeros((), X.dtype), jax.tree.map(jnp.zeros_like, eqx.filter(encoder, eqx.is_array))
    total, _ = jax.lax.scan(add, zero, parts)
    return jax.tree.map(lambda leaf: leaf * (chunk / batch), total)


def _chunks(X: Float[Array, "batch n d"], chunk: int) -> Float[Array, "parts d n chunk"]:
    return jnp.transpose(X.reshape(-1, chunk, *X.shape[1:]), (0, 3, 2, 1))
