"""The majority vote of random rank-1 heads as one attention layer and an MLP.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Theorem 34. Its weights are not available to us,
so this permutation-invariant network is our own. It casts the votes of `majority_vote` and has the
error of `theory.majority_vote`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.rank.models.constructions import attention_weights
from attnlab.rank.models.majority_vote import check_directions, check_two_points
from attnlab.rank.problem import NeighbourPrompt


class VoteByMLP(eqx.Module):
    """Theorem 34, our own construction: one layer of rank-1 heads, then a ReLU MLP, no encodings.

    The H d heads are M_hi = q_h q_h^T and V_hi = e_i e_i^T, so the concatenation of their outputs
    holds coordinate i of the point that vote h chose. In every coordinate the H entries take the
    two values lo <= hi, and the majority's is clip(mid + 2H (mean - mid), lo, hi), mid their
    middle: |mean - mid| >= (hi - lo) / (2H) where H is odd. The MLP is block diagonal, the same
    `weights` for each of the d coordinates: log2 H layers for lo and hi, one for the clip. Heads
    and MLP see the points as a set: exchanging them changes nothing. It answers prompts of two
    points; `vote_by_mlp` builds it.
    """

    directions: Float[Array, "H d"]
    weights: list[tuple[Array, Array]]
    scale: float = eqx.field(static=True, default=math.inf)

    def head_outputs(self, prompt: NeighbourPrompt) -> Float[Array, "H d"]:
        """The outputs of the H d rank-1 heads, coordinate i of vote h at [h, i]."""
        X, y, _ = prompt
        check_two_points(X, self.directions.shape[1])
        scores = jnp.dot(self.directions, X.T, precision="highest")
        scores = scores * jnp.dot(self.directions, y, precision="highest")[:, None]
        votes = jax.vmap(lambda row: attention_weights(row, self.scale))(scores)
        return jnp.dot(votes, X, precision="highest")

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        hidden = self.head_outputs(prompt)
        for W, b in self.weights[:-1]:
            hidden = jax.nn.relu(jnp.dot(W, hidden, precision="highest") + b[:, None])
        W, b = self.weights[-1]
        return (jnp.dot(W, hidden, precision="highest") + b[:, None])[0]

    def __repr__(self) -> str:
        heads, d = self.directions.shape
        return f"VoteByMLP({heads * d} heads, d = {d}, {len(self.weights)} layers)"


def vote_by_mlp(directions: Float[Array, "H d"], scale: float = math.inf) -> VoteByMLP:
    """The network for the directions q_h, an odd number of them."""
    heads, _ = check_directions(directions)
    layers = [
        (jnp.asarray(W, directions.dtype), jnp.asarray(b, directions.dtype))
        for W, b in vote_layers(heads)
    ]
    return VoteByMLP(directions, layers, scale)


@lru_cache(maxsize=16)
def vote_layers(heads: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The MLP of one coordinate: H entries in [-1, 1] to the value of their majority.

    Entries are raised by 1, so that ReLU keeps what is only passed on. `highs`, `lows` and `mean`
    are rows: affine functions of the layer that the next W is applied to.
    """
    layers: list[tuple[np.ndarray, np.ndarray]] = []
    highs, lows, mean = np.eye(heads), np.eye(heads), np.full((1, heads), 1 / heads)
    shift = 1.0  # only the first layer sees entries that are not raised
    while len(highs) > 1:
        odd = len(highs) % 2
        left, right = slice(0, None, 2), slice(1, None, 2)
        pairs = len(highs) // 2
        up = highs[right] - highs[left][:pairs]
        down = lows[left][:pairs] - lows[right]
        W = np.concatenate([highs[left], up, lows[left], down, mean])
        b = np.concatenate([np.full(pairs + odd, shift), np.zeros(pairs)] * 2 + [[shift]])
        layers.append((W, b))
        # max(a, b) = a + relu(b - a), min(a, b) = a - relu(a - b).
        rows = np.eye(len(W))
        first, last = pairs + odd, 2 * pairs + odd
        highs, lows, mean = rows[:first].copy(), rows[last : last + first].copy(), rows[-1:]
        highs[:pairs] += rows[first:last]
        lows[:pairs] -= rows[last + first : -1]
        shift = 0.0
    middle = (highs + lows) / 2
    wanted = middle + 2 * heads * (mean - middle)
    # clip(w, lo, hi) = lo + relu(w - lo) - relu(w - hi).
    layers.append((np.concatenate([lows, wanted - lows, wanted - highs]), np.array([shift, 0, 0])))
    layers.append((np.array([[1.0, 1.0, -1.0]]), np.array([-1.0])))
    return layers
