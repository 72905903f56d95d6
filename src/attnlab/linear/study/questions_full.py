"""Questions about FULL networks: training them, evaluating the shipped ones, and their weights.

FULL has all entries of P and Q free and is trained by Adam, from random weights of all layers
(`attnlab.linear.training.full_networks`) or layer by layer (`full_growth`). A training cell has one
depth and any number of noise laws, since a GPU trains fifty shallow networks in little more than
the time of ten; a growth has all depths of one law. The weights ship
(`scripts/pack_full_networks.py`), and the shipped networks are evaluated by cells of their own. The
questions are answered in `compute_full_training` and `compute_full`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.study.questions_networks import AxisLossRow, Setting

RECIPES = ("clipped", "printed")
Recipe = Literal["clipped", "printed", "printed-gd++", "printed-diag", "from-diag"]
DIAGONAL: dict[str, Literal["gd++", "diag"]] = {"printed-gd++": "gd++", "printed-diag": "diag"}
# Beside FULL from random weights: the paper's recipe for the other families, and starts near DIAG.
MODELS = {"printed-gd++": "GD++", "printed-diag": "DIAG", "from-diag": "FULL from DIAG"}


@dataclass(frozen=True, kw_only=True)
class FullTraining:
    """Networks of one depth on some noise laws, each trained by Adam from its own weights."""

    laws: str = "uniform:5"
    """Laws of the noise level, separated by spaces; every law has its own networks."""
    depth: int = 2
    """Number of layers."""
    starts: int = 5
    """Number of networks per law; they differ in their weights at the start."""
    steps: int = 200_000
    """Adam steps."""
    batch: int = 2048
    """Fresh sequences per step."""
    recipe: Recipe = "clipped"
    """With clipped gradients, warm-up and a cosine; or the paper's recipe as printed: a constant
    rate, one query per sequence, nothing clipped or skipped, and the last weights.
    The networks are FULL, or those of the family that the recipe names; "from-diag" is FULL that
    starts near the shipped DIAG network. The last three take one law."""
    held_out: int = 32_768
    """Sequences by which the weights of a network are chosen."""
    chunk: int = 1000
    """Steps between two looks at them."""
    fresh: int = 65_536
    """Sequences of the loss that is recorded at the end, by which the best start is chosen."""
    d: int = 10
    """Dimension of an input."""
    n: int = 20
    """Number of tokens in the context."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        for name in ("depth", "starts", "steps", "batch", "held_out", "chunk", "fresh", "d", "n"):
            arguments.integer(name, getattr(self, name), 1)
        arguments.integer("seed", self.seed, 0)
        arguments.one_of("recipe", self.recipe, (*RECIPES, *MODELS))
        if not self.laws.split() or (self.recipe in MODELS and len(self.laws.split()) > 1):
            wanted = "one noise law" if self.recipe in MODELS else "at least one noise law"
            raise UserError(
                f"laws must name {wanted} for the recipe {self.recipe!r}, got {self.laws!r}."
            )


@dataclass(frozen=True, kw_only=True)
class TrainedNetworkRow:
    """One trained network and its loss on fresh sequences, with the tail of the loss.

    `body` is the mean without the worst 0.1% of the sequences, and `worst_share` what these carry
    of the sum of all. Where sequences overflow the network has diverged and has no mean.
    """

    noise: str
    start: int
    model: str
    loss: float | None
    error: float | None
    body: float | None
    largest: float | None
    worst_share: float | None
    overflowed: int
    samples: int
    chosen_at_step: int
    status: str


@dataclass(frozen=True, kw_only=True)
class FullGrowth(FullTraining):
    """Networks of all depths on one noise law, each grown from the network one layer shallower.

    Every depth is trained by Adam with all entries free, gradients clipped, warm-up and a cosine.
    """

    depth: int = 7
    """Number of layers of the deepest network."""
    steps: int = 8_000
    """Adam steps at every depth."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.one_of("recipe", self.recipe, ("clipped",))
        if len(self.laws.split()) != 1:
            raise UserError(f"laws must name one noise law, got {self.laws!r}.")


@dataclass(frozen=True, kw_only=True)
class GrownNetworkRow(TrainedNetworkRow):
    """One grown network; `chosen_at_step` counts the steps of all depths before."""

    layers: int


@dataclass(frozen=True, kw_only=True)
class FullEvaluation(Setting):
    """The shipped networks of one noise law that Adam trained, evaluated on fresh sequences."""

    networks: Literal["best", "every"] = "best"
    """The best of the starts at every depth by recorded loss, or all of them."""
    recipe: Recipe = "clipped"
    """The recipe by which they were trained, with the family where that is not FULL."""
    weights: str = ""
    """Digest of the networks of this law in the shipped file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.one_of("networks", self.networks, ("best", "every"))
        arguments.one_of("recipe", self.recipe, (*RECIPES, *MODELS))


@dataclass(frozen=True, kw_only=True)
class FullLossRow(AxisLossRow):
    """A loss of a FULL network, with its tail.

    `selection` was measured on other sequences than `loss`; it is None where the network diverged
    there. `steady` says whether its loss had no heavy tail there, a standard error of at most 5% of
    the mean: a small evaluation may contain none of the sequences that make up the tail. Of the
    `trained_starts` networks of this law and depth, `steady_starts` had none.
    """

    start: int  # which of the random starts
    selection: float | None  # the value by which the best of the starts is chosen
    steady: bool
    steps_trained: int
    steady_starts: int
    trained_starts: int


@dataclass(frozen=True)
class FullStructure:
    """How P and Q of every shipped FULL network of one noise law are built."""

    noise: str = "categorical:1,3"
    """Noise law on which the networks were trained."""
    weights: str = ""
    """Digest of the networks of this law in the shipped file."""


@dataclass(frozen=True, kw_only=True)
class StructureRow:
    """One matrix P or Q of one network; shares are of sums of squared entries.

    `rank_one` and `rank_two` are the shares of the part off the diagonal that its one and two
    largest singular values carry.
    """

    layers: int
    start: int
    best: bool  # whether this is the best of the starts by recorded loss
    steady: bool  # whether its recorded loss has no heavy tail
    matrix: str  # P or Q
    layer: int
    diagonal: float  # share of the diagonal in the whole matrix
    x_diagonal: float  # share of the diagonal in the block of the inputs
    x_identity: float  # share of the multiple of the identity in the block of the inputs
    rank_one: float
    rank_two: float


@dataclass(frozen=True, kw_only=True)
class ManyStarts(FullTraining):
    """Networks of one law and depth from many starts; what is asked for is how P and Q are built.

    The weights are not kept: the answer has the rows about shipped networks, with the losses.
    """

    laws: str = "categorical:1,3"
    """Law of the noise level."""
    depth: int = 4
    """Number of layers."""
    starts: int = 20
    """Number of networks; they differ in their weights at the start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.laws.split()) != 1:
            raise UserError(f"laws must name one noise law, got {self.laws!r}.")


@dataclass(frozen=True, kw_only=True)
class StartRow(StructureRow):
    """One matrix of a network of `ManyStarts`, with its loss, which is None if it diverged."""

    loss: float | None
    error: float | None
    samples: int


@dataclass(frozen=True)
class FullMatrices:
    """P and Q of the best shipped FULL network of one noise law and depth (Figure 4)."""

    noise: str = "categorical:1,3"
    """Noise law on which the network was trained."""
    layers: int = 4
    """Number of layers."""
    weights: str = ""
    """Digest of the networks of this law in the shipped file."""

    def __post_init__(self) -> None:
        arguments.integer("layers", self.layers, 1)
