"""The question about AXIS networks that is answered by training them.

AXIS treats one or two input directions differently from the others (`attnlab.linear.models.axis`)
and is grown layer by layer (`attnlab.linear.training.axis_growth`). A cell is one run on one noise
law, with all depths from 1 on. Its weights ship (`scripts/pack_axis_networks.py`), and the shipped
ones are evaluated by cells of the kind `linear_reference`. It is answered in `compute_axis`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.errors import UserError


@dataclass(frozen=True, kw_only=True)
class AxisTraining:
    """Depths 1 to `depth` of AXIS on one noise law, each grown from the depths before."""

    noise: str = "uniform:5"
    """Law of the noise level: uniform:HIGH, categorical:LEVEL,... or fixed:SIGMA."""
    depth: int = 7
    """Number of layers of the deepest network."""
    run: int = 0
    """Number of the training run; runs differ in their random draws."""
    axes: int = 1
    """Number of input directions that are treated differently from the others."""
    precision: Literal["float32", "float64"] = "float32"
    """Precision of the search; losses are measured in float64."""
    weights: str = ""
    """Digest of the shipped DIAG networks of this law (GD++ where there is no noise), which are
    further starting points; empty for none."""
    draws: int = 6
    """Proposals of every kind for new layers."""
    kept: int = 6
    """Networks that the screening keeps."""
    parents: int = 4
    """Networks of a depth from which deeper ones grow."""
    screening: int = 24
    """Iterations on the robust loss with all proposals."""
    refinement: int = 25
    """Iterations on the robust loss with the networks that are kept."""
    final: int = 6
    """Iterations on the plain loss with these."""
    final_pools: int = 4
    """Pools of sequences in each iteration on the plain loss."""
    coarse_chunk: int = 1024
    """Sequences of a pool that the screening uses in an iteration."""
    coarse_pool: int = 4096
    """Sequences from which those are taken."""
    coarse_worst: int = 64
    """Those of largest loss among them, all of which are used."""
    coarse_compared: int = 2048
    """Fresh sequences on which steps of the screening are compared."""
    fine_chunk: int = 4096
    """The same after the screening: sequences of a pool that are used."""
    fine_pool: int = 16384
    """Sequences from which those are taken."""
    fine_worst: int = 256
    """Those of largest loss among them."""
    fine_compared: int = 8192
    """Fresh sequences on which steps are compared."""
    evaluations: int = 8
    """Draws of fresh sequences by which the network of a depth is chosen and its loss measured."""
    evaluated: int = 65536
    """Sequences in each of these draws."""
    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        for name in ("run", "screening", "refinement", "final", "seed"):
            arguments.integer(name, getattr(self, name), 0)
        for name in ("depth", "axes", "draws", "kept", "parents", "final_pools", "d", "n"):
            arguments.integer(name, getattr(self, name), 1)
        for name in ("evaluations", "evaluated"):
            arguments.integer(name, getattr(self, name), 1)
        arguments.one_of("precision", self.precision, ("float32", "float64"))
        for phase in ("coarse", "fine"):
            worst, chunk, pool, _ = (
                arguments.integer(f"{phase}_{part}", getattr(self, f"{phase}_{part}"), 1)
                for part in ("worst", "chunk", "pool", "compared")
            )
            if not worst < chunk <= pool:
                raise UserError(
                    f"{phase}_worst must be below {phase}_chunk and {phase}_chunk at most "
                    f"{phase}_pool, got {worst}, {chunk} and {pool}."
                )


@dataclass(frozen=True, kw_only=True)
class AxisDepthRow:
    """The network of one depth and its loss on sequences that its training did not use.

    The loss is None where a sequence overflowed. `origin` is the proposal from which the network
    grew, such as "pair last 0.3"; "given" is the shipped network of this depth, and "unchanged" the
    network one layer shallower with an empty layer.
    """

    layers: int
    loss: float | None
    error: float | None  # the standard error of `loss`
    largest: float | None  # loss of a single sequence
    samples: int
    origin: str
