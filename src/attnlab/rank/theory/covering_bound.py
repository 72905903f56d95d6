"""How well the neighbour of a near direction serves as the neighbour of y, for every N.

Source: ours, about Conjecture 8 of Amsel, Yehudai, Bruna (arXiv 2407.16153). y and x_1, ..., x_N
are uniform on the sphere, f is the nearest neighbour of y, and z that of a direction k within the
angle theta of y. The bound on E|z - f|^2 holds for every such k, and so for every net of covering
angle theta (`sphere_nets`). `models.covering_heads` is a transformer that answers z.

Let phi be the angle of f to y, p the density of the angle of one point to y, and F(phi) the
probability that it is above phi. All other angles are above phi, and z is no farther from k than f
is: its angle to y is at most phi + 2 theta. So |z - f|^2 is at most
D = 4 sin^2(min(phi + theta, pi/2)), and 0 unless another point has an angle between phi and
phi + 2 theta. A second bound adds up what every other point x costs if it is nearer to k than f:

    E[|z - f|^2 | phi] <= min(D (1 - (F(phi + 2 theta) / F(phi))^(N-1)), (N - 1) A(phi) / F(phi)),
    A(phi) = E[|x - f|^2; x.y <= f.y, x.k >= f.k].

phi has the density N p F^(N-1). The first bound alone is at most E[D], which falls as N grows, so
that its value at one N holds for all larger ones; it tends to 4 sin^2 theta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy import special

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant

LEVELS = 200  # nodes for the law of phi
ANGLES = 1000  # points at which A is computed; between them it is interpolated
NODES = 32  # nodes of each of the two integrals of A


def covering_bounds(d: int, theta: float, lengths: Sequence[int]) -> Float[np.ndarray, " lengths"]:
    """The bound on E|z - f|^2 at several numbers of points.

    Parameters
    ----------
    d
        Dimension, at least 2.
    theta
        Angle between k and y, in (0, pi/2).
    lengths
        Numbers N of points.
    """
    d, theta = _checked(d, theta)
    grid = np.linspace(0, math.pi, ANGLES)
    table = swapped_distance(d, theta, grid)
    q, weights = _levels()
    found = []
    for N in lengths:
        near = -np.expm1(np.log(q) / N)  # 1 - F(phi), where F(phi)^N is uniform
        phi = _angle_of(d, near)
        between = _cap(d, np.minimum(phi + 2 * theta, math.pi)) - near
        others = np.minimum(between / (1 - near), 1 - 1e-16)
        first = -np.expm1((N - 1) * np.log1p(-others)) * _farthest(phi, theta)
        second = (N - 1) * np.interp(phi, grid, table) / (1 - near)
        found.append(float(weights @ np.minimum(first, second)))
    return np.array(found)


def covering_bound_beyond(d: int, theta: float, N: int) -> float:
    """E[D], which bounds E|z - f|^2 for N points and for every larger number of them."""
    d, theta = _checked(d, theta)
    q, weights = _levels()
    phi = _angle_of(d, -np.expm1(np.log(q) / arguments.integer("N", N, 2)))
    return float(weights @ _farthest(phi, theta))


def swapped_distance(
    d: int, theta: float, phi: Float[np.ndarray, " angles"]
) -> Float[np.ndarray, " angles"]:
    """A(phi) = E[|x - f|^2; x.y <= f.y, x.k >= f.k], f at the angle phi to y and x uniform.

    With psi the angle of x, a = cos phi - cos psi, and L the distance of f and x orthogonally to
    y, the condition is psi >= phi and a <= tan(theta) L v, where v is one coordinate of a uniform
    direction orthogonal to y, independent of L. L^2 is sin^2 phi + sin^2 psi - 2 sin phi sin psi w
    with w another such coordinate. The event needs psi <= phi + 2 theta and grows with theta.

    Parameters
    ----------
    d, theta
        As in `covering_bounds`.
    phi
        Angles of f to y.
    """
    u, weights = special.roots_legendre(NODES)
    half = (np.minimum(phi + 2 * theta, math.pi) - phi) / 2
    psi = (phi + half)[:, None] + half[:, None] * u
    density = _angle_constant(d) * np.sin(psi) ** (d - 2)
    a = (np.cos(phi)[:, None] - np.cos(psi))[..., None]
    own, other = np.sin(phi)[:, None, None], np.sin(psi)[..., None]
    w, chances = _coordinate_rule(d - 1)
    squared = np.maximum(own**2 + other**2 - 2 * own * other * w, 1e-300)
    beyond = _coordinate_tail(d - 1, a / (math.tan(theta) * np.sqrt(squared)))
    inner = ((a**2 + squared) * beyond) @ chances
    return half * ((inner * density) @ weights)


def _farthest(phi: np.ndarray, theta: float) -> np.ndarray:
    """D, the largest |z - f|^2."""
    return 4 * np.sin(np.minimum(phi + theta, math.pi / 2)) ** 2


def _levels() -> tuple[np.ndarray, np.ndarray]:
    u, weights = special.roots_legendre(LEVELS)
    return (1 + u) / 2, weights / 2


def _angle_constant(d: int) -> float:
    """Of the density of the angle of a uniform point to y, proportional to sin^(d-2)."""
    return 1 / math.pi if d == 2 else marginal_constant(d)


def _cap(d: int, phi: np.ndarray) -> np.ndarray:
    """The probability that a uniform point is within phi of y."""
    tail = special.betainc((d - 1) / 2, 0.5, np.sin(phi) ** 2) / 2
    return np.where(phi <= math.pi / 2, tail, 1 - tail)


def _angle_of(d: int, probability: np.ndarray) -> np.ndarray:
    """The angle within which a uniform point is of y with this probability."""
    small = np.minimum(probability, 1 - probability)
    phi = np.arcsin(np.sqrt(special.betaincinv((d - 1) / 2, 0.5, 2 * small)))
    return np.where(probability <= 0.5, phi, math.pi - phi)


def _coordinate_rule(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of one coordinate of a uniform point of S^(n-1)."""
    if n == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    nodes, weights = special.roots_jacobi(NODES, (n - 3) / 2, (n - 3) / 2)
    return nodes, weights / weights.sum()


def _coordinate_tail(n: int, s: np.ndarray) -> np.ndarray:
    """P(v >= s) for such a coordinate v and s >= 0."""
    if n == 1:
        return np.where(s <= 1, 0.5, 0.0)
    return special.betainc((n - 1) / 2, 0.5, 1 - np.minimum(s, 1) ** 2) / 2


def _checked(d: int, theta: float) -> tuple[int, float]:
    d, theta = arguments.integer("d", d, 2), arguments.positive("theta", theta)
    if theta >= math.pi / 2:
        raise UserError(f"theta must be below π/2, got {theta!r}.")
    return d, theta
