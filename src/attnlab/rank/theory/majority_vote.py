"""The majority vote of random rank-1 heads: two attention layers, or one and an MLP.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Definition 6, Theorems 7 and 34. Both networks
answer (X, y) -> R^d for N = 2 points and make the same votes; the error of those is an exact law.
Theorem 34's weights are not available to us, so its permutation-invariant network is our own.
"""

import math
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import special, stats

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.harmonics import marginal_constant
from attnlab.rank.problem import unit
from attnlab.rank.theory.constructions import attention_weights
from attnlab.stats.estimate import Estimate

GAIN = 1e6  # C of Theorem 7: what is left of the residual y is y / C


class SelfMaskedLayer(eqx.Module):
    """Definition 6: T_i(X) = x_i + sum_h V_h X_{-i} softmax(X_{-i}^T M_h x_i), tokens in rows.

    Every head is kept in factors, M_h = K_h Q_h^T and V_h = O_h U_h^T with r columns each, so its
    rank is at most r. `scale` multiplies the scores; infinity is the hardmax.
    """

    K: Float[Array, "H e r"]
    Q: Float[Array, "H e r"]
    O: Float[Array, "H e r"]  # noqa: E741 (the symbol of the field)
    U: Float[Array, "H e r"]
    scale: float = eqx.field(static=True, default=math.inf)

    def M(self) -> Float[Array, "H e e"]:  # noqa: N802
        """The score matrices."""
        return jnp.einsum("her,hfr->hef", self.K, self.Q, precision="highest")

    def V(self) -> Float[Array, "H e e"]:  # noqa: N802
        """The value matrices."""
        return jnp.einsum("her,hfr->hef", self.O, self.U, precision="highest")

    def __call__(self, tokens: Float[Array, "n e"]) -> Float[Array, "n e"]:
        """All tokens after the layer."""
        keys = jnp.einsum("ne,her->hnr", tokens, self.K, precision="highest")
        queries = jnp.einsum("ne,her->hnr", tokens, self.Q, precision="highest")
        values = jnp.einsum("ne,her->hnr", tokens, self.U, precision="highest")
        scores = jnp.einsum("hir,hjr->hij", queries, keys, precision="highest")
        itself = jnp.eye(len(tokens), dtype=bool)[None]
        scores = jnp.where(itself, -jnp.inf, scores)
        weights = jax.vmap(jax.vmap(lambda row: attention_weights(row, self.scale)))(scores)
        mixed = jnp.einsum("hij,hjr->hir", weights, values, precision="highest")
        return tokens + jnp.einsum("hir,her->ie", mixed, self.O, precision="highest")


class MajorityVote(eqx.Module):
    """Theorem 7: two self-masked layers of rank-1 heads on [x_1;+1;0], [x_2;-1;0], [y;0;0].

    Layer 1 has M_h = q_h q_h^T and V_h = (1/H) e_vote e_label^T, so y's last coordinate becomes the
    mean label its heads chose. Layer 2 has d heads M = e_label e_vote^T, V_i = C e_i e_i^T, which
    fetch the point of the majority's label; A = [I 0 0] / C.
    """

    first: SelfMaskedLayer
    second: SelfMaskedLayer
    A: Float[Array, "d e"]

    def tokens(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, "n e"]:
        """The three tokens with their positional encodings."""
        _two_points(X, self.A.shape[0])
        encodings = jnp.array([[1, 0], [-1, 0], [0, 0]], X.dtype)
        return jnp.concatenate([jnp.concatenate([X, y[None]]), encodings], axis=1)

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        after = self.second(self.first(self.tokens(X, y)))
        return jnp.dot(self.A, after[-1], precision="highest")


def majority_vote(
    directions: Float[Array, "H d"], scale: float = math.inf, gain: float = GAIN
) -> MajorityVote:
    """Theorem 7's network for the directions q_h; `scale` is its c, `gain` its C."""
    heads, d = _odd_directions(directions)
    dtype = directions.dtype
    label, vote = jnp.eye(d + 2, dtype=dtype)[-2:]
    padded = jnp.pad(directions, ((0, 0), (0, 2)))
    first = SelfMaskedLayer(
        padded[:, :, None],
        padded[:, :, None],
        jnp.tile(vote[None, :, None] / heads, (heads, 1, 1)),
        jnp.tile(label[None, :, None], (heads, 1, 1)),
        scale,
    )
    basis = jnp.eye(d, d + 2, dtype=dtype)
    second = SelfMaskedLayer(
        jnp.tile(label[None, :, None], (d, 1, 1)),
        jnp.tile(vote[None, :, None], (d, 1, 1)),
        gain * basis[:, :, None],
        basis[:, :, None],
        scale,
    )
    return MajorityVote(first, second, basis / gain)


def random_directions(
    key: PRNGKeyArray, d: int, heads: int, dtype: Any = float
) -> Float[Array, "H d"]:
    """Uniform q_1..q_H."""
    d, heads = arguments.integer("d", d, 2), arguments.integer("heads", heads, 1)
    return unit(jax.random.normal(key, (heads, d), dtype))


class VoteByMLP(eqx.Module):
    """Theorem 34, our own construction: one layer of rank-1 heads, then a ReLU MLP, no encodings.

    The H d heads are M_hi = q_h q_h^T and V_hi = e_i e_i^T, so the concatenation of their outputs
    holds coordinate i of the point that vote h chose. In every coordinate the H entries take the
    two values lo <= hi, and the majority's is clip(mid + 2H (mean - mid), lo, hi), mid their
    middle: |mean - mid| >= (hi - lo) / (2H) where H is odd. The MLP is block diagonal, the same
    `weights` for each of the d coordinates: log2 H layers for lo and hi, one for the clip. Heads
    and MLP see the points as a set: exchanging them changes nothing.
    """

    directions: Float[Array, "H d"]
    weights: list[tuple[Array, Array]]
    scale: float = eqx.field(static=True, default=math.inf)

    def head_outputs(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, "H d"]:
        """The outputs of the H d rank-1 heads, coordinate i of vote h at [h, i]."""
        _two_points(X, self.directions.shape[1])
        scores = jnp.dot(self.directions, X.T, precision="highest")
        scores = scores * jnp.dot(self.directions, y, precision="highest")[:, None]
        votes = jax.vmap(lambda row: attention_weights(row, self.scale))(scores)
        return jnp.dot(votes, X, precision="highest")

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        hidden = self.head_outputs(X, y)
        for W, b in self.weights[:-1]:
            hidden = jax.nn.relu(jnp.dot(W, hidden, precision="highest") + b[:, None])
        W, b = self.weights[-1]
        return (jnp.dot(W, hidden, precision="highest") + b[:, None])[0]


def vote_by_mlp(directions: Float[Array, "H d"], scale: float = math.inf) -> VoteByMLP:
    """The network for the directions q_h, an odd number of them."""
    heads, _ = _odd_directions(directions)
    layers = [
        (jnp.asarray(W, directions.dtype), jnp.asarray(b, directions.dtype))
        for W, b in _vote_layers(heads)
    ]
    return VoteByMLP(directions, layers, scale)


@lru_cache(maxsize=16)
def _vote_layers(heads: int) -> list[tuple[np.ndarray, np.ndarray]]:
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


def majority_vote_error(d: int, heads: int) -> Estimate:
    """The error of the vote, exactly, averaged over uniform directions: 2 P(wrong), H odd.

    Given the angle between x_1 - x_2 and y, each head is right independently with probability
    1/2 + asin|t| / pi, so the number of right votes is binomial; t is one coordinate of a uniform
    point, and E||x_1 - x_2||^2 = 2 is independent of it.
    """
    d, heads = arguments.integer("d", d, 3), _odd(heads)
    t, weights = _fine_half_line(d, 1 / math.sqrt(heads))
    wrong = stats.binom.cdf(heads // 2, heads, 0.5 + np.arcsin(t) / math.pi)
    return Estimate(2 * float(weights @ wrong))


def majority_vote_rate(d: int, heads: int) -> float:
    """The same for large d and H: (2/pi) atan((pi/2) sqrt(d/H)), so H ~ d / eps^2 is enough.

    The vote is (2/pi) t, t ~ N(0, 1/d), plus noise of variance 1/H. Theorem 7 asks for d^3 / eps^2.
    """
    return 2 / math.pi * math.atan(math.pi / 2 * math.sqrt(d / heads))


def single_head_probability(d: int) -> Estimate:
    """How often one random head q q^T is right: 1/2 + E asin|t| / pi = 1/2 + Omega(d^-1/2)."""
    t, weights = _fine_half_line(arguments.integer("d", d, 3), 1.0)
    return Estimate(0.5 + float(weights @ np.arcsin(t)) / math.pi)


def single_head_rate(d: int) -> float:
    """Its limit for large d: 1/2 + (1/pi) sqrt(2 / (pi d))."""
    return 0.5 + math.sqrt(2 / (math.pi * d)) / math.pi


def _fine_half_line(d: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels of E g(|t|) in the angle asin|t|, finer near 0, where g varies."""
    edges = np.unique(
        np.clip([0, *(width * 2.0 ** np.arange(-1, 12)), math.pi / 2], 0, math.pi / 2)
    )
    u, w = special.roots_legendre(24)
    half = np.diff(edges)[:, None] / 2
    angles = (edges[:-1, None] + half * (u + 1)).ravel()
    weights = (half * w).ravel() * 2 * marginal_constant(d) * np.cos(angles) ** (d - 2)
    return np.sin(angles), weights


def _odd(heads: int) -> int:
    heads = arguments.integer("heads", heads, 1)
    if heads % 2 == 0:
        raise UserError(f"heads must be odd, or a vote can be tied, got {heads}.")
    return heads


def _odd_directions(directions: Float[Array, "H d"]) -> tuple[int, int]:
    if directions.ndim != 2:
        raise UserError(f"directions must have the shape (H, d), got {directions.shape}.")
    return _odd(directions.shape[0]), directions.shape[1]


def _two_points(X: Float[Array, "N d"], d: int) -> None:
    if X.shape != (2, d):
        raise UserError(f"X must hold 2 points of dimension {d}, got shape {X.shape}.")
