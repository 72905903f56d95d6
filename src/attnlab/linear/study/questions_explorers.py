"""Questions that the explorers ask of a shipped network: one context, and its profile over noise.

They are answered in `compute_explorers`. Nothing is stored unless `attnlab run` asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.study.table_1 import DEPTHS

ShippedFamily = Literal["AXIS", "FULL", "DIAG", "GD++"]
SHIPPED_FAMILIES: tuple[ShippedFamily, ...] = get_args(ShippedFamily)
LONGEST = 100  # tokens of a context; a shorter one is its beginning


@dataclass(frozen=True, kw_only=True)
class ShippedNetwork:
    """A shipped network by family, noise law and depth; of several starts the best."""

    family: ShippedFamily = "AXIS"
    """AXIS, FULL, DIAG with one head, or GD++."""
    noise: str = "uniform:5"
    """Noise law that it was trained on."""
    depth: int = 7
    """Number of layers."""
    n: int = 20
    """Number of tokens in a context; it was trained on 20."""
    seed: int = 0
    """Seed of the contexts."""

    def __post_init__(self) -> None:
        arguments.one_of("family", self.family, SHIPPED_FAMILIES)
        arguments.integer("depth", self.depth, 1)
        arguments.integer("n", self.n, 1)
        for name, most in (("depth", DEPTHS[-1]), ("n", LONGEST)):
            if getattr(self, name) > most:
                raise UserError(f"{name} must be at most {most}, got {getattr(self, name)}.")
        arguments.integer("seed", self.seed, 0)


@dataclass(frozen=True, kw_only=True)
class OneContext(ShippedNetwork):
    """One context: what every layer predicts, and the state (M, u, w, a) after it."""

    sigma: float = 1.0
    """Noise level of the context."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.non_negative("sigma", self.sigma)


@dataclass(frozen=True)
class ContextRow:
    """One number: of the network after `layer` layers, or of a predictor without layers (0).

    `part` is the prediction for the query, or an entry of M, u, w or a; `truth` has the w and the
    label of the context. The value is None where it overflowed, or where least squares needs more
    tokens than there are.
    """

    model: str  # network, OLS, ridge, Bayes or truth
    layer: int
    part: str
    row: int | None
    column: int | None
    value: float | None


@dataclass(frozen=True, kw_only=True)
class NoiseProfile(ShippedNetwork):
    """The adjusted loss of a shipped network at noise levels, beside OLS, CONSTRR and Bayes."""

    largest: float = 8.0
    """Largest noise level."""
    points: int = 17
    """Number of noise levels, of which the first is 0."""
    sequences: int = 128
    """Sequences at each level, the same X, w and unit noise at all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.positive("largest", self.largest)
        arguments.integer("points", self.points, 2)
        arguments.integer("sequences", self.sequences, 2)


@dataclass(frozen=True)
class ProfileRow:
    """The loss of one model at one noise level; None where a sequence overflowed."""

    model: str
    sigma: float
    loss: float | None
    standard_error: float | None
