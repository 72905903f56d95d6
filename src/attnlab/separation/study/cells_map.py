"""Maps of the exact probability of success over two parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.needs import ROW, Needs
from attnlab.memory import require_memory
from attnlab.separation import theory
from attnlab.separation.study.cells_attention import AttentionPoint
from attnlab.separation.theory.attention_law import law_memory

SPIKES_D = 22  # the dimension of the plane of a0 and a1


@dataclass(frozen=True)
class SuccessMap:
    """The exact probability of success of self-attention over two of its parameters."""

    plane: Literal["d-m", "a0-a1"]
    """Which two parameters."""
    x: Literal["identity", "ones"] = "identity"
    """X = Q K^T."""
    n: int = 240
    """Length of the sequence."""
    steps: int = 40
    """Number of steps along each axis that is not d."""


@dataclass(frozen=True)
class MapPoint:
    """A point of the plane, and the probability of success there."""

    across: float
    up: float
    probability: float


def run_map(config: SuccessMap) -> Outcome[MapPoint]:
    """The exact law on a grid of the plane."""
    arguments.integer("steps", config.steps, 2)
    arguments.integer("n", config.n, 4)
    arguments.one_of("plane", config.plane, ("d-m", "a0-a1"))
    needs = needs_of_map(config)
    require_memory("The points of the map", needs.host_bytes, needs.reduce)
    points = []
    if config.plane == "d-m":
        for k in divisors(config.n, config.n // 2):
            point = AttentionPoint(config.n, k + 2, x=config.x)
            law = theory.neuron_law(point.problem(), point.network())
            for m in range(2, 2 * config.steps + 1, 2):
                points.append(MapPoint(k + 2, m, theory.success_from(law, m)))
    else:
        for a0 in np.linspace(0.0, 1.2, config.steps + 1):
            for a1 in np.linspace(0.0, 2.4, config.steps + 1):
                point = AttentionPoint(config.n, SPIKES_D, x=config.x, a0=float(a0), a1=float(a1))
                found = theory.success(point.problem(), point.network()).value
                points.append(MapPoint(float(a0), float(a1), found))
    return Outcome(points)


def divisors(n: int, largest: int) -> list[int]:
    """The divisors of n from 2 to `largest`, which are the possible numbers d - 2 of classes."""
    small = [k for k in range(1, math.isqrt(n) + 1) if n % k == 0]
    return sorted({k for each in small for k in (each, n // each) if 2 <= k <= largest})


def needs_of_map(config: SuccessMap) -> Needs:
    """The points, and the states of the law at the largest dimension."""
    across = len(divisors(config.n, config.n // 2)) if config.plane == "d-m" else config.steps + 1
    d = config.n // 2 + 2 if config.plane == "d-m" else SPIKES_D
    return Needs(ROW * across * (config.steps + 1) + law_memory(d), reduce="steps or n")


success_map = CellKind("separation_map", SuccessMap, MapPoint, run_map, needs=needs_of_map)
