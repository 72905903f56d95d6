"""Nets of the unit sphere: finitely many directions of which one is near to every point.

A net k_1, ..., k_B has the covering angle theta where every y of the sphere has a k_b within
theta. The covering angle of given points is computed exactly: the point farthest from all of them
is the outer normal of a facet of their convex hull, at the same angle from all of its corners.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant


def sphere_net(d: int, points: int) -> Float[np.ndarray, "B d"]:
    """Well-spread directions: equal angles for d = 2, a Fibonacci spiral for d = 3.

    Parameters
    ----------
    d
        Dimension, 2 or 3.
    points
        Number B of the directions, at least 4.
    """
    points = arguments.integer("points", points, 4)
    if d == 2:
        angles = 2 * math.pi * np.arange(points) / points
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if d == 3:
        places = np.arange(points) + 0.5
        height = 1 - 2 * places / points
        turn = math.pi * (1 + math.sqrt(5)) * places
        radius = np.sqrt(1 - height**2)
        return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
    raise UserError(f"d must be 2 or 3, got {d!r}.")


def covering_angle(net: Float[np.ndarray, "B d"]) -> float:
    """The largest angle from a point of the sphere to the nearest direction of the net."""
    from scipy.spatial import ConvexHull

    # A facet lies in normal . x = distance; its corners are at arccos(distance) from the normal.
    distances = -ConvexHull(net).equations[:, -1]
    return math.acos(float(distances.min()))


def tie_probability(net: Float[np.ndarray, "B d"], margin: float) -> float:
    """A bound on P(the two largest of k_1.y, ..., k_B.y differ by at most `margin`), y uniform.

    The cells of the best and of the second best direction have a common border, so that the two
    are corners of one facet of the hull. For one such pair (k - k').y is |k - k'| times one
    coordinate t of a uniform point. For d >= 3 its density is at most c_d, and for d = 2
    P(|t| <= m) = (2/pi) arcsin m.

    Parameters
    ----------
    net
        The directions.
    margin
        Difference of two scores that counts as a tie.
    """
    from scipy.spatial import ConvexHull

    d = net.shape[1]
    corners = ConvexHull(net).simplices
    pairs = np.concatenate([corners[:, [i, j]] for i in range(d) for j in range(i)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    within = np.minimum(1, margin / np.linalg.norm(net[pairs[:, 0]] - net[pairs[:, 1]], axis=1))
    if d == 2:
        return float((2 / math.pi * np.arcsin(within)).sum())
    return float((2 * marginal_constant(d) * within).sum())
