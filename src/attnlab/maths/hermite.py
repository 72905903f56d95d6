"""Hermite expansions of activations and targets under the standard normal law.

With He_i the probabilists' polynomials (E[He_i He_j] = i! [i = j]), a function s of finite second
moment has c_i = E[s(u) He_i(u)], and the part beyond degree r has the root mean square c_r^*,
c_r^*^2 = E[s^2] - sum_{i<=r} c_i^2 / i! (Demir, Dogan, arXiv 2509.15152, Theorem 3). Integrals are
adaptive, split at 0 where the usual activations have their kink, and come with a bound of their
error.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.namespace import namespace_of

Activation = str | Callable[[Any], Any]

# At CUT the normal density is 1e-298, close to the smallest float64. Beyond HORIZON a function of
# finite second moment has no more than the share TAIL of it.
CUT, HORIZON = 37.0, 14.0
TAIL = 1e-7
ZERO = 1e-10  # coefficients below this times the root mean square are 0


def _erf(x: Any) -> Any:
    if namespace_of(x) is np:
        from scipy.special import erf
    else:
        from jax.scipy.special import erf
    return erf(x)


# Each takes NumPy and JAX arrays alike, and keeps their precision.
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: x,
    "relu": lambda x: namespace_of(x).maximum(x, 0),
    "tanh": lambda x: namespace_of(x).tanh(x),
    "erf": _erf,
    "gelu": lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "sign": lambda x: namespace_of(x).sign(x),
    "quadratic": lambda x: (x * x - 1) / math.sqrt(2),
    "cubic": lambda x: (x * x * x - 3 * x) / math.sqrt(6),
}


def activation_function(activation: Activation) -> Callable[[Any], Any]:
    """The function of that name, or the given callable itself."""
    if callable(activation):
        return activation
    return ACTIVATIONS[arguments.one_of("activation", activation, ACTIVATIONS)]


def polynomial(coefficients: tuple[float, ...]) -> Callable[[Any], Any]:
    """x -> sum_i coefficients[i] x^i, as an activation."""

    def evaluate(x: Any) -> Any:
        value = coefficients[-1] + 0 * x
        for c in reversed(coefficients[:-1]):
            value = value * x + c
        return value

    return evaluate


@dataclass(frozen=True)
class HermiteSeries:
    """c_0..c_r, E[s^2] and the quadrature's own bound of its errors."""

    coefficients: tuple[float, ...]
    second_moment: float
    error: float

    @property
    def degree(self) -> int:
        """The highest degree that was computed."""
        return len(self.coefficients) - 1

    def residual(self, degree: int) -> float:
        """c_r^*: the root mean square of what the terms up to `degree` leave out."""
        kept = sum(c * c / math.factorial(i) for i, c in enumerate(self._to(degree)))
        left = self.second_moment - kept
        # A polynomial leaves nothing out; the subtraction then leaves only rounding.
        return math.sqrt(left) if left > 1e-12 * self.second_moment else 0.0

    def monomials(self, degree: int) -> tuple[float, ...]:
        """The coefficients of sum_{i<=degree} c_i He_i(x) / i! as a polynomial in x."""
        from numpy.polynomial.hermite_e import herme2poly

        scaled = [c / math.factorial(i) for i, c in enumerate(self._to(degree))]
        padded = np.zeros(degree + 1)
        found = herme2poly(scaled)
        padded[: len(found)] = found
        return tuple(float(c) for c in padded)

    def _to(self, degree: int) -> tuple[float, ...]:
        degree = arguments.integer("degree", degree, 0)
        if degree > self.degree:
            raise UserError(
                f"degree must be at most {self.degree}, the degree of this series, got {degree}."
            )
        return self.coefficients[: degree + 1]


@lru_cache(maxsize=256)
def hermite_series(activation: Activation, degree: int = 4) -> HermiteSeries:
    """c_0..c_degree and E[s^2] by adaptive quadrature.

    A function whose integrals do not converge is refused with one sentence.
    """
    from scipy.integrate import quad_vec

    degree = arguments.integer("degree", degree, 0)
    function = activation_function(activation)
    name = activation if isinstance(activation, str) else getattr(function, "__name__", "callable")

    def integrand(u: float) -> Float[np.ndarray, " k"]:
        value = _value(function, u, name)
        density = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        powers = hermite_polynomials(np.array([u]), degree)[:, 0]
        return np.append(value * powers, value * value) * density

    total, bound = np.zeros(degree + 2), 0.0
    tail = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for low, high in ((-CUT, -HORIZON), (-HORIZON, 0), (0, HORIZON), (HORIZON, CUT)):
            part, error = quad_vec(integrand, low, high, epsabs=1e-13, epsrel=1e-12, limit=400)[:2]
            total, bound = total + part, bound + float(error)
            tail += float(part[-1]) if abs(low + high) > HORIZON else 0.0
    # Odd and even functions have coefficients that are 0 by symmetry, not 1e-17: whether there is a
    # linear part or a mean decides which law holds.
    scale = math.sqrt(abs(float(total[-1])))
    total[:-1] = np.where(np.abs(total[:-1]) > ZERO * scale, total[:-1], 0.0)
    settled = np.isfinite(total).all() and bound <= 1e-6 * float(np.abs(total).max() + 1e-6)
    if not settled:
        raise UserError(
            f"activation must have integrals that adaptive quadrature can compute, got {name} with "
            f"an error of {bound:.3g} in E[s^2] = {total[-1]:.3g}."
        )
    if tail > TAIL * max(float(total[-1]), 1e-300):
        raise UserError(
            f"activation must have a finite second moment under N(0, 1), got {name} with "
            f"{tail:.3g} of E[s^2] beyond |u| = {HORIZON:g}."
        )
    return HermiteSeries(tuple(float(c) for c in total[:-1]), float(total[-1]), bound)


def hermite_polynomials(x: Float[np.ndarray, " n"], degree: int) -> Float[np.ndarray, "k n"]:
    """He_0(x)..He_degree(x), one row each, by He_{i+1} = x He_i - i He_{i-1}."""
    rows = [np.ones_like(x), x]
    for i in range(1, degree):
        rows.append(x * rows[i] - i * rows[i - 1])
    return np.stack(rows[: degree + 1])


def scaled_constants(
    function: Callable[[Any], Any], s: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "3 n"]:
    """(c_0, c_1, c_1^*) of u -> function(sqrt(s) u) for every s."""
    return scaled_table(function, float(s.min()), float(s.max()))(s)


def scaled_table(
    function: Callable[[Any], Any], least: float, largest: float
) -> Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, "3 n"]]:
    """`scaled_constants` as a function of s between the two ends.

    Gauss-Legendre on each side of 0, where the usual kinks stay whatever s is, on a grid of
    sqrt(s) with cubic interpolation between: good to about 1e-7.
    """
    from scipy.interpolate import CubicSpline

    u, weights = _half_line()
    low, high = math.sqrt(least), math.sqrt(largest)
    grid = np.array([low]) if high - low < 1e-12 else np.linspace(low, high + 1e-9, 400)
    right, left = (function(grid[:, None] * (sign * u)) for sign in (1.0, -1.0))
    c0 = (right + left) @ weights
    c1 = (right - left) @ (weights * u)
    rest = (right * right + left * left) @ weights - c0 * c0 - c1 * c1
    table = np.stack([c0, c1, np.sqrt(np.maximum(rest, 0.0))])
    if len(grid) == 1:
        return lambda s: np.repeat(table, len(s), 1)
    spline = CubicSpline(grid, table.T)
    return lambda s: spline(np.sqrt(s)).T


@cache
def _half_line() -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Nodes on (0, 10) and weights of the integral against the normal density there."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    u = 5 * (nodes + 1)
    return u, 5 * weights * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)


def _value(function: Callable[[Any], Any], u: float, name: str) -> float:
    value = float(np.asarray(function(np.array([u]))).reshape(-1)[0])
    if not math.isfinite(value) and abs(u) <= HORIZON:
        raise UserError(
            f"activation must be finite on the real line, got {name}({u:.3g}) = {value}."
        )
    # Beyond the horizon an overflow counts as a heavy tail, which the caller reports.
    return value if math.isfinite(value) else 1e150
