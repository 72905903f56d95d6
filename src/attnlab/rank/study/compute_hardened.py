"""What cells of `questions_hardened` compute: the answers of trained encoders with other attention.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Figure 2: the norm of K Q^T is large, and makes
the softmax act like a hardmax. The norm alone says that of one head; with several heads, biases and
a perceptron the answers themselves say it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab.compiling import fast_compile
from attnlab.rank.models.encoder import Encoder, with_float32_products
from attnlab.rank.problem import SelfNeighbours
from attnlab.rank.study.compute_trained import trained_encoders
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_hardened import HardenedRow, HardenedRun
from attnlab.rank.training.forms import forms_of
from attnlab.stats import Estimate

BATCHES = 64  # of held-out prompts


@dataclass(frozen=True)
class _Answers:
    """The answers that are compared, all to the same prompts in float32."""

    problem: SelfNeighbours
    batch: int

    def __call__(self, encoder: Encoder, key: PRNGKeyArray) -> Float[Array, 4]:
        prompts = self.problem.sample_batch(key, self.batch, jnp.float32)
        x, target = prompts.X.T, prompts.target.T
        soft, hard, flat = (
            with_attention(encoder, **other).columns(x)
            for other in ({}, {"scores": "hardmax"}, {"scale": 0.0})
        )
        pairs = ((soft, target), (hard, target), (soft, hard), (soft, flat))
        return jnp.stack([jnp.sum((a - b) ** 2, axis=0).mean() for a, b in pairs])


def with_attention(encoder: Encoder, **other: Any) -> Encoder:
    """The encoder in float32 with fields of all its attention layers replaced."""
    exact = with_float32_products(encoder)
    blocks = tuple(
        replace(block, attention=replace(block.attention, **other)) for block in exact.blocks
    )
    return replace(exact, blocks=blocks)


@in_single_precision
def hardened_rows(config: HardenedRun) -> list[HardenedRow]:
    """One row per member of the population."""
    training = config.trained()
    found = trained_encoders(training)
    answers = _Answers(SelfNeighbours(config.d, config.N, config.target), config.batch)
    # Other prompts than those of the training and of its held-out error.
    key = jax.random.fold_in(key_of(training), 1)
    sampled = np.asarray(_sampled(answers, found.models, key), float)
    norms = np.asarray(forms_of(found.models.blocks[0].attention, config.d).norms)
    heads = training.shape().heads
    return [
        _row(member, heads, sampled[member], norms[member], status)
        for member, status in enumerate(found.trained.status)
    ]


def _row(
    member: int, heads: int, sampled: np.ndarray, norms: np.ndarray, status: str
) -> HardenedRow:
    test, hard, moved, flat = map(Estimate.of, sampled.T)
    numbers = {
        "median_norm": float(np.median(norms)),
        "test": test.value,
        "hard": hard.value,
        "moved": moved.value,
        "moved_error": moved.standard_error,
        "flat": flat.value,
    }
    finite = np.isfinite(list(numbers.values())).all()
    found = {name: float(value) if finite else None for name, value in numbers.items()}
    return HardenedRow(member, heads, status=status, **found)


@fast_compile
def _sampled(answers: _Answers, models: Any, key: PRNGKeyArray) -> Float[Array, "m batches 4"]:
    keys = jax.random.split(key, BATCHES)
    return jax.vmap(lambda model: jax.lax.map(lambda key: answers(model, key), keys))(models)
