"""Prompts as arrays: in full, and reduced to what the models of this paper see of them.

A model sees a prompt through H = x_{l+1} b^T alone, with b = [(d/l) sum_i y_i x_i, (1/l) sum_i
y_i^2]. Many prompts are therefore kept as pairs (x_{l+1}, b). Who draws them is in `problem`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jaxtyping import Float

from attnlab.maths.namespace import namespace_of


class Prompts(NamedTuple):
    """Prompts as models see them: x_{l+1}, the context's b, and the label y_{l+1} to predict.

    `signal` is xi^T x_{l+1}. The arrays are NumPy's or JAX's, wherever the features will be
    computed, with any leading axes.
    """

    query: Float[Any, "*n d"]
    memory: Float[Any, "*n e"]
    label: Float[Any, "*n"]
    signal: Float[Any, "*n"]

    def __repr__(self) -> str:
        return f"Prompts({_count(self.label)}, d={self.query.shape[-1]})"

    def features(self) -> Float[Any, "*n D"]:
        """vec(H) for each prompt, row-major: entry i (d + 1) + j is x_i b_j."""
        return vectors(self.query, self.memory)

    def square_norms(self) -> Float[Any, "*n"]:
        """|vec H|^2 = |x|^2 |b|^2."""
        return (self.query**2).sum(-1) * (self.memory**2).sum(-1)


class FullPrompt(NamedTuple):
    """A prompt with all its pairs (x_i, y_i), the query, its label and the task.

    Leading axes are prompts.
    """

    x: Float[Any, "*n l d"]
    y: Float[Any, "*n l"]
    query: Float[Any, "*n d"]
    label: Float[Any, "*n"]
    task: Float[Any, "*n d"]

    def __repr__(self) -> str:
        length, d = self.x.shape[-2:]
        return f"FullPrompt({_count(self.label)}, length={length}, d={d})"

    @property
    def memory(self) -> Float[Any, "*n e"]:
        """b = [(d/l) sum_i y_i x_i, (1/l) sum_i y_i^2]."""
        length, d = self.x.shape[-2:]
        first = d / length * (self.y[..., None] * self.x).sum(-2)
        return namespace_of(self.x).concatenate([first, (self.y**2).mean(-1)[..., None]], axis=-1)

    def prompts(self) -> Prompts:
        """The same prompts as (x_{l+1}, b)."""
        return Prompts(self.query, self.memory, self.label, (self.task * self.query).sum(-1))


def vectors(query: Float[Any, "*n d"], memory: Float[Any, "*n e"]) -> Float[Any, "*n D"]:
    """vec(x b^T) for each row."""
    H = query[..., :, None] * memory[..., None, :]
    return H.reshape(*H.shape[:-2], -1)


def rescaled(prompts: Prompts, t: Any) -> Prompts:
    """The prompts with b scaled so that |vec H|^2 = t for each: a diagnostic, not a model."""
    scale = (t / prompts.square_norms()) ** 0.5
    return prompts._replace(memory=prompts.memory * scale[..., None])


def _count(labels: Any) -> str:
    shape = getattr(labels, "shape", ())
    return f"{math.prod(shape)} prompts" if shape else "one prompt"
