"""Affine maps of many points in a chosen precision, the batch last in memory."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.rank.models.choices import Matmul
from attnlab.rank.models.head_products import total_over_columns


def affine(
    W: Float[Array, "k d"],
    bias: Float[Array, " k"] | None,
    x: Float[Array, "d n b"],
    matmul: Matmul,
    dtype: Any = None,
) -> Float[Array, "k n b"]:
    """W x + bias in a chosen precision.

    Parameters
    ----------
    W, bias, x
        The map, its bias or None, and b sequences of n points as columns.
    matmul
        Precision of the product; "bfloat16" rounds both factors and the result.
    dtype
        What is returned; the dtype of x unless given.
    """
    columns = x.reshape(len(x), -1)
    if matmul == "bfloat16":
        out = jnp.dot(W.astype(jnp.bfloat16), columns.astype(jnp.bfloat16))
    else:
        # HIGH is TF32 on NVIDIA's cards; a CPU computes both in float32.
        precision = jax.lax.Precision.HIGHEST if matmul == "float32" else jax.lax.Precision.HIGH
        out = jnp.dot(W, columns, precision=precision)
    out = out.astype(x.dtype if dtype is None else dtype)
    out = out if bias is None else _add_bias(out, bias.astype(out.dtype))
    return out.reshape(-1, *x.shape[1:])


@jax.custom_vjp
def _add_bias(x: Float[Array, "k columns"], bias: Float[Array, " k"]) -> Float[Array, "k columns"]:
    """x + bias, with the derivative of the bias by `total_over_columns`."""
    return x + bias[:, None]


def _add_bias_forward(x: Array, bias: Array):
    return _add_bias(x, bias), None


def _add_bias_backward(_: None, g: Float[Array, "k columns"]):
    return g, total_over_columns(g)


_add_bias.defvjp(_add_bias_forward, _add_bias_backward)
