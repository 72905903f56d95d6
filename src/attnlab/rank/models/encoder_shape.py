"""The sizes and options of an encoder, before it has weights; no JAX is needed to describe one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.models.choices import (
    ENCODINGS,
    LEARNED_ENCODINGS,
    MATMULS,
    NORMS,
    PRODUCTS,
    Encoding,
    Matmul,
    Norm,
    Products,
)


@dataclass(frozen=True)
class EncoderShape:
    """What an encoder is before it has weights; the defaults are the paper's.

    Parameters
    ----------
    d
        Dimension of the points.
    rank
        Rank r of every head.
    layers
        Number of blocks L.
    width_multiplier
        Groups of width / r heads, over whose outputs the mean is taken.
    mlp
        Width of the perceptron; 0 leaves it out.
    norm
        "scalar" is x / ||x|| times one learned number, "rms" a root mean square norm with d
        learned gains, "none" leaves the norms out.
    encoding
        "additive" adds a learned vector per position; "concatenated" appends `encoding_dims`
        learned coordinates, and the output is read from the first d; "padded" appends as many
        zeros instead, the control of equal width.
    encoding_dims
        Appended coordinates; d of them unless given, so that the width doubles as in the paper.
    length
        Number of points N, which learned encodings need.
    self_mask
        Whether a point may not attend to itself.
    bias
        Whether the maps have biases.
    published_start
        Whether weights start as in the published code, where all layers start as copies of one
        and positions as N(-1, 1) (additive) or U(-1, 1) (concatenated). Otherwise every layer is
        drawn, and positions are N(0, 1).
    matmul, products
        Precision of the products with weights, and how the products inside of heads are computed.
    """

    d: int = 64
    rank: int = 64
    layers: int = 1
    width_multiplier: int = 1
    mlp: int = 2048
    norm: Norm = "scalar"
    encoding: Encoding = "none"
    encoding_dims: int | None = None
    length: int | None = None
    self_mask: bool = False
    bias: bool = True
    matmul: Matmul = "float32"
    products: Products = "auto"
    published_start: bool = False

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 1)
        arguments.integer("rank", self.rank, 1)
        arguments.integer("layers", self.layers, 1)
        arguments.integer("width_multiplier", self.width_multiplier, 1)
        arguments.integer("mlp", self.mlp, 0)
        arguments.one_of("norm", self.norm, NORMS)
        arguments.one_of("encoding", self.encoding, ENCODINGS)
        arguments.one_of("matmul", self.matmul, MATMULS)
        arguments.one_of("products", self.products, PRODUCTS)
        if self.encoding_dims is not None:
            arguments.integer("encoding_dims", self.encoding_dims, 1)
        if self.length is not None:
            arguments.integer("length", self.length, 2)
        elif self.learns_positions:
            raise UserError("length must be an integer of at least 2 for encodings, got None.")
        if self.rank > self.width:
            raise UserError(f"rank must be at most the width, {self.width}, got {self.rank}.")
        if self.width % self.rank:
            raise UserError(f"rank must divide the width, {self.width}, got {self.rank}.")

    @property
    def learns_positions(self) -> bool:
        """Whether there is a learned vector per position."""
        return self.encoding in LEARNED_ENCODINGS

    @property
    def width(self) -> int:
        """The dimension inside: d, and the encoding's coordinates where they are appended."""
        if self.encoding not in ("concatenated", "padded"):
            return self.d
        return self.d + (self.d if self.encoding_dims is None else self.encoding_dims)

    @property
    def group_heads(self) -> int:
        """Heads in a group, width / rank."""
        return self.width // self.rank

    @property
    def heads(self) -> int:
        """H = (width / rank) * width_multiplier."""
        return self.group_heads * self.width_multiplier

    @property
    def scale(self) -> float:
        """What multiplies the scores, 1 / sqrt(rank)."""
        return 1 / math.sqrt(self.rank)
