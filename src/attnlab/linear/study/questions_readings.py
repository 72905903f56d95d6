"""Questions about sentences of Sections 2, 4 and 5: what single layers do, in plain algebra.

Source: Vladymyrov et al. (arXiv 2402.14180), Equations (2), (8) to (11) and the text around them.
Layers are computed here from their definition on tokens, in NumPy and double precision, and
compared with what the text says of them. They are answered in `compute_readings`.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments


@dataclass(frozen=True)
class Readings:
    """Single layers with random numbers, on random contexts."""

    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    networks: int = 20
    """Number of random layers, each on a context of its own."""
    seed: int = 0
    """Seed of layers and contexts."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("networks", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)


@dataclass(frozen=True)
class ReadingsFound:
    """Largest relative errors over the layers, unless said otherwise."""

    two_matrices: float  # a head of four matrices against P = W_P W_V, Q = W_K^T W_Q
    updates: float  # a layer of diagonal heads against Equation (10)
    one_head: float  # |w_xx w_yy - w_xy w_yx| over the sum of both terms, one head
    two_heads: float  # the same with two heads, the median
    three_heads: float  # three heads against two heads with the same omegas
    gradient: float  # the gradient of f against -2 Sigma (a w* - w)
    preconditioner: float  # Sigma after a layer with omega_xx alone
    step: float  # w after a layer with omega_yx alone, against a gradient step from 0
    rescaled: float  # y after a layer with omega_yy alone, against (1 + omega_yy lambda) y
    kept: float  # the change of x in that layer
    first_layer: float  # x after a layer with omega_xy alone, against Section 5.3


@dataclass(frozen=True)
class Rescaled:
    """Ridge against rescaled least squares, and the factor of omega_yy, by length and noise."""

    d: int = 10
    """Dimension of an input."""
    sigma: float = 3.0
    """Noise level."""
    contexts: int = 400
    """Number of contexts for each length."""
    seed: int = 0
    """Seed of the contexts."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("contexts", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        arguments.positive("sigma", self.sigma)


LENGTHS = (20, 80, 320, 1280, 5120)


@dataclass(frozen=True)
class RescaledFound:
    """One length n of the context, with contexts whose inputs have variance 1."""

    n: int
    distance: float  # |w_ridge - n/(n + sigma^2) w*| over |w_ridge - w*|, the mean
    distance_error: float  # its standard error
    relative: float  # |w_ridge - n/(n + sigma^2) w*| over |w_ridge|, the mean


@dataclass(frozen=True)
class KnownNoise:
    """Ridge with multiples of the true variance, and labels of the query with and without noise."""

    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    sigma: float = 3.0
    """Noise level."""
    contexts: int = 20_000
    """Number of contexts."""
    seed: int = 0
    """Seed of the contexts."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("contexts", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        arguments.positive("sigma", self.sigma)


MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class KnownNoiseFound:
    """Ridge with the constant `multiple` sigma^2."""

    multiple: float
    loss: float  # 1/2 E |w_hat - w|^2, not adjusted
    excess: float  # over that of the multiple 1, on the same contexts
    excess_error: float  # its standard error
    added: float  # what noise in the label of the query adds to its loss, over sigma^2 / 2
    added_error: float  # its standard error


@dataclass(frozen=True)
class Adjustment:
    """Losses of sampled queries minus the oracle's, against half the squared distance to it."""

    d: int = 10
    """Dimension of an input, and the variance of a label without noise."""
    n: int = 20
    """Number of tokens in the context."""
    sigma_max: float = 5.0
    """Noise levels are uniform between 0 and this."""
    contexts: int = 30_000
    """Number of contexts, each with one query."""
    seed: int = 0
    """Seed of contexts and queries."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("contexts", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        arguments.positive("sigma_max", self.sigma_max)


LAYER_STEPS, RIDGE_CONSTANTS = (0.0, 0.02, 0.04), (1.0, 25 / 3, 25.0)


@dataclass(frozen=True)
class AdjustmentFound:
    """One predictor with one parameter: one layer with a step, or ridge with a constant.

    The adjusted loss is 1/2 |w - w_oracle|^2, averaged over the query and over the true weights.
    """

    predictor: str
    parameter: float
    loss: float  # of sampled queries, not adjusted
    oracle: float  # of the same queries
    adjusted: float  # in closed form
    difference: float  # loss - oracle - adjusted
    difference_error: float  # its standard error
    slope: float  # the derivative of the adjusted loss by the parameter
    slope_difference: float  # the derivative of the sampled loss minus `slope`
    slope_error: float  # its standard error
    slope_scale: float  # mean of |w - w_oracle| |dw/dparameter|, the size of what is averaged
