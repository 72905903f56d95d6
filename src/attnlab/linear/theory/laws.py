"""Exact laws of linear transformers on noisy regression, computed without sampling.

Two laws are derived here for the setting of Vladymyrov et al. (arXiv 2402.14180). GD++ of any depth
computes w = f(Sigma) w*, so that it cannot beat ridge with the constant E sigma^2; and one layer of
any of the three models is one gradient step. Both need E sum_i g(s_i) over the eigenvalues s of a
Wishart matrix, which is a quadrature from its exact one-point density. Every law takes the problem
and returns an `Estimate`, as the Monte Carlo in `attnlab.linear.simulation` does.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre
from scipy.special import eval_genlaguerre, gammaln

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.problem import NoisyRegression
from attnlab.stats.estimate import Estimate

NODES = 400  # Gauss-Legendre nodes in sqrt(s); twice as many change a law by less than 1e-12
LEVELS = 64  # quadrature nodes of the noise law


def oracle_loss(problem: NoisyRegression) -> Estimate:
    """The loss of the oracle, 1/2 E sum_i sigma^2 / (s_i + sigma^2).

    It is half the posterior variance of w given sigma.
    """
    return _over_noise(problem, lambda s, v: v / (s + v))


def const_ridge_loss(problem: NoisyRegression, penalty: float) -> Estimate:
    """The unadjusted loss of ridge with one penalty c, 1/2 E sum (c^2 + s sigma^2) / (s + c)^2."""
    c = arguments.non_negative("penalty", penalty)
    return _over_noise(problem, lambda s, v: (c**2 + s * v) / (s + c) ** 2)


def gd_plus_plus_floor(problem: NoisyRegression) -> Estimate:
    """The least adjusted loss of GD++ at any depth, which is that of ridge with E sigma^2.

    w = f(Sigma) w* has the loss (f - 1)^2 + f^2 E sigma^2 / s at an eigenvalue s. The least is
    E sigma^2 / (s + E sigma^2), at f = s / (s + E sigma^2).
    """
    best = const_ridge_loss(problem, problem.noise.second_moment())
    return Estimate(best.value - oracle_loss(problem).value)


def one_layer_loss(problem: NoisyRegression) -> Estimate:
    """The least adjusted loss of one layer.

    1/2 d (1 - n / (n + d + 1 + E sigma^2)), less the oracle's loss: one layer of any of the models
    is w = c alpha (a matrix in place of c gains nothing, because the inputs are isotropic), and
    the best c is 1 / (n + d + 1 + E sigma^2).
    """
    _require_unit_variance(problem)
    d, n, v = problem.d, problem.n, problem.noise.second_moment()
    return Estimate(d / 2 * (1 - n / (n + d + 1 + v)) - oracle_loss(problem).value)


def one_layer_step(problem: NoisyRegression) -> float:
    """The step -omega_yx = 1 / (n + d + 1 + E sigma^2) of the best one-layer network."""
    _require_unit_variance(problem)
    return 1 / (problem.n + problem.d + 1 + problem.noise.second_moment())


@lru_cache(maxsize=32)
def wishart_eigenvalues(
    d: int, n: int, nodes: int = NODES
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Nodes s and weights r with E sum_i g(s_i) = sum r g(s), for Sigma ~ Wishart_d(n, I).

    The density of the min(n, d) positive eigenvalues is proportional to
    prod_{i<j} |s_i - s_j| prod w(s_i), w = s^((|n - d| - 1)/2) e^(-s/2). By de Bruijn's integral
    E prod h(s_i) is a Pfaffian of A[h] = double integral of sgn(y - x) phi_j(x) phi_k(y) h(x) h(y)
    (bordered by the integrals of phi_j h for an odd number of eigenvalues), so that the one-point
    density is the derivative 1/2 tr(A^-1 A'). With s = z^2 every integrand is smooth from z = 0
    on. Where n < d the other d - n eigenvalues are 0, and the node 0 has the weight d - n.
    """
    arguments.integer("d", d, 1)
    arguments.integer("n", n, 1)
    size, gap = min(n, d), abs(n - d)
    top = np.sqrt(n) + np.sqrt(d) + 10
    t, weight = legendre.leggauss(nodes)
    z, weight = top * (t + 1) / 2, top * weight / 2
    phi = _laguerre(size, gap, z)
    primitive = _primitive(t, top / 2, phi)  # from z = 0
    total = (phi * weight).sum(axis=1)
    signed = total[:, None] - 2 * primitive  # integral of sgn(y - x) phi(y) dy
    A = (phi * weight) @ signed.T
    A = (A - A.T) / 2
    rows, columns = phi, signed
    if size % 2:
        A = np.block([[A, total[:, None]], [-total[None, :], np.zeros((1, 1))]])
        rows = np.vstack([phi, np.zeros_like(z)])
        columns = np.vstack([signed, np.ones_like(z)])
    # d/d eps of 1/2 tr(A^-1 A[1 + eps delta_z]); h occurs twice in A, which cancels the half.
    density = np.einsum("kj,jz,kz->z", np.linalg.inv(A), rows, columns)
    s, r = z**2, density * weight
    if n < d:
        s, r = np.append(s, 0.0), np.append(r, float(d - n))
    s.flags.writeable = r.flags.writeable = False
    return s, r


def frequent_eigenvalues(
    d: int, n: int, rarest: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """The positive nodes of `wishart_eigenvalues` and their weights, without both ends.

    Each end that is left out has fewer than `rarest` eigenvalues per sequence.
    """
    s, r = wishart_eigenvalues(d, n)
    below = np.cumsum(np.where(s > 0, r, 0))
    seen = (s > 0) & (r > 0) & (below >= rarest) & (below[-1] - below >= rarest)
    return s[seen], r[seen]


def _laguerre(size: int, gap: int, z: np.ndarray) -> np.ndarray:
    """phi_j: orthogonal polynomials in s = z^2 times the weight, scaled to order one."""
    s = z**2
    root = gap * np.log(z) - s / 2 - gammaln((gap + 1) / 2 + 1)
    base = np.exp(root - root.max())
    # The polynomials that are orthogonal under e^-s instead of e^-s/2 span the same space and are
    # nearly orthogonal where the eigenvalues are.
    polynomials = np.array([eval_genlaguerre(j, gap, s) for j in range(size)])
    phi = polynomials * base
    return phi / np.abs(phi).max(axis=1, keepdims=True)


def _primitive(t: np.ndarray, half: float, values: np.ndarray) -> np.ndarray:
    """The integral from the lower end to every node, for values at Gauss-Legendre nodes."""
    degree = len(t) - 1
    _, weight = legendre.leggauss(len(t))
    basis = legendre.legvander(t, degree)
    coefficients = (values * weight) @ basis * (np.arange(degree + 1) + 0.5)
    integrated = legendre.legint(coefficients, lbnd=-1, axis=1)
    return half * legendre.legval(t, integrated.T)


def _over_noise(
    problem: NoisyRegression, cost: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Estimate:
    """1/2 E sum_i cost(s_i, sigma^2) over the eigenvalues and the noise law."""
    _require_unit_variance(problem)
    s, r = wishart_eigenvalues(problem.d, problem.n)
    levels, prior = problem.noise.quadrature(LEVELS)
    with np.errstate(invalid="ignore"):
        values = cost(s[None, :], levels[:, None] ** 2)
    values = np.where((s[None, :] == 0) & (levels[:, None] == 0), 1.0, values)
    return Estimate(float(prior @ values @ r / 2))


def _require_unit_variance(problem: NoisyRegression) -> None:
    if problem.variance != 1.0:
        raise UserError(f"variance must be 1 for this law, got {problem.variance!r}.")
