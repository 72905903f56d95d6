"""One draw, all fits: what models, sizes and ridges share in a run of the simulation.

Models that differ in width or intercept are a family with one feature map and one Gram matrix. All
families of random features use the same pre-activations U = H F, computed once a block; prompts
stream by, so that m^2 numbers are kept and not n m (unless m > n, where n m is the smaller).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.estimators.arrays import Arrays
from attnlab.estimators.ridge import Kernel, NormalEquations, RidgeFit
from attnlab.models.hermite import scaled_constants
from attnlab.models.linear_attention import LinearAttention
from attnlab.models.random_transformer import EquivalentModel
from attnlab.problems.single_index import Prompts, SingleIndexRegression, rescaled
from attnlab.theory.error_point import Model

SCALE = 8192
TESTED = ("icl", "idg")


@dataclass(frozen=True)
class Family:
    """Models that differ only in width and intercept: one feature map, one Gram matrix."""

    map: Model
    members: tuple[tuple[Model, int], ...]
    primal: int
    dual: int
    kept: int


@dataclass(frozen=True)
class Plan:
    """What one pass over the prompts must accumulate, and where it must stop to fit."""

    families: tuple[Family, ...]
    sizes: tuple[int, ...]
    widest: int
    noisy: int
    block: int


@dataclass
class Outcome:
    """A fit and its test errors, with their spread over test prompts, by kind (icl, idg)."""

    fit: RidgeFit
    error: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)


def plan_fits(
    problem: SingleIndexRegression, models: Sequence[Model], n: Sequence[int], block: int
) -> Plan:
    """Group models into families; m <= n is fitted by normal equations, m > n by the kernel."""
    sizes = tuple(sorted(set(n)))
    grouped: dict[Any, list[tuple[Model, int]]] = {}
    for model in models:
        width = problem.directions if isinstance(model, LinearAttention) else model.width
        grouped.setdefault(_key(model), []).append((model, width))
    families = []
    for members in grouped.values():
        pairs = [(size, width) for size in sizes for _, width in members]
        families.append(
            Family(
                max(members, key=lambda member: member[1])[0],
                tuple(dict.fromkeys(members)),
                max((m for size, m in pairs if m <= size), default=0),
                max((m for size, m in pairs if m > size), default=0),
                max((size for size, m in pairs if m > size), default=0),
            )
        )
    maps = [family.map for family in families if not isinstance(family.map, LinearAttention)]
    noisy = [m.width for m in maps if isinstance(m, EquivalentModel) and m.noise > 0]
    widest = max((m.width for m in maps), default=0)
    return Plan(tuple(families), sizes, widest, max(noisy, default=0), block)


def _key(model: Model) -> Any:
    if isinstance(model, LinearAttention):
        return "linear"
    degree = model.degree if isinstance(model, EquivalentModel) else None
    return model.activation, degree


Drawn = tuple[float, dict[str, Prompts]]


def draw(
    problem: SingleIndexRegression,
    plan: Plan,
    seed: int,
    test: int,
    rescale: bool,
    arrays: Arrays,
) -> Drawn:
    """The scale t and the prompts of one run; it can be done ahead of the fits."""
    t = scale_of(problem, seed, arrays) if plan.widest or rescale else 1.0
    draws = {
        "train": arrays.prompts(problem, plan.sizes[-1], seed, "pool", "train"),
        "icl": arrays.prompts(problem, test, seed, "fresh", "test"),
        "idg": arrays.prompts(problem, test, seed, "pool", "test"),
    }
    if rescale:
        draws = {kind: rescaled(prompts, t) for kind, prompts in draws.items()}
    return t, draws


def run_fits(
    problem: SingleIndexRegression,
    plan: Plan,
    ridges: Sequence[float],
    seed: int,
    drawn: Drawn,
    arrays: Arrays,
) -> list[tuple[tuple[Model, int, float], Outcome]]:
    """One run: fit and test everything in the plan on what was drawn for it."""
    t, draws = drawn
    F = arrays.weights(seed, problem.directions, plan.widest, t) if plan.widest else None
    fits = _train(plan, ridges, draws["train"], F, seed, arrays, problem.d)
    for kind in TESTED:
        _test(plan, fits, draws[kind], F, kind, arrays)
    return [pair for of_family in fits for pair in of_family]


def scale_of(problem: SingleIndexRegression, seed: int, arrays: Arrays) -> float:
    """t = tr Cov(vec H), the mean of |vec H|^2 over the first SCALE training prompts.

    Always as many, so that F does not depend on which sample sizes are asked for together.
    """
    return float(arrays.prompts(problem, SCALE, seed, "pool", "train").square_norms().mean())


Fits = list[list[tuple[tuple[Model, int, float], Outcome]]]


def _train(
    plan: Plan,
    ridges: Sequence[float],
    prompts: Prompts,
    F: Any,
    seed: int,
    arrays: Arrays,
    d: int,
) -> Fits:
    equations = [NormalEquations(arrays, f.primal) if f.primal else None for f in plan.families]
    kept: list[list[Any]] = [[] for _ in plan.families]
    fits: Fits = [[] for _ in plan.families]

    def note(i: int, model: Model, found: list[RidgeFit]) -> None:
        for value, fit in zip(ridges, found, strict=True):
            fits[i].append(((model, fit.n, value), Outcome(fit)))

    for start, stop in _blocks(plan):
        H, U = _features(prompts, slice(start, stop), F, arrays)
        z = arrays.noise(seed, start, stop - start, plan.noisy) if plan.noisy else None
        y = prompts.label[start:stop]
        for i, family in enumerate(plan.families):
            equation = equations[i]
            primal, dual = equation is not None, start < family.kept
            width = max(family.primal if primal else 0, family.dual if dual else 0)
            if width == 0:
                continue
            rows = _map(family.map, H, U, z, width, arrays)
            if dual:
                kept[i].append(rows[: family.kept - start, : family.dual])
            if equation is None:
                continue
            equation.add(rows[:, : family.primal], y)
            if stop in plan.sizes:
                for model, m in family.members:
                    if m <= stop:
                        penalties = [value * stop / d for value in ridges]
                        note(i, model, equation.fit(penalties, m, _intercept(model)))
    for i, family in enumerate(plan.families):
        if not family.kept:
            continue
        rows = kept[i][0] if len(kept[i]) == 1 else _stack(kept[i])
        kept[i] = []
        kernel = Kernel(arrays, rows, prompts.label[: family.kept])
        for model, m in sorted(family.members, key=lambda member: member[1]):
            for size in plan.sizes:
                if size < m:
                    kernel.widen(m)
                    penalties = [value * size / d for value in ridges]
                    note(i, model, kernel.fit(penalties, size, _intercept(model)))
    return fits


def _test(plan: Plan, fits: Fits, prompts: Prompts, F: Any, kind: str, arrays: Arrays) -> None:
    count = len(prompts.label)
    weights = [arrays.double(_side_by_side(of_family)) for of_family in fits]
    constants = [np.array([outcome.fit.intercept for _, outcome in of]) for of in fits]
    sums: list[Any] = [0.0] * len(fits)
    for start, stop in even_blocks(count, plan.block):
        part = slice(start, stop)
        H, U = _features(prompts, part, F, arrays)
        for i, family in enumerate(plan.families):
            rows = _map(family.map, H, U, None, len(weights[i]), arrays)
            sums[i] += arrays.square_errors(rows, weights[i], constants[i], prompts.label[part])
    squares = [arrays.get(total) for total in sums]
    for i, family in enumerate(plan.families):
        noise = 0.0 if isinstance(family.map, LinearAttention) else family.map.noise
        for (_, outcome), (total, fourth) in zip(fits[i], squares[i], strict=True):
            mean = total / count
            outcome.error[kind] = float(mean + noise**2 * outcome.fit.square_norm)
            outcome.spread[kind] = math.sqrt(max(fourth / count - mean**2, 0.0) / (count - 1))


def _blocks(plan: Plan) -> list[tuple[int, int]]:
    """Blocks of at most `block` prompts that end at every size."""
    return [
        (start + first, start + last)
        for start, stop in itertools.pairwise([0, *plan.sizes])
        for first, last in even_blocks(stop - start, plan.block)
    ]


def even_blocks(count: int, block: int) -> list[tuple[int, int]]:
    """0..count in as few blocks of at most `block` as can be, all of nearly one length.

    Few different lengths matter to an accelerator, which compiles for each of them.
    """
    pieces = -(-count // block)
    cuts = [count * piece // pieces for piece in range(pieces + 1)]
    return list(itertools.pairwise(cuts))


def _features(prompts: Prompts, part: slice, F: Any, arrays: Arrays) -> tuple[Any, Any]:
    H = arrays.vectors(arrays.put(prompts.query[part]), arrays.put(prompts.memory[part]))
    return H, None if F is None else arrays.product(H, F)


def _map(model: Model, H: Any, U: Any, z: Any, width: int, arrays: Arrays) -> Any:
    return H if isinstance(model, LinearAttention) else arrays.activate(model, U, z, width)


def _intercept(model: Model) -> bool:
    return isinstance(model, LinearAttention) and model.intercept


def _stack(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import jax.numpy

    return jax.numpy.concatenate(parts)


def _side_by_side(
    of_family: list[tuple[tuple[Model, int, float], Outcome]],
) -> Float[np.ndarray, "m fits"]:
    width = max(outcome.fit.m for _, outcome in of_family)
    side = np.zeros((width, len(of_family)))
    for column, (_, outcome) in enumerate(of_family):
        side[: outcome.fit.m, column] = outcome.fit.weights
    return side


def require_moments(problem: SingleIndexRegression, plan: Plan) -> None:
    """Refuse a degree at which a few prompts hold the whole Gram matrix, whatever the seed.

    With q_i the second moment of prompt i's features, sum(q)^2 / sum(q^2) prompts count; below one
    the fit is an accident of the largest norm.
    """
    models = [family.map for family in plan.families]
    high = [m for m in models if isinstance(m, EquivalentModel) and m.degree > 1]
    if not high:
        return
    s = problem.all_prompts(SCALE, seed=0, tasks="pool", split="train").square_norms()
    for model in high:
        q = (scaled_constants(model.mean, s / s.mean()) ** 2).sum(0)
        count = plan.sizes[-1] * float(q.sum() ** 2 / (q**2).sum()) / SCALE
        if count < 1:
            raise UserError(
                f"degree must be low enough for the sample: at degree {model.degree} and "
                f"d = {problem.d} the {plan.sizes[-1]} prompts count for {count:.2g}, got "
                f"{model.degree}."
            )


def memory_needed(
    problem: SingleIndexRegression,
    models: Sequence[Model],
    n: Sequence[int],
    block: int = 2048,
) -> float:
    """Bytes at the worst moment: m^2 for each family, not n m, unless m exceeds n."""
    plan = plan_fits(problem, models, n, block)
    D, widest = problem.directions, plan.widest
    rows = min(block, max(n))
    total = 4.0 * D * widest + 4.0 * rows * (D + 4 * widest)
    largest = 0
    for family in plan.families:
        total += 8.0 * family.primal**2 + 4.0 * family.kept * family.dual
        largest = max(largest, family.primal, family.kept)
    # A product in float32, the kernel or the centred copy, and the factor.
    return total + (4.0 + 8.0 + 8.0) * largest**2
