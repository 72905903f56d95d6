"""Neighbours on the sphere: which of N points is nearest to, or farthest from, a source point.

Source: Amsel, Yehudai, Bruna, "On the Benefits of Rank in Attention Layers" (arXiv 2407.16153),
Section 3 and equation (8). The points are i.i.d. uniform or uniform orthonormal. In `Neighbours`
the source is a point of its own (cross-attention); in `SelfNeighbours` every point asks for its
neighbour among the others (self-attention). Points are rows.
"""

from __future__ import annotations

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
    """N points, a source y, and the point that is y's neighbour; batches have leading axes."""

    X: Float[Array, "*batch N d"]
    y: Float[Array, "*batch d"]
    target: Float[Array, "*batch d"]


class SelfPrompt(NamedTuple):
    """N points, and for each of them its neighbour among the others; batches have leading axes."""

    X: Float[Array, "*batch N d"]
    target: Float[Array, "*batch N d"]


@dataclass(frozen=True)
class Neighbours:
    """The nearest, farthest or biased neighbour of a source among N points on a sphere.

    Parameters
    ----------
    d, N
        Dimension and number of the points.
    kind
        "nearest", "farthest", or "biased", which is argmin ||x_i - y||^2 + b_i.
    points
        Independent uniform points ("iid"), or uniform orthonormal ones.
    bias
        The b_i of the kind "biased".
    radius
        Radius of the sphere of the points; Theorem 4 takes sqrt(d).
    source
        Law of y: uniform on the unit sphere, or N(0, I), which Theorem 4 takes.
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

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> NeighbourPrompt:
        """Draw one prompt."""
        return self.from_normals(jax.random.normal(key, (self.N + 1, self.d), dtype))

    def sample_batch(self, key: PRNGKeyArray, size: int, dtype: Any = float) -> NeighbourPrompt:
        """Draw `size` prompts with one call of the generator, which compiles and runs faster."""
        normals = jax.random.normal(key, (size, self.N + 1, self.d), dtype)
        return jax.vmap(self.from_normals)(normals)

    def from_normals(self, normals: Float[Array, "rows d"]) -> NeighbourPrompt:
        """The prompt that N + 1 rows of i.i.d. normals give, the source's row last."""
        y = normals[-1]
        return self.ask(self.place(normals[:-1]), unit(y) if self.source == "sphere" else y)

    def ask(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> NeighbourPrompt:
        """The prompt of given points and a given source."""
        return NeighbourPrompt(X, y, X[self.answer(X, y)])

    def answer(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Int[Array, ""]:
        """The index of the neighbour of y."""
        return jnp.argmin(self.costs(X, y))

    def costs(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " N"]:
        """What the neighbour minimises, without the squared norms, which all points share."""
        costs = -2 * jnp.dot(X, y, precision="highest")
        if self.bias is not None:
            return costs + jnp.asarray(self.bias, X.dtype)
        return -costs if self.kind == "farthest" else costs

    def place(self, normals: Float[Array, "N d"]) -> Float[Array, "N d"]:
        """The points that i.i.d. normals give."""
        X = unit(normals) if self.points == "iid" else orthonormal_rows(normals)
        return X if self.radius == 1 else self.radius * X


@dataclass(frozen=True)
class SelfNeighbours:
    """Every one of N points on a sphere asks for its neighbour among the others.

    Parameters
    ----------
    d, N
        Dimension and number of the points.
    kind
        "farthest", which the paper trains, "nearest", or "biased" with a `bias` per point.
    points, bias, radius
        As in `Neighbours`.
    """

    d: int = 64
    N: int = 16
    kind: Kind = "farthest"
    points: Points = "iid"
    bias: tuple[float, ...] | None = None
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", self._crossed().radius)

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> SelfPrompt:
        """Draw one sequence with all its answers."""
        return self.from_normals(jax.random.normal(key, (self.N, self.d), dtype))

    def sample_batch(self, key: PRNGKeyArray, size: int, dtype: Any = float) -> SelfPrompt:
        """Draw `size` sequences with one call of the generator."""
        normals = jax.random.normal(key, (size, self.N, self.d), dtype)
        return jax.vmap(self.from_normals)(normals)

    def from_normals(self, normals: Float[Array, "N d"]) -> SelfPrompt:
        """The sequence that N rows of i.i.d. normals give."""
        return self.ask(self._crossed().place(normals))

    def ask(self, X: Float[Array, "N d"]) -> SelfPrompt:
        """The prompt of given points."""
        problem = self._crossed()
        costs = jax.vmap(lambda y: problem.costs(X, y))(X)
        others = jnp.where(jnp.eye(self.N, dtype=bool), jnp.inf, costs)
        return SelfPrompt(X, X[jnp.argmin(others, axis=1)])

    def _crossed(self) -> Neighbours:
        return Neighbours(self.d, self.N, self.kind, self.points, self.bias, self.radius)


def unit(v: Float[Array, "*many d"]) -> Float[Array, "*many d"]:
    """Vectors scaled to length one."""
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)


def orthonormal_rows(normals: Float[Array, "N d"]) -> Float[Array, "N d"]:
    """Uniform orthonormal rows from i.i.d. normals, N <= d, by the method of Gram and Schmidt.

    Each row is made orthogonal to the earlier ones twice, which leaves only rounding.
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
