"""Depth growth: trains depths 1, 2, ..., L of a small family, each from the depth before.

A deeper network starts as the shallower one with a new layer near zero, placed first, in the middle
or last, from several starting points. The best one is kept, and the shallower network with an empty
layer is among them, so that no depth is worse than the one before on its own sample. A heavy tail
of the loss is visible on fresh data only. Therefore every sample contains the most extreme of many
more sequences, and where the fresh loss exceeds the training loss by more than its noise, the worst
fresh sequences join the sample and training continues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.weights import DiagonalWeights, DiagWeights, Omegas, on_host
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory import laws
from attnlab.linear.training.families import (
    DiagonalLeastSquares,
    SpectralLeastSquares,
    sequence_losses,
)
from attnlab.linear.training.fixed_sample import (
    Sample,
    draw,
    draw_extremes,
    join_tail,
    thin,
    with_extremes,
)
from attnlab.linear.training.levenberg_marquardt import (
    Diagnosis,
    Fit,
    LeastSquares,
    SearchLimits,
    levenberg_marquardt,
)
from attnlab.linear.training.starting_points import (
    ABSENT,
    DiagonalFamily,
    empty_network,
    insert_layer,
    ladders,
    starting_points,
    without,
)
from attnlab.stats.estimate import Estimate

TAIL_NOISE = 4.0  # standard errors by which the loss on fresh data may exceed the training loss
EVALUATION = 0  # folded into the key for fresh data; depths fold in 1, 2, ...
EXTREME_POOLS = 8  # pools from which the extreme sequences are taken
STARTS, POOL, CHECKS = range(3)  # folded into the key of a depth


@final
@dataclass(frozen=True)
class GrowthEffort:
    """The amount of work for each depth; the defaults are for Table 1 on two CPU cores.

    Parameters
    ----------
    starts
        New layers that are tried in each place.
    screening
        Sequences on which they are tried.
    sequences
        Sequences of the final fit.
    pool
        Sequences from which those are taken, and of every check on fresh data.
    tail
        Worst sequences of the pool that every fit keeps.
    rounds
        How often fresh sequences may join a fit.
    fresh
        Fresh sequences on which the loss of the result is measured.
    rarest
        GD++ is trained on the exact law of the eigenvalues without the ends of the spectrum that
        have fewer eigenvalues per sequence than this. Without noise, the loss of four layers or
        more is otherwise an expectation over sequences that no evaluation ever contains.
    """

    starts: int = 6
    screening: int = 256
    sequences: int = 4096
    pool: int = 65536
    tail: int = 512
    rounds: int = 4
    fresh: int = 32768
    rarest: float = 1e-7

    def __post_init__(self) -> None:
        for name in ("starts", "screening", "sequences", "pool", "tail", "fresh"):
            arguments.integer(name, getattr(self, name), 1)
        arguments.integer("rounds", self.rounds, 0)
        arguments.fraction("rarest", self.rarest)
        if not self.tail < self.sequences <= self.pool or 4 * self.screening > self.sequences:
            raise UserError(
                "tail must be below sequences, and 4 screening <= sequences <= pool, got "
                f"{self.tail}, {self.screening}, {self.sequences} and {self.pool}."
            )


@final
@dataclass(frozen=True)
class TrainedDepth:
    """One trained depth: weights, losses, and how the training went.

    `training` is the loss on the training sample and `fresh` the loss on fresh sequences. `rounds`
    is the number of times that fresh sequences joined the sample; `tail_holds` is True where the
    last check on fresh data found no loss beyond the noise.
    """

    weights: DiagonalWeights
    training: Estimate
    fresh: Estimate
    iterations: int
    diagnosis: Diagnosis
    rounds: int
    tail_holds: bool


def grow(
    family: DiagonalFamily,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    depth: int,
    trained: Sequence[TrainedDepth] = (),
    effort: GrowthEffort = GrowthEffort(),  # noqa: B008 (frozen)
    progress: Callable[[TrainedDepth], None] | None = None,
) -> tuple[TrainedDepth, ...]:
    """Train depths 1 to `depth`, in double precision.

    All random numbers of depth l come from fold_in(key, l), so that a continued growth equals the
    uninterrupted one bit for bit; the fresh data of all depths come from fold_in(key, 0).

    Parameters
    ----------
    family
        "gd++", "diag" (one head), "omegas" (DIAG with free omegas), or "no-momentum" and
        "no-rescaling" (free omegas without omega_xy and without omega_yy).
    problem
        The problem; its inputs must have variance 1.
    key
        The JAX key of everything random.
    depth
        The number of layers of the deepest network.
    trained
        Depths that are already trained, from depth 1 on; growth continues after them.
    effort
        The amount of work for each depth.
    progress
        Called with every depth that is done.
    """
    arguments.one_of("family", family, get_args(DiagonalFamily))
    arguments.integer("depth", depth, 1)
    if problem.variance != 1.0:
        raise UserError(f"variance must be 1 for depth growth, got {problem.variance!r}.")
    done = list(trained[:depth])
    with jax.enable_x64(True):
        fresh = draw(problem, jax.random.fold_in(key, EVALUATION), effort.fresh)
        one = (
            _grow_spectral
            if family == "gd++"
            else partial(_grow_diagonal, ABSENT.get(family), _extremes(problem, key, effort))
        )
        for layers in range(len(done) + 1, depth + 1):
            shallower = done[-1].weights if done else empty_network(family)
            grown = one(problem, jax.random.fold_in(key, layers), shallower, fresh, effort)
            done.append(grown)
            if progress is not None:
                progress(grown)
    return tuple(done)


def _grow_spectral(
    problem: NoisyRegression,
    key: PRNGKeyArray,
    shallower: DiagonalWeights,
    fresh: Sample,
    effort: GrowthEffort,
) -> TrainedDepth:
    """GD++ on the exact law of the eigenvalues; without a sample there is no tail to look for."""
    key = jax.random.fold_in(key, STARTS)
    starts = starting_points(shallower, problem, key, effort.starts)
    starts += ladders(problem, key, shallower.depth + 1, 4 * effort.starts)
    starts += [insert_layer(shallower, 0, np.zeros(2))]
    fit, iterations = _fit_spectral(problem, starts, effort.rarest)
    floor = laws.gd_plus_plus_floor(problem).value
    return TrainedDepth(
        weights=on_host(fit.parameters),
        training=Estimate(fit.objective + floor),
        fresh=fresh.mean(sequence_losses(fit.parameters, fresh.G, fresh.oracle)),
        iterations=iterations,
        diagnosis=fit.diagnosis,
        rounds=0,
        tail_holds=True,
    )


def _fit_spectral(
    problem: NoisyRegression, starts: list[Any], rarest: float
) -> tuple[Fit[Any], int]:
    exact: LeastSquares[Any] = SpectralLeastSquares.exact(problem, rarest)
    fits = [levenberg_marquardt(exact, start, SearchLimits(60)) for start in starts]
    best = min(fits, key=_finite_objective)
    further = levenberg_marquardt(exact, best.parameters, SearchLimits(200, 1e-8))
    return further, sum(fit.iterations for fit in [*fits, further])


def _extremes(problem: NoisyRegression, key: PRNGKeyArray, effort: GrowthEffort) -> Sample:
    """Sequences on which a network may diverge, taken from many more than a sample holds."""
    own = jax.random.fold_in(jax.random.fold_in(key, EVALUATION), 1)
    return draw_extremes(problem, own, EXTREME_POOLS, effort.pool, max(effort.tail // 8, 1))


def _grow_diagonal(
    absent: str | None,
    extremes: Sample,
    problem: NoisyRegression,
    key: PRNGKeyArray,
    shallower: DiagonalWeights,
    fresh: Sample,
    effort: GrowthEffort,
) -> TrainedDepth:
    """One more layer of a diagonal network, of which one omega may be absent from every layer."""
    least_squares = partial(DiagonalLeastSquares, absent=absent)
    pool = draw(problem, jax.random.fold_in(key, POOL), effort.pool)
    losses = sequence_losses(insert_layer(shallower, 0, np.zeros(4)), pool.G, pool.oracle)
    for_starts = jax.random.fold_in(key, STARTS)
    starts = _diagonal_starts(problem, for_starts, shallower, effort)
    if absent is not None:
        starts = [without(start, absent) for start in starts]
    known = _gd_plus_plus(problem, for_starts, shallower, 4 * effort.starts, effort.rarest)
    screening = least_squares(_stratified(pool, losses, effort.screening, effort))
    fit, iterations = _screen(screening, starts)
    part = _stratified(pool, losses, 4 * effort.screening, effort)
    middle = least_squares(with_extremes(part, extremes))
    fit = levenberg_marquardt(middle, fit.parameters, SearchLimits(30, 1e-4))
    iterations += fit.iterations
    losses = sequence_losses(fit.parameters, pool.G, pool.oracle)
    sample = _stratified(pool, losses, effort.sequences, effort)

    done = 0
    while True:
        full = least_squares(with_extremes(sample, extremes))
        fit = levenberg_marquardt(full, fit.parameters, SearchLimits(10, 1e-4))
        iterations += fit.iterations
        if full.objective(known) < _finite_objective(fit):
            # On the few sequences of the screening GD++ looked worse than it is.
            fit = levenberg_marquardt(full, known, SearchLimits(10, 1e-4))
            iterations += fit.iterations
        empty = _with_empty_layer(full, shallower)
        if not fit.objective < empty.objective:
            # The winner of the screening was over-fitted: start again from the layer nearest zero.
            fit = levenberg_marquardt(full, starts[0], SearchLimits(20, 1e-4))
            iterations += fit.iterations
        fit = min(fit, empty, key=_finite_objective)
        losses = full.losses(fit.parameters)[: len(sample.weight)]
        training = sample.mean(losses)
        check = draw(problem, jax.random.fold_in(key, CHECKS + done), effort.pool)
        checked = sequence_losses(fit.parameters, check.G, check.oracle)
        holds = check.mean(checked).value <= training.value + TAIL_NOISE * training.standard_error
        if holds or done == effort.rounds:
            break
        sample, done = join_tail(sample, losses, check, checked, effort.tail), done + 1
    found: Any = on_host(fit.parameters)
    return TrainedDepth(
        weights=found if absent is None else without(found, absent),  # without rounding errors
        training=training,
        fresh=fresh.mean(sequence_losses(fit.parameters, fresh.G, fresh.oracle)),
        iterations=iterations,
        diagnosis=fit.diagnosis,
        rounds=done,
        tail_holds=holds,
    )


def _diagonal_starts(
    problem: NoisyRegression, key: PRNGKeyArray, shallower: DiagonalWeights, effort: GrowthEffort
) -> list[Any]:
    """New layers near zero, and GD++ of this depth, which is the best start without noise."""
    near_zero = starting_points(shallower, problem, key, effort.starts)
    return [*near_zero, _gd_plus_plus(problem, key, shallower, effort.starts, effort.rarest)]


def _gd_plus_plus(
    problem: NoisyRegression,
    key: PRNGKeyArray,
    shallower: DiagonalWeights,
    ladders_tried: int,
    rarest: float,
) -> DiagWeights | Omegas:
    """GD++ with one more layer than the shallower network, in that network's family."""
    steps = ladders(problem, key, shallower.depth + 1, ladders_tried)
    fit, _ = _fit_spectral(problem, steps, rarest)
    found = jax.tree.map(jnp.asarray, fit.parameters)
    return found.diag() if isinstance(shallower, DiagWeights) else found.omegas()


def _stratified(pool: Sample, losses: np.ndarray, size: int, effort: GrowthEffort) -> Sample:
    tail = max(size * effort.tail // effort.sequences, 1)
    return thin(pool, losses, tail, size - tail)


def _screen(least_squares: LeastSquares[Any], starts: list[Any]) -> tuple[Fit[Any], int]:
    """A few steps from every start, more from the best third, and most from the best two.

    Returns the best fit and the number of iterations of all of them.
    """
    fits, work = [Fit(start, np.inf, 0, Diagnosis.ITERATION_LIMIT) for start in starts], 0
    for keep, search in (
        (len(fits), SearchLimits(8, 1e-4)),
        (max(len(fits) // 3, 1), SearchLimits(12, 1e-4)),
        (2, SearchLimits(20, 1e-4)),
    ):
        leading = sorted(fits, key=_finite_objective)[:keep]
        fits = [levenberg_marquardt(least_squares, fit.parameters, search) for fit in leading]
        work += sum(fit.iterations for fit in fits)
    return min(fits, key=_finite_objective), work


def _with_empty_layer(least_squares: LeastSquares[Any], shallower: DiagonalWeights) -> Fit[Any]:
    empty = insert_layer(shallower, 0, np.zeros(4))
    return Fit(empty, least_squares.objective(empty), 0, Diagnosis.NO_PROGRESS)


def _finite_objective(fit: Fit[Any]) -> float:
    return fit.objective if np.isfinite(fit.objective) else np.inf
