"""Questions of Section 5 and Appendix A: networks built by hand, and what they should compute.

Source: Vladymyrov et al. (arXiv 2402.14180). The networks are in
`attnlab.linear.theory.constructions`. Where the printed formula and the algebra differ, both are
computed, in double precision. They are answered in `compute_constructions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnlab import arguments
from attnlab.errors import UserError


def _check_sizes(config: Any, *names: str) -> None:
    for name in names:
        arguments.integer(name, getattr(config, name), 1)
    arguments.integer("seed", config.seed, 0)


@dataclass(frozen=True)
class LeastSquaresNetwork:
    """The network of Theorem 5.1 on a context with a given condition number."""

    kappa: float = 1e3
    """Largest over smallest eigenvalue of Sigma."""
    precision: float = 1e-3
    """Relative error that the network should reach."""
    d: int = 6
    """Dimension of an input."""
    n: int = 12
    """Number of tokens in the context."""
    seed: int = 0
    """Seed of the context."""

    def __post_init__(self) -> None:
        if arguments.positive("kappa", self.kappa) < 1:
            raise UserError(f"kappa must be a finite number of at least 1, got {self.kappa!r}.")
        arguments.open_fraction("precision", self.precision)
        arguments.integer("d", self.d, 2)
        _check_sizes(self, "n")
        if self.n < self.d:
            raise UserError(f"n must be at least d = {self.d}, got {self.n}.")


@dataclass(frozen=True)
class LeastSquaresFound:
    """The number of layers by the recursion, and the errors that they reach."""

    layers: int  # that the recursion of Lemma A.3 needs
    error: float  # largest |1 - f| over the eigenvalues, in the eigenbasis
    error_before: float | None  # the same with one layer less
    network_error: float  # |w^L - w*| / |w*| of the network on the Gram matrix


@dataclass(frozen=True)
class Rates:
    """The scalar recursion of Lemmas A.2 and A.3, and the slopes of Theorem 5.1."""

    points: int = 400
    """Number of condition numbers below 1.1, and above."""

    def __post_init__(self) -> None:
        arguments.integer("points", self.points, 2)


@dataclass(frozen=True)
class RatesFound:
    """Constants and slopes of the scalar recursion."""

    contraction_close: float  # at kappa = 1.1
    contraction_largest: float  # from 1.1 to 1e8
    contraction_far: float  # at 1e8
    excess_largest: float  # of (kappa' - 1) / (kappa - 1)^2 up to 1.1
    excess_limit: float  # next to kappa = 1
    step_error: float  # largest deviation of the best step from (kappa - 1) / (kappa + 1)
    step_beyond: float  # largest error of that step over kappa - 1
    unit_step: float  # largest |sum y_i x_i - w*| / (eps |w*|) of Lemma A.2's step of size 1
    log_slope: float
    log_log_slope: float


@dataclass(frozen=True)
class Orders:
    """The steps that iterative methods need for least squares, by the digits of the answer."""

    kappa: float = 10.0
    """Largest over smallest eigenvalue of Sigma, above 1."""

    def __post_init__(self) -> None:
        if arguments.positive("kappa", self.kappa) <= 1:
            raise UserError(f"kappa must be a finite number above 1, got {self.kappa!r}.")


@dataclass(frozen=True)
class OrderRow:
    """The least number of steps of one method for the relative error 10^-digits."""

    method: str
    digits: int
    steps: int


@dataclass(frozen=True)
class Rescaling:
    """The two-layer network of Theorem 5.2 at one noise level and context length."""

    sigma_1: float = 0.5
    """One of the two noise levels for which the network is built."""
    sigma_2: float = 1.5
    """The other noise level for which it is built."""
    sigma: float = 0.5
    """Noise level of the contexts."""
    n: int = 1000
    """Number of tokens in the context; inputs have variance 1/n."""
    d: int = 5
    """Dimension of an input."""
    contexts: int = 400
    """Number of contexts."""
    seed: int = 0
    """Seed of the contexts."""

    def __post_init__(self) -> None:
        for name in ("sigma_1", "sigma_2", "sigma"):
            arguments.non_negative(name, getattr(self, name))
        _check_sizes(self, "n", "d")
        arguments.integer("contexts", self.contexts, 2)


@dataclass(frozen=True)
class RescalingFound:
    """The distance of the network to ridge, and its limit as n grows."""

    distance: float  # mean of |w - w_ridge| / |w_ridge|
    distance_error: float  # the standard error of `distance`
    limit: float


@dataclass(frozen=True)
class StepSize:
    """Section 5.3: omega_xy in layer 1 and omega_yx in layer 2, against both formulas."""

    omega_xy: float = -1e-3
    """omega_xy of the first layer."""
    omega_yx: float = -0.05
    """omega_yx of the second layer."""
    sigma: float = 1.0
    """Noise level of the contexts."""
    d: int = 5
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    contexts: int = 20
    """Number of contexts."""
    seed: int = 0
    """Seed of the contexts, which are the same for every omega and sigma."""

    def __post_init__(self) -> None:
        for name in ("omega_xy", "omega_yx"):
            value = getattr(self, name)
            if not isinstance(value, float | int) or not -1e300 < value < 1e300:
                raise UserError(f"{name} must be a finite number, got {value!r}.")
        arguments.non_negative("sigma", self.sigma)
        _check_sizes(self, "d", "n", "contexts")


@dataclass(frozen=True)
class StepSizeFound:
    """The errors of the two formulas."""

    corrected: float  # largest relative error of the formula with lambda
    printed: float  # mean relative error of the formula with rho, over |omega_yx alpha|
    shrinkage: float  # mean of 1 + omega_xy lambda
