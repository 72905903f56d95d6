"""Linear transformers on tokens (x_i, y_i), and the exact ways to run them.

Source: Vladymyrov et al. (arXiv 2402.14180). A layer is e_i <- e_i + S e_i with
S = sum_k P_k (sum_{j <= n} e_j e_j^T) Q_k; the sum runs over the n context tokens only, and the
prediction is minus the last coordinate of the query token.

`token_form` is that definition, and `gram_form` is the reference for every other implementation of
the recursion in this package. Each of them is tested against one of these two and stays for a
reason of its own, which its docstring gives: `final_weights` (no trace is kept),
`attnlab.linear.models.state` (the recursion of Lemma 4.3), `spectral_form` (GD++ on eigenvalues
alone), `attnlab.linear.kernels` and `attnlab.linear.training.simd_layout` (speed on one kind of
device), `attnlab.linear.regressor.recursion` (NumPy only) and `attnlab.linear.reading.export`
(a file that needs NumPy only).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.weights import GDPlusPlus, Weights

SMALL = 16  # products with sums of at most this length are written out on a GPU


class Tokens(NamedTuple):
    """All tokens before layer 1 and after every layer: the first axis has layers + 1 entries."""

    context: Float[Array, "stages n d+1"]
    queries: Float[Array, "stages q d+1"]

    @property
    def predictions(self) -> Float[Array, "stages q"]:
        """The predictions read before layer 1, where they are 0, and after every layer."""
        return -self.queries[..., -1]


class GramTrace(NamedTuple):
    """R = T_l ... T_1 and G = R G_0 R^T, before layer 1 and after every layer."""

    R: Float[Array, "stages d+1 d+1"]
    G: Float[Array, "stages d+1 d+1"]


class Spectral(NamedTuple):
    """GD++ in the eigenbasis of Sigma: M = m(Sigma) and w = f(Sigma) w*, for every stage."""

    m: Float[Array, "stages d"]
    f: Float[Array, "stages d"]


@jax.jit
def token_form(
    weights: Weights,
    X: Float[Array, "n d"],
    y: Float[Array, " n"],
    queries: Float[Array, "q d"],
) -> Tokens:
    """The network on its tokens, by definition; O((n + q) d^2) per layer.

    The query tokens attend to the context tokens, and no token attends to a query.
    """
    context = jnp.concatenate([X, y[:, None]], axis=1)
    query_tokens = jnp.concatenate([queries, jnp.zeros((len(queries), 1), X.dtype)], axis=1)

    def layer(tokens: tuple[Array, Array], layer: Weights):
        context, queries = tokens
        S = layer.increment(_matmul(context.T, context))
        after = context + _matmul(context, S.T), queries + _matmul(queries, S.T)
        return after, after

    start = (context, query_tokens)
    _, after = jax.lax.scan(layer, start, weights)
    return Tokens(*jax.tree.map(_prepend, start, after))


@jax.jit
def gram_form(weights: Weights, G: Float[Array, "p p"]) -> GramTrace:
    """The network on G alone: T = I + S(G), G <- T G T^T, R <- T R; O(d^3) per layer."""
    start = (jnp.eye(len(G), dtype=G.dtype), G)

    def layer(state: tuple[Array, Array], layer: Weights):
        after = gram_layer(layer, *state)
        return after, after

    _, after = jax.lax.scan(layer, start, weights)
    return GramTrace(*jax.tree.map(_prepend, start, after))


def gram_layer(
    layer: Weights, R: Float[Array, "p p"], G: Float[Array, "p p"]
) -> tuple[Float[Array, "p p"], Float[Array, "p p"]]:
    """R and G after one layer of `gram_form`."""
    S = layer.increment(G)
    return R + _matmul(S, R), _transform(S, G)


@jax.jit
def implicit_weights(weights: Weights, G: Float[Array, "p p"]) -> Float[Array, "stages d"]:
    """w^0 = 0, w^1, ..., w^L: the prediction read after layer l is <w^l, x_t>."""
    return -gram_form(weights, G).R[:, -1, :-1]


@partial(jax.jit, static_argnames="unroll")
def final_weights(
    weights: Weights | AxisWeights, G: Float[Array, "p p"], unroll: int | bool = 1
) -> Float[Array, " d"]:
    """w^L alone, from the last row of T_L ... T_1, multiplied out from the left.

    It stays beside `gram_form` because training needs w^L only: a row times a matrix in every
    layer costs less than R, above all in the derivative. `unroll` is that of `jax.lax.scan`; True
    is faster for small depths and takes longer to compile.
    """

    def forward(G: Array, layer: Weights | AxisWeights):
        S = layer.increment(G)
        return _transform(S, G), S

    def backward(row: Array, S: Array):
        return row + _matmul(row, S), None

    _, increments = jax.lax.scan(forward, G, weights, unroll=unroll)
    last = jnp.zeros(len(G), G.dtype).at[-1].set(1)
    row, _ = jax.lax.scan(backward, last, increments, reverse=True, unroll=unroll)
    return -row[:-1]


@jax.jit
def spectral_form(weights: GDPlusPlus, s: Float[Array, " d"]) -> Spectral:
    """GD++ on the eigenvalues s of Sigma, in whose basis it is diagonal.

    m <- (1 + omega_xx s m^2) m and f <- f - omega_yx s m^2 (1 - f), from m = 1 and f = 0. It stays
    beside `gram_form` because it shows GD++ as a function of one eigenvalue.
    """
    start = (jnp.ones_like(s), jnp.zeros_like(s))

    def layer(state: tuple[Array, Array], layer: GDPlusPlus):
        m, f = state
        moved = s * m**2
        xx, yx = jnp.asarray(layer.xx), jnp.asarray(layer.yx)
        after = (1 + xx * moved) * m, f - yx * moved * (1 - f)
        return after, after

    _, after = jax.lax.scan(layer, start, weights)
    return Spectral(*jax.tree.map(_prepend, start, after))


def _transform(S: Array, G: Array) -> Array:
    """T G T^T with T = I + S, made exactly symmetric."""
    moved = G + _matmul(S, G)
    G = moved + _matmul(moved, S.T)
    return (G + G.T) / 2


def _matmul(left: Array, right: Array) -> Array:
    """left @ right, where right is a matrix or a vector.

    On a GPU a small product is written as a sum, which XLA merges with the operations around it;
    as a matrix product it would be one library call each. A deep network is a polynomial of high
    degree, for which the precision of TF32 is not enough.
    """
    if jax.default_backend() == "gpu" and right.ndim == 2 and right.shape[0] <= SMALL:
        return (left[..., :, None] * right).sum(-2)
    return jnp.matmul(left, right, precision="highest")


def _prepend(start: Array, after: Array) -> Array:
    return jnp.concatenate([start[None], after])
