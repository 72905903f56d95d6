"""The question what a trained DIAG network does with its four numbers per layer.

The network was trained by the paper's recipe (`grids_full.RECIPE_DIGESTS`). Momentum comes from
omega_xy, which writes y into the inputs, and the rescaling of y from omega_yy; without one of them
the network has another loss. Answered in `compute_ablation`.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnlab import arguments

WITHOUT = {"momentum": "xy", "rescaling": "yy"}
LEVELS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Ablation:
    """The best shipped DIAG network of the paper's recipe, with and without some of its omegas."""

    noise: str = "uniform:5"
    """Noise law on which it was trained."""
    layers: int = 4
    """Number of layers."""
    weights: str = ""
    """Digest of these networks in the shipped file."""
    sequences: int = 8192
    """Fresh sequences of every loss and of every noise level."""
    seed: int = 0
    """Seed of the sequences."""

    def __post_init__(self) -> None:
        arguments.integer("layers", self.layers, 1)
        arguments.integer("sequences", self.sequences, 2)
        arguments.integer("seed", self.seed, 0)


@dataclass(frozen=True)
class AblationRow:
    """A mean with its standard error.

    `quantity` is "loss", the loss of the network; "momentum" or "rescaling", what the loss gains
    without it, on the same sequences; or "factor", the factor of y after all layers at one level.
    """

    quantity: str
    sigma: float | None
    value: float
    error: float
