"""Arithmetic of a guarded step: clipping, running means, averages, and choosing between trees."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree


def clipped(gradient: PyTree, clip: Float[Array, ""]) -> tuple[PyTree, Float[Array, ""]]:
    """The gradient scaled to a global norm of at most `clip`, and its norm then."""
    leaves = jax.tree.leaves(gradient)
    largest = jnp.stack([jnp.abs(leaf).max(initial=0) for leaf in leaves]).max()
    # Squares of the gradient itself overflow long before it does.
    unit = jnp.where(largest > 0, largest, 1)
    norm = unit * jnp.sqrt(sum(jnp.square(leaf / unit).sum() for leaf in leaves))
    scale = jnp.where(norm > clip, clip / norm, 1)
    scaled = jax.tree.map(lambda leaf: leaf * scale.astype(leaf.dtype), gradient)
    return scaled, norm * scale


def square_norm(gradient: PyTree) -> Float[Array, ""]:
    """The sum of all squares; infinite or not a number where an update would not be finite."""
    return jnp.stack([jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradient)]).sum()


def moderate(tree: PyTree) -> Bool[Array, ""]:
    """Whether all floating-point numbers are below the fourth root of the largest of their kind.

    A gradient whose sum of squares overflows leaves larger ones in Adam's moments, also after a
    hundred further steps.
    """
    found = []
    for leaf in jax.tree.leaves(tree):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            largest = float(jnp.finfo(leaf.dtype).max) ** 0.25
            found.append((jnp.abs(leaf) < largest).all())
    return jnp.stack(found).all()


def averaged(average: PyTree, params: PyTree, decay: Array, step: Any) -> PyTree:
    """The mean of all weights until it spans 1 / (1 - decay) steps, from there on exponential."""
    if average is None:
        return None
    weight = jnp.maximum(1 - decay, 1 / (step.astype(decay.dtype) + 1))
    return jax.tree.map(lambda a, p: a + (weight * (p - a)).astype(a.dtype), average, params)


def running_mean(
    running: Float[Array, ""], loss: Float[Array, ""], memory: Float[Array, ""]
) -> Float[Array, ""]:
    """The running loss after one more loss; it is infinite before the first."""
    mixed = memory * running + (1 - memory) * loss
    return jnp.where(jnp.isfinite(running), mixed, loss)


def exceeds(
    value: Float[Array, ""],
    reference: Float[Array, ""],
    times: Float[Array, ""],
    slack: Float[Array, ""],
) -> Bool[Array, ""]:
    """value > times reference + slack, with the same meaning for references below 0."""
    return value > reference + (times - 1) * jnp.abs(reference) + slack


def select(condition: Bool[Array, ""], chosen: PyTree, other: PyTree) -> PyTree:
    """`chosen` where the condition holds, else `other`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), chosen, other)
