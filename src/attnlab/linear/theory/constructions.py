"""Networks built by hand, one for every theorem of Section 5.

Source: Vladymyrov et al. (arXiv 2402.14180), Theorems 5.1 and 5.2, Section 5.3. Each function
returns weights that run like trained ones, as NumPy arrays of the precision `dtype`. The formula
for what they should compute is given beside them, and the printed formula too where the algebra
corrects it.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.weights import GDPlusPlus, Omegas
from attnlab.linear.problem import sums
from attnlab.linear.theory.convergence import preconditioned


def gradient_descent_network(steps: int, step: float, dtype: Any = float) -> GDPlusPlus:
    """Plain gradient descent on 1/2 ||y - X w||^2: omega_yx = -step in every layer."""
    steps = arguments.integer("steps", steps, 1)
    return GDPlusPlus(np.zeros(steps, dtype), np.full(steps, -step, dtype))


def least_squares_network(
    smallest: float, largest: float, layers: int, dtype: Any = float
) -> GDPlusPlus:
    """Theorem 5.1 for Sigma with these extreme eigenvalues.

    Layer l = 0, 1, ... preconditions with omega_xx = -(9/4)^l / (3 nu_0), which takes an
    eigenvalue s to s (1 + omega_xx s)^2 and the largest eigenvalue to 4/9 of itself. The last
    layer is a gradient step with omega_yx = -2 / (mu' + nu') for the extreme eigenvalues that
    remain (Lemma A.2).

    Parameters
    ----------
    smallest, largest
        The extreme eigenvalues of Sigma.
    layers
        The number of layers, the gradient step included.
    dtype
        The precision of the weights.
    """
    layers = arguments.integer("layers", layers, 1)
    mu, nu = arguments.positive("smallest", smallest), arguments.positive("largest", largest)
    if mu > nu:
        raise UserError(f"smallest must be at most largest = {largest!r}, got {smallest!r}.")
    xx = []
    for _ in range(layers - 1):
        omega = -1 / (3 * nu)
        xx.append(omega)
        mu, nu = preconditioned(mu, omega), preconditioned(nu, omega)
    yx = [0.0] * (layers - 1) + [-2 / (mu + nu)]
    return GDPlusPlus(np.array([*xx, 0.0], dtype), np.array(yx, dtype))


def rescaling_network(omega_yy: float, step: float, dtype: Any = float) -> Omegas:
    """Section 5.2: a gradient step, then a layer with omega_yy alone, y <- (1 + omega_yy lambda) y.

    w^2 = (1 + omega_yy lambda^1) step alpha, with lambda^1 = sum (y_i^1)^2 after the first layer.
    """
    zero = np.zeros(2, dtype)
    return Omegas(zero, zero, np.array([-step, 0.0], dtype), np.array([0.0, omega_yy], dtype))


def two_level_network(sigma_1: float, sigma_2: float, n: int, dtype: Any = float) -> Omegas:
    """Theorem 5.2: optimal ridge at two noise levels as n grows, for x ~ N(0, I / n).

    Layer 1 has omega_yx = -(1 + s1^2 + s2^2) / ((1 + s1^2) (1 + s2^2)) alone, layer 2 has
    omega_yy = -1 / (n (1 + s1^2 + s2^2)) alone.

    Parameters
    ----------
    sigma_1, sigma_2
        The two noise levels.
    n
        The number of tokens in the context.
    dtype
        The precision of the weights.
    """
    a = arguments.non_negative("sigma_1", sigma_1) ** 2
    b = arguments.non_negative("sigma_2", sigma_2) ** 2
    n = arguments.integer("n", n, 1)
    return rescaling_network(-1 / (n * (1 + a + b)), (1 + a + b) / ((1 + a) * (1 + b)), dtype)


def two_level_shrinkage(sigma_1: float, sigma_2: float, sigma: float) -> float:
    """The factor by which `two_level_network` multiplies w* at the level sigma, as n grows.

    It is c (1 - sigma^2 / (1 + s1^2 + s2^2)) with c = -omega_yx of layer 1. It equals the optimum
    1 / (1 + sigma^2) at sigma_1 and sigma_2 and at no other level.
    """
    a, b = sigma_1**2, sigma_2**2
    return (1 + a + b - sigma**2) / ((1 + a) * (1 + b))


def step_adaptation_network(omega_xy: float, omega_yx: float, dtype: Any = float) -> Omegas:
    """Section 5.3: omega_xy alone in layer 1, omega_yx alone in layer 2."""
    zero = np.zeros(2, dtype)
    return Omegas(zero, np.array([omega_xy, 0.0], dtype), np.array([0.0, omega_yx], dtype), zero)


def step_adaptation_weights(
    omega_xy: float, omega_yx: float, G: Float[Array, "p p"]
) -> Float[Array, " d"]:
    """The w^2 of `step_adaptation_network`, -omega_yx (1 + omega_xy lambda) Sigma w*, exactly.

    Here lambda = sum y_i^2.
    """
    _, alpha, lam = sums(G)
    return -omega_yx * (1 + omega_xy * lam) * alpha


def printed_step_adaptation_weights(
    omega_xy: float, omega_yx: float, G: Float[Array, "p p"]
) -> Float[Array, " d"]:
    """The w^2 of the text, with rho = sum r_i^2 in place of lambda.

    Its error is of first order in omega_xy.
    """
    Sigma, alpha, lam = sums(G)
    rho = lam - jnp.vdot(alpha, jnp.linalg.solve(Sigma, alpha))
    return -omega_yx * (1 + omega_xy * rho) * alpha
