"""Simulation of in-context errors, called like the laws in `attnlab.random.theory.law`.

One run draws a pool of tasks, prompts and one wide F, and fits every model at every n and ridge
from it: all activations and their equivalents on the same pre-activations, every width as leading
features, every n as a checkpoint, every ridge from one Gram matrix. Equivalent models that differ
in terms that are 0 are fitted once. Fresh prompts then give the error on new tasks (ICL) and on the
pool's tasks (IDG), the label noise included.
"""

import itertools
import statistics
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.memory import require_memory
from attnlab.random.models import Model
from attnlab.random.models.fitted import FittedModel
from attnlab.random.models.transformer import lowest_degree
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.arrays import Arrays, Host
from attnlab.random.ridge.bounded_map import bounded_map
from attnlab.random.ridge.fit_plan import Plan, memory_needed, plan_fits, require_moments
from attnlab.random.ridge.fits import IllConditioned
from attnlab.random.ridge.shared_fits import (
    EvaluatedFit,
    FitKey,
    RunPrompts,
    draw,
    parts_of_run,
    run_fits,
    train_fits,
)
from attnlab.random.theory.error_point import ErrorPoint, listed
from attnlab.stats.estimate import Estimate

SMALLER = "d, length, tasks, n, the width or test"


def simulate(
    problem: SingleIndexRegression,
    models: Model | Sequence[Model],
    *,
    n: int | Sequence[int],
    ridge: float | Sequence[float],
    runs: int = 20,
    seed: int = 0,
    test: int = 2000,
    rescale: bool = False,
    block: int | None = None,
    arrays: Arrays | None = None,
    memory: float | None = None,
    finished: Callable[[int], None] | None = None,
    part: Callable[[int], Callable[[], object]] | None = None,
) -> list[ErrorPoint]:
    """The errors of every model at every n and ridge, in that order.

    Standard errors are those of the mean over runs; with a single run, of the mean over its test
    prompts.

    Parameters
    ----------
    problem
        The distribution over prompts.
    models
        One model or several.
    n
        Numbers of training prompts.
    ridge
        Ridge parameters lambda; the penalty is lambda n / d.
    runs
        Independent draws of the pool, the prompts and the random features.
    seed
        Seed of all runs.
    test
        Test prompts per run with fresh tasks, and as many with the pool's.
    rescale
        Whether every vec H is given the same norm, which removes the norm's fluctuation at
        finite d: a diagnostic.
    block
        Prompts whose features are held in memory at once; it changes no draw.
    arrays
        Where to compute: `Host()`, the default, or `Accelerator()`; the draws are the same.
    memory
        Bytes that may be used; what the machine has unless given.
    finished
        Called after each run with the number of runs that are done.
    part
        Called before each run with the number of its parts (blocks of prompts, families of models,
        tests); what it returns is called after each part, and may end the run by an exception.
    """
    several, sizes, ridges = listed(models, n, ridge)
    runs, test = arguments.integer("runs", runs, 1), arguments.integer("test", test, 2)
    seeds = [seed_of_run(seed, run) for run in range(runs)]
    arrays = Host() if arrays is None else arrays
    fitted = {model: lowest_degree(model) for model in several}
    distinct = list(dict.fromkeys(fitted.values()))
    plan, at_once = _plan(problem, distinct, sizes, test, block, arrays, memory)

    def one_run(given: tuple[int, RunPrompts]) -> list[tuple[FitKey, EvaluatedFit]]:
        after = part(parts_of_run(plan)) if part is not None else lambda: None
        with arrays.session(plan.largest):
            return run_fits(problem, plan, ridges, given[0], given[1], arrays, after)

    points: dict[FitKey, list[EvaluatedFit]] = {}
    # Prompts of later runs are drawn while a run is fitted. The first run is alone, because the
    # programs that it compiles are used by the others.
    drawn = bounded_map(
        lambda own: (own, draw(problem, plan, own, test, rescale, arrays)), seeds, 2, threads=1
    )
    first = map(one_run, itertools.islice(drawn, 1))
    others = bounded_map(one_run, drawn, at_once)
    for done, found in enumerate(itertools.chain(first, others), start=1):
        for key, evaluated in found:
            points.setdefault(key, []).append(evaluated)
        if finished is not None:
            finished(done)
    return [
        _point(model, size, value, points[fitted[model], size, value])
        for model in several
        for size in sizes
        for value in ridges
    ]


def fit(
    problem: SingleIndexRegression,
    model: Model,
    *,
    n: int,
    ridge: float,
    seed: int = 0,
    run: int = 0,
) -> FittedModel:
    """The model that run `run` of `simulate` with this seed fits, as a predictor.

    Parameters
    ----------
    problem
        The distribution over prompts.
    model
        What to fit.
    n
        Training prompts.
    ridge
        Ridge parameter lambda; the penalty is lambda n / d.
    seed, run
        Which draws of the pool, the prompts and the random features.
    """
    several, sizes, ridges = listed(model, n, ridge)
    own = seed_of_run(seed, arguments.integer("run", run, 0))
    arrays = Host()
    plan, _ = _plan(problem, several, sizes, 2, None, arrays, None)
    with arrays.session(plan.largest):
        prompts = draw(problem, plan, own, 2, False, arrays)
        (((_, evaluated),),), F = train_fits(problem, plan, ridges, own, prompts, arrays)
    found = evaluated.fit
    return FittedModel(
        model,
        n,
        float(ridge),
        F,
        found.weights,
        found.intercept,
        found.train_error,
        found.diagnosis,
    )


def seed_of_run(seed: int, run: int) -> int:
    """The seed of everything that one run draws."""
    state = np.random.SeedSequence([arguments.integer("seed", seed, 0), run])
    return int(state.generate_state(1, np.uint64)[0])


def _plan(
    problem: SingleIndexRegression,
    models: Sequence[Model],
    sizes: Sequence[int],
    test: int,
    block: int | None,
    arrays: Arrays,
    memory: float | None,
) -> tuple[Plan, int]:
    """The plan of the fits and how many runs fit into memory at once; nothing is drawn before."""
    if not models or not sizes:
        raise UserError("models, n and ridge must each have at least one entry, got an empty one.")
    block = arguments.integer("block", arrays.block if block is None else block, 1)
    plan = plan_fits(problem, models, sizes, block)
    available = arrays.available_memory() if memory is None else memory
    needed = memory_needed(problem, plan, test)
    require_memory("The fits", needed, SMALLER, available)
    require_moments(problem, plan)
    return plan, arrays.concurrent_runs if arrays.concurrent_runs * needed <= available else 1


def _point(model: Model, n: int, ridge: float, found: list[EvaluatedFit]) -> ErrorPoint:
    runs = tuple((o.error["icl"], o.error["idg"], o.fit.train_error) for o in found)
    condition = statistics.median(o.fit.condition for o in found)
    diagnoses = [o.fit.diagnosis for o in found if o.fit.diagnosis]
    diagnosis = f"{len(diagnoses)} of {len(runs)} runs {diagnoses[0]}" if diagnoses else ""
    if diagnoses:
        warnings.warn(
            f"The fit of {found[0].fit.m} features to {n} prompts at ridge {ridge:g} is "
            f"ill-conditioned (condition number {condition:.1e}): report its median.",
            IllConditioned,
            stacklevel=3,
        )

    def summary(position: int, kind: str) -> Estimate:
        values = [run[position] for run in runs]
        if len(values) > 1:
            return Estimate.of(values)
        return Estimate(values[0], found[0].standard_error.get(kind, 0.0), 1)

    icl, idg, train = (summary(i, kind) for i, kind in enumerate(("icl", "idg", "train")))
    return ErrorPoint(model, n, ridge, icl, idg, train, runs, condition, diagnosis)
