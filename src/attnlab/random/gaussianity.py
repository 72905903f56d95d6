"""How Gaussian the pre-activations f^T vec(H) are: the diagnostics of Lemma 1 and Corollary 2.

Source: Demir, Dogan (arXiv 2509.15152). Lemma 1: f^T vec(H) tends to N(0, 1). Corollary 2: it is
jointly Gaussian with xi^T x_{l+1} given the task. At finite d, f^T vec(H) given the prompt is
N(0, s) with s = |vec H|^2 / t, so its kurtosis is 3 (1 + Var s): the norm is what is not Gaussian,
and giving every prompt the same norm (`rescale`) takes that away.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.random.models.transformer import random_weights
from attnlab.random.problem import SingleIndexRegression, generator, rescaled
from attnlab.stats.estimate import Estimate


@dataclass(frozen=True)
class Gaussianity:
    """Distances to N(0, 1) over many directions f: Kolmogorov's, and the excess kurtosis.

    `norm_variance` is Var s, and 3 Var s the excess kurtosis that the norms alone explain. The
    Kolmogorov distance of n Gaussian samples themselves is about .87 / sqrt(n), the `floor`.
    """

    kolmogorov: Estimate
    excess_kurtosis: Estimate
    norm_variance: Estimate
    floor: float


def pre_activations(
    problem: SingleIndexRegression,
    *,
    directions: int = 64,
    prompts: int = 4000,
    seed: int = 0,
    rescale: bool = False,
) -> Gaussianity:
    """Lemma 1 at this problem's d: every direction has its own sample of prompts' tasks pooled."""
    directions = arguments.integer("directions", directions, 2)
    prompts = arguments.integer("prompts", prompts, 10)
    kolmogorovs, kurtoses, variances = [], [], []
    groups = min(directions, 8)
    for group in range(groups):
        own = int(np.random.SeedSequence([seed, group]).generate_state(1)[0])
        drawn = problem.all_prompts(prompts, seed=own, tasks="pool", split="train")
        t = float(drawn.square_norms().mean())
        drawn = rescaled(drawn, t) if rescale else drawn
        variances.append(float(np.var(drawn.square_norms() / t)))
        F = random_weights(own, problem.directions, -(-directions // groups), np.float64)
        u = _products(drawn.query, drawn.memory, F) / math.sqrt(t)
        kolmogorovs.append(float(np.mean([kolmogorov(column) for column in u.T])))
        kurtoses.append(float(np.mean(u**4) / np.mean(u**2) ** 2 - 3))
    floor = 0.8687 / math.sqrt(prompts)
    return Gaussianity(_summary(kolmogorovs), _summary(kurtoses), _summary(variances), floor)


def joint_with_index(
    problem: SingleIndexRegression,
    *,
    tasks: int = 16,
    prompts: int = 4000,
    angles: int = 8,
    seed: int = 0,
) -> Gaussianity:
    """Corollary 2: given a task, the worst of `angles` projections of (f^T vec H, xi^T x).

    The pair is whitened, so that a jointly Gaussian pair has N(0, 1) in every projection. One task
    and one f at a time; the numbers are over tasks.
    """
    tasks, angles = arguments.integer("tasks", tasks, 2), arguments.integer("angles", angles, 1)
    prompts = arguments.integer("prompts", prompts, 10)
    single = SingleIndexRegression(problem.d, problem.length, 1, problem.target, problem.noise)
    distances, kurtoses, variances = [], [], []
    for task in range(tasks):
        own = int(np.random.SeedSequence([seed, task, 1]).generate_state(1)[0])
        drawn = single.all_prompts(prompts, seed=own, tasks="pool", split="train")
        s = drawn.square_norms()
        variances.append(float(np.var(s / s.mean())))
        f = generator(own, 20).standard_normal((problem.directions, 1))
        u = _products(drawn.query, drawn.memory, f)[:, 0]
        pair = np.stack([u, drawn.signal])
        white = np.linalg.solve(np.linalg.cholesky(np.cov(pair)), pair - pair.mean(1)[:, None])
        theta = np.pi * np.arange(angles) / angles
        views = np.cos(theta)[:, None] * white[0] + np.sin(theta)[:, None] * white[1]
        distances.append(max(kolmogorov(view) for view in views))
        kurtoses.append(max(float(np.mean(view**4) - 3) for view in views))
    floor = 0.8687 / math.sqrt(prompts)
    return Gaussianity(_summary(distances), _summary(kurtoses), _summary(variances), floor)


def kolmogorov(values: Float[np.ndarray, " n"]) -> float:
    """sup |F_n - Phi|, the largest distance of the empirical law from N(0, 1)."""
    from scipy.special import ndtr

    n = len(values)
    law = ndtr(np.sort(values))
    steps = np.arange(1, n + 1) / n
    return float(max((steps - law).max(), (law - steps + 1 / n).max()))


def rate(dimensions: Sequence[int], measure: Callable[[int], Estimate]) -> Estimate:
    """The slope of log(measure) against log(d), with the standard error the points give it."""
    if len(dimensions) < 2:
        raise UserError(f"dimensions must be at least two to fit a slope, got {len(dimensions)}.")
    points = [measure(d) for d in dimensions]
    if min(point.value for point in points) <= 0:
        raise UserError("measure must be positive at every d to have a rate, got one that is not.")
    x = np.log(np.array(dimensions, float))
    y = np.log([point.value for point in points])
    errors = np.array([point.standard_error / point.value for point in points])
    w = 1 / np.maximum(errors, 1e-12) ** 2
    centred = x - np.average(x, weights=w)
    information = float((w * centred**2).sum())
    return Estimate(float((w * centred * y).sum()) / information, information**-0.5, len(points))


def _products(
    query: Float[np.ndarray, "n d"], memory: Float[np.ndarray, "n e"], F: Float[np.ndarray, "D m"]
) -> Float[np.ndarray, "n m"]:
    """f^T vec(x b^T) = x^T F b without forming H."""
    n, d = query.shape
    images = (query @ F.reshape(d, -1)).reshape(n, memory.shape[1], -1)
    return np.einsum("nem,ne->nm", images, memory)


def _summary(values: list[float]) -> Estimate:
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), spread, len(values))
