"""A member's weights as one vector, for models of many small arrays.

The trainer updates, checks and keeps every array of a model in loops of their own, and every loop
is compiled. With its weights in one vector an encoder of one layer compiled in three fifths of the
processor time. Training is the same up to rounding, since Adam and the guard act on each number
alone and the clip acts on the norm of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from attnlab.errors import UserError


@dataclass(frozen=True)
class Layout:
    """Where every array of a model lies in its vector; equal for models of the same shape."""

    structure: Any  # jax.tree_util.PyTreeDef
    shapes: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Numbers in the whole model."""
        return sum(map(math.prod, self.shapes))

    def model(self, vectors: Float[Array | np.ndarray, "*members size"]) -> PyTree:
        """The model of a vector, or the models of a population with the members as first axis."""
        leaves, start = [], 0
        for shape in self.shapes:
            stop = start + math.prod(shape)
            leaves.append(vectors[..., start:stop].reshape((*vectors.shape[:-1], *shape)))
            start = stop
        return jax.tree.unflatten(self.structure, leaves)


@dataclass(frozen=True)
class FlatLoss:
    """`loss(model, key, member)` as a function of the model's vector."""

    loss: Any
    layout: Layout

    def __call__(self, vector: Float[Array, " size"], key: Any, member: Any) -> Float[Array, ""]:
        return self.loss(_model(self.layout, vector), key, member)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _model(layout: Layout, vector: Float[Array, " size"]) -> PyTree:
    """The model of a vector, with a derivative that writes every number once.

    By the chain rule every array's derivative would be padded to the length of the vector, and all
    of them added: work of the square of their number.
    """
    return layout.model(vector)


def _forward(layout: Layout, vector: Float[Array, " size"]) -> tuple[PyTree, None]:
    return layout.model(vector), None


def _backward(layout: Layout, _: None, model: PyTree) -> tuple[Float[Array, " size"]]:
    return (jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(model)]),)


_model.defvjp(_forward, _backward)


def flatten(models: PyTree) -> tuple[Layout, np.ndarray]:
    """The layout of one member, and the vectors of all members with the shape (members, size)."""
    leaves, structure = jax.tree.flatten(models)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if len({(array.shape[:1], array.dtype) for array in arrays}) != 1:
        raise UserError(
            "models must be arrays of one dtype with the members as their first axis, got "
            f"{sorted({f'{array.dtype}{list(array.shape[:1])}' for array in arrays})}."
        )
    layout = Layout(structure, tuple(array.shape[1:] for array in arrays))
    return layout, np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)
