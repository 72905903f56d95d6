"""In-context error of the random transformer in the limit of large dimension.

Derived in this project and not in the paper. The features c_0 + c_1 G^T g / sqrt(D) + c* z of a
Gaussian g have deterministic equivalents over the data and over the random weights; together they
give one equation for xi, and every error is rational in xi, nu = q + xi, M_kappa(nu) and
M'_kappa(nu), the functions of linear attention's law. That step is standard for Gaussian inputs;
that x (x) b and a non-linear activation behave like them at leading order is conjectured and tested
by simulation.
The ridge acts only through delta = lam / d, so that at fixed lam the limit is ridgeless.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.hermite import Activation, hermite_series
from attnlab.maths.roots import best_positive, root
from attnlab.random.theory.linear_attention_law import LawErrors, Setting, resolvent, saddle


class FeatureConstants(NamedTuple):
    """What the law depends on of an activation: c_0, c_1 and c* = c_1^*."""

    c0: float
    c1: float
    cs: float


class SaddlePoint(NamedTuple):
    """The solved unknowns: xi, p = mu / (c_1^2 zeta), cc = a / xi and gamma."""

    xi: float
    p: float
    cc: float
    gamma: float


def feature_constants(activation: Activation) -> FeatureConstants:
    """c_0, c_1 and c_1^* of a named activation or a callable."""
    series = hermite_series(activation, 1)
    c0, c1 = series.coefficients
    return FeatureConstants(c0, c1, series.residual(1))


@dataclass(frozen=True)
class RandomFeaturesLaw:
    """The law at one point.

    Parameters
    ----------
    setting
        The problem.
    features
        Constants of the activation.
    tau
        Training prompts n / d^2.
    psi
        Features per prompt, m / n.
    delta
        Ridge parameter lambda / d.
    """

    setting: Setting
    features: FeatureConstants
    tau: float
    psi: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        arguments.positive("tau", self.tau)
        arguments.positive("psi", self.psi)
        arguments.non_negative("delta", self.delta)
        if self.features.c1 == 0 == self.features.cs:
            raise UserError("activation must not be constant, got one with c_1 = c* = 0.")

    @property
    def implicit(self) -> float:
        """a = (1 + q)(c*/c_1)^2: the non-linearity enters the equation of xi as a ridge tau lam."""
        if self.features.c1 == 0:
            raise UserError(
                "activation must have a linear part, E[s He_1] other than 0, for an equation of "
                "xi, got 0."
            )
        return (1 + self.setting.q) * (self.features.cs / self.features.c1) ** 2

    @property
    def effective_ridge(self) -> float:
        """The lam at which linear attention has this error as psi -> infinity with delta = 0."""
        return self.setting.linear_part**2 * self.implicit / self.tau

    @property
    def label_noise(self) -> float:
        """rho_l: a feature mean c_0 other than 0 is a free intercept."""
        return self.setting.label_noise(self.features.c0 != 0)

    def saddle_point(self) -> SaddlePoint:
        """Solve p + cc = psi tau - s_1 and xi p (1 - psi + p/tau) = delta (1 + q) / c_1^2."""
        tau, psi, a = self.tau, self.psi, self.implicit
        ridge = self.delta * (1 + self.setting.q) / self.features.c1**2
        xi = self._ridgeless(a) if ridge == 0 else self._regularised(a, ridge)
        M, dM = resolvent(self.setting.q + xi, self.setting.kappa)
        s1 = 1 - xi * M
        if ridge > 0 or a == 0:
            cc = a / xi if xi > 0 else 0.0
            p = max(psi * tau - s1 - cc, 0.0)
        else:
            p = max(tau * (psi - 1), 0.0)
            cc = psi * tau - s1 - p
        L = psi * tau - (1 - 2 * xi * M - xi * xi * dM)
        gamma = psi - p / tau - (p / tau) * (1 - p / L)
        return SaddlePoint(xi, p, cc, gamma)

    def errors(self) -> LawErrors:
        """e_ICL, e_IDG and the training error; infinite at psi = 1 without a ridge."""
        if self.features.c1 == 0:
            return self._without_linear_part()
        tau, psi, q, rho = self.tau, self.psi, self.setting.q, self.label_noise
        b = self.setting.linear_part**2
        xi, p, cc, gamma = self.saddle_point()
        if gamma >= 1:
            return LawErrors(math.inf, math.inf, 0.0)
        nu = q + xi
        M, dM = resolvent(nu, self.setting.kappa)
        L = psi * tau - (1 - 2 * xi * M - xi * xi * dM)
        A2 = 1 - 2 * nu * M - nu * nu * dM
        idg = b * (rho + nu - nu * nu * M - xi * (p / L) * A2) / (1 - gamma)
        bias = 1 + rho - 2 * (1 - nu * M) + A2 * ((1 + q) * (1 - xi * xi * dM / L) + xi * cc / L)
        spread = (1 + q) * (M + xi * (p / L) * dM) + cc * (1 - p / L)
        return LawErrors(b * bias + idg / tau * spread, idg, (1 - psi + p / tau) ** 2 * idg)

    def _ridgeless(self, a: float) -> float:
        X = min(1.0, self.psi) * self.tau
        return saddle(self.setting.q, self.setting.kappa, X, a)

    def _regularised(self, a: float, ridge: float) -> float:
        """p rises with xi, and both factors must be positive: the root is above the ridgeless xi.

        xi p (1 - psi + p/tau) - ridge is solved in log(xi / xi_0 - 1), so that a ridge of 1e-12 is
        resolved as well as one of 1.
        """
        start = self._ridgeless(a)
        excess = lambda log_step: self._excess(start + math.exp(log_step), a, ridge)  # noqa: E731
        low, high = -80.0, 10.0
        while excess(high) < 0:
            high += 10
        if excess(low) > 0:
            return start
        # Near the lower end rounding can make the function infinite; bisection removes that part.
        while math.isinf(excess(low)) and high - low > 1e-9:
            middle = (low + high) / 2
            if excess(middle) > 0:
                high = middle
            else:
                low = middle
        if math.isinf(excess(low)):
            return start + math.exp(high)
        return start + math.exp(root(excess, low, high, xtol=1e-13))

    def _excess(self, xi: float, a: float, ridge: float) -> float:
        """log(xi p (1 - psi + p/tau) / ridge), minus infinity where a factor is not positive."""
        M, _ = resolvent(self.setting.q + xi, self.setting.kappa)
        p = self.psi * self.tau - (1 - xi * M) - a / xi
        factor = 1 - self.psi + p / self.tau
        if p <= 0 or factor <= 0:
            return -math.inf
        return math.log(xi) + math.log(p) + math.log(factor) - math.log(ridge)

    def _without_linear_part(self) -> LawErrors:
        """With c_1 = 0 the features are independent noise: all errors are V / (1 - gamma)."""
        b0, _, E2 = self.setting.target
        V = E2 + self.setting.rho - (b0 * b0 if self.features.c0 != 0 else 0.0)
        variance = self.features.cs**2
        # Isotropic features of that variance: mu (1 - psi v / (v + mu)) = delta.
        linear = variance * (1 - self.psi) - self.delta
        root = math.sqrt(linear * linear + 4 * variance * self.delta)
        mu = (root - linear) / 2
        gamma = self.psi * (variance / (variance + mu)) ** 2
        if gamma >= 1:
            return LawErrors(math.inf, math.inf, 0.0)
        error = V / (1 - gamma)
        shrink = 1 - self.psi * variance / (variance + mu)
        return LawErrors(error, error, error * shrink * shrink)


def best_delta(law: RandomFeaturesLaw) -> tuple[float, float]:
    """The delta in [1e-10, 1e4] that minimises e_ICL, and that error."""
    return best_positive(lambda delta: replace(law, delta=delta).errors().icl, 1e-10, 1e4)


def peak_constant(law: RandomFeaturesLaw) -> float:
    """lim e_IDG sqrt(delta) as delta -> 0 at psi = 1: the peak of double descent.

    At psi = 1 the second equation is xi p^2 / tau = delta (1 + q) / c_1^2 and 1 - gamma ~ 2 p/tau.
    """
    at_peak = replace(law, psi=1.0, delta=0.0)
    xi = at_peak._ridgeless(at_peak.implicit)
    nu = law.setting.q + xi
    M, _ = resolvent(nu, law.setting.kappa)
    top = law.setting.linear_part**2 * (law.label_noise + nu - nu * nu * M)
    step = math.sqrt((1 + law.setting.q) / (law.features.c1**2 * xi * law.tau))
    return top / (2 * step)
