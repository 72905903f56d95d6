"""Weights of linear transformers: FULL, DIAG (by heads or by free omegas) and GD++.

Source: Vladymyrov et al. (arXiv 2402.14180). Every array has the layers as its first axis, so that
`jax.lax.scan` over the weights sees one layer at a time. `increment` is S = sum_k P_k G Q_k of one
layer and is called on such a slice. For DIAG, P_k = diag(p_x I, p_y) and Q_k = diag(q_x I, q_y),
and only omega_ab = sum_k p_a q_b matter; one head obeys omega_xx omega_yy = omega_xy omega_yx.
The arrays may be NumPy's or JAX's. NumPy's keep double precision outside of JAX's x64 mode, which
is why files, constructions and training return them.
"""

from typing import Any, TypeVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.errors import UserError

Numbers = Array | np.ndarray


@final
class FullWeights(eqx.Module):
    """FULL: any (d+1) x (d+1) matrices P and Q, one pair for every layer and head."""

    P: Float[Numbers, "layers heads p p"]
    Q: Float[Numbers, "layers heads p p"]

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
    """DIAG with free omegas, which takes two heads or more."""

    xx: Float[Numbers, " layers"]
    xy: Float[Numbers, " layers"]
    yx: Float[Numbers, " layers"]
    yy: Float[Numbers, " layers"]

    def __check_init__(self) -> None:
        _same_shapes("xx, xy, yx and yy", "(layers,)", 1, self.xx, self.xy, self.yx, self.yy)

    @property
    def depth(self) -> int:
        return self.xx.shape[0]

    def omegas(self) -> "Omegas":
        return self

    def matrix(self) -> Float[Numbers, "layers 2 2"]:
        """[[omega_xx, omega_xy], [omega_yx, omega_yy]] = sum_k (p_x, p_y) (q_x, q_y)^T."""
        xp = _library(self.xx)
        rows = xp.stack([self.xx, self.xy], -1), xp.stack([self.yx, self.yy], -1)
        return xp.stack(rows, -2)

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer."""
        return _patterned(G, self.xx, self.xy, self.yx, self.yy)

    def constraint(self) -> Float[Numbers, " layers"]:
        """omega_xx omega_yy - omega_xy omega_yx, which is 0 for one head."""
        return self.xx * self.yy - self.xy * self.yx

    def two_heads(self) -> "DiagWeights":
        """The same network with two heads, of which one changes x and the other y."""
        xp = _library(self.xx)
        one, zero = xp.ones_like(self.xx), xp.zeros_like(self.xx)
        return DiagWeights(
            p_x=xp.stack([one, zero], -1),
            p_y=xp.stack([zero, one], -1),
            q_x=xp.stack([self.xx, self.yx], -1),
            q_y=xp.stack([self.xy, self.yy], -1),
        )

    def nearest_head(self) -> "DiagWeights":
        """The one-head network whose omegas are nearest in least squares, for each layer.

        It is the same network where `constraint` is 0. Its P and Q have equal norms.
        """
        xp = _library(self.xx)
        U, s, Vt = xp.linalg.svd(self.matrix())
        root = xp.sqrt(s[:, :1])
        p, q = U[:, :, 0] * root, Vt[:, 0, :] * root
        return DiagWeights(p[:, :1], p[:, 1:], q[:, :1], q[:, 1:])

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with two heads."""
        return self.two_heads().full(d)


@final
class DiagWeights(eqx.Module):
    """DIAG by heads: P_k = diag(p_x I, p_y), Q_k = diag(q_x I, q_y)."""

    p_x: Float[Numbers, "layers heads"]
    p_y: Float[Numbers, "layers heads"]
    q_x: Float[Numbers, "layers heads"]
    q_y: Float[Numbers, "layers heads"]

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
        """omega_ab = sum_k p_a q_b, on which alone the network depends."""
        return Omegas(*self._products())

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer."""
        return _patterned(G, *self._products())

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with the same heads."""
        return FullWeights(_diagonal(self.p_x, self.p_y, d), _diagonal(self.q_x, self.q_y, d))

    def _products(self) -> tuple[Numbers, ...]:
        pairs = [(p, q) for p in (self.p_x, self.p_y) for q in (self.q_x, self.q_y)]
        return tuple((p * q).sum(-1) for p, q in pairs)


@final
class GDPlusPlus(eqx.Module):
    """GD++: DIAG with q_y = 0. omega_xx preconditions, omega_yx takes the gradient step."""

    xx: Float[Numbers, " layers"]
    yx: Float[Numbers, " layers"]

    def __check_init__(self) -> None:
        _same_shapes("xx and yx", "(layers,)", 1, self.xx, self.yx)

    @property
    def depth(self) -> int:
        return self.xx.shape[0]

    def omegas(self) -> Omegas:
        zero = _library(self.xx).zeros_like(self.xx)
        return Omegas(self.xx, zero, self.yx, zero)

    def increment(self, G: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """sum_k P_k G Q_k of one layer; its last column is 0."""
        zero = jnp.zeros_like(self.xx)
        return _patterned(G, self.xx, zero, self.yx, zero)

    def diag(self) -> DiagWeights:
        """The same network as one DIAG head: p = (omega_xx, omega_yx), q = (1, 0)."""
        xp = _library(self.xx)
        one, zero = xp.ones_like(self.xx), xp.zeros_like(self.xx)
        return DiagWeights(*(part[:, None] for part in (self.xx, self.yx, one, zero)))

    def full(self, d: int) -> FullWeights:
        """The same network as FULL weights with one head."""
        return self.diag().full(d)


DiagonalWeights = DiagWeights | Omegas | GDPlusPlus
Weights = FullWeights | DiagonalWeights
FAMILIES: dict[str, type[Weights]] = {
    "FULL": FullWeights,
    "DIAG": DiagWeights,
    "DIAG, free omegas": Omegas,
    "GD++": GDPlusPlus,
}


def family_of(weights: Weights) -> str:
    """The name of the family: FULL, DIAG, DIAG with free omegas, or GD++."""
    for name, kind in FAMILIES.items():
        if isinstance(weights, kind):
            return name
    accepted = ", ".join(kind.__name__ for kind in FAMILIES.values())
    raise UserError(f"weights must be one of {accepted}, got {type(weights).__name__}.")


def size_of(weights: Weights) -> int | None:
    """The d that the weights fix: FULL matrices have d + 1 rows, the others run at any d."""
    return weights.P.shape[-1] - 1 if isinstance(weights, FullWeights) else None


Some = TypeVar("Some", bound=Weights)


def on_host(weights: Some) -> Some:
    """The same weights as NumPy arrays, which keep their precision in every mode of JAX."""
    return jax.tree.map(np.asarray, weights)


def _library(part: Numbers) -> Any:
    """NumPy for its arrays and JAX for all others, traced ones included."""
    return np if isinstance(part, np.ndarray) else jnp


def _diagonal(x: Numbers, y: Numbers, d: int) -> Numbers:
    xp = _library(x)
    entries = xp.concatenate([xp.repeat(x[..., None], d, axis=-1), y[..., None]], axis=-1)
    return entries[..., None] * xp.eye(d + 1, dtype=entries.dtype)[None, None]


def _patterned(G: Array, xx: Numbers, xy: Numbers, yx: Numbers, yy: Numbers) -> Array:
    """The elementwise product of G with [[xx, xy], [yx, yy]] in blocks of sizes d and 1."""
    is_y = jnp.arange(len(G)) == len(G) - 1
    over_x, over_y = jnp.where(is_y, yx, xx), jnp.where(is_y, yy, xy)
    return G * jnp.where(is_y[None, :], over_y[:, None], over_x[:, None])


def _same_shapes(names: str, wanted: str, rank: int, *parts: Numbers) -> None:
    shapes = [jnp.shape(part) for part in parts]
    if len(shapes[0]) != rank or len(set(shapes)) != 1:
        raise UserError(f"{names} must all have shape {wanted}, got {shapes}.")
