"""Weights of linear transformers: FULL, DIAG (by heads or by free omegas) and GD++.

Source: Vladymyrov et al. (arXiv 2402.14180). Every leaf has the layers as its first axis, so
`jax.lax.scan` over the weights sees one layer at a time; `increment` is a layer's S = sum_k P_k G
Q_k and is called on such a slice. For DIAG, P_k = diag(p_x I, p_y) and Q_k = diag(q_x I, q_y), and
only omega_ab = sum_k p_a q_b matter; one head obeys omega_xx omega_yy = omega_xy omega_yx.
"""

from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError


@final
class FullWeights(eqx.Module):
    """FULL: any (d+1) x (d+1) matrices P and Q, for every layer and head."""

    P: Float[Array, "layers heads p p"]
    Q: Float[Array, "layers heads p p"]

    def __check_init__(self) -> None:
        shape = jnp.shape(self.P)
        if len(shape) != 4 or shape[2] != shape[3] or jnp.shape(self.Q) != shape:
            raise UserError(
                "P and Q must both have shape (layers, heads, d + 1, d + 1), "
                f"got {shape} and {jnp.shape(self.Q)}."
            )

    @property
    def depth(self) -> int:
        return self.P.shape[0]

    @property
    def heads(self) -> int:
        return self.P.shape[1]

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer."""
        GQ = jnp.einsum("jk,hkl->hjl", G, self.Q, precision="highest")
        return jnp.einsum("hij,hjl->il", self.P, GQ, precision="highest")


@final
class Omegas(eqx.Module):
    """DIAG with free omegas, which two heads or more can realise."""

    xx: Float[Array, " layers"]
    xy: Float[Array, " layers"]
    yx: Float[Array, " layers"]
    yy: Float[Array, " layers"]

    def __check_init__(self) -> None:
        _same_shapes("xx, xy, yx and yy", "(layers,)", 1, self.xx, self.xy, self.yx, self.yy)

    @property
    def depth(self) -> int:
        return self.xx.shape[0]

    def omegas(self) -> "Omegas":
        return self

    def matrix(self) -> Float[Array, "layers 2 2"]:
        """[[omega_xx, omega_xy], [omega_yx, omega_yy]] = sum_k (p_x, p_y) (q_x, q_y)^T."""
        rows = jnp.stack([self.xx, self.xy], -1), jnp.stack([self.yx, self.yy], -1)
        return jnp.stack(rows, -2)

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer."""
        return _patterned(G, self.xx, self.xy, self.yx, self.yy)

    def constraint(self) -> Float[Array, " layers"]:
        """omega_xx omega_yy - omega_xy omega_yx, which is 0 for one head."""
        return self.xx * self.yy - self.xy * self.yx

    def two_heads(self) -> "DiagWeights":
        """The same network with two heads: one moves x, the other y."""
        one, zero = jnp.ones_like(self.xx), jnp.zeros_like(self.xx)
        return DiagWeights(
            p_x=jnp.stack([one, zero], -1),
            p_y=jnp.stack([zero, one], -1),
            q_x=jnp.stack([self.xx, self.yx], -1),
            q_y=jnp.stack([self.xy, self.yy], -1),
        )

    def nearest_head(self) -> "DiagWeights":
        """The one-head network whose omegas are nearest in least squares, layer by layer.

        It is the same network where `constraint` is 0. P and Q have equal norms.
        """
        U, s, Vt = jnp.linalg.svd(self.matrix())
        root = jnp.sqrt(s[:, :1])
        p, q = U[:, :, 0] * root, Vt[:, 0, :] * root
        return DiagWeights(p[:, :1], p[:, 1:], q[:, :1], q[:, 1:])

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with two heads."""
        return self.two_heads().full(d)


@final
class DiagWeights(eqx.Module):
    """DIAG by heads: P_k = diag(p_x I, p_y), Q_k = diag(q_x I, q_y)."""

    p_x: Float[Array, "layers heads"]
    p_y: Float[Array, "layers heads"]
    q_x: Float[Array, "layers heads"]
    q_y: Float[Array, "layers heads"]

    def __check_init__(self) -> None:
        parts = self.p_x, self.p_y, self.q_x, self.q_y
        _same_shapes("p_x, p_y, q_x and q_y", "(layers, heads)", 2, *parts)

    @property
    def depth(self) -> int:
        return self.p_x.shape[0]

    @property
    def heads(self) -> int:
        return self.p_x.shape[1]

    def omegas(self) -> Omegas:
        """omega_ab = sum_k p_a q_b, all that matters of a diagonal model."""
        return Omegas(*self._products())

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer."""
        return _patterned(G, *self._products())

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights, head by head."""
        return FullWeights(_diagonal(self.p_x, self.p_y, d), _diagonal(self.q_x, self.q_y, d))

    def _products(self) -> tuple[Array, ...]:
        pairs = [(p, q) for p in (self.p_x, self.p_y) for q in (self.q_x, self.q_y)]
        return tuple((p * q).sum(-1) for p, q in pairs)


@final
class GDPlusPlus(eqx.Module):
    """GD++: DIAG with q_y = 0; omega_xx preconditions and omega_yx is the gradient step."""

    xx: Float[Array, " layers"]
    yx: Float[Array, " layers"]

    def __check_init__(self) -> None:
        _same_shapes("xx and yx", "(layers,)", 1, self.xx, self.yx)

    @property
    def depth(self) -> int:
        return self.xx.shape[0]

    def omegas(self) -> Omegas:
        zero = jnp.zeros_like(self.xx)
        return Omegas(self.xx, zero, self.yx, zero)

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer; its last column is 0."""
        zero = jnp.zeros_like(self.xx)
        return _patterned(G, self.xx, zero, self.yx, zero)

    def diag(self) -> DiagWeights:
        """The same network as one DIAG head: p = (omega_xx, omega_yx), q = (1, 0)."""
        one, zero = jnp.ones_like(self.xx), jnp.zeros_like(self.xx)
        return DiagWeights(*(part[:, None] for part in (self.xx, self.yx, one, zero)))

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with one head."""
        return self.diag().full(d)


Weights = FullWeights | DiagWeights | Omegas | GDPlusPlus


def _diagonal(x: Array, y: Array, d: int) -> Array:
    entries = jnp.concatenate([jnp.repeat(x[..., None], d, axis=-1), y[..., None]], axis=-1)
    return entries[..., None] * jnp.eye(d + 1, dtype=entries.dtype)[None, None]


def _patterned(G: Array, xx: Array, xy: Array, yx: Array, yy: Array) -> Array:
    """The elementwise product of G with [[xx, xy], [yx, yy]] in blocks of sizes d and 1."""
    is_y = jnp.arange(len(G)) == len(G) - 1
    over_x, over_y = jnp.where(is_y, yx, xx), jnp.where(is_y, yy, xy)
    return G * jnp.where(is_y[None, :], over_y[:, None], over_x[:, None])


def _same_shapes(names: str, wanted: str, rank: int, *parts: Array) -> None:
    shapes = [jnp.shape(part) for part in parts]
    if len(shapes[0]) != rank or len(set(shapes)) != 1:
        raise UserError(f"{names} must all have shape {wanted}, got {shapes}.")
