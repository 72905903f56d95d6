"""What the problems and predictors of every paper have in common.

A problem is a frozen description of a distribution over prompts. A predictor is anything that
answers a prompt: a trained network, ridge regression, the Bayes rule, a construction. Both work on
one prompt; batches are the caller's (`jax.vmap` over keys and prompts).
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from jaxtyping import PRNGKeyArray

Prompt = TypeVar("Prompt", covariant=True)


@runtime_checkable
class Problem(Protocol[Prompt]):
    """A distribution over prompts; the same key gives the same prompt."""

    def sample(self, key: PRNGKeyArray) -> Prompt:
        """Draw one prompt."""
        ...


@runtime_checkable
class Predictor(Protocol):
    """Anything that answers a prompt of its paper's problem."""

    def __call__(self, prompt: Any) -> Any:
        """The answer to one prompt, as an array."""
        ...
