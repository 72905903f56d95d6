"""The encoder of the paper's experiments, trained from several seeds: Figures 1 to 4.

A cell trains one configuration as a population in one program and has one row per seed: the error
on held-out prompts with its standard error, the least training loss as the paper reports it, and
what the heads of the first layer have become.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from attnlab.rank.models.choices import LEARNED_ENCODINGS, Encoding, Matmul, Norm, Products
from attnlab.rank.models.encoder_shape import EncoderShape


@dataclass(frozen=True)
class EncoderRun:
    """One configuration of the encoder, trained from several seeds (Figures 1 to 4)."""

    d: int = 16
    """Dimension of the points."""
    N: int = 8
    """Number of points."""
    rank: int = 16
    """Rank r of every head; H = (width / r) * width_multiplier."""
    width_multiplier: int = 1
    """Groups of heads: 1, sqrt(d) or d in the paper."""
    layers: int = 1
    """Number of blocks L."""
    mlp: int = 64
    """Width of the perceptron; 0 leaves it out."""
    encoding: Encoding = "none"
    """Positional encodings."""
    norm: Norm = "scalar"
    """The norm after attention and perceptron."""
    target: Literal["farthest", "nearest"] = "farthest"
    """Which of the other points every point asks for."""
    steps: int = 1500
    """Training steps."""
    batch: int = 128
    """Sequences per step."""
    rate: float = 0.01
    """Peak of the learning rate."""
    replay: int = 0
    """Batches that are used again and again, as in the published experiment (100); 0 for none."""
    seeds: int = 2
    """Members of the population."""
    matmul: Matmul = "float32"
    """Precision of the products with weights."""
    products: Products = "dot"
    """How the products of the heads are computed: "dot" is fastest for small populations."""
    seed: int = 0
    """Seed of the weights and of the prompts."""

    def shape(self) -> EncoderShape:
        """The encoder before it has weights."""
        return EncoderShape(
            self.d,
            self.rank,
            self.layers,
            self.width_multiplier,
            self.mlp,
            self.norm,
            self.encoding,
            length=self.N if self.encoding in LEARNED_ENCODINGS else None,
            matmul=self.matmul,
            products=self.products,
        )


@dataclass(frozen=True)
class EncoderVariant(EncoderRun):
    """The same encoder with biases left out, or with weights that start as in the published code.

    A kind of its own, so that the cells of Figures 1 to 4 keep their keys.
    """

    bias: bool = True
    """Whether the maps have biases."""
    published_start: bool = False
    """Whether layers start as copies of one layer, and positions around -1 or in U(-1, 1)."""

    def shape(self) -> EncoderShape:
        """The encoder before it has weights."""
        return replace(super().shape(), bias=self.bias, published_start=self.published_start)
