"""A fitted model, which answers prompts, and the constant as the simplest predictor of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from attnlab.maths.hermite import hermite_series
from attnlab.maths.namespace import namespace_of
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.prompts import FullPrompt, Prompts, vectors

if TYPE_CHECKING:
    from attnlab.random.problem import SingleIndexRegression


@dataclass(frozen=True, repr=False, eq=False)
class FittedModel:
    """A model with its trained weights: `fitted(prompt)` is its answer.

    Parameters
    ----------
    model
        What was fitted.
    n, ridge
        Training prompts and the ridge parameter.
    features
        F, one column per random feature; None for linear attention.
    weights
        The trained weights w, or vec(Gamma) for linear attention.
    intercept
        The unpenalised constant, 0 for a model without one.
    train_error
        Mean square error on the training prompts.
    diagnosis
        What is wrong with the fit, empty if nothing.
    """

    model: LinearAttention | RandomTransformer | EquivalentModel
    n: int
    ridge: float
    features: Float[np.ndarray, "D m"] | None
    weights: Float[np.ndarray, " m"]
    intercept: float
    train_error: float
    diagnosis: str = ""

    def __call__(self, prompt: Prompts | FullPrompt) -> Float[Any, "*n"]:
        """The answer to one prompt, or to each where the prompt has leading axes.

        NumPy prompts are answered in float64, JAX's in the precision that JAX is set to. An
        equivalent model answers its mean; its noise adds `noise_error` to the square error.
        """
        xp = namespace_of(prompt.query)
        rows = vectors(prompt.query, prompt.memory)
        if not isinstance(self.model, LinearAttention) and self.features is not None:
            rows = self.model.activate(rows @ xp.asarray(self.features))
        return rows @ xp.asarray(self.weights) + self.intercept

    @property
    def noise_error(self) -> float:
        """c_r^*^2 |w|^2, which the noise of an equivalent model adds to its square error."""
        if isinstance(self.model, LinearAttention):
            return 0.0
        return self.model.noise**2 * float(self.weights @ self.weights)

    def __repr__(self) -> str:
        return (
            f"FittedModel({self.model}, n={self.n}, ridge={self.ridge:g}, "
            f"train_error={self.train_error:.4g}{', ' * bool(self.diagnosis)}{self.diagnosis})"
        )


@dataclass(frozen=True)
class ConstantPredictor:
    """Answers the same number to every prompt; `of(problem)` answers E y, the best constant."""

    value: float

    @classmethod
    def of(cls, problem: SingleIndexRegression) -> ConstantPredictor:
        """The mean E s(u), u ~ N(0, 1), of the problem's labels in the limit of large d."""
        return cls(hermite_series(problem.target, 0).coefficients[0])

    def __call__(self, prompt: Prompts | FullPrompt) -> Float[Any, "*n"]:
        """The constant, once for each prompt."""
        return self.value + 0 * prompt.query[..., 0]
