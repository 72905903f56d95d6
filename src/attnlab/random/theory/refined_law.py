"""The random transformer's law at finite dimension: the norm of each prompt is kept.

This is a heuristic without fitted constants. At finite d the norm s = |vec H|^2 / t varies from
prompt to prompt, and the features of a prompt are those of u -> sigma(sqrt(s) u), with Hermite
constants c_0(s), a(s) and e(s). The deterministic equivalents of the law then carry weights
1 / (1 + chi(s)), and averages over (s, y, o) come from a Monte Carlo over prompts alone, without
any regression. If s = 1 for all prompts, the refinement is the law itself. It neglects that the
shape of Cov(h) depends on s, and the few large eigenvalues that the tasks contribute in degree 2.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.roots import root
from attnlab.random.prompts import Prompts
from attnlab.random.theory.linear_attention_law import LawErrors, Setting, resolvent

LEAST_LINEAR_PART = 1e-6  # of the standard deviation of the features


class PromptStatistics(NamedTuple):
    """What the refinement depends on of prompts: s, y and o = y x.b / (sqrt(s) b_1^2)."""

    s: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    o: Float[np.ndarray, " n"]


class ScaledConstants(NamedTuple):
    """c_0(s), a(s) and e(s) of the activation, one entry for each prompt."""

    c0: Float[np.ndarray, " n"]
    a: Float[np.ndarray, " n"]
    e: Float[np.ndarray, " n"]


ConstantsOf = Callable[[Any], ScaledConstants]


def statistics_of(prompts: Prompts, t: float, b1: float) -> PromptStatistics:
    """s, y and o of prompts, with t the mean square norm of the training prompts."""
    s = prompts.square_norms() / t
    overlap = (prompts.query * prompts.memory[:, :-1]).sum(1)
    return PromptStatistics(s, prompts.label, prompts.label * overlap / (np.sqrt(s) * b1 * b1))


def refined_errors(
    setting: Setting,
    constants: ConstantsOf,
    train: PromptStatistics,
    test: PromptStatistics,
    *,
    tau: float,
    psi: float,
    delta: float,
    intercept: bool,
) -> LawErrors:
    """e_ICL, e_IDG and training error of random features at finite dimension.

    Parameters
    ----------
    setting
        The problem.
    constants
        Gives (c_0, a, e) of the activation for an array of s.
    train, test
        Statistics of training and of test prompts.
    tau, psi
        The ratios n / d^2 and m / n.
    delta
        Ridge parameter lambda / d, which must be positive: at 0 the fixed point is singular for
        psi > 1, and a small value such as 1e-12 gives its limit.
    intercept
        Whether the mean c_0 of the features is not 0.
    """
    tau, psi = arguments.positive("tau", tau), arguments.positive("psi", psi)
    delta = arguments.positive("delta", delta)
    if setting.target.b1 == 0:
        raise UserError("target must have a linear part, E[s He_1] other than 0, got 0.")
    q, kappa, b = setting.q, setting.kappa, setting.target.b1**2
    c0, a, e = constants(train.s)
    if not np.any(np.abs(a) > LEAST_LINEAR_PART * np.hypot(a, e)):
        raise UserError(
            "activation must have a linear part, E[s He_1] other than 0, for the refinement, got 0."
        )
    eta = psi * tau

    zeta, P, weight = _fixed_point(q, kappa, tau, eta, delta, a, e)
    xi = (1 + q) * zeta
    nu = q + xi
    M, dM = resolvent(nu, kappa)
    s1, s2 = 1 - xi * M, 1 - 2 * xi * M - xi * xi * dM
    L, A2, v = eta - s2, 1 - 2 * nu * M - nu * nu * dM, zeta * (eta - s1)

    shift = 0.0
    if intercept:
        shift = float((c0 * train.y * weight).mean() / (c0 * c0 * weight).mean())
    V = (train.y - shift * c0) ** 2
    W = float((a * train.o * weight).mean()) / P

    # u^T f(S) u for u = S beta, by the spectrum of R; one factor W a u.
    uu1, uu2 = b * (1 - nu + nu * nu * M), b * (1 + q) * A2
    t2, t1, t0 = (s1 - s2) / zeta, -((1 + q) ** 2) * dM, (1 - s1) / zeta
    J, J_test = W * uu1, W * b * (1 - nu * M)
    X0 = W * W * (uu1 - zeta * uu2 + zeta * zeta * t2 / L * uu2)
    Y0 = W * W * uu2 / L
    X0_test = W * W * (uu2 + zeta * zeta * t1 / L * uu2)

    # Traces over the D directions; tau = n / D turns their sum into 1 / (tau P^2).
    T_KK, T_K1, T_11 = s1 - v * t2 / L, t2 / L, 1 / (zeta * zeta * L)
    T_IK, T_I1 = t0 - v * t1 / L, t1 / L
    scale = weight * weight / (tau * P * P)
    known = V - 2 * a * train.o * J
    A, E = a * a, e * e
    on_K, on_1, on_test = A * T_KK + E * T_K1, A * T_K1 + E * T_11, A * T_IK + E * T_I1

    system = np.eye(2) - np.array([[(scale * f * g).mean() for g in (A, E)] for f in (on_K, on_1)])
    if np.linalg.det(system) <= 0:
        return LawErrors(math.inf, math.inf, 0.0)
    right = np.array([X0 + (scale * on_K * known).mean(), Y0 + (scale * on_1 * known).mean()])
    X, Y = np.linalg.solve(system, right)
    residual = known + A * X + E * Y
    X_test = X0_test + float((scale * on_test * residual).mean())

    c0t, at, et = constants(test.s)
    outside = (
        (test.y - shift * c0t) ** 2 - 2 * at * test.o * J_test + at * at * X_test + et * et * Y
    )
    idg, train_error = residual.mean(), (residual * weight * weight).mean()
    return LawErrors(float(outside.mean()), float(idg), float(train_error))


def _fixed_point(
    q: float,
    kappa: float,
    tau: float,
    eta: float,
    delta: float,
    a: Float[np.ndarray, " n"],
    e: Float[np.ndarray, " n"],
) -> tuple[float, float, Float[np.ndarray, " n"]]:
    """zeta, P = E[a^2 / (1 + chi)] and the weights 1 / (1 + chi(s)).

    chi = (a^2 s_1 + e^2 / zeta) / (tau P) and P zeta (eta - s_1) = E[e^2 / (1 + chi)] + delta. For
    given zeta, P is the root of a monotone equation; zeta is then bracketed in its logarithm.
    """
    point = _Point(q, kappa, tau, eta, delta, a * a, e * e)
    low, high = math.log(1e-9), 5.0
    for _ in range(200):
        middle = (low + high) / 2
        value = point.excess(middle)
        if value > 0:
            high = middle
        else:
            low = middle
        if -math.inf < value <= 0:
            break
    found = root(point.excess, low, high) if point.excess(low) > -math.inf else high
    zeta = math.exp(found)
    P, weight, _ = point.weights(zeta)
    return zeta, P, weight


class _Point(NamedTuple):
    """The equations of the fixed point, with A = a^2 and E = e^2 of every prompt."""

    q: float
    kappa: float
    tau: float
    eta: float
    delta: float
    A: np.ndarray
    E: np.ndarray

    def weights(self, zeta: float) -> tuple[float, np.ndarray, float]:
        """P, the weights and s_1 at this zeta; P = 0 where there is no positive root."""
        xi = (1 + self.q) * zeta
        s1 = 1 - xi * resolvent(self.q + xi, self.kappa)[0]
        A, load = self.A, (self.A * s1 + self.E / zeta) / self.tau
        if float((A / load).mean()) <= 1:
            return 0.0, np.zeros_like(A), s1
        # P (1 + chi) = P + load, so that E[a^2 / (1 + chi)] = P becomes E[A / (P + load)] = 1.
        excess = lambda log_P: float((A / (math.exp(log_P) + load)).mean()) - 1  # noqa: E731
        top = math.log(float(A.mean())) + 1e-9
        bottom = top - 1
        while excess(bottom) < 0:
            bottom -= 5
        P = math.exp(root(excess, bottom, top))
        return P, P / (P + load), s1

    def excess(self, log_zeta: float) -> float:
        """The second equation divided by P, which goes to 0 with delta when psi > 1."""
        zeta = math.exp(log_zeta)
        P, weight, s1 = self.weights(zeta)
        if P == 0:
            return -math.inf
        return zeta * (self.eta - s1) - float((self.E * weight).mean()) / P - self.delta / P
