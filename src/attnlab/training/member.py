"""One member of a population: its state, a guarded step, and a chunk of steps.

Everything here is written for one member and traced; the runner in `population` adds the leading
axis. A member that diverges goes back to its last kept state with a smaller learning rate, inside
of the compiled chunk, and the trace records what was done. Where nobody diverges a chunk has the
same result without the kept state at hand (`unguarded`), which a GPU would read at every step.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from attnlab.training.guard import Controls
from attnlab.training.program import Clock, MemberFunctions
from attnlab.training.updates import (
    averaged,
    clipped,
    exceeds,
    moderate,
    running_mean,
    select,
    square_norm,
)

NOTHING, SKIPPED, RESTORED, STOPPED = range(4)


class Point(NamedTuple):
    """What a restore gives back: weights, optimiser, averaged weights, and the running loss."""

    params: PyTree
    optimiser: PyTree
    average: PyTree
    running: Float[Array, ""]


class State(NamedTuple):
    """A member between two steps."""

    now: Point
    lowest: Float[Array, ""]  # of the running loss so far
    factor: Float[Array, ""]  # of the learning rate
    restores: Int[Array, ""]
    active: Bool[Array, ""]


class Memory(NamedTuple):
    """What a member remembers from the ends of chunks: its kept state and its best weights."""

    kept: Point
    kept_step: Int[Array, ""]
    best: PyTree
    best_score: Float[Array, ""]
    best_step: Int[Array, ""]


class Trace(NamedTuple):
    """What happened at every step of a chunk and, in the entry after the last, at its end."""

    loss: Float[Array, " steps+1"]
    action: Int[Array, " steps+1"]
    factor: Float[Array, " steps+1"]


class Report(NamedTuple):
    """What the host reads after a chunk.

    `loss` is the mean over the steps of the chunk, those of diverged or infinite loss left out.
    """

    loss: Float[Array, ""]
    score: Float[Array, ""]
    kept_step: Int[Array, ""]  # where a restore inside of this chunk went back to
    active: Bool[Array, ""]
    trace: Trace


def begin(
    functions: MemberFunctions, params: PyTree, member: Any, key: Any
) -> tuple[State, Memory]:
    """The state before step 0; the first score, where there is an evaluation, is that of params."""
    dtype = jax.eval_shape(functions.loss, params, key, member).dtype
    infinite = jnp.asarray(jnp.inf, dtype)
    average = params if functions.averaged else None
    now = Point(params, functions.transformation(member).init(params), average, infinite)
    zero = jnp.zeros((), jnp.int32)
    state = State(now, infinite, jnp.ones((), dtype), zero, jnp.ones((), jnp.bool_))
    score = infinite
    if functions.evaluate is not None:
        score = functions.evaluate(params, member).astype(dtype)
    return state, Memory(now, zero, params, score, zero)


def chunk(
    functions: MemberFunctions,
    length: int,
    state: State,
    memory: Memory,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
) -> tuple[State, Memory, Report]:
    """Steps start to stop - 1 of the clock, at most `length`; the rest of the scan is idle.

    The scan has one step more than the chunk: no loss has been computed after the last update
    yet, so the batch of the following step is used to look at it.

    Parameters
    ----------
    functions, length
        What is compiled: the member's functions and the number of steps of a whole chunk.
    state, memory
        The member at the start of the chunk.
    member, key
        Its own data and hyperparameters, and the key of its batches.
    controls
        The guard's numbers.
    clock
        First and last step, and how many batches are replayed.
    """
    steps = clock.start + jnp.arange(length + 1, dtype=jnp.int32)

    def one(state: State, step: Array) -> tuple[State, Trace]:
        return _step(functions, state, memory.kept, member, key, controls, clock, step)

    state, trace = jax.lax.scan(one, state, steps)
    return conclude(functions, length, state, memory, trace, member, controls, clock)


def unguarded(
    functions: MemberFunctions,
    length: int,
    state: State,
    memory: Memory,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
) -> tuple[State, Memory, Report, Bool[Array, ""]]:
    """A chunk that supposes that no update is skipped and no state restored before its end.

    The last value says where that is in doubt: a loss was wild, or a number is so large that the
    square of a gradient may have overflowed. Such a chunk is to be computed again by `chunk`.
    """
    steps = clock.start + jnp.arange(length + 1, dtype=jnp.int32)

    def one(carried: tuple[State, Array], step: Array) -> tuple[tuple[State, Array], Array]:
        state, doubt = carried
        live = (step < clock.stop) & state.active
        found = _proposed(functions, state, member, key, controls, clock, step)
        after = state._replace(
            now=select(live, found.point, state.now),
            lowest=jnp.where(live, found.lowest, state.lowest),
        )
        return (after, doubt | (live & found.wild)), found.loss

    nothing = jnp.zeros((), jnp.bool_)
    (after, doubt), losses = jax.lax.scan(one, (state, nothing), steps)
    doubt |= ~moderate(after.now)
    quiet = jnp.full(length + 1, NOTHING, jnp.int32)
    trace = Trace(losses, quiet, jnp.broadcast_to(state.factor, losses.shape))
    after, memory, report = conclude(
        functions, length, after, memory, trace, member, controls, clock
    )
    return after, memory, report, doubt


def piece(
    functions: MemberFunctions,
    state: State,
    trace: Trace,
    kept: Point,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
    bounds: tuple[Array, Array],
) -> tuple[State, Trace]:
    """Steps bounds[0] to bounds[1] - 1 of the chunk of the clock, which `conclude` ends.

    The bounds are traced, so that one program serves pieces of every length; the last piece of a
    chunk goes to the step after its last one. The step itself is that of `chunk`.
    """

    def one(step: Array, carried: tuple[State, Trace]) -> tuple[State, Trace]:
        state, trace = carried
        state, seen = _step(functions, state, kept, member, key, controls, clock, step)
        at = step - clock.start
        return state, jax.tree.map(lambda steps, value: steps.at[at].set(value), trace, seen)

    return jax.lax.fori_loop(*bounds, one, (state, trace))


def conclude(
    functions: MemberFunctions,
    length: int,
    state: State,
    memory: Memory,
    trace: Trace,
    member: Any,
    controls: Controls,
    clock: Clock,
) -> tuple[State, Memory, Report]:
    """The end of a chunk whose steps have all run."""
    steps = clock.start + jnp.arange(length + 1, dtype=jnp.int32)
    counted = (steps < clock.stop) & (trace.action <= SKIPPED) & jnp.isfinite(trace.loss)
    total = jnp.where(counted, trace.loss, 0).sum() / jnp.maximum(counted.sum(), 1)
    loss = jnp.where(counted.any(), total, jnp.inf)
    kept_step = memory.kept_step
    end = clock.stop - clock.start
    state, memory, score, last = _finish(
        functions, state, memory, member, trace.loss[end], controls, clock.stop
    )
    trace = jax.tree.map(lambda steps, value: steps.at[end].set(value), trace, last)
    return state, memory, Report(loss, score, kept_step, state.active, trace)


class _Proposal(NamedTuple):
    """What a step would do, and what decides whether it is done."""

    loss: Float[Array, ""]
    point: Point
    lowest: Float[Array, ""]
    wild: Bool[Array, ""]
    square: Float[Array, ""]  # of the gradient's norm; the update is finite where this is


def _proposed(
    functions: MemberFunctions,
    state: State,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
    step: Array,
) -> _Proposal:
    now = state.now
    loss, gradient = jax.value_and_grad(functions.loss)(now.params, clock.key(key, step), member)
    running = running_mean(now.running, loss, controls.memory)
    lowest = jnp.where(jnp.isfinite(state.lowest), state.lowest, loss)
    wild = ~jnp.isfinite(loss) | exceeds(running, lowest, controls.limit, controls.slack)

    # Moments and weights stay finite where this square is. It is known before the update, which
    # would otherwise be written and read again before it could be chosen.
    if functions.clips:
        gradient, norm = clipped(gradient, controls.clip)
        square = jnp.square(norm)
    else:
        square = square_norm(gradient)
    update, optimiser = functions.transformation(member).update(gradient, now.optimiser, now.params)
    rate = state.factor
    if functions.rate is not None:
        rate = rate * functions.rate(member, step.astype(loss.dtype))
    params = jax.tree.map(lambda p, u: p + (rate * u).astype(p.dtype), now.params, update)
    average = averaged(now.average, params, controls.decay, step)
    point = Point(params, optimiser, average, running)
    lowest = jnp.where(wild, lowest, jnp.minimum(lowest, running))
    return _Proposal(loss, point, lowest, wild, square)


def _step(
    functions: MemberFunctions,
    state: State,
    kept: Point,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
    step: Array,
) -> tuple[State, Trace]:
    live = (step < clock.stop) & state.active
    now = state.now
    found = _proposed(functions, state, member, key, controls, clock, step)
    finite = jnp.isfinite(found.square)
    diverged, sound = live & found.wild, live & ~found.wild
    after = select(sound & finite, found.point, now)
    # The loss of a skipped step counts: only its update is left out.
    after = after._replace(running=jnp.where(sound, found.point.running, now.running))
    lowest = jnp.where(live, found.lowest, state.lowest)
    state = state._replace(now=after, lowest=lowest)
    state, action = _restore(state, kept, controls, diverged)
    skipped = sound & ~finite
    return state, Trace(found.loss, jnp.where(skipped, SKIPPED, action), state.factor)


def _finish(
    functions: MemberFunctions,
    state: State,
    memory: Memory,
    member: Any,
    ahead: Array,
    controls: Controls,
    stop: Array,
) -> tuple[State, Memory, Array, Trace]:
    """Judge the weights at the end of a chunk: restore them, keep them, or call them the best."""
    now = state.now
    running = running_mean(now.running, ahead, controls.memory)
    answer = now.average if functions.averaged else now.params
    score = running
    if functions.evaluate is not None:
        score = functions.evaluate(answer, member).astype(ahead.dtype)
    best = memory.best_score
    wild = ~jnp.isfinite(ahead) | exceeds(running, state.lowest, controls.limit, controls.slack)
    poor = ~jnp.isfinite(score) | exceeds(score, best, controls.limit, controls.slack)
    diverged = state.active & (wild | poor)
    sound = state.active & ~diverged
    good = sound & ~exceeds(score, best, controls.good, controls.slack)
    better = sound & (score < best)
    state, action = _restore(state, memory.kept, controls, diverged)
    last = Trace(jnp.where(wild, ahead, score), action, state.factor)
    memory = Memory(
        select(good, now, memory.kept),
        jnp.where(good, stop, memory.kept_step),
        select(better, answer, memory.best),
        jnp.where(better, score, best),
        jnp.where(better, stop, memory.best_step),
    )
    return state, memory, score, last


def _restore(state: State, kept: Point, controls: Controls, diverged: Array) -> tuple[State, Array]:
    stopped = diverged & (state.restores >= controls.restores)
    again = diverged & ~stopped
    state = State(
        select(diverged, kept, state.now),
        state.lowest,
        jnp.where(again, state.factor * controls.shrink, state.factor),
        state.restores + again,
        state.active & ~stopped,
    )
    return state, jnp.where(stopped, STOPPED, jnp.where(again, RESTORED, NOTHING))
