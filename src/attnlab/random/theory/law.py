"""The laws of in-context error, called like the simulation in `attnlab.random.simulation`.

`law` is the limit of large dimension at the given ratios, `refined` its finite-size refinement for
random features. A finite problem has the ratios alpha = l/d, kappa = k/d, tau = n/(d (d+1)) and
psi = m/n: H has d (d + 1) entries, which is d^2 in the limit.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.maths.hermite import activation_function, hermite_series, scaled_table
from attnlab.memory import require_memory
from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.theory import linear_attention_law
from attnlab.random.theory.error_point import ErrorPoint, listed
from attnlab.random.theory.linear_attention_law import LawErrors, Setting, target_constants
from attnlab.random.theory.refined_law import (
    ConstantsOf,
    PromptStatistics,
    ScaledConstants,
    refined_errors,
    statistics_of,
)
from attnlab.random.theory.transformer_law import (
    RandomFeaturesLaw,
    best_delta,
    feature_constants,
)
from attnlab.stats.estimate import Estimate

# delta = 0 means its limit from above; smaller values change no digit of an error.
LIMIT = 1e-13
POOLS = 60  # of tasks, over which the prompts of the refinement are spread


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
    """The errors of every model at every n and ridge, in that order, in the limit of large d.

    Equivalent models of any degree >= 1 share the limit of their transformer: higher degrees change
    only the numbers at finite d. Degree 0 has no linear part and learns at most the mean.

    Parameters
    ----------
    problem
        The distribution over prompts; its ratios l/d and k/d count.
    models
        One model or several.
    n
        Numbers of training prompts.
    ridge
        Ridge parameters lambda; the penalty is lambda n / d.
    """
    setting = setting_of(problem)
    return [
        _exact(problem, setting, model, size, value)
        for model, size, value in _grid(models, n, ridge)
    ]


def best_ridge(problem: SingleIndexRegression, model: Model, *, n: int) -> ErrorPoint:
    """The law's errors at the ridge with the smallest in-context error.

    Parameters
    ----------
    problem
        The distribution over prompts.
    model
        The model.
    n
        Number of training prompts.
    """
    ((_, size, _),) = _grid(model, n, 0.0)
    setting, tau = setting_of(problem), size / problem.directions
    if isinstance(model, LinearAttention):
        ridge, _ = linear_attention_law.best_ridge(setting, tau, model.intercept)
    else:
        delta, _ = best_delta(_features_law(problem, setting, model, size, 0.0))
        ridge = delta * problem.d
    return _exact(problem, setting, model, size, ridge)


def refined_memory(problem: SingleIndexRegression, prompts: int, pools: int = POOLS) -> float:
    """Bytes of two kinds of prompts of one pool, and of the numbers of each prompt of all pools.

    These are s, y and o of both kinds, the constants of the activation, and what the equations
    make of them: about 75 numbers at once.
    """
    return problem.memory_needed(2 * -(-prompts // pools)) + 600.0 * prompts


def refined(
    problem: SingleIndexRegression,
    models: Model | Sequence[Model],
    *,
    n: int | Sequence[int],
    ridge: float | Sequence[float],
    prompts: int = 60_000,
    pools: int = POOLS,
    seed: int = 0,
    parts: int = 10,
) -> list[ErrorPoint]:
    """The errors of random features at this d, by the finite-size refinement of the law.

    Standard errors are those of its Monte Carlo averages over prompts; nothing is fitted.

    Parameters
    ----------
    problem
        The distribution over prompts.
    models
        Random transformers or equivalent models.
    n
        Numbers of training prompts.
    ridge
        Ridge parameters lambda; the penalty is lambda n / d.
    prompts
        Training prompts that are averaged over, and as many test prompts.
    pools
        Draws of the pool of tasks, over which the prompts are spread.
    seed
        Seed of pools and prompts.
    parts
        Disjoint parts of the prompts from which standard errors are computed.
    """
    setting = setting_of(problem)
    prompts, pools = (
        arguments.integer("prompts", prompts, 100),
        arguments.integer("pools", pools, 1),
    )
    parts, grid = arguments.integer("parts", parts, 2), _grid(models, n, ridge)
    if any(isinstance(model, LinearAttention) for model, _, _ in grid):
        raise UserError(
            "model must be a RandomTransformer or an EquivalentModel for the refinement, "
            "got LinearAttention."
        )
    if setting.target.b1 == 0:
        raise UserError(
            "target must have a linear part, E[s He_1] other than 0, for the refinement, got 0."
        )
    needed = refined_memory(problem, prompts, pools)
    require_memory("The prompts", needed, "d, the context length, the pool or prompts")
    train, test = _statistics(problem, prompts, pools, seed, setting.target.b1)
    s, t = train.s, test.s
    tables: dict[Model, ConstantsOf] = {}
    points = []
    for model, size, value in grid:
        if isinstance(model, LinearAttention):
            continue
        if model not in tables:
            tables[model] = constants_of(model, min(s.min(), t.min()), max(s.max(), t.max()))
        constants = tables[model]
        intercept = hermite_series(model.activation, 1).coefficients[0] != 0

        def errors(
            some: PromptStatistics,
            other: PromptStatistics,
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
        icl, idg, train_error = (
            Estimate(middle, Estimate.of(several).standard_error, prompts)
            for middle, several in zip(whole, np.array(split).T, strict=True)
        )
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

    def constants(s: np.ndarray) -> ScaledConstants:
        c0, a, e = table(s)
        return ScaledConstants(c0, a, np.hypot(e, extra))

    return constants


@lru_cache(maxsize=4)
def _statistics(
    problem: SingleIndexRegression, prompts: int, pools: int, seed: int, b1: float
) -> tuple[PromptStatistics, PromptStatistics]:
    """Statistics of training and test prompts; each pool has its own t, as each run has."""
    each = -(-prompts // pools)
    kinds: tuple[list[PromptStatistics], list[PromptStatistics]] = ([], [])
    for state in np.random.SeedSequence([seed, 77]).generate_state(pools):
        train = problem.all_prompts(each, seed=int(state), tasks="pool", split="train")
        test = problem.all_prompts(each, seed=int(state), tasks="fresh", split="test")
        t = float(train.square_norms().mean())
        kinds[0].append(statistics_of(train, t, b1))
        kinds[1].append(statistics_of(test, t, b1))
    joined = [PromptStatistics(*map(np.concatenate, zip(*kind, strict=True))) for kind in kinds]
    return joined[0], joined[1]


def _part(whole: PromptStatistics, i: int, parts: int) -> PromptStatistics:
    size = len(whole.s) // parts
    return PromptStatistics(*(values[i * size : (i + 1) * size] for values in whole))


def _grid(
    models: Model | Sequence[Model], n: int | Sequence[int], ridge: float | Sequence[float]
) -> list[tuple[Model, int, float]]:
    several, sizes, ridges = listed(models, n, ridge)
    return [(model, size, value) for model in several for size in sizes for value in ridges]


def _features_law(
    problem: SingleIndexRegression,
    setting: Setting,
    model: RandomTransformer | EquivalentModel,
    n: int,
    ridge: float,
) -> RandomFeaturesLaw:
    constants = feature_constants(model.activation)
    if isinstance(model, EquivalentModel) and model.degree == 0:
        constants = constants._replace(c1=0.0, cs=math.hypot(constants.c1, constants.cs))
    tau, psi, delta = n / problem.directions, model.width / n, ridge / problem.d
    return RandomFeaturesLaw(setting, constants, tau, psi, delta)


def _exact(
    problem: SingleIndexRegression, setting: Setting, model: Model, n: int, ridge: float
) -> ErrorPoint:
    if isinstance(model, LinearAttention):
        tau = n / problem.directions
        errors = linear_attention_law.errors(setting, tau, ridge, model.intercept)
    else:
        errors = _features_law(problem, setting, model, n, ridge).errors()
    icl, idg, train = (Estimate(error) for error in errors)
    infinite = (
        "infinite: as many features as prompts and no ridge" if errors.idg == math.inf else ""
    )
    return ErrorPoint(model, n, ridge, icl, idg, train, diagnosis=infinite)
