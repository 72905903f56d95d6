"""One draw, all fits: what models, sizes and ridges share in a run of the simulation.

All families of random features use the same pre-activations U = H F, computed once for each block
of prompts. A block is processed in a few steps, which all families of one shape share, so that an
accelerator has few programs; fits are launched together and waited for together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.prompts import Prompts, rescaled
from attnlab.random.ridge.arrays import Arrays
from attnlab.random.ridge.fit_plan import SCALE, Family, Plan, even_blocks
from attnlab.random.ridge.fits import Launched, RidgeFit, settle
from attnlab.random.ridge.kernel import RidgeKernel
from attnlab.random.ridge.system import RidgeSystem

TESTED = ("icl", "idg")


@dataclass
class EvaluatedFit:
    """A fit and its test errors by kind (icl, idg), with standard errors over test prompts."""

    fit: RidgeFit
    error: dict[str, float] = field(default_factory=dict)
    standard_error: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPrompts:
    """The scale t = tr Cov(vec H) and the prompts of one run: train, icl and idg."""

    t: Any
    train: Prompts
    icl: Prompts
    idg: Prompts


FitKey = tuple[Model, int, float]  # model, n and ridge


def draw(
    problem: SingleIndexRegression,
    plan: Plan,
    seed: int,
    test: int,
    rescale: bool,
    arrays: Arrays,
) -> RunPrompts:
    """The prompts of one run, which can be drawn before the fits begin; F and z are drawn there."""
    n = plan.sizes[-1]
    train = max(n, SCALE) if plan.widest or rescale else n
    found = arrays.draws(
        problem, seed, [("pool", "train", train), ("fresh", "test", test), ("pool", "test", test)]
    )
    return RunPrompts(*arrays.call(_scaled, (n, rescale), *found))


def _scaled(
    arrays: Arrays, n: int, rescale: bool, train: Prompts, icl: Prompts, idg: Prompts
) -> tuple[Any, Prompts, Prompts, Prompts]:
    """t is the mean of |vec H|^2 over the first SCALE training prompts (a step)."""
    t = train.square_norms()[:SCALE].mean()
    train = Prompts(*(part[:n] for part in train))
    if rescale:
        train, icl, idg = (rescaled(prompts, t) for prompts in (train, icl, idg))
    return t, train, icl, idg


def run_fits(
    problem: SingleIndexRegression,
    plan: Plan,
    ridges: Sequence[float],
    seed: int,
    prompts: RunPrompts,
    arrays: Arrays,
    finished: Callable[[], object] = lambda: None,
) -> list[tuple[FitKey, EvaluatedFit]]:
    """One run: fit and evaluate everything in the plan on the prompts that were drawn for it.

    `finished` is called after each of the `parts_of_run`.
    """
    fits, F = train_fits(problem, plan, ridges, seed, prompts, arrays, finished)
    for kind in TESTED:
        _test(plan, fits, getattr(prompts, kind), F, kind, arrays)
        finished()
    return [pair for of_family in fits for pair in of_family]


def parts_of_run(plan: Plan) -> int:
    """How many parts a run has: its blocks of prompts, its families by the kernel, its tests."""
    return len(plan.blocks()) + sum(family.kept > 0 for family in plan.families) + len(TESTED)


def train_fits(
    problem: SingleIndexRegression,
    plan: Plan,
    ridges: Sequence[float],
    seed: int,
    prompts: RunPrompts,
    arrays: Arrays,
    finished: Callable[[], object] = lambda: None,
) -> tuple[list[list[tuple[FitKey, EvaluatedFit]]], Any]:
    """All fits by family, not yet evaluated, and F (None where no model has random features)."""
    F = arrays.weights(seed, problem.directions, plan.widest, prompts.t) if plan.widest else None
    fits = _Fits(plan, ridges, problem.d, arrays)
    parts = _train_primal(plan, fits, prompts.train, F, seed, arrays, finished)
    for i, family in enumerate(plan.families):
        if family.kept:
            kernel = RidgeKernel(arrays, parts[i], prompts.train.label, family.kept)
            _train_dual(plan, fits, i, kernel)
            parts[i] = []
            finished()
    return fits.of_family, F


class _Fits:
    """The fits of one run by family, as they are computed."""

    def __init__(self, plan: Plan, ridges: Sequence[float], d: int, arrays: Arrays) -> None:
        self.ridges, self.d, self.arrays = ridges, d, arrays
        self.of_family: list[list[tuple[FitKey, EvaluatedFit]]] = [[] for _ in plan.families]

    def penalties(self, n: int) -> list[float]:
        return [value * n / self.d for value in self.ridges]

    def settle(self, launched: list[tuple[int, Model, Launched]]) -> None:
        found = settle(self.arrays, [one for _, _, one in launched])
        for (i, model, _), fits in zip(launched, found, strict=True):
            for value, fit in zip(self.ridges, fits, strict=True):
                self.of_family[i].append(((model, fit.n, value), EvaluatedFit(fit)))


def _train_primal(
    plan: Plan,
    fits: _Fits,
    prompts: Prompts,
    F: Any,
    seed: int,
    arrays: Arrays,
    finished: Callable[[], object],
) -> list[list[Any]]:
    """Fit all with m <= n while the blocks pass, and return the rows that the others need."""
    systems = [RidgeSystem(arrays, f.primal) if f.primal else None for f in plan.families]
    parts: list[list[Any]] = [[] for _ in plan.families]
    for start, stop in plan.blocks():
        count = stop - start
        z = arrays.noise(seed, start, count, plan.noisy) if plan.noisy else None
        layout = tuple(
            (family.map, max(family.primal, family.dual if start < family.kept else 0))
            for family in plan.families
        )
        values = (np.int32(start), prompts, F, z)
        rows, labels = arrays.call(_train_block, (layout, count), *values)
        for i, (family, system) in enumerate(zip(plan.families, systems, strict=True)):
            if system is not None:
                system.add(rows[i], labels)
            if start < family.kept:
                parts[i].append(rows[i])
        if stop in plan.sizes:
            penalties = fits.penalties(stop)
            fits.settle(
                [
                    (i, model, system.launch(penalties, m, _intercept(model)))
                    for i, (family, system) in enumerate(zip(plan.families, systems, strict=True))
                    for model, m in family.members
                    if system is not None and m <= stop
                ]
            )
        finished()
    return parts


def _train_block(
    arrays: Arrays,
    layout: tuple[tuple[Model, int], ...],
    count: int,
    start: Any,
    prompts: Prompts,
    F: Any,
    z: Any,
) -> tuple[tuple[Any, ...], Any]:
    """Rows for every map and width of the layout, and labels, of `count` prompts (a step)."""
    H, U, y = _features(arrays, prompts, start, count, F)
    return tuple(_map(arrays, *of_family, H, U, z) for of_family in layout), y


def _train_dual(plan: Plan, fits: _Fits, i: int, kernel: RidgeKernel) -> None:
    """Fit all of a family with m > n, from narrow to wide."""
    family: Family = plan.families[i]
    for width in sorted({m for _, m in family.members if m > plan.sizes[0]}):
        kernel.widen(width)
        fits.settle(
            [
                (i, model, kernel.launch(fits.penalties(size), size, _intercept(model)))
                for model, m in family.members
                for size in plan.sizes
                if m == width and size < m
            ]
        )


def _test(
    plan: Plan,
    fits: list[list[tuple[FitKey, EvaluatedFit]]],
    prompts: Prompts,
    F: Any,
    kind: str,
    arrays: Arrays,
) -> None:
    count = len(prompts.label)
    groups = [_groups([evaluated.fit for _, evaluated in of_family]) for of_family in fits]
    constants = [np.array([evaluated.fit.intercept for _, evaluated in of]) for of in fits]
    maps = tuple(family.map for family in plan.families)
    sums: Any = [np.zeros((len(of_family), 2)) for of_family in fits]
    for start, stop in even_blocks(count, plan.block):
        values = (np.int32(start), prompts, F, groups, constants)
        sums = arrays.call(_test_block, (maps, stop - start), sums, *values)
    for family, of_family, squares in zip(plan.families, fits, arrays.get(sums), strict=True):
        for (_, evaluated), (total, fourth) in zip(of_family, squares, strict=True):
            mean = total / count
            variance = max(fourth / count - mean**2, 0.0) / (count - 1)
            evaluated.error[kind] = float(mean + family.noise**2 * evaluated.fit.square_norm)
            evaluated.standard_error[kind] = math.sqrt(variance)


def _groups(fits: list[RidgeFit]) -> list[Any]:
    """The weights, those of several penalties together, each once."""
    return [fit.together for fit in fits if fit.row == 0]


def _test_block(
    arrays: Arrays,
    maps: tuple[Model, ...],
    count: int,
    sums: Any,
    start: Any,
    prompts: Prompts,
    F: Any,
    groups: Any,
    constants: Any,
) -> list[Any]:
    """The sums of squared errors and of their squares with `count` prompts added (a step)."""
    H, U, y = _features(arrays, prompts, start, count, F)
    totals = []
    for model, own, group, b in zip(maps, sums, groups, constants, strict=True):
        width = max(weights.shape[1] for weights in group)
        side = [arrays.xp.pad(w, ((0, 0), (0, width - w.shape[1]))) for w in group]
        rows = _map(arrays, model, width, H, U, None)
        answers = arrays.predict(rows, arrays.xp.concatenate(side)) + b[None, :]
        squares = (y[:, None] - answers) ** 2
        totals.append(own + arrays.xp.stack([squares.sum(0), (squares**2).sum(0)], axis=1))
    return totals


def _features(
    arrays: Arrays, prompts: Prompts, start: Any, count: int, F: Any
) -> tuple[Any, Any, Any]:
    """vec H, the pre-activations and the labels of `count` prompts."""
    query, memory, label, _ = (arrays.rows(part, start, count) for part in prompts)
    H = arrays.vectors(arrays.put(query), arrays.put(memory))
    return H, None if F is None else arrays.product(H, F), arrays.double(label)


def _map(arrays: Arrays, model: Model, width: int, H: Any, U: Any, z: Any) -> Any:
    return (
        H[:, :width] if isinstance(model, LinearAttention) else arrays.activate(model, U, z, width)
    )


def _intercept(model: Model) -> bool:
    return isinstance(model, LinearAttention) and model.intercept
