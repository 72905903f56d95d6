"""Width, heads and rank of every attention layer in a library of transformers: a census.

The library is Hugging Face Transformers 4.42.4 (27 June 2024), the last release before Amsel,
Yehudai, Bruna (arXiv 2407.16153). Each of its architectures is there with its default settings;
`scripts/library_architectures.py` built them and read the shapes of their query matrices. It says
which ones it leaves out: those without attention, those that only join others, and the few that
need further libraries.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

LIBRARY = "Transformers 4.42.4"


@dataclass(frozen=True)
class AttentionShape:
    """The shape of attention layers that one architecture has with its default settings."""

    architecture: str
    layer: str  # the class of the layer
    d: int  # width of what queries are made from
    heads: int  # H
    keys: int  # H r, the width of all queries together
    layers: int  # of this shape

    @property
    def rank(self) -> float:
        """The rank r of a head; a fraction where the heads do not share the width evenly."""
        return self.keys / self.heads

    @property
    def share(self) -> float:
        """H r / d, which is 1 where H = d/r."""
        return self.keys / self.d


@cache
def attention_shapes() -> tuple[AttentionShape, ...]:
    """All shapes of the census, sorted by architecture."""
    text = resources.files("attnlab.rank.theory").joinpath("architectures.csv").read_text("utf-8")
    return tuple(
        AttentionShape(name, layer, int(d), int(heads), int(keys), int(layers))
        for name, layer, d, heads, keys, layers in list(csv.reader(text.splitlines()))[1:]
    )
