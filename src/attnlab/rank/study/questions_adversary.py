"""The bound's adversary: a layer trained against the proof of the lower bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Adversary:
    """Generalised heads trained to pass below the lower bound."""

    d: int = 4
    """Dimension."""
    rank: int = 1
    """Rank r of every K_h."""
    heads: int = 2
    """Number of heads H."""
    scalar_values: bool = False
    """V_h = c_h I, for bound (C)."""
    steps: int = 1000
    """Training steps."""
    batch: int = 256
    """Prompts per step."""
    samples: int = 50_000
    """Fresh prompts on which the error is estimated."""
    seed: int = 0
    """Seed of everything."""


@dataclass(frozen=True)
class AdversaryResult:
    """The error on fresh prompts, and the bound."""

    error: float
    standard_error: float
    bound: float
