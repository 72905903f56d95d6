"""Questions of Section 4: the implicit state of random networks, and the cosine of Theorem 4.2.

Source: Vladymyrov et al. (arXiv 2402.14180). Where the printed formula and the algebra differ, both
are computed, in double precision. They are answered in `compute_state`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.errors import UserError


@dataclass(frozen=True)
class StateCheck:
    """The implicit regression state of random networks (Theorem 4.1, Lemmas 4.3 and 4.4)."""

    weights: Literal["full", "diag"] = "full"
    """Family of the networks."""
    d: int = 5
    """Dimension of an input."""
    n: int = 12
    """Number of tokens in the context."""
    depth: int = 4
    """Number of layers."""
    heads: int = 2
    """Number of heads in each layer."""
    networks: int = 5
    """Number of random networks, each on a context of its own."""
    seed: int = 0
    """Seed of networks and contexts."""

    def __post_init__(self) -> None:
        arguments.one_of("weights", self.weights, ("full", "diag"))
        arguments.integer("depth", self.depth, 2)
        for name in ("d", "n", "heads", "networks"):
            arguments.integer(name, getattr(self, name), 1)
        arguments.integer("seed", self.seed, 0)


@dataclass(frozen=True)
class StateFound:
    """Largest relative errors over networks and layers; None where a lemma is for DIAG only."""

    tokens: float  # tokens from M, u, w, a (Theorem 4.1)
    shifted: float  # the same with the state of layer l for the tokens of layer l + 1
    recursion: float  # R by Lemma 4.3 with the minus sign
    recursion_printed: float  # R with the plus sign
    alpha: float | None  # alpha^l by Lemma 4.4, corrected
    alpha_printed: float | None
    momentum: float | None  # u' and w' by the momentum form


@dataclass(frozen=True)
class Cosine:
    """The largest cosine with x_i(1)^2 that any weights reach (Theorem 4.2)."""

    d: int = 10
    """Dimension of an input."""
    n: int = 1400
    """Number of tokens in the context."""
    contexts: int = 400
    """Number of independent contexts."""
    seed: int = 0
    """Seed of the contexts."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("contexts", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        if self.n < self.d:
            raise UserError(f"n must be at least d = {self.d}, got {self.n}.")


@dataclass(frozen=True)
class CosineFound:
    """The supremum R of the cosine over all weights, sampled and predicted."""

    mean_square: float
    mean_square_error: float  # the standard error of `mean_square`
    predicted: float  # (d + 4) / n
    quantile: float  # 99% quantile of the sampled values
    predicted_quantile: float
    beyond: int  # contexts whose supremum exceeds 0.1
