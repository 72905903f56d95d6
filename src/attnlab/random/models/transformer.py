"""Random features of a prompt and their Hermite equivalents.

Source: Demir, Dogan (arXiv 2509.15152). The random transformer answers w^T s(F^T vec H) with F
fixed, i.i.d. N(0, 1/t), t = E|vec H|^2, and w by ridge regression. Theorem 3 replaces s by
s_r(x) = sum_{i<=r} c_i He_i(x)/i! + c_r^* z, z ~ N(0, 1) fresh for every prompt and feature. A
narrower model has the leading columns of a wider one's F and z.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.hermite import Activation, activation_function, hermite_series
from attnlab.random.philox import Stream, host_normals, key_of

TILE = 128  # columns of z that are drawn together
HIGHEST_DEGREE = 12


@dataclass(frozen=True)
class RandomTransformer:
    """A transformer whose MLP has `width` fixed random features and the given activation."""

    width: int
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        arguments.integer("width", self.width, 1)
        activation_function(self.activation)

    @property
    def noise(self) -> float:
        """No feature noise: the activation is used itself."""
        return 0.0

    def activate(self, u: Any, z: Any = None) -> Any:
        """s(u), elementwise, for NumPy or JAX arrays."""
        return activation_function(self.activation)(u)


@dataclass(frozen=True)
class EquivalentModel:
    """The model of Theorem 3: the Hermite terms of s up to `degree`, and noise for the rest."""

    width: int
    activation: Activation = "relu"
    degree: int = 1

    def __post_init__(self) -> None:
        arguments.integer("width", self.width, 1)
        arguments.integer("degree", self.degree, 0)
        if self.degree > HIGHEST_DEGREE:
            raise UserError(
                f"degree must be at most {HIGHEST_DEGREE}, where float32 ends for the polynomial, "
                f"got {self.degree}."
            )
        activation_function(self.activation)

    @property
    def noise(self) -> float:
        """c_r^*; at test it adds exactly c_r^*^2 |w|^2 to the error."""
        return hermite_series(self.activation, self.degree).residual(self.degree)

    def activate(self, u: Any, z: Any = None) -> Any:
        """s_r(u), with the noise c_r^* z in training and without it (z = None) at test."""
        value = self.mean(u)
        return value if z is None else value + self.noise * z

    def mean(self, u: Any) -> Any:
        """sum_{i<=r} c_i He_i(u) / i!, by Horner's rule."""
        terms = hermite_series(self.activation, self.degree).monomials(self.degree)
        value = terms[-1] + 0 * u
        for c in reversed(terms[:-1]):
            value = value * u + c
        return value


def lowest_degree(model: Any) -> Any:
    """The same model with the lowest degree: without terms at the top whose coefficient is 0.

    tanh is odd, so that its equivalent models of degrees 1 and 2 are one model; ReLU has no term of
    degree 3. Other models are returned as they are.
    """
    if not isinstance(model, EquivalentModel):
        return model
    terms = hermite_series(model.activation, model.degree).coefficients
    degree = max((i for i, c in enumerate(terms) if c != 0), default=0)
    return replace(model, degree=degree)


def random_weights(
    seed: int, rows: int, width: int, dtype: Any = np.float32, scale: float = 1.0
) -> Float[np.ndarray, "D m"]:
    """F with i.i.d. N(0, scale^2) entries, a column after the other in memory."""
    return host_normals(key_of(seed), Stream.WEIGHTS, 0, width, rows, dtype=dtype, scale=scale).T


def feature_noise(
    seed: int, start: int, count: int, width: int, dtype: Any = np.float32
) -> Float[np.ndarray, "n m"]:
    """z for the prompts start .. start + count, i.i.d. N(0, 1)."""
    return host_normals(key_of(seed), Stream.NOISE, start, count, width, TILE, dtype)
