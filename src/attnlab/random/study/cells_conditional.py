"""Pre-activations of one prompt over many directions: the conditional law (10) of Lemma 1's proof.

Given H the paper has f^T vec(H) ~ N(0, |vec H|^2 / t), because f is Gaussian and H is fixed. Each
row has one prompt, whose pre-activations with all directions are divided by |vec H| / sqrt(t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome, seed_of
from attnlab.lab.needs import Needs
from attnlab.memory import require_memory
from attnlab.random.gaussianity import kolmogorov
from attnlab.random.models.transformer import random_weights
from attnlab.random.study.cells import problem_of
from attnlab.random.study.cells_checks import DRAWN
from attnlab.random.study.panels import TargetName


@dataclass(frozen=True)
class Conditional:
    """The law of f^T vec(H) over the directions f, given the prompt."""

    d: int = 16
    """Dimension of an input."""
    length: int = 16
    """Labelled pairs in a prompt, l."""
    tasks: int = 8
    """Task vectors in the training pool, k."""
    target: TargetName = "relu"
    """The link function of the target."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    prompts: int = 8
    """Prompts that are held fixed, each with all directions."""
    directions: int = 40_000
    """Directions f, columns of F."""
    seed: int = 0
    """Seed of prompts and directions."""


@dataclass(frozen=True)
class ConditionalFound:
    """One prompt: its norm, and its pre-activations over the standard deviation that (10) gives."""

    prompt: int
    square_norm: float  # |vec H|^2 over its mean over the prompts
    mean_square: float  # 1 by (10)
    kolmogorov: float  # distance of the empirical law from N(0, 1)


def needs_of_conditional(config: Conditional) -> Needs:
    """F in float64 and while it is drawn, and the features and answers of all prompts."""
    problem, directions = problem_of(config), config.directions
    D, prompts = problem.directions, config.prompts
    products = 8.0 * (3 * D * directions + prompts * (D + directions))
    return Needs(problem.memory_needed(prompts) + products, reduce="d, prompts or directions")


def run_conditional(config: Conditional) -> Outcome[ConditionalFound]:
    """Draw the prompts once, and all directions for each of them."""
    prompts = arguments.integer("prompts", config.prompts, 2)
    directions = arguments.integer("directions", config.directions, 10)
    problem = problem_of(config)
    needs = needs_of_conditional(config)
    require_memory("The prompts and directions", needs.host_bytes, needs.reduce)
    seed = seed_of(config)
    drawn = problem.all_prompts(prompts, seed=seed, tasks="pool", split="train")
    features = np.asarray(drawn.features(), np.float64)
    squares = np.square(features).sum(1)
    F = random_weights(seed, problem.directions, directions, np.float64)
    standard = (features / np.sqrt(squares)[:, None]) @ F
    return Outcome(
        [
            ConditionalFound(
                i, float(square / squares.mean()), float(np.mean(own**2)), kolmogorov(own)
            )
            for i, (square, own) in enumerate(zip(squares, standard, strict=True))
        ]
    )


conditional = CellKind(
    "random_conditional",
    Conditional,
    ConditionalFound,
    run_conditional,
    needs=needs_of_conditional,
    tolerance=DRAWN,
)
