"""d generalised heads of rank 1 that see all of degree 1: they refute the sentence on r = 1.

In the setting of Theorem 2 of Amsel, Yehudai, Bruna (arXiv 2407.16153), x = (x_1 - x_2) / sqrt(2)
and y uniform, lambda_1 d x.y is the part of degree 1 of sgn(x.y), and it is a sum over coordinates.
Head h looks at the coordinate h only: its weights are (1 + s_h) / 2 and (1 - s_h) / 2 with
s_h = lambda_1 d x_h y_h / c_h, V_h = c_h I, |c_h| >= lambda_1 d and sum c_h = 1. The error is
exactly (1 - eta_1^2) / 2 (`theory.upper_bound.plateau`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attnlab import arguments
from attnlab.maths.harmonics import coefficient


def linear_head_values(d: int) -> np.ndarray:
    """The c_h: lambda_1 d in size at least, of both signs, with the sum 1."""
    d = arguments.integer("d", d, 3)
    size = coefficient(d, 1) * d
    values = np.where(np.arange(d) % 2 == 0, size, -size)
    values[0] += 1 - values.sum()  # adds 1 where d is even and takes lambda_1 d - 1 where it is odd
    if abs(values[0]) < size:
        values[:3] = [2 * size + 1 - values[3:].sum(), -size, -size]
    return values


def linear_heads(X: Any, y: Any) -> np.ndarray:
    """The answers of the layer to pairs X, (samples, 2, d), and sources y, (samples, d)."""
    d = X.shape[2]
    values = linear_head_values(d)
    x = (X[:, 0] - X[:, 1]) / math.sqrt(2)
    s = coefficient(d, 1) * d * x * y / values
    assert np.abs(s).max() <= 1 + 1e-9, "weights of attention are between 0 and 1"
    first = ((1 + s) / 2) @ values
    second = ((1 - s) / 2) @ values
    return first[:, None] * X[:, 0] + second[:, None] * X[:, 1]
