"""A diagonal linear transformer on many Gram matrices, eight sequences side by side.

Source: Vladymyrov et al. (arXiv 2402.14180); the mathematics is that of `final_weights` in
`attnlab.linear.models.transformer`. A batch of (d+1) x (d+1) products is slow as such: here the
sequences are the innermost axis, and a product is d + 1 multiply-adds of whole registers. One
program serves every layer of every depth; each product is a program of its own, since XLA would
merge it into the next one and compute it there d + 1 times.
"""

from collections.abc import Iterable
from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LANES = 8  # float64 in the widest register of a CPU

Matrices = Float[Array, "blocks p p lanes"]
Rows = Float[Array, "blocks p lanes"]
Pattern = Float[Array, "1 p p 1"]  # the omegas of a layer: S(G) is its elementwise product with G


def to_lanes(parts: Float[np.ndarray, "N *rest"]) -> Float[np.ndarray, "blocks *rest lanes"]:
    """The sequences, a multiple of `LANES` of them, as the last axis."""
    return np.ascontiguousarray(np.moveaxis(parts.reshape(-1, LANES, *parts.shape[1:]), 1, -1))


def from_lanes(parts: Float[Array, "blocks *rest lanes"]) -> Float[np.ndarray, "N *rest"]:
    """The sequences as the first axis again."""
    return np.moveaxis(np.asarray(parts), -1, 1).reshape(-1, *parts.shape[1:-1])


def patterns(omegas: Float[np.ndarray, "layers 4"], p: int) -> list[Pattern]:
    """[[xx, xy], [yx, yy]] of every layer in blocks of sizes d and 1."""
    place = np.zeros((p, p), int)
    place[:-1, -1], place[-1, :-1], place[-1, -1] = 1, 2, 3
    return [jnp.asarray(omega[place][None, :, :, None]) for omega in omegas]


def run(layers: list[Pattern], G: Matrices) -> tuple[list[Matrices], list[Rows]]:
    """G before every layer, and the last rows of T_L ... T_l for l = 1 to L + 1.

    T = I + S(G), and the next G is T G T^T; the first of the rows is (-w^L, a).
    """
    before, rows = [G], [_last_row(G)]
    for pattern in layers[:-1]:
        moved = _transformed(pattern, before[-1])
        before.append(_symmetric(_times_transposed(pattern, before[-1], moved)))
    for pattern, G in zip(reversed(layers), reversed(before), strict=False):
        rows.append(_row(pattern, G, rows[-1]))
    return before, rows[::-1]


@jax.jit
def half_square(row: Rows, oracle: Float[Array, "blocks d lanes"]) -> Float[Array, "blocks lanes"]:
    """1/2 ||w^L - w_oracle||^2 of every sequence, from the row (-w^L, a)."""
    return jnp.square(row[:, :-1] + oracle).sum(1) / 2


def total(terms: Iterable[Array]) -> Array:
    """The sum, term by term: products are written as one, each factor sliced before it is used."""
    return reduce(add, terms)


def times(symmetric: Matrices, vector: Rows) -> Rows:
    """A symmetric matrix times a vector, sequence by sequence."""
    return total(symmetric[:, k] * vector[:, k, None] for k in range(vector.shape[1]))


def rows_times(
    rows: Float[Array, "blocks K p lanes"], matrix: Float[Array, "blocks p d lanes"]
) -> Float[Array, "blocks K d lanes"]:
    """K rows of every sequence times its matrix."""
    return total(rows[:, :, k, None] * matrix[:, None, k] for k in range(matrix.shape[1]))


def along(rows: Float[Array, "blocks K p lanes"], vector: Rows) -> Float[Array, "blocks K lanes"]:
    """K rows of every sequence times its vector."""
    return total(rows[:, :, k] * vector[:, None, k] for k in range(vector.shape[1]))


def dot(left: Rows, right: Rows) -> Float[Array, "blocks lanes"]:
    """The inner products, sequence by sequence."""
    return (left * right).sum(1)


@jax.jit
def _last_row(G: Matrices) -> Rows:
    return jnp.zeros_like(G[:, 0]).at[:, -1].set(1)


@jax.jit
def _transformed(pattern: Pattern, G: Matrices) -> Matrices:
    """T G."""
    p = G.shape[1]
    return G + total(pattern[:, :, k, None] * G[:, :, k, None] * G[:, None, k] for k in range(p))


@jax.jit
def _times_transposed(pattern: Pattern, G: Matrices, moved: Matrices) -> Matrices:
    """`moved` T^T."""
    return moved + total(
        moved[:, :, k, None] * (pattern[:, None, :, k] * G[:, None, :, k])
        for k in range(G.shape[1])
    )


@jax.jit
def _symmetric(G: Matrices) -> Matrices:
    return (G + G.swapaxes(1, 2)) / 2


@jax.jit
def _row(pattern: Pattern, G: Matrices, row: Rows) -> Rows:
    """The row times T."""
    return row + total(row[:, k, None] * pattern[:, k] * G[:, k] for k in range(G.shape[1]))
