"""How Gaussian the pre-activations f^T vec(H) are: the diagnostics of Lemma 1 and Corollary 2.

Source: Demir, Dogan (arXiv 2509.15152). Lemma 1: f^T vec(H) tends to N(0, 1). Corollary 2: it is
jointly Gaussian with xi^T x_{l+1} given the task. At finite d, f^T vec(H) given the prompt is
N(0, s) with s = |vec H|^2 / t, so that its kurtosis is 3 (1 + Var s): the deviation comes from the
norms alone, and giving every prompt the same norm (`rescale`) removes it.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.memory import require_memory
from attnlab.random.models.transformer import random_weights
from attnlab.random.philox import Stream, host_normals, key_of
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.prompts import rescaled
from attnlab.stats.estimate import Estimate

DIRECTIONS = 64
GROUPS = 8  # of directions, at most


@dataclass(frozen=True)
class Gaussianity:
    """Distances to N(0, 1) over many directions f.

    Parameters
    ----------
    kolmogorov
        Kolmogorov's distance.
    excess_kurtosis
        The kurtosis less 3.
    norm_variance
        Var s; the norms alone explain an excess kurtosis of 3 Var s.
    floor
        The Kolmogorov distance of as many Gaussian samples, about 0.87 / sqrt(n).
    """

    kolmogorov: Estimate
    excess_kurtosis: Estimate
    norm_variance: Estimate
    floor: float


def memory_of_pre_activations(
    problem: SingleIndexRegression, prompts: int, directions: int = DIRECTIONS
) -> float:
    """Bytes of the prompts and directions of `pre_activations`; `joint_with_index` takes less."""
    return _memory(problem, prompts, _per_group(directions))


def _per_group(directions: int) -> int:
    return -(-directions // min(directions, GROUPS))


def pre_activations(
    problem: SingleIndexRegression,
    *,
    directions: int = DIRECTIONS,
    prompts: int = 4000,
    seed: int = 0,
    rescale: bool = False,
) -> Gaussianity:
    """Lemma 1 at the problem's d.

    Parameters
    ----------
    problem
        The distribution over prompts.
    directions
        Random directions f, in at most 8 groups; each group has its own pool and prompts.
    prompts
        Prompts of each group.
    seed
        Seed of pools, prompts and directions.
    rescale
        Whether every prompt is given the same norm.
    """
    directions = arguments.integer("directions", directions, 2)
    prompts = arguments.integer("prompts", prompts, 10)
    _require_memory(problem, prompts, _per_group(directions))
    kolmogorovs, kurtoses, variances = [], [], []
    groups = min(directions, GROUPS)
    for group in range(groups):
        own = int(np.random.SeedSequence([seed, group]).generate_state(1)[0])
        drawn = problem.all_prompts(prompts, seed=own, tasks="pool", split="train")
        t = float(drawn.square_norms().mean())
        drawn = rescaled(drawn, t) if rescale else drawn
        variances.append(float(np.var(drawn.square_norms() / t)))
        F = random_weights(own, problem.directions, _per_group(directions), np.float64)
        u = _products(drawn.query, drawn.memory, F) / math.sqrt(t)
        kolmogorovs.append(float(np.mean([kolmogorov(column) for column in u.T])))
        kurtoses.append(float(np.mean(u**4) / np.mean(u**2) ** 2 - 3))
    floor = 0.8687 / math.sqrt(prompts)
    return Gaussianity(
        Estimate.of(kolmogorovs), Estimate.of(kurtoses), Estimate.of(variances), floor
    )


def joint_with_index(
    problem: SingleIndexRegression,
    *,
    tasks: int = 16,
    prompts: int = 4000,
    angles: int = 8,
    seed: int = 0,
) -> Gaussianity:
    """Corollary 2: the worst projection of (f^T vec H, xi^T x) given the task, averaged over tasks.

    The pair is whitened, so that a jointly Gaussian pair has N(0, 1) in every projection.

    Parameters
    ----------
    problem
        The distribution over prompts.
    tasks
        Tasks, each with its own prompts and direction f.
    prompts
        Prompts of each task.
    angles
        Projections, evenly spaced in angle.
    seed
        Seed of tasks, prompts and directions.
    """
    tasks, angles = arguments.integer("tasks", tasks, 2), arguments.integer("angles", angles, 1)
    prompts = arguments.integer("prompts", prompts, 10)
    _require_memory(problem, prompts, 1)
    single = SingleIndexRegression(problem.d, problem.length, 1, problem.target, problem.noise)
    distances, kurtoses, variances = [], [], []
    for task in range(tasks):
        own = int(np.random.SeedSequence([seed, task, 1]).generate_state(1)[0])
        drawn = single.all_prompts(prompts, seed=own, tasks="pool", split="train")
        s = drawn.square_norms()
        variances.append(float(np.var(s / s.mean())))
        f = host_normals(key_of(own), Stream.DIRECTION, 0, 1, problem.directions).T
        u = _products(drawn.query, drawn.memory, f)[:, 0]
        pair = np.stack([u, drawn.signal])
        white = np.linalg.solve(np.linalg.cholesky(np.cov(pair)), pair - pair.mean(1)[:, None])
        theta = np.pi * np.arange(angles) / angles
        views = np.cos(theta)[:, None] * white[0] + np.sin(theta)[:, None] * white[1]
        distances.append(max(kolmogorov(view) for view in views))
        kurtoses.append(max(float(np.mean(view**4) - 3) for view in views))
    floor = 0.8687 / math.sqrt(prompts)
    return Gaussianity(Estimate.of(distances), Estimate.of(kurtoses), Estimate.of(variances), floor)


def kolmogorov(values: Float[np.ndarray, " n"]) -> float:
    """sup |F_n - Phi|, the largest distance of the empirical law from N(0, 1)."""
    from scipy.special import ndtr

    n = len(values)
    law = ndtr(np.sort(values))
    steps = np.arange(1, n + 1) / n
    return float(max((steps - law).max(), (law - steps + 1 / n).max()))


def _memory(problem: SingleIndexRegression, prompts: int, directions: int) -> float:
    """F in float32 and in the order that the product needs, and the products before their sum."""
    products = 8.0 * directions * (2 * problem.directions + prompts * (problem.d + 1))
    return problem.memory_needed(prompts) + products


def _require_memory(problem: SingleIndexRegression, prompts: int, directions: int) -> None:
    needed = _memory(problem, prompts, directions)
    require_memory("The prompts and directions", needed, "d, the context length, tasks or prompts")


def _products(
    query: Float[np.ndarray, "n d"], memory: Float[np.ndarray, "n e"], F: Float[np.ndarray, "D m"]
) -> Float[np.ndarray, "n m"]:
    """f^T vec(x b^T) = x^T F b without forming H."""
    n, d = query.shape
    images = (query @ F.reshape(d, -1)).reshape(n, memory.shape[1], -1)
    return np.einsum("nem,ne->nm", images, memory)
