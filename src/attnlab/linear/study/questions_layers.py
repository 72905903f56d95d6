"""The question what the last of ten layers gain, answered in `compute_layers`.

The networks are the shipped DIAG networks of seven to ten layers, each the best of five training
runs. All depths are evaluated on the same sequences: the difference of two losses has a far smaller
standard error than either of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments


@dataclass(frozen=True)
class LastLayers:
    """The shipped DIAG networks of seven to ten layers on one noise law."""

    noise: str = "uniform:5"
    """Noise law on which they were trained."""
    weights: str = ""
    """Digest of these networks in the shipped file."""
    sequences: int = 32_768
    """Fresh sequences, the same for every depth."""
    seed: int = 0
    """Seed of the sequences."""

    def __post_init__(self) -> None:
        arguments.integer("sequences", self.sequences, 2)
        arguments.integer("seed", self.seed, 0)


@dataclass(frozen=True)
class LayersRow:
    """The loss of one depth, and by how much it is above that of the deepest network.

    A loss that overflowed is None, and so is what is compared with it.
    """

    layers: int
    loss: float | None
    error: float | None
    above: float | None
    above_error: float | None
