"""In-context error of ridge-trained linear attention in the limit of large dimension.

Source: Lu, Letey, Zavatone-Veth, Maiti, Pehlevan, "Asymptotic theory of in-context learning by
linear attention" (arXiv 2405.11751), for linear targets. With alpha = l/d, kappa = k/d and
tau = n/d^2 fixed, everything depends on the pool of tasks through the resolvent trace M_kappa of
its Marchenko-Pastur spectrum. Non-linear targets and the intercept are derived in this project and
supported by simulation: the part of the target beyond its first Hermite term acts as label noise.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.hermite import Activation, hermite_series
from attnlab.maths.roots import best_positive, root


class TargetConstants(NamedTuple):
    """What a law depends on of a target: b_0 = E s, b_1 = E s He_1, E_2 = E s^2."""

    b0: float
    b1: float
    E2: float


class LawErrors(NamedTuple):
    """e_ICL on fresh tasks, e_IDG on the pool's tasks and the training error, noise included."""

    icl: float
    idg: float
    train: float


LINEAR = TargetConstants(0.0, 1.0, 1.0)
SLIGHT = 1e-5  # of its root mean square: the linear part in place of none


def target_constants(target: Activation) -> TargetConstants:
    """b_0, b_1 and E_2 of a named target or a callable."""
    series = hermite_series(target, 1)
    return TargetConstants(series.coefficients[0], series.coefficients[1], series.second_moment)


def resolvent(x: float, kappa: float) -> tuple[float, float]:
    """M_kappa(x) = tr (R + x)^-1 / d for R = (1/k) sum xi xi^T, and its derivative in x."""
    inverse = 0.0 if math.isinf(kappa) else 1 / kappa
    shifted = x + 1 - inverse
    root = math.sqrt(shifted * shifted + 4 * x * inverse)
    if shifted >= 0:
        M = 2 / (shifted + root)
    else:
        # The same number without the cancellation, which at x = 0 would divide by zero.
        M = math.inf if x == 0 else (root - shifted) * kappa / (2 * x)
    return M, -0.5 * M * M * (1 + (x + 1 + inverse) / root)


@dataclass(frozen=True)
class Setting:
    """A problem in the limit.

    Parameters
    ----------
    alpha
        Context length l / d.
    kappa
        Tasks in the pool k / d; infinite for a fresh task for each prompt.
    rho
        Variance of the label noise.
    target
        Constants of the link function.
    """

    alpha: float
    kappa: float
    rho: float
    target: TargetConstants = LINEAR

    def __post_init__(self) -> None:
        arguments.positive("alpha", self.alpha)
        if self.kappa != math.inf:
            arguments.positive("kappa", self.kappa)
        arguments.non_negative("rho", self.rho)

    @property
    def linear_part(self) -> float:
        """b_1, or in place of 0 a slight one: the laws are continuous there, in b_1^2.

        A target without a linear part teaches nothing, and what is fitted to it is noise.
        """
        _, b1, E2 = self.target
        if E2 + self.rho == 0:
            raise UserError("target must not be 0 everywhere where rho is 0, got E[s^2] = 0.")
        return b1 if b1 != 0 else SLIGHT * math.sqrt(E2 + self.rho)

    @property
    def effective_noise(self) -> float:
        """rho_e = (E_2 + rho - b_1^2) / b_1^2."""
        b = self.linear_part**2
        return (self.target.E2 + self.rho - b) / b

    def label_noise(self, intercept: bool) -> float:
        """rho_e, less b_0^2 / b_1^2 where an intercept takes the mean away."""
        b0, b1 = self.target.b0, self.linear_part
        return self.effective_noise - (b0 / b1) ** 2 if intercept else self.effective_noise

    @property
    def q(self) -> float:
        """(1 + rho_e) / alpha, the noise of the context; the intercept does not change it."""
        return (1 + self.effective_noise) / self.alpha


def errors(setting: Setting, tau: float, lam: float, intercept: bool = False) -> LawErrors:
    """e_ICL, e_IDG and training error of linear attention in the limit.

    Parameters
    ----------
    setting
        The problem.
    tau
        Training prompts n / d^2.
    lam
        Ridge parameter lambda; 0 is the limit from above.
    intercept
        Whether the model has an unpenalised constant.

    Notes
    -----
    The training error is e_IDG (1 - s_1 / tau)^2, s_1 = 1 - xi M: leaving one sample out, its
    residual shrinks by that factor when it is put back.
    """
    tau, lam = arguments.positive("tau", tau), arguments.non_negative("lam", lam)
    b1 = setting.linear_part
    q, rho = setting.q, setting.label_noise(intercept)
    xi = saddle(q, setting.kappa, tau, tau * lam / (b1 * b1))
    nu = q + xi
    M, dM = resolvent(nu, setting.kappa)
    xiM = xi * M
    A2 = 1 - 2 * nu * M - nu * nu * dM
    s2 = 1 - 2 * xiM - xi * xi * dM
    if tau == s2:
        return LawErrors(math.inf, math.inf, 0.0)
    g = (rho + nu - nu * nu * M - xi * A2) / (tau - s2)
    icl = (1 + q) * (A2 + g * (M + xi * dM)) - 2 * (1 - nu * M) + 1 + rho
    left = max(1 - (1 - xiM) / tau, 0.0)
    return LawErrors(b1 * b1 * icl, b1 * b1 * tau * g, b1 * b1 * tau * g * left * left)


def saddle(q: float, kappa: float, tau: float, ridge: float) -> float:
    """The root xi >= 0 of xi M_kappa(q + xi) - ridge / xi = 1 - tau; ridge = 0 is its limit."""

    if ridge == 0:
        if tau >= 1:
            return 0.0
        return (1 - tau) / (tau * resolvent(q, kappa / tau)[0])
    excess = lambda xi: xi * resolvent(q + xi, kappa)[0] - ridge / xi - (1 - tau)  # noqa: E731
    # xi M lies in [0, 1): the root is above ridge / (tau + 1), and the bracket is widened upwards.
    low, high = ridge / (tau + 1), 1.0 + ridge
    while excess(high) < 0:
        high *= 2
    while excess(low) > 0:
        low /= 2
    return root(excess, low, high, xtol=1e-300)


def best_ridge(setting: Setting, tau: float, intercept: bool = False) -> tuple[float, float]:
    """The lam that minimises e_ICL over [1e-8, 1e4], and that error."""
    return best_positive(lambda lam: errors(setting, tau, lam, intercept).icl, 1e-8, 1e4)


def constant_error(setting: Setting) -> float:
    """The error of the constant predictor, which answers E y: Var s + rho."""
    b0, _, E2 = setting.target
    return E2 - b0 * b0 + setting.rho
