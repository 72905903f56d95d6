"""The question about sentences of Section 4 and of the proofs in Appendices A.4 and A.5.

Source: Vladymyrov et al. (arXiv 2402.14180). Where the text prints another sign than the algebra
has, both are computed. It is answered in `compute_appendix`, in NumPy and double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments
from attnlab.errors import UserError


@dataclass(frozen=True)
class Appendix:
    """Random contexts for A.5 and for the state of Section 4, and condition numbers for A.4."""

    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    sigma_1: float = 0.5
    """One of the two noise levels of Theorem 5.2."""
    sigma_2: float = 1.5
    """The other noise level, which must differ."""
    networks: int = 20
    """Number of random networks, each on a context of its own."""
    seed: int = 0
    """Seed of networks and contexts."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("networks", 1), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        for name in ("sigma_1", "sigma_2"):
            arguments.non_negative(name, getattr(self, name))
        if self.sigma_1 == self.sigma_2:
            raise UserError("sigma_1 and sigma_2 must differ: two equations need two levels.")


CONDITIONS = (10.0, 1e3, 1e6)
PRECISIONS = (1e-3, 1e-9)


@dataclass(frozen=True)
class AppendixFound:
    """Largest relative errors, unless said otherwise."""

    first_weights: float  # w^1 of a layer with omega_yx alone, against -omega_yx sum y_i x_i
    first_weights_printed: float  # the least error of w^1 against +omega_yx sum y_i x_i
    equations: float  # -(1 + n s^2 omega_yy) omega_yx = 1 / (1 + s^2) at both levels
    equations_printed: float  # the least error without the minus sign, with the same weights
    bend: float  # the least second difference of M, u, w or a along a ray of inputs, over its size
    proof_condition: float  # kappa' - 1 over eps / (2 kappa), the largest
    proof_error: float  # error of the network of A.4's proof, over eps, the largest
    proof_bound: float  # (kappa' - 1) sqrt(kappa kappa') over eps, the largest
    proof_more: int  # layers beyond the least number of layers, at most
