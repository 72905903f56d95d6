"""Single attention layers built by hand for the nearest neighbour.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Facts 1 and 3, Section 4 and Appendix B.8. Every
construction answers a `NeighbourPrompt`. What they reach is in `theory.full_rank`; the networks of
Theorems 7 and 34 are in `majority_vote` and `vote_by_mlp`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.rank.problem import NeighbourPrompt, SelfPrompt

Sign = Literal["corrected", "printed"]


def attention_weights(scores: Float[Array, " N"], scale: float) -> Float[Array, " N"]:
    """softmax(scale scores); at scale +-infinity the hardmax of +-scores, the first of a tie."""
    if math.isinf(scale):
        chosen = jnp.argmax(math.copysign(1, scale) * scores)
        return jax.nn.one_hot(chosen, len(scores), dtype=scores.dtype)
    return jax.nn.softmax(scale * scores)


class UniformAttention(eqx.Module):
    """The mean of the points: what a head of rank 0 does. Error 1/2 on an orthonormal pair."""

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        return jnp.mean(prompt.X, axis=0)


class FullRankHead(eqx.Module):
    """Fact 1: V = I and K Q^T = c I, one head of rank d for any N; exact at c = infinity.

    A negative scale looks for the farthest point, as the trained models of Figure 2 do.
    """

    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        scores = jnp.dot(prompt.X, prompt.y, precision="highest")
        return jnp.dot(attention_weights(scores, self.scale), prompt.X, precision="highest")


class BiasedHead(eqx.Module):
    """Fact 3: X hardmax(X^T y - b/2), exact for argmin ||x_i - y||^2 + b_i on a sphere.

    `offsets` are added to the scores; `offsets_of` computes them from the biases.
    """

    offsets: Float[Array, " N"]
    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        _same_number("offsets", len(self.offsets), "points", len(prompt.X))
        scores = jnp.dot(prompt.X, prompt.y, precision="highest") + self.offsets
        return jnp.dot(attention_weights(scores, self.scale), prompt.X, precision="highest")


class ConcatenatedHead(eqx.Module):
    """Fact 3 as plain attention: x_i gets the coordinate -b_i/2, y gets 1, K Q^T = I_{d+1}.

    `offsets` are the appended coordinates; V keeps the first d.
    """

    offsets: Float[Array, " N"]
    scale: float = eqx.field(static=True, default=math.inf)

    def __call__(self, prompt: NeighbourPrompt) -> Float[Array, " d"]:
        """The answer to one prompt."""
        X, y, target = prompt
        _same_number("offsets", len(self.offsets), "points", len(X))
        keys = jnp.concatenate([X, self.offsets.astype(X.dtype)[:, None]], axis=1)
        query = jnp.append(y, jnp.ones(1, y.dtype))
        longer = NeighbourPrompt(keys, query, jnp.append(target, jnp.zeros(1, y.dtype)))
        return FullRankHead(self.scale)(longer)[:-1]


def offsets_of(bias: Float[Array, " N"], sign: Sign = "corrected") -> Float[Array, " N"]:
    """What Fact 3 adds to the scores: -b/2, or + b as the text prints.

    Of ||x_i - y||^2 + b_i the points do not share -2 x_i . y + b_i, so that the sign and the half
    are both needed.
    """
    arguments.one_of("sign", sign, ("corrected", "printed"))
    return -bias / 2 if sign == "corrected" else bias


class EveryPoint(eqx.Module):
    """Answers a `SelfPrompt` by asking a predictor for each of its points in turn.

    The point that asks stays among the keys.
    """

    predictor: Any

    def __call__(self, prompt: SelfPrompt) -> Float[Array, "N d"]:
        """The answer to one prompt."""
        X, target = prompt
        return jax.vmap(lambda y, t: self.predictor(NeighbourPrompt(X, y, t)))(X, target)


def _same_number(name: str, given: int, of: str, expected: int) -> None:
    if given != expected:
        raise UserError(f"{name} must match the {expected} {of} of the prompt, got {given}.")
