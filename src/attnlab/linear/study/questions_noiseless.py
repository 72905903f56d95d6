"""The questions of Table 1 without noise: what GD++ loses in expectation, and in an evaluation.

Without noise w = (1 - g(Sigma)) w* (Vladymyrov et al., arXiv 2402.14180, GD++), so that the
expected loss is an exact integral over the eigenvalues of Sigma. From four layers on it depends on
eigenvalues so rare that no evaluation contains them, and the mean over the sequences of one
evaluation has a law of its own, which is sampled. Both are answered in `compute_noiseless`.
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


@dataclass(frozen=True)
class NoiselessEvaluations:
    """Evaluations of GD++ as the paper makes them, with 100,000 fresh sequences and queries each.

    The networks are fitted to the eigenvalues of which an evaluation contains at least `rarest`
    (one of `CUTS`) at each end of the spectrum.
    """

    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    depth: int = 7
    """Number of layers of the deepest network."""
    starts: int = 8
    """New layers that are tried in each place."""
    sequences: int = 100_000
    """Sequences of one evaluation."""
    evaluations: int = 25
    """Number of evaluations."""
    part: int = 0
    """Number of this cell among those with the same networks and other sequences."""
    seed: int = 0
    """Seed of the starting points and of the sequences."""

    def __post_init__(self) -> None:
        for name in ("d", "n", "depth", "starts", "sequences", "evaluations"):
            arguments.integer(name, getattr(self, name), 1)
        for name in ("part", "seed"):
            arguments.integer(name, getattr(self, name), 0)


FIRST = 3  # layers from which on rare sequences rule the mean
CUTS = (1.0, 5.0)  # eigenvalues per evaluation beyond the end of the spectrum that is fitted


@dataclass(frozen=True)
class NoiselessMean:
    """The mean loss of one evaluation of one network."""

    layers: int
    rarest: float  # which of `CUTS` the network was fitted to
    evaluation: int
    mean: float
