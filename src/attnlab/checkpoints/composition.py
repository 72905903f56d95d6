"""Composition between the heads of different layers: does a later head read what an earlier wrote?

An earlier head writes O V^T x into the residual stream. A later head can read that as its query,
its key or its value; the score of each (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits") is the norm of the product over the product of the norms:

    Q: |V1 O1^T Q2 K2^T| / (|V1 O1^T| |Q2 K2^T|)
    K: |Q2 K2^T O1 V1^T| / (|O1 V1^T| |Q2 K2^T|)
    V: |O2 V2^T O1 V1^T| / (|O1 V1^T| |O2 V2^T|)

If one of the two heads is turned by a random rotation of the residual stream, the mean square of a
score is exactly 1 / d, so a score is a finding where it is far above 1 / sqrt(d). Norms between the
layers, and what the layers' perceptrons do, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnlab.checkpoints.forms import Factor
from attnlab.checkpoints.located import LayerFactors, followed, layer_factors, locate
from attnlab.checkpoints.reading import Progress, one_thread

KINDS = ("Q", "K", "V")
STRONGEST = 8


@dataclass(frozen=True)
class Pair:
    """The scores of all heads of a later layer with all heads of an earlier one."""

    earlier: int
    later: int
    d: int
    scores: Mapping[str, Float[np.ndarray, "later earlier"]]

    @property
    def random(self) -> float:
        """The root mean square of a score between heads that have nothing to do with each other."""
        return 1 / math.sqrt(self.d)


@dataclass(frozen=True)
class Link:
    """One head that reads another, by one of the three ways."""

    kind: str
    earlier: tuple[int, int]
    later: tuple[int, int]
    score: float
    times_random: float


@dataclass(frozen=True)
class _Writer:
    """What later layers need of an earlier one: each head's O, its triangle of V, and its norm."""

    number: int
    template: str
    O: Float[np.ndarray, "d columns"]  # noqa: E741 - all heads side by side
    V: Float[np.ndarray, "heads r r"]
    norms: Float[np.ndarray, " heads"]


def composition(
    path: Path | str,
    *,
    heads: int | None = None,
    key_value_heads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    layers: Iterable[int] | None = None,
    stack: str | None = None,
    progress: Progress | None = None,
) -> list[Pair]:
    """The scores of every pair of layers of a stack; arguments as of `read_checkpoint`.

    Of every layer that has been read, one d x (heads r) matrix stays in memory, in float32.
    """
    wanted = layer_factors(locate(path, mapping, stack), layers, heads, key_value_heads)
    writers: list[_Writer] = []
    pairs: list[Pair] = []
    with one_thread():
        for factors in followed(wanted, progress):
            pairs += _pairs(factors, writers)
    return pairs


def strongest(pairs: Iterable[Pair], number: int = STRONGEST) -> list[Link]:
    """The strongest links of each kind."""
    pairs = list(pairs)
    found: list[Link] = []
    for kind in KINDS:
        links = [link for pair in pairs for link in _links(pair, kind, number)]
        found += sorted(links, key=lambda link: -link.times_random)[:number]
    return found


def _links(pair: Pair, kind: str, number: int) -> Iterator[Link]:
    scores = pair.scores[kind]
    for place in np.argsort(scores, axis=None)[::-1][:number]:
        later, earlier = (int(each) for each in np.unravel_index(place, scores.shape))
        score = float(scores[later, earlier])
        yield Link(kind, (pair.earlier, earlier), (pair.later, later), score, score / pair.random)


def _pairs(factors: LayerFactors, writers: list[_Writer]) -> list[Pair]:
    """This layer against all earlier ones of its stack; it is then added to them."""
    cut = factors.cut
    groups = [head * cut.key_value_heads // cut.sizes.heads for head in range(cut.sizes.heads)]
    Q = [factors.of("q", head) for head in range(cut.sizes.heads)]
    K = [factors.of("k", group) for group in groups]
    V = [factors.of("v", group) for group in groups]
    O = [factors.of("o", head) for head in range(cut.sizes.heads)]  # noqa: E741
    factors.forget()
    query_key = _norms(Q, K)
    value_output = _norms(O, V)
    found = []
    for writer in writers:
        if writer.template != factors.layer.template:
            continue
        scores = {
            "Q": _scores(Q, K, query_key, writer),
            "K": _scores(K, Q, query_key, writer),
            "V": _scores(V, O, value_output, writer),
        }
        found.append(Pair(writer.number, factors.layer.number, cut.sizes.d, scores))
    matrix = np.concatenate([each.matrix for each in O], axis=1).astype(np.float32)
    triangles = np.stack([each.triangle for each in V]).astype(np.float32)
    number, template = factors.layer.number, factors.layer.template
    writers.append(_Writer(number, template, matrix, triangles, value_output))
    return found


def _norms(left: list[Factor], right: list[Factor]) -> Float[np.ndarray, " heads"]:
    return np.array(
        [np.linalg.norm(a.triangle @ b.triangle.T) for a, b in zip(left, right, strict=True)]
    )


def _scores(
    reads: list[Factor], other: list[Factor], norms: Float[np.ndarray, " heads"], writer: _Writer
) -> Float[np.ndarray, "later earlier"]:
    """|other reads^T O V^T| over the norms, for each later and each earlier head."""
    heads, earlier = len(reads), len(writer.V)
    rows = np.concatenate([each.matrix for each in reads], axis=1).astype(np.float32).T
    blocks = (rows @ writer.O).reshape(heads, -1, earlier, writer.O.shape[1] // earlier)
    left = np.stack([each.triangle for each in other]).astype(np.float32)[:, None]
    product = left @ blocks.transpose(0, 2, 1, 3) @ writer.V.transpose(0, 2, 1)[None]
    lengths = np.sqrt((product.astype(np.float64) ** 2).sum((2, 3)))
    whole = norms[:, None] * writer.norms[None]
    return np.divide(lengths, whole, out=np.zeros_like(lengths), where=whole > 0)
