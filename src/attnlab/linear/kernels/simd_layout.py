"""Many small matrices with the sequences as the innermost axis, so that a CPU's registers are full.

A batch of (d+1) x (d+1) matrix products is slow as such. In the layout of this module
SIMD_WIDTH sequences are adjacent in memory, and a product is d + 1 multiply-adds of whole
registers. `run` is a diagonal linear transformer in this layout: the mathematics is that of
`gram_form` in `attnlab.linear.models.transformer`, which is its test, and it stays because the
training of DIAG spends its time here. One program serves every layer of every depth. Each product
is a program of its own, since XLA would merge it into the next product and compute it there d + 1
times.
"""

from collections.abc import Iterable
from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SIMD_WIDTH = 8  # float64 numbers in the widest register of a CPU

Matrices = Float[Array, "blocks p p simd"]
Rows = Float[Array, "blocks p simd"]
Pattern = Float[Array, "1 p p 1"]  # the omegas of a layer: S(G) is its elementwise product with G


def to_simd_layout(
    parts: Float[np.ndarray, "N *rest"], width: int = SIMD_WIDTH
) -> Float[np.ndarray, "blocks *rest simd"]:
    """The sequences, a multiple of `width` of them, as the last axis."""
    return np.ascontiguousarray(np.moveaxis(parts.reshape(-1, width, *parts.shape[1:]), 1, -1))


def from_simd_layout(parts: Float[Array, "blocks *rest simd"]) -> Float[np.ndarray, "N *rest"]:
    """The sequences as the first axis again."""
    return np.moveaxis(np.asarray(parts), -1, 1).reshape(-1, *parts.shape[1:-1])


def patterns(omegas: Float[np.ndarray, "layers 4"], p: int) -> list[Pattern]:
    """[[xx, xy], [yx, yy]] in blocks of sizes d and 1, for every layer."""
    place = np.zeros((p, p), int)
    place[:-1, -1], place[-1, :-1], place[-1, -1] = 1, 2, 3
    return [jnp.asarray(omega[place][None, :, :, None]) for omega in omegas]


def run(layers: list[Pattern], G: Matrices) -> tuple[list[Matrices], list[Rows]]:
    """G before every layer, and the last rows of T_L ... T_l for l = 1 to L + 1.

    T = I + S(G), and the next G is T G T^T. The first of the rows is (-w^L, a).
    """
    before, rows = [G], [_last_row(G)]
    for pattern in layers[:-1]:
        moved = _transformed(pattern, before[-1])
        before.append(_symmetric(_times_transposed(pattern, before[-1], moved)))
    for pattern, G in zip(reversed(layers), reversed(before), strict=False):
        rows.append(_row(pattern, G, rows[-1]))
    return before, rows[::-1]


@jax.jit
def half_squared_distance(
    row: Rows, oracle: Float[Array, "blocks d simd"]
) -> Float[Array, "blocks simd"]:
    """1/2 ||w^L - w_oracle||^2 of every sequence, from the row (-w^L, a)."""
    return jnp.square(row[:, :-1] + oracle).sum(1) / 2


def sum_terms(terms: Iterable[Array]) -> Array:
    """The sum of the terms of a product, each of which slices its factors before it uses them."""
    return reduce(add, terms)


def matrix_product(
    A: Float[Array, "#blocks a b #simd"], B: Float[Array, "#blocks b c #simd"]
) -> Float[Array, "#blocks a c #simd"]:
    """A B for every sequence; a factor may be the same for all of them."""
    return sum_terms(A[:, :, k, None] * B[:, None, k] for k in range(B.shape[1]))


def symmetric_times_vector(symmetric: Matrices, vector: Rows) -> Rows:
    """A symmetric matrix times a vector, for every sequence."""
    return sum_terms(symmetric[:, k] * vector[:, k, None] for k in range(vector.shape[1]))


def rows_times_vector(
    rows: Float[Array, "blocks K p simd"], vector: Rows
) -> Float[Array, "blocks K simd"]:
    """K rows times a vector, for every sequence."""
    return sum_terms(rows[:, :, k] * vector[:, None, k] for k in range(vector.shape[1]))


def inner_products(left: Rows, right: Rows) -> Float[Array, "blocks simd"]:
    """The inner product of two vectors, for every sequence."""
    return (left * right).sum(1)


@jax.jit
def _last_row(G: Matrices) -> Rows:
    return jnp.zeros_like(G[:, 0]).at[:, -1].set(1)


@jax.jit
def _transformed(pattern: Pattern, G: Matrices) -> Matrices:
    """T G."""
    p = G.shape[1]
    return G + sum_terms(
        pattern[:, :, k, None] * G[:, :, k, None] * G[:, None, k] for k in range(p)
    )


@jax.jit
def _times_transposed(pattern: Pattern, G: Matrices, moved: Matrices) -> Matrices:
    """`moved` T^T."""
    return moved + sum_terms(
        moved[:, :, k, None] * (pattern[:, None, :, k] * G[:, None, :, k])
        for k in range(G.shape[1])
    )


@jax.jit
def _symmetric(G: Matrices) -> Matrices:
    return (G + G.swapaxes(1, 2)) / 2


@jax.jit
def _row(pattern: Pattern, G: Matrices, row: Rows) -> Rows:
    """The row times T."""
    return row + sum_terms(row[:, k, None] * pattern[:, k] * G[:, k] for k in range(G.shape[1]))
