"""Attention layers with any number of heads of any rank r, r and H independent of the width d.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153). With Q_h, K_h, V_h, O_h in R^(d x r) a layer is

    sum_h O_h V_h^T X phi(X^T K_h Q_h^T Y),

phi over the keys being softmax, hardmax or nothing (linear); a generalised head has any d x d
matrix V_h in place of O_h V_h^T. Residuals, norms and the perceptron are in `encoder`; how the
small products of many heads are computed is in `head_products`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.models.affine import affine
from attnlab.rank.models.choices import MATMULS, PRODUCTS, SCORES, Matmul, Products, Scores
from attnlab.rank.models.head_products import attend
from attnlab.rank.problem import NeighbourPrompt, SelfPrompt


class RankAttention(eqx.Module):
    """H heads of rank r on points of dimension d; every array has the heads as its first axis.

    The arrays are the transposes of the paper's matrices, row i of `Q[h]` being the i-th query
    direction of head h; `from_matrices` takes the paper's own. As a predictor the layer answers a
    `NeighbourPrompt` with the source as its query, and a `SelfPrompt` by self-attention.

    Parameters
    ----------
    Q, K, V, O
        Queries, keys, values and outputs. `O` is None for generalised heads, whose `V` has the
        shape (H, d, d).
    query_bias, key_bias, value_bias, output_bias
        Biases, or None.
    scores
        "softmax", "hardmax" (ties share the weight) or "linear".
    scale
        What multiplies the scores.
    groups
        The sum over the heads is divided by it: the mean over groups of H / groups heads.
    self_mask
        Whether a point may not attend to itself (Definition 6).
    matmul, products
        Precision of the products with weights, and how the products inside of heads are computed.
    """

    Q: Float[Array, "H r d"]
    K: Float[Array, "H r d"]
    V: Float[Array, "H v d"]
    O: Float[Array, "H v d"] | None  # noqa: E741 (the paper's letter)
    query_bias: Float[Array, "H r"] | None = None
    key_bias: Float[Array, "H r"] | None = None
    value_bias: Float[Array, "H v"] | None = None
    output_bias: Float[Array, " d"] | None = None
    scores: Scores = eqx.field(static=True, default="softmax")
    scale: float = eqx.field(static=True, default=1.0)
    groups: int = eqx.field(static=True, default=1)
    self_mask: bool = eqx.field(static=True, default=False)
    matmul: Matmul = eqx.field(static=True, default="float32")
    products: Products = eqx.field(static=True, default="auto")

    def __check_init__(self) -> None:
        arguments.one_of("scores", self.scores, SCORES)
        arguments.one_of("matmul", self.matmul, MATMULS)
        arguments.one_of("products", self.products, PRODUCTS)
        arguments.integer("groups", self.groups, 1)
        shapes = [getattr(array, "shape", None) for array in (self.Q, self.K, self.V, self.O)]
        if all(shape is not None for shape in shapes[:3]):
            _check_shapes(shapes)

    @property
    def heads(self) -> int:
        """H; 0 or more leading axes of a population do not count."""
        return self.Q.shape[-3]

    @property
    def rank(self) -> int:
        """r, the rank of every Q_h and K_h."""
        return self.Q.shape[-2]

    @property
    def d(self) -> int:
        """The dimension of the points."""
        return self.Q.shape[-1]

    def __call__(
        self, prompt: NeighbourPrompt | SelfPrompt
    ) -> Float[Array, " d"] | Float[Array, "N d"]:
        """The answer to one prompt: a point, or a point for every point of the sequence."""
        if isinstance(prompt, SelfPrompt):
            return self.attend(prompt.X)
        return self.attend(prompt.X, prompt.y[None])[0]

    def attend(
        self, X: Float[Array, "n d"], Y: Float[Array, "m d"] | None = None
    ) -> Float[Array, "rows d"]:
        """The layer for one sequence: queries Y attend to the points X; self-attention by default.

        The result has a row for every query.
        """
        return self.columns(X.T[..., None], None if Y is None else Y.T[..., None])[..., 0].T

    def answer_batch(self, prompts: NeighbourPrompt) -> Float[Array, "batch d"]:
        """What `jax.vmap(layer)(prompts)` gives for prompts with a source of their own, faster."""
        return self.columns(prompts.X.T, prompts.y.T[:, None, :])[:, 0].T

    def columns(
        self, x: Float[Array, "d n b"], y: Float[Array, "d m b"] | None = None
    ) -> Float[Array, "d rows b"]:
        """The layer for b sequences at once, the batch last in memory: its fast form."""
        self._check_points(x, y)
        queries = x if y is None else y
        # On the weights: they are smaller than the queries of a batch.
        q = self._heads_of(self.scale * self.Q, queries)
        k, v = self._heads_of(self.K, x), self._heads_of(self.V, x)
        query_bias = None if self.query_bias is None else self.scale * self.query_bias
        biases = (query_bias, self.key_bias, self.value_bias)
        mixed = attend(q, k, v, biases, self.scores, self.self_mask, self.products)
        if self.O is None:
            out = jnp.sum(mixed, axis=0)
        else:
            O = self.O.reshape(-1, self.d) / self.groups  # noqa: E741
            mixed = mixed.reshape(-1, *queries.shape[1:])
            return affine(O.T, self.output_bias, mixed, self.matmul)
        out = out / self.groups
        return out if self.output_bias is None else out + self.output_bias[:, None, None]

    def __repr__(self) -> str:
        sizes = f"{self.heads} heads of rank {self.rank}, d = {self.d}"
        return f"RankAttention({sizes}, {self.scores})"

    def _heads_of(
        self, W: Float[Array, "H r d"], x: Float[Array, "d n b"]
    ) -> Float[Array, "H r n b"]:
        heads = affine(W.reshape(-1, self.d), None, x, self.matmul)
        return heads.reshape(*W.shape[:2], *x.shape[1:])

    def _check_points(self, x: Array, y: Array | None) -> None:
        for points in (x,) if y is None else (x, y):
            if points.shape[0] != self.d:
                raise UserError(
                    f"points must have the layer's dimension, {self.d}, got {points.shape[0]}."
                )
        if self.self_mask and y is not None:
            raise UserError("self_mask must be False in cross-attention, got True.")
        if self.self_mask and x.shape[1] < 2:
            raise UserError(
                f"points must be at least 2 where a point may not attend to itself, "
                f"got {x.shape[1]}."
            )


def from_matrices(
    Q: Float[Array, "H d r"],
    K: Float[Array, "H d r"],
    V: Float[Array, "H d v"],
    O: Float[Array, "H d v"] | None,  # noqa: E741
    **options: Any,
) -> RankAttention:
    """The layer from the paper's matrices.

    Parameters
    ----------
    Q, K, V, O
        d x r matrices, one per head. Where O is None, V holds any d x d matrices.
    options
        The other fields of `RankAttention`.
    """
    if O is None:
        return RankAttention(_transposed(Q), _transposed(K), jnp.asarray(V), None, **options)
    return RankAttention(_transposed(Q), _transposed(K), _transposed(V), _transposed(O), **options)


def _transposed(matrices: Float[Array, "H d r"]) -> Float[Array, "H r d"]:
    return jnp.swapaxes(jnp.asarray(matrices), -1, -2)


def score_matrices(layer: RankAttention) -> Float[Array, "H d d"]:
    """K_h Q_h^T of every head, times the layer's scale.

    Without biases the score of key x for query y is x^T (K_h Q_h^T) y.
    """
    return layer.scale * jnp.einsum("hrk,hrq->hkq", layer.K, layer.Q, precision="highest")


def value_matrices(layer: RankAttention) -> Float[Array, "H d d"]:
    """O_h V_h^T of every head, or V_h for generalised heads."""
    if layer.O is None:
        return layer.V
    return jnp.einsum("hvo,hvi->hoi", layer.O, layer.V, precision="highest")


def _check_shapes(shapes: list) -> None:
    Q, K, V, O = shapes  # noqa: E741
    if len(Q) < 3 or Q != K:
        raise UserError(f"Q and K must both have shape (heads, rank, d), got {Q} and {K}.")
    *_, heads, rank, d = Q
    if heads < 1:
        raise UserError(f"heads must be an integer of at least 1, got {heads}.")
    if not 1 <= rank <= d:
        raise UserError(f"rank must be an integer from 1 to d = {d}, got {rank}.")
    if O is None:
        if V[-3:] != (heads, d, d):
            raise UserError(f"V must have shape ({heads}, {d}, {d}) where O is None, got {V}.")
    elif V != O or V[-3] != heads or V[-1] != d:
        raise UserError(f"V and O must both have shape ({heads}, rank, {d}), got {V} and {O}.")
