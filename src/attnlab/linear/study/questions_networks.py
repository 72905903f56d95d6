"""Questions about networks: training of GD++ and DIAG, and the shipped AXIS networks.

A training cell grows every depth of one family on one noise law, stores the weights, and evaluates
them, because a cell has no access to another cell's result. All evaluations of a law use the same
fresh sequences. They are answered in `compute_networks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments

TrainedFamily = Literal["gd++", "diag", "omegas", "no-momentum", "no-rescaling"]
FAMILIES: dict[str, str] = {
    "gd++": "GD++",
    "diag": "DIAG",
    "omegas": "DIAG, free omegas",
    "no-momentum": "DIAG without momentum",
    "no-rescaling": "DIAG without rescaling",
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The problem and its evaluation."""

    noise: str = "uniform:5"
    """Law of the noise level: uniform:HIGH, categorical:LEVEL,... or fixed:SIGMA."""
    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    sequences: int = 8192
    """Fresh sequences on which a model is evaluated."""
    sigma_max: float = 0.0
    """Largest noise level of the loss profile; 0 for no profile."""
    sigma_points: int = 11
    """Number of noise levels of the profile, of which the first is 0."""
    level_sequences: int = 1024
    """Fresh sequences at each noise level of the profile."""
    profile: Literal["deepest", "every"] = "deepest"
    """Depths that have a profile: only the deepest, or every one."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        for name, least in (("d", 1), ("n", 1), ("sigma_points", 2), ("seed", 0)):
            arguments.integer(name, getattr(self, name), least)
        for name in ("sequences", "level_sequences"):
            arguments.integer(name, getattr(self, name), 2)
        arguments.non_negative("sigma_max", self.sigma_max)
        arguments.one_of("profile", self.profile, ("deepest", "every"))


@dataclass(frozen=True, kw_only=True)
class Training(Setting):
    """Depths 1 to `depth` of one family on one noise law, each grown from the depth before."""

    family: TrainedFamily = "diag"
    """GD++, DIAG with one head, DIAG with free omegas, or these without one of the four omegas."""
    depth: int = 7
    """Number of layers of the deepest network."""
    run: int = 0
    """Number of the training run; runs differ in their random draws."""
    starts: int = 6
    """New layers that are tried in each place."""
    screening: int = 256
    """Sequences on which they are tried."""
    fitted: int = 4096
    """Sequences of the final fit."""
    pool: int = 65536
    """Sequences from which those are taken, and of every check on fresh data."""
    tail: int = 512
    """Worst sequences of the pool that every fit keeps."""
    rounds: int = 4
    """How often fresh sequences may join a fit."""
    fresh: int = 32768
    """Fresh sequences by which the best of several runs is chosen."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.one_of("family", self.family, FAMILIES)
        for name in ("depth", "starts", "screening", "fitted", "pool", "tail", "fresh"):
            arguments.integer(name, getattr(self, name), 1)
        for name in ("run", "rounds"):
            arguments.integer(name, getattr(self, name), 0)


@dataclass(frozen=True, kw_only=True)
class LossRow:
    """A loss read after `read` of `layers` layers, over the noise law or at one level sigma.

    It is None where a sequence overflowed, and `diagnosis` says so. A ridge has 0 layers.
    """

    model: str
    layers: int
    read: int
    sigma: float | None
    loss: float | None
    error: float | None  # the standard error of `loss`
    samples: int
    diagnosis: str


@dataclass(frozen=True, kw_only=True)
class TrainedLossRow(LossRow):
    """A loss of a trained network, with its losses in training and why training stopped."""

    selection: float | None  # loss on the sequences by which the best run is chosen
    training: float | None
    iterations: int
    stopped: str
    rounds_used: int
    tail_holds: bool


@dataclass(frozen=True, kw_only=True)
class AxisLossRow(LossRow):
    """A loss of a shipped network, with its tail."""

    largest: float | None  # loss of a single sequence
    worst_share: float | None  # of the mean, carried by the worst 0.1% of the sequences


@dataclass(frozen=True, kw_only=True)
class Reference(Setting):
    """The shipped AXIS networks of one noise law, evaluated on fresh sequences."""

    run: int | None = None
    """Training run of the networks; by default the best one at every depth by recorded loss."""
    weights: str = ""
    """Digest of the networks of this law in the shipped file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.run is not None:
            arguments.integer("run", self.run, 0)


@dataclass(frozen=True)
class Matrices:
    """P and Q of a shipped AXIS network, to be compared with Figure 4."""

    noise: str = "categorical:1,3"
    """Noise law on which the network was trained."""
    layers: int = 4
    """Number of layers; of several runs the best by recorded loss is taken."""
    weights: str = ""
    """Digest of the networks of this law in the shipped file."""

    def __post_init__(self) -> None:
        arguments.integer("layers", self.layers, 1)


@dataclass(frozen=True)
class MatrixEntry:
    """One entry of P or Q."""

    matrix: str  # P or Q
    layer: int
    row: int
    column: int
    value: float
