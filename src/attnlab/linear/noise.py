"""Laws of the noise level sigma, of which every sequence has one value.

Source: Vladymyrov et al., "Linear Transformers are Versatile In-Context Learners" (arXiv
2402.14180), which uses a fixed level, U(0, high), and the levels {1, 3} and {1, 3, 5} with equal
weights. Any class with the members of `NoiseLaw` is a law. `parse_noise` turns the name of a law
of this module back into the law.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError


@runtime_checkable
class NoiseLaw(Protocol):
    """A law p(sigma) on [0, infinity).

    A law must be hashable, because compiled programs are kept for each law.
    """

    @property
    def name(self) -> str:
        """The name of the law in configurations and tables."""
        ...

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> Float[Array, ""]:
        """Draw one sigma."""
        ...

    def quadrature(
        self, points: int = 64
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Levels and weights with E g(sigma) = sum weights g(levels).

        The weights contain the density of the law. `points` is the number of nodes for a
        continuous law; a discrete law has its own levels, for which the rule is exact.
        """
        ...

    def second_moment(self) -> float:
        """E sigma^2."""
        ...


@final
@dataclass(frozen=True)
class Fixed:
    """The same sigma in every sequence."""

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", arguments.non_negative("sigma", self.sigma))

    @property
    def name(self) -> str:
        return f"fixed:{_number(self.sigma)}"

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> Float[Array, ""]:
        return jnp.asarray(self.sigma, dtype)

    def quadrature(
        self, points: int = 64
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        return np.array([self.sigma]), np.ones(1)

    def second_moment(self) -> float:
        return self.sigma**2


@final
@dataclass(frozen=True)
class Uniform:
    """sigma ~ U(0, high); high = 0 is the noise-free problem."""

    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "high", arguments.non_negative("high", self.high))

    @property
    def name(self) -> str:
        return f"uniform:{_number(self.high)}"

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> Float[Array, ""]:
        return self.high * jax.random.uniform(key, dtype=dtype)

    def quadrature(
        self, points: int = 64
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Gauss-Legendre nodes on (0, high); the single level 0 where high = 0."""
        if self.high == 0:
            return np.zeros(1), np.ones(1)
        t, w = np.polynomial.legendre.leggauss(arguments.integer("points", points, 1))
        return self.high * (t + 1) / 2, w / 2

    def second_moment(self) -> float:
        return self.high**2 / 3


@final
@dataclass(frozen=True)
class Categorical:
    """sigma is one of `levels`, with equal probabilities unless `weights` gives others."""

    levels: tuple[float, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        levels = tuple(arguments.non_negative("levels", level) for level in self.levels)
        if not levels:
            raise UserError("levels must hold at least one noise level, got none.")
        object.__setattr__(self, "levels", levels)
        if self.weights is None:
            return
        weights = tuple(arguments.positive("weights", weight) for weight in self.weights)
        if len(weights) != len(levels) or abs(math.fsum(weights) - 1) > 1e-9:
            raise UserError(
                f"weights must be {len(levels)} positive numbers that sum to 1, one per level, "
                f"got {self.weights!r}."
            )
        object.__setattr__(self, "weights", weights)

    @property
    def name(self) -> str:
        levels = ",".join(map(_number, self.levels))
        weights = "" if self.weights is None else "@" + ",".join(map(_number, self.weights))
        return f"categorical:{levels}{weights}"

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each level."""
        return self.weights or (1 / len(self.levels),) * len(self.levels)

    def sample(self, key: PRNGKeyArray, dtype: Any = float) -> Float[Array, ""]:
        levels = jnp.asarray(self.levels, dtype)
        if self.weights is None:
            return jax.random.choice(key, levels)
        return jax.random.choice(key, levels, p=jnp.asarray(self.weights, dtype))

    def quadrature(
        self, points: int = 64
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        return np.array(self.levels), np.array(self.probabilities)

    def second_moment(self) -> float:
        pairs = zip(self.probabilities, self.levels, strict=True)
        return math.fsum(p * level**2 for p, level in pairs)


def parse_noise(name: str) -> NoiseLaw:
    """The law with this name.

    Examples of names are "uniform:5", "categorical:1,3", "categorical:1,3@0.2,0.8" and "fixed:2".
    """
    try:
        kind, _, rest = name.partition(":")
        values, at, weights = rest.partition("@")
        numbers = tuple(float(value) for value in values.split(","))
        match kind, numbers:
            case "fixed", (sigma,) if not at:
                return Fixed(sigma)
            case "uniform", (high,) if not at:
                return Uniform(high)
            case "categorical", _:
                given = tuple(float(weight) for weight in weights.split(",")) if at else None
                return Categorical(numbers, given)
    except UserError as reason:
        raise UserError(f"noise must be a valid noise law, got {name!r}: {reason}") from None
    except (AttributeError, ValueError):
        pass
    raise UserError(
        'noise must be "fixed:SIGMA", "uniform:HIGH" or "categorical:LEVEL,LEVEL,...", '
        f"got {name!r}."
    )


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
