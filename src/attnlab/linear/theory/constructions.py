"""Networks built by hand, one for every theorem of Section 5.

Source: Vladymyrov et al. (arXiv 2402.14180), Theorems 5.1 and 5.2, Section 5.3. Each function
returns weights that run like trained ones; what they should compute stands beside them, with the
printed formula kept where the algebra corrects it.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.weights import GDPlusPlus, Omegas
from attnlab.linear.problem import sums
from attnlab.linear.theory.convergence import preconditioned


def gradient_descent(steps: int, step: float, dtype: Any = float) -> GDPlusPlus:
    """Plain gradient descent on 1/2 ||y - X w||^2: omega_yx = -step in every layer."""
    shape = (arguments.integer("steps", steps, 1),)
    return GDPlusPlus(jnp.zeros(shape, dtype), jnp.full(shape, -step, dtype))


def least_squares_network(
    smallest: float, largest: float, layers: int, dtype: Any = float
) -> GDPlusPlus:
    """Theorem 5.1 for Sigma with these extreme eigenvalues.

    Layer l = 0, 1, ... preconditions, omega_xx = -(9/4)^l / (3 nu_0), which takes an eigenvalue s
    to s (1 - gamma s)^2 and the largest to 4/9 of itself; the last layer is the gradient step
    -2 / (mu' + nu') with the extreme eigenvalues that are left (Lemma A.2).
    """
    layers = arguments.integer("layers", layers, 1)
    mu, nu = arguments.positive("smallest", smallest), arguments.positive("largest", largest)
    if mu > nu:
        raise UserError(f"smallest must be at most largest = {largest!r}, got {smallest!r}.")
    xx = []
    for _ in range(layers - 1):
        xx.append(-1 / (3 * nu))
        mu, nu = preconditioned(mu, nu), preconditioned(nu, nu)
    yx = [0.0] * (layers - 1) + [-2 / (mu + nu)]
    return GDPlusPlus(jnp.array([*xx, 0.0], dtype), jnp.array(yx, dtype))


def rescaling_network(omega_yy: float, step: float, dtype: Any = float) -> Omegas:
    """Section 5.2: a gradient step, then a layer with omega_yy alone, y <- (1 + omega_yy lambda) y.

    w^2 = (1 + omega_yy lambda^1) step alpha, with lambda^1 = sum (y_i^1)^2 after the first layer.
    """
    zero = jnp.zeros(2, dtype)
    return Omegas(zero, zero, zero.at[0].set(-step), zero.at[1].set(omega_yy))


def two_level_network(sigma_1: float, sigma_2: float, n: int, dtype: Any = float) -> Omegas:
    """Theorem 5.2: ridge at both noise levels as n grows, for x ~ N(0, I / n).

    Layer 1 has omega_yx = -(1 + s1^2 + s2^2) / ((1 + s1^2) (1 + s2^2)) alone, layer 2 has
    omega_yy = -1 / (n (1 + s1^2 + s2^2)) alone.
    """
    a = arguments.non_negative("sigma_1", sigma_1) ** 2
    b = arguments.non_negative("sigma_2", sigma_2) ** 2
    n = arguments.integer("n", n, 1)
    return rescaling_network(-1 / (n * (1 + a + b)), (1 + a + b) / ((1 + a) * (1 + b)), dtype)


def two_level_shrinkage(sigma_1: float, sigma_2: float, sigma: float) -> float:
    """What `two_level_network` multiplies w* by at the level sigma, in the limit n -> infinity.

    c (1 - sigma^2 / (1 + s1^2 + s2^2)), with c = -omega_yx of layer 1; the optimum is
    1 / (1 + sigma^2), met at sigma_1 and sigma_2 and nowhere else.
    """
    a, b = sigma_1**2, sigma_2**2
    return (1 + a + b - sigma**2) / ((1 + a) * (1 + b))


def step_adaptation_network(omega_xy: float, omega_yx: float, dtype: Any = float) -> Omegas:
    """Section 5.3: omega_xy alone in layer 1, omega_yx alone in layer 2."""
    zero = jnp.zeros(2, dtype)
    return Omegas(zero, zero.at[0].set(omega_xy), zero.at[1].set(omega_yx), zero)


def step_adaptation_weights(
    omega_xy: float, omega_yx: float, G: Float[Array, "p p"]
) -> Float[Array, " d"]:
    """w^2 = -omega_yx (1 + omega_xy lambda) Sigma w* exactly, lambda = sum y_i^2."""
    _, alpha, lam = sums(G)
    return -omega_yx * (1 + omega_xy * lam) * alpha


def printed_step_adaptation_weights(
    omega_xy: float, omega_yx: float, G: Float[Array, "p p"]
) -> Float[Array, " d"]:
    """The text's w^2, with rho = sum r_i^2 in place of lambda: off at first order in omega_xy."""
    Sigma, alpha, lam = sums(G)
    rho = lam - jnp.vdot(alpha, jnp.linalg.solve(Sigma, alpha))
    return -omega_yx * (1 + omega_xy * rho) * alpha
