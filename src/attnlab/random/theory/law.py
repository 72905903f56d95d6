"""The laws of in-context error, called like the simulation in `attnlab.random.simulation`.

`law` is the limit of large dimension at the point's ratios, `refined` its finite-size refinement
for random features. A finite problem is placed at alpha = l/d, kappa = k/d, tau = n/(d (d+1)) and
psi = m/n: H has d (d + 1) entries, which is d^2 in the limit.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.hermite import activation_function, hermite_series, scaled_table
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.theory import linear_attention_law
from attnlab.random.theory.error_point import ErrorPoint, Model, listed
from attnlab.random.theory.linear_attention_law import LawErrors, Setting, target_constants
from attnlab.random.theory.refined_law import (
    Constants,
    ConstantsOf,
    Sample,
    refined_errors,
    sample_of,
)
from attnlab.random.theory.transformer_law import RandomFeaturesLaw, feature_constants
from attnlab.stats.estimate import Estimate

# delta = 0 means its limit from above; this is below what any error resolves.
LIMIT = 1e-13


def setting_of(problem: SingleIndexRegression) -> Setting:
    """alpha, kappa, rho and the target's constants."""
    kappa = math.inf if problem.tasks is None else problem.tasks / problem.d
    target = target_constants(problem.target)
    return Setting(problem.length / problem.d, kappa, problem.noise, target)


def samples(problem: SingleIndexRegression, tau: float) -> int:
    """n = tau d (d + 1), rounded: the number of prompts at which the law has this tau."""
    return max(round(arguments.positive("tau", tau) * problem.directions), 1)


def law(
    problem: SingleIndexRegression,
    models: Model | Sequence[Model],
    *,
    n: int | Sequence[int],
    ridge: float | Sequence[float],
) -> list[ErrorPoint]:
    """The limit's errors for every model, n and ridge, in that order.

    Theorem 3's models of any degree >= 1 share the limit of their transformer: higher degrees
    change only finite-d numbers. Degree 0 has no linear part and learns at most the mean.
    """
    setting = setting_of(problem)

    def errors(model: Model, size: int, value: float) -> LawErrors:
        tau = size / problem.directions
        if isinstance(model, LinearAttention):
            return linear_attention_law.errors(setting, tau, value, model.intercept)
        constants = feature_constants(model.activation)
        if isinstance(model, EquivalentModel) and model.degree == 0:
            rest = math.hypot(constants.c1, constants.cs)
            constants = constants._replace(c1=0.0, cs=rest)
        psi, delta = model.width / size, value / problem.d
        return RandomFeaturesLaw(setting, constants, tau, psi, delta).errors()

    return [
        _exact(model, size, value, errors(model, size, value))
        for model, size, value in _grid(models, n, ridge)
    ]


def refined(
    problem: SingleIndexRegression,
    models: Model | Sequence[Model],
    *,
    n: int | Sequence[int],
    ridge: float | Sequence[float],
    prompts: int = 60_000,
    pools: int = 60,
    seed: int = 0,
    parts: int = 10,
) -> list[ErrorPoint]:
    """The refinement's errors; its standard error is that of its Monte Carlo over prompts.

    `prompts` are drawn from each of train and test, over `pools` draws of the tasks; the standard
    error comes from `parts` disjoint parts of them.
    """
    setting = setting_of(problem)
    b1 = setting.target.b1
    prompts, parts = (
        arguments.integer("prompts", prompts, 100),
        arguments.integer("parts", parts, 2),
    )
    train, test = _samples(problem, prompts, arguments.integer("pools", pools, 1), seed, b1)
    s, t = train.s, test.s
    tables: dict[Model, ConstantsOf] = {}
    points = []
    for model, size, value in _grid(models, n, ridge):
        if isinstance(model, LinearAttention):
            raise UserError(
                "model must be a RandomTransformer or an EquivalentModel for the refinement, "
                "got LinearAttention."
            )
        if model not in tables:
            tables[model] = constants_of(model, min(s.min(), t.min()), max(s.max(), t.max()))
        constants = tables[model]
        intercept = abs(hermite_series(model.activation, 1).coefficients[0]) > 1e-10

        def errors(
            some: Sample,
            other: Sample,
            constants: ConstantsOf = constants,
            intercept: bool = intercept,
            psi: float = model.width / size,
            tau: float = size / problem.directions,
            delta: float = max(value / problem.d, LIMIT),
        ) -> LawErrors:
            return refined_errors(
                setting, constants, some, other, tau=tau, psi=psi, delta=delta, intercept=intercept
            )

        whole = errors(train, test)
        split = [errors(_part(train, i, parts), _part(test, i, parts)) for i in range(parts)]
        spread = np.std(np.array(split), axis=0, ddof=1) / math.sqrt(parts)
        estimates = [
            Estimate(middle, float(width), prompts)
            for middle, width in zip(whole, spread, strict=True)
        ]
        icl, idg, train_error = estimates
        points.append(ErrorPoint(model, size, value, icl, idg, train_error))
    return points


def constants_of(
    model: RandomTransformer | EquivalentModel, least: float, largest: float
) -> ConstantsOf:
    """(c_0, a, e)(s) of u -> activation(sqrt(s) u), with c_r^* in e for an equivalent model.

    For s between the two ends.
    """
    if isinstance(model, RandomTransformer):
        function, extra = activation_function(model.activation), 0.0
    else:
        function, extra = model.mean, model.noise
    table = scaled_table(function, least, largest)

    def constants(s: np.ndarray) -> Constants:
        c0, a, e = table(s)
        return Constants(c0, a, np.hypot(e, extra))

    return constants


@lru_cache(maxsize=4)
def _samples(
    problem: SingleIndexRegression, prompts: int, pools: int, seed: int, b1: float
) -> tuple[Sample, Sample]:
    """Each pool of tasks has its own t, as each run of a simulation does."""
    each = -(-prompts // pools)
    kinds: tuple[list[Sample], list[Sample]] = ([], [])
    for state in np.random.SeedSequence([seed, 77]).generate_state(pools):
        train = problem.all_prompts(each, seed=int(state), tasks="pool", split="train")
        test = problem.all_prompts(each, seed=int(state), tasks="fresh", split="test")
        t = float(train.square_norms().mean())
        kinds[0].append(sample_of(train, t, b1))
        kinds[1].append(sample_of(test, t, b1))
    joined = [Sample(*map(np.concatenate, zip(*kind, strict=True))) for kind in kinds]
    return joined[0], joined[1]


def _part(sample: Sample, i: int, parts: int) -> Sample:
    size = len(sample.s) // parts
    return Sample(*(values[i * size : (i + 1) * size] for values in sample))


def _grid(
    models: Model | Sequence[Model], n: int | Sequence[int], ridge: float | Sequence[float]
) -> list[tuple[Model, int, float]]:
    several, sizes, ridges = listed(models, n, ridge)
    return [(model, size, value) for model in several for size in sizes for value in ridges]


def _exact(model: Model, n: int, ridge: float, errors: LawErrors) -> ErrorPoint:
    icl, idg, train = (Estimate(error) for error in errors)
    infinite = (
        "infinite: as many features as prompts and no ridge" if errors.idg == math.inf else ""
    )
    return ErrorPoint(model, n, ridge, icl, idg, train, diagnosis=infinite)
