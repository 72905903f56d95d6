"""A transformer of rank-1 heads whose size does not depend on N: a counterexample to Conjecture 8.

Source: ours, about Conjecture 8 of Amsel, Yehudai, Bruna (arXiv 2407.16153), which says that no
transformer of fixed size and weights and of rank r < d approximates the nearest neighbour for all
N. The heads look for the neighbours of the directions of a net, and an MLP on the concatenation of
their outputs, as in Theorem 34, takes the one whose direction is nearest to y.
`theory.covering_bound` bounds the error for every N. The size is that of a net, exponential in d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

STEEPNESS = 1e12  # a gate goes from 1 to 0 where its score is 1/S to 2/S below the largest
PROMPTS = 8  # whose B scores are held together, in the processor's cache


class OpenGates(NamedTuple):
    """The gates that are not 0: their prompts, their blocks and their values."""

    prompts: Int[np.ndarray, " open"]
    blocks: Int[np.ndarray, " open"]
    values: Float[np.ndarray, " open"]


@dataclass(frozen=True)
class CoveringHeads:
    """One layer of B d rank-1 heads, a skip connection and a ReLU MLP.

    Head (b, j) has M_b = c k_b k_b^T, which is the same for all j, and V_bj = e_bj e_j^T: it
    writes coordinate j of its answer into block b of the token of y. With a hardmax (c infinite)
    block b holds the point z_b nearest to k_b wherever k_b.y > 0. The token keeps y, of which the
    MLP computes the gates g_b, 1 for the largest k_b.y and 0 for others. For |z| <= 1 and a gate of
    0 or 1 relu(z + 1 + 2 (g - 1)) is g (z + 1), so that the sum over b, less 1, is the chosen
    block. A last pair of ReLUs keeps the answer within [-1, 1].

    Parameters
    ----------
    net
        The directions k_b; every y must have one with k_b.y > 0.
    scale
        c, infinite for a hardmax.
    steepness
        S of the gates.
    """

    net: Float[np.ndarray, "B d"]
    scale: float = math.inf
    steepness: float = STEEPNESS

    def score_matrix(self, b: int) -> Float[np.ndarray, "d d"]:
        """M_b, without c where that is infinite."""
        size = 1.0 if math.isinf(self.scale) else self.scale
        return size * np.outer(self.net[b], self.net[b])

    def gates(self, y: Float[np.ndarray, "prompts d"]) -> OpenGates:
        """The gates that are not 0.

        g_b = relu(2 - t_b) - relu(1 - t_b) with t_b = S (max_b' k_b'.y - k_b.y), which is exactly
        0 for t_b >= 2.
        """
        parts = []
        for start in range(0, len(y), PROMPTS):
            scores = np.einsum("bd,pd->bp", self.net, y[start : start + PROMPTS])
            largest = _relu_max(scores)
            blocks, prompts = np.nonzero(scores > largest - 2 / self.steepness)
            t = self.steepness * (largest[prompts] - scores[blocks, prompts])
            parts.append(OpenGates(start + prompts, blocks, _relu(2 - t) - _relu(1 - t)))
        return OpenGates(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def head_outputs(
        self,
        X: Float[np.ndarray, "pairs N d"],
        y: Float[np.ndarray, "pairs d"],
        k: Float[np.ndarray, "pairs d"],
    ) -> Float[np.ndarray, "pairs d"]:
        """X softmax(c X^T k k^T y), each prompt with the direction k of one block."""
        scores = np.einsum("pnd,pd->pn", X, k) * (k * y).sum(axis=1, keepdims=True)
        if math.isinf(self.scale):
            return X[np.arange(len(X)), scores.argmax(axis=1)]
        weights = np.exp(self.scale * (scores - scores.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("pn,pnd->pd", weights, X)

    def __call__(
        self,
        X: Float[np.ndarray, "prompts N d"],
        y: Float[np.ndarray, "prompts d"],
        gates: OpenGates | None = None,
    ) -> Float[np.ndarray, "prompts d"]:
        """The answers to prompts of any number N of points.

        Blocks whose gate is exactly 0 add relu(z - 1) = 0 and are not computed.

        Parameters
        ----------
        X, y
            The points and the sources of the prompts.
        gates
            Those of y, where a network with the same net has computed them.
        """
        prompts, blocks, values = self.gates(y) if gates is None else gates
        found = self.head_outputs(X[prompts], y[prompts], self.net[blocks])
        total = np.full(y.shape, -1.0)
        np.add.at(total, prompts, _relu(found + 1 + 2 * (values[:, None] - 1)))
        return _relu(total + 1) - _relu(total - 1) - 1

    def __repr__(self) -> str:
        blocks, d = self.net.shape
        return f"CoveringHeads({blocks * d} heads, d = {d}, c = {self.scale:g})"


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def _relu_max(scores: Float[np.ndarray, "B prompts"]) -> Float[np.ndarray, " prompts"]:
    """The largest score as log2 B layers of an MLP: max(a, b) = a + relu(b - a)."""
    while len(scores) > 1:
        half = len(scores) // 2
        first, second, rest = scores[:half], scores[half : 2 * half], scores[2 * half :]
        scores = np.concatenate([first + _relu(second - first), rest])
    return scores[0]
