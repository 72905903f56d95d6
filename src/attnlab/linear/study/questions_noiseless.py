"""The question of Table 1 without noise: the expected loss of GD++, over all of the spectrum.

Without noise w = (1 - g(Sigma)) w* (Vladymyrov et al., arXiv 2402.14180, GD++), so that the
expected loss is an exact integral over the eigenvalues of Sigma. From four layers on it depends on
eigenvalues so rare that no evaluation contains them. It is answered in `compute_noiseless`.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments


@dataclass(frozen=True)
class Noiseless:
    """GD++ without noise, fitted to all of the spectrum and to its frequent part."""

    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    depth: int = 7
    """Number of layers of the deepest network."""
    starts: int = 2
    """New layers that are tried in each place."""
    seed: int = 0
    """Seed of the starting points."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("depth", 1), ("starts", 1), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)


@dataclass(frozen=True)
class NoiselessFound:
    """Exact expected losses of GD++ at one depth; above 1e300 they are written as that."""

    layers: int
    whole: float  # over all of the spectrum, of the network fitted to all of it
    seen: float  # over the frequent part, of the network fitted to that part
    unseen: float  # over all of the spectrum, of the same network
