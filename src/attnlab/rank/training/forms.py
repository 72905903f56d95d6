"""What the heads of a layer have become: angle, norm and rank of their score matrices K Q^T."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.compiling import fast_compile
from attnlab.rank.models.attention import RankAttention, score_matrices


class Forms(NamedTuple):
    """Of every head of every layer of a population: K Q^T, its angle to I and its norm."""

    matrices: Float[Array, "members H d d"]
    angles: Float[Array, "members H"]
    norms: Float[Array, "members H"]

    def rank(self, member: int) -> int | None:
        """The largest numerical rank over the heads of a member; None where it diverged."""
        forms = np.asarray(self.matrices[member])
        return int(np.linalg.matrix_rank(forms).max()) if np.isfinite(forms).all() else None


def forms_of(layers: RankAttention, d: int) -> Forms:
    """The forms of a population of layers; the angles are those of the d x d part.

    Encodings that are appended to the points are left out of the angles and norms.
    """
    return Forms(*_forms(layers, d))


@fast_compile
def _forms(layers: RankAttention, d: int) -> tuple[Array, Array, Array]:
    def one(layer: RankAttention) -> tuple[Array, Array, Array]:
        matrices = score_matrices(layer)
        return matrices, *angle_and_norm(matrices[:, :d, :d])

    return jax.vmap(one)(layers)


def angle_and_norm(
    forms: Float[Array, "H d d"],
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    """The angles of matrices to the identity in degrees, and their Frobenius norms."""
    norms = jnp.sqrt(jnp.sum(forms**2, axis=(1, 2)))
    sizes = jnp.sqrt(jnp.asarray(forms.shape[-1], forms.dtype)) * jnp.maximum(norms, 1e-30)
    cosines = jnp.trace(forms, axis1=1, axis2=2) / sizes
    return jnp.degrees(jnp.arccos(jnp.clip(cosines, -1, 1))), norms
