"""Questions about FULL networks: training them, evaluating the shipped ones, and their weights.

FULL has all entries of P and Q free and is trained by Adam from random weights
(`attnlab.linear.training.full_networks`). A training cell has one noise law and one depth and
evaluates its networks itself. They are answered in `compute_full`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnlab import arguments
from attnlab.linear.study.questions_networks import AxisLossRow, Setting

RECIPES = ("clipped", "paper")
DIAGONAL: dict[str, Literal["gd++", "diag"]] = {"paper-gd++": "gd++", "paper-diag": "diag"}
# Beside FULL from random weights: the paper's recipe for the other families, and starts near DIAG.
MODELS = {"paper-gd++": "GD++", "paper-diag": "DIAG", "from-diag": "FULL from DIAG"}


@dataclass(frozen=True, kw_only=True)
class FullTraining(Setting):
    """Networks of one depth on one noise law, each trained by Adam from its own random weights."""

    depth: int = 2
    """Number of layers."""
    starts: int = 5
    """Number of networks; they differ in their weights at the start."""
    steps: int = 200_000
    """Adam steps."""
    batch: int = 2048
    """Fresh sequences per step."""
    recipe: Literal["clipped", "paper", "paper-gd++", "paper-diag"] = "clipped"
    """With clipped gradients, warm-up and a cosine; or the paper's constant rate without both.
    The networks are FULL, or those of the family that the recipe names."""
    held_out: int = 32_768
    """Sequences by which the weights of a network, and the best network, are chosen."""
    chunk: int = 1000
    """Steps between two looks at them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("depth", "starts", "steps", "batch", "held_out", "chunk"):
            arguments.integer(name, getattr(self, name), 1)
        arguments.one_of("recipe", self.recipe, (*RECIPES, *DIAGONAL))


@dataclass(frozen=True, kw_only=True)
class FullEvaluation(Setting):
    """The shipped networks of one noise law that Adam trained, evaluated on fresh sequences."""

    networks: Literal["best", "every"] = "best"
    """The best of five at every depth by recorded loss, or all of them."""
    recipe: Literal["clipped", "paper", "paper-gd++", "paper-diag", "from-diag"] = "clipped"
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
    there. Of the `trained_starts` networks of this law and depth, `steady_starts` had no heavy tail
    there: a standard error of at most 5% of the mean.
    """

    start: int  # which of the random starts
    selection: float | None  # the value by which the best of the starts is chosen
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
