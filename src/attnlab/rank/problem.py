"""Neighbours on the sphere: which of N points is nearest to, or farthest from, a source point.

Source: Amsel, Yehudai, Bruna, "On the Benefits of Rank in Attention Layers" (arXiv 2407.16153),
Section 3 and equation (8). The points are i.i.d. uniform or uniform orthonormal; the source is a
point of its own (cross-attention) or each of the points in turn (self-attention). Points are rows.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError

Kind = Literal["nearest", "farthest", "biased"]
Points = Literal["iid", "orthonormal"]
Source = Literal["sphere", "normal"]


class NeighbourPrompt(NamedTuple):
    """Cross-attention: N points, a source, and the answer."""

    X: Float[Array, "N d"]
    y: Float[Array, " d"]
    target: Float[Array, " d"]


class SelfPrompt(NamedTuple):
    """Self-attention: N points, and for each of them its neighbour among the others."""

    X: Float[Array, "N d"]
    targets: Float[Array, "N d"]


@dataclass(frozen=True)
class Neighbours:
    """The problem: dimension, number of points, which neighbour, and the laws of the points.

    `bias` belongs to the kind "biased", argmin ||x_i - y||^2 + b_i. `radius` scales the points and
    `source` is the law of y: Theorem 4 takes sqrt(d) and N(0, I), all else the unit sphere.
    """

    d: int = 64
    N: int = 16
    kind: Kind = "nearest"
    points: Points = "iid"
    bias: tuple[float, ...] | None = None
    radius: float = 1.0
    source: Source = "sphere"

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 2)
        arguments.integer("N", self.N, 2)
        arguments.one_of("kind", self.kind, ("nearest", "farthest", "biased"))
        arguments.one_of("points", self.points, ("iid", "orthonormal"))
        arguments.one_of("source", self.source, ("sphere", "normal"))
        object.__setattr__(self, "radius", arguments.positive("radius", self.radius))
        if self.points == "orthonormal" and self.d < self.N:
            raise UserError(
                f"N must be at most d = {self.d} for orthonormal points, got {self.N!r}."
            )
        if (self.bias is not None) != (self.kind == "biased"):
            raise UserError(
                'bias must be given for the kind "biased" and for no other, '
                f"got {self.bias!r} with {self.kind!r}."
            )
        if self.bias is not None and len(self.bias) != self.N:
            raise UserError(f"bias must have N = {self.N} entries, got {len(self.bias)}.")

    def answer(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Int[Array, ""]:
        """The index of the neighbour of y."""
        return jnp.argmin(self._costs(X, y))

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> NeighbourPrompt:
        """One prompt with a source of its own."""
        return self.prompt(jax.random.normal(key, (self.N + 1, self.d), dtype))

    def prompt(self, normals: Float[Array, "rows d"]) -> NeighbourPrompt:
        """The prompt that i.i.d. normals make, the source's last: one draw may serve a batch."""
        X, y = self._points(normals[:-1]), normals[-1]
        y = unit(y) if self.source == "sphere" else y
        return NeighbourPrompt(X, y, X[self.answer(X, y)])

    def sample_self(self, key: PRNGKeyArray, dtype: Any = float) -> SelfPrompt:
        """One sequence in which every point asks for its neighbour among the others."""
        return self.self_prompt(jax.random.normal(key, (self.N, self.d), dtype))

    def self_prompt(self, normals: Float[Array, "N d"]) -> SelfPrompt:
        """The sequence that i.i.d. normals make."""
        X = self._points(normals)
        costs = jax.vmap(lambda y: self._costs(X, y))(X)
        others = jnp.where(jnp.eye(self.N, dtype=bool), jnp.inf, costs)
        return SelfPrompt(X, X[jnp.argmin(others, axis=1)])

    def _costs(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " N"]:
        # ||x - y||^2 less what all points share: their norms are equal.
        costs = -2 * jnp.dot(X, y, precision="highest")
        if self.bias is not None:
            return costs + jnp.asarray(self.bias, X.dtype)
        return -costs if self.kind == "farthest" else costs

    def _points(self, normals: Float[Array, "N d"]) -> Float[Array, "N d"]:
        X = unit(normals) if self.points == "iid" else orthonormal_rows(normals)
        return X if self.radius == 1 else self.radius * X


def unit(v: Float[Array, "*many d"]) -> Float[Array, "*many d"]:
    """Vectors scaled to length one."""
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)


def orthonormal_rows(normals: Float[Array, "N d"]) -> Float[Array, "N d"]:
    """Gram and Schmidt's rows: uniform orthonormal ones from i.i.d. normals, N <= d.

    Each row is cleared of the earlier ones twice, which leaves them orthogonal to rounding.
    """
    earlier = jnp.tri(len(normals), k=-1, dtype=normals.dtype)

    def place(i: Any, rows: Array) -> Array:
        row = unit(rows[i])
        for _ in range(2):
            shares = earlier[i] * jnp.dot(rows, row, precision="highest")
            row = unit(row - jnp.dot(shares, rows, precision="highest"))
        return rows.at[i].set(row)

    if len(normals) <= 4:
        for i in range(len(normals)):
            normals = place(i, normals)
        return normals
    return jax.lax.fori_loop(0, len(normals), place, normals)
