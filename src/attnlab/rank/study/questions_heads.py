"""A small training for those who watch: its question, and the rows of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class HeadTraining:
    """A small encoder, trained from one seed: its loss, then the heads of its first layer."""

    d: int = 8
    """Dimension of the points."""
    N: int = 8
    """Number of points."""
    rank: int = 8
    """Rank r of every head, a divisor of d; there are d / r heads per group."""
    groups: int = 1
    """Groups of d / r heads."""
    layers: int = 1
    """Number of blocks."""
    target: Literal["nearest", "farthest"] = "farthest"
    """Which of the other points every point asks for."""
    steps: int = 1000
    """Training steps."""
    batch: int = 64
    """Sequences per step."""
    rate: float = 0.01
    """Peak of the learning rate."""
    seed: int = 0
    """Seed of the weights and of the prompts."""


@dataclass(frozen=True)
class HeadTrainingRow:
    """The mean loss of the steps up to `step`, the error on held-out prompts, or a matrix entry.

    `part` is "loss", "held-out" or "form", an entry of K Q^T of one head after the last step, with
    the angle of that form to the identity.
    """

    part: str
    step: int
    loss: float | None
    head: int | None = None
    row: int | None = None
    column: int | None = None
    entry: float | None = None
    angle: float | None = None
