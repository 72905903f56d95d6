"""One member of a population: its state, a guarded step, and a chunk of steps.

Everything here is written for one member and traced; the runner in `population` adds the leading
axis. A member whose loss leaves the guard's bounds goes back to its last kept state with a smaller
learning-rate factor, at once and inside of the compiled chunk, and what was done is in the trace.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from attnlab.training.guard import Controls

NOTHING, SKIPPED, RESTORED, STOPPED = range(4)

Loss = Callable[[Any, Any, Any], Any]
Optimiser = optax.GradientTransformation | Callable[[Any], optax.GradientTransformation]


@dataclass(frozen=True)
class Program:
    """What is compiled: the functions of one member, compared by identity or by `==`."""

    loss: Loss
    optimiser: Optimiser
    rate: Callable[[Any, Any], Any] | None = None
    evaluate: Callable[[Any, Any], Any] | None = None
    averaged: bool = False

    def transformation(self, member: Any) -> optax.GradientTransformation:
        if isinstance(self.optimiser, optax.GradientTransformation):
            return self.optimiser
        return self.optimiser(member)


class Clock(NamedTuple):
    """The steps of a chunk, the same for all members: data that members share is drawn once.

    `replay` is 0 for a fresh batch every step, else the number of batches that come round again.
    """

    start: Any
    stop: Any
    replay: Any

    def key(self, key: Any, step: Any) -> Any:
        """fold_in(key, t), or fold_in(key, t mod replay)."""
        again = step % jnp.maximum(self.replay, 1)
        return jax.random.fold_in(key, jnp.where(self.replay > 0, again, step))


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
    """What a member remembers from chunk ends: its last good state and its best weights."""

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
    """What the host reads after a chunk: `loss` is the mean over its steps, the wild ones out."""

    loss: Float[Array, ""]
    score: Float[Array, ""]
    kept_step: Int[Array, ""]  # where a restore inside of this chunk went back to
    active: Bool[Array, ""]
    trace: Trace


def begin(program: Program, params: PyTree, member: Any, key: Any) -> tuple[State, Memory]:
    """The state before step 0; the first score, where there is an evaluation, is that of params."""
    dtype = jax.eval_shape(program.loss, params, key, member).dtype
    infinite = jnp.asarray(jnp.inf, dtype)
    average = params if program.averaged else None
    now = Point(params, program.transformation(member).init(params), average, infinite)
    state = State(
        now, infinite, jnp.ones((), dtype), jnp.zeros((), jnp.int32), jnp.ones((), jnp.bool_)
    )
    score = infinite if program.evaluate is None else program.evaluate(params, member).astype(dtype)
    zero = jnp.zeros((), jnp.int32)
    return state, Memory(now, zero, params, score, zero)


def chunk(
    program: Program,
    length: int,
    state: State,
    memory: Memory,
    member: Any,
    key: Any,
    controls: Controls,
    clock: Clock,
) -> tuple[State, Memory, Report]:
    """Steps start to stop - 1 of the clock, at most `length`; the rest of the scan is idle.

    There is one step more than the chunk has: the last update has been seen by no loss yet, and
    the batch of the step after the chunk looks at it.
    """
    steps = clock.start + jnp.arange(length + 1, dtype=jnp.int32)

    def one(state: State, step: Array) -> tuple[State, Trace]:
        return _step(program, state, memory.kept, member, key, controls, clock, step)

    state, trace = jax.lax.scan(one, state, steps)
    counted = (steps < clock.stop) & (trace.action <= SKIPPED) & jnp.isfinite(trace.loss)
    total = jnp.where(counted, trace.loss, 0).sum() / jnp.maximum(counted.sum(), 1)
    loss = jnp.where(counted.any(), total, jnp.inf)
    kept_step = memory.kept_step
    end = clock.stop - clock.start
    state, memory, score, last = _finish(
        program, state, memory, member, trace.loss[end], controls, clock.stop
    )
    trace = jax.tree.map(lambda steps, value: steps.at[end].set(value), trace, last)
    return state, memory, Report(loss, score, kept_step, state.active, trace)


def _step(
    program: Program,
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
    loss, gradient = jax.value_and_grad(program.loss)(now.params, clock.key(key, step), member)
    running = _blend(now.running, loss, controls)
    lowest = jnp.where(jnp.isfinite(state.lowest), state.lowest, loss)
    diverged = live & (~jnp.isfinite(loss) | _beyond(running, lowest, controls.limit, controls))

    update, optimiser = program.transformation(member).update(
        _clipped(gradient, controls.clip), now.optimiser, now.params
    )
    rate = state.factor
    if program.rate is not None:
        rate = rate * program.rate(member, step.astype(loss.dtype))
    params = jax.tree.map(lambda p, u: p + (rate * u).astype(p.dtype), now.params, update)
    finite = _all_finite((params, optimiser))
    moved = live & ~diverged & finite
    average = _averaged(now.average, params, controls.decay, step)
    after = _select(moved, Point(params, optimiser, average, running), now)
    # A skipped step's loss counts: only its update is left out.
    after = after._replace(running=jnp.where(live & ~diverged, running, now.running))
    lowest = jnp.where(live & ~diverged, jnp.minimum(lowest, running), lowest)
    state = state._replace(now=after, lowest=jnp.where(live, lowest, state.lowest))
    state, action = _restore(state, kept, controls, diverged)
    skipped = live & ~diverged & ~finite
    return state, Trace(loss, jnp.where(skipped, SKIPPED, action), state.factor)


def _finish(
    program: Program,
    state: State,
    memory: Memory,
    member: Any,
    ahead: Array,
    controls: Controls,
    stop: Array,
) -> tuple[State, Memory, Array, Trace]:
    """Look at the weights where a chunk ends: restore them, keep them, call them the best."""
    now = state.now
    running = _blend(now.running, ahead, controls)
    answer = now.average if program.averaged else now.params
    score = running
    if program.evaluate is not None:
        score = program.evaluate(answer, member).astype(ahead.dtype)
    wild = ~jnp.isfinite(ahead) | _beyond(running, state.lowest, controls.limit, controls)
    poor = ~jnp.isfinite(score) | _beyond(score, memory.best_score, controls.limit, controls)
    diverged = state.active & (wild | poor)
    sound = state.active & ~diverged
    good = sound & ~_beyond(score, memory.best_score, controls.good, controls)
    better = sound & (score < memory.best_score)
    state, action = _restore(state, memory.kept, controls, diverged)
    last = Trace(jnp.where(wild, ahead, score), action, state.factor)
    memory = Memory(
        _select(good, now, memory.kept),
        jnp.where(good, stop, memory.kept_step),
        _select(better, answer, memory.best),
        jnp.where(better, score, memory.best_score),
        jnp.where(better, stop, memory.best_step),
    )
    return state, memory, score, last


def _restore(state: State, kept: Point, controls: Controls, diverged: Array) -> tuple[State, Array]:
    stopped = diverged & (state.restores >= controls.restores)
    again = diverged & ~stopped
    state = State(
        _select(diverged, kept, state.now),
        state.lowest,
        jnp.where(again, state.factor * controls.shrink, state.factor),
        state.restores + again,
        state.active & ~stopped,
    )
    return state, jnp.where(stopped, STOPPED, jnp.where(again, RESTORED, NOTHING))


def _beyond(value: Array, reference: Array, times: Array, controls: Controls) -> Array:
    """value > times reference + slack, meant so for references below 0 as well."""
    return value > reference + (times - 1) * jnp.abs(reference) + controls.slack


def _blend(running: Array, loss: Array, controls: Controls) -> Array:
    """The running mean with one loss more; it is infinite before the first."""
    mixed = controls.memory * running + (1 - controls.memory) * loss
    return jnp.where(jnp.isfinite(running), mixed, loss)


def _clipped(gradient: PyTree, clip: Array) -> PyTree:
    """The gradient scaled to a global norm of at most `clip`."""
    leaves = jax.tree.leaves(gradient)
    largest = jnp.stack([jnp.abs(leaf).max(initial=0) for leaf in leaves]).max()
    # Squares of the gradient itself overflow long before it does.
    unit = jnp.where(largest > 0, largest, 1)
    norm = unit * jnp.sqrt(sum(jnp.square(leaf / unit).sum() for leaf in leaves))
    scale = jnp.where(norm > clip, clip / norm, 1)
    return jax.tree.map(lambda leaf: leaf * scale.astype(leaf.dtype), gradient)


def _averaged(average: PyTree, params: PyTree, decay: Array, step: Array) -> PyTree:
    """The mean of all weights until it spans 1 / (1 - decay) steps, from there on exponential."""
    if average is None:
        return None
    weight = jnp.maximum(1 - decay, 1 / (step.astype(decay.dtype) + 1))
    return jax.tree.map(lambda a, p: a + (weight * (p - a)).astype(a.dtype), average, params)


def _all_finite(tree: PyTree) -> Array:
    floats = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in floats]).all()


def _select(condition: Array, chosen: PyTree, other: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), chosen, other)
