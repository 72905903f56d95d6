"""Simulation of in-context errors, called like the laws in `attnlab.random.theory.law`.

One run draws a pool of tasks, prompts and one wide F, and fits every model at every n and ridge
from it: all activations and their equivalents on the same pre-activations, every width as leading
features, every n as a checkpoint, every ridge from one Gram matrix. Fresh prompts then measure the
error on new tasks (ICL) and on the pool's (IDG), the label noise included.
"""

import itertools
import math
import statistics
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.arrays import Arrays, Host
from attnlab.random.ridge.bounded_map import in_flight
from attnlab.random.ridge.fit_plan import memory_needed, plan_fits, require_moments
from attnlab.random.ridge.normal_equations import IllConditioned, require_memory
from attnlab.random.ridge.shared_fits import Drawn, Key, Outcome, draw, run_fits
from attnlab.random.theory.error_point import ErrorPoint, Model, listed
from attnlab.stats.estimate import Estimate


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
) -> list[ErrorPoint]:
    """The errors of every model at every n and ridge, in that order.

    A standard error is that of the mean over runs; of a single run it is that of its test prompts.
    `test` prompts of each kind are drawn a run. `rescale` gives every vec H the same norm, which
    takes the norm's finite-d fluctuation away. `block` bounds the prompts whose features are held
    at once (the arrays' own bound unless given) and changes no draw. `memory` (bytes) overrides
    what the machine says it has. `finished` is told how many runs are done, after each.
    """
    several, sizes, ridges = listed(models, n, ridge)
    if not several or not sizes or not ridges:
        raise UserError("models, n and ridge must each have at least one entry, got an empty one.")
    runs, test = arguments.integer("runs", runs, 1), arguments.integer("test", test, 2)
    arrays = Host() if arrays is None else arrays
    block = arguments.integer("block", arrays.block if block is None else block, 1)
    plan = plan_fits(problem, several, sizes, block)
    require_moments(problem, plan)
    needed = memory_needed(problem, several, sizes, block)
    require_memory(arrays, needed, "the fits", memory)
    available = arrays.available_memory() if memory is None else memory
    flights = arrays.flights if arrays.flights * needed <= available else 1
    seeds = [seed_of_run(seed, run) for run in range(runs)]

    def one_run(given: tuple[int, Drawn]) -> list[tuple[Key, Outcome]]:
        with arrays.session(plan.largest):
            return run_fits(problem, plan, ridges, given[0], given[1], arrays)

    points: dict[Key, list[Outcome]] = {}
    # Prompts are drawn while others are fitted; the first run is alone, because what it compiles
    # the others find.
    drawn = in_flight(
        lambda own: (own, draw(problem, plan, own, test, rescale, arrays)), seeds, 2, threads=1
    )
    first = map(one_run, itertools.islice(drawn, 1))
    others = in_flight(one_run, drawn, flights)
    for done, outcomes in enumerate(itertools.chain(first, others), start=1):
        for key, outcome in outcomes:
            points.setdefault(key, []).append(outcome)
        if finished is not None:
            finished(done)
    return [
        _point(model, size, value, points[model, size, value])
        for model in several
        for size in sizes
        for value in ridges
    ]


def seed_of_run(seed: int, run: int) -> int:
    """The seed of everything that one run draws."""
    state = np.random.SeedSequence([arguments.integer("seed", seed, 0), run])
    return int(state.generate_state(1, np.uint64)[0]) >> 2


def _point(model: Model, n: int, ridge: float, outcomes: list[Outcome]) -> ErrorPoint:
    runs = tuple((o.error["icl"], o.error["idg"], o.fit.train_error) for o in outcomes)
    condition = statistics.median(o.fit.condition for o in outcomes)
    said = [o.fit.diagnosis for o in outcomes if o.fit.diagnosis]
    diagnosis = f"{len(said)} of {len(runs)} runs {said[0]}" if said else ""
    m = outcomes[0].fit.m
    if said:
        warnings.warn(
            f"The fit of {m} features to {n} prompts at ridge {ridge:g} is ill-conditioned "
            f"(condition number {condition:.1e}): report its median.",
            IllConditioned,
            stacklevel=3,
        )

    def summary(position: int, kind: str) -> Estimate:
        values = [run[position] for run in runs]
        if len(values) > 1:
            return Estimate(
                statistics.fmean(values),
                statistics.stdev(values) / math.sqrt(len(values)),
                len(values),
            )
        return Estimate(values[0], outcomes[0].spread.get(kind, 0.0), 1)

    icl, idg, train = (summary(i, kind) for i, kind in enumerate(("icl", "idg", "train")))
    return ErrorPoint(model, n, ridge, icl, idg, train, runs, condition, diagnosis)
