"""How many steps run before the host looks again: some chunks, or a piece of one, bounded in time.

A chunk decides what is computed: scores, kept states and losses are those of its end. On a GPU it
takes a fraction of a second to seconds, and one call of a program runs several, since the host
would need a millisecond or two between them. They suppose that no member diverges; from a chunk
where that is in doubt the program comes back, and the chunk is computed again with the guard at
work in every step. On a processor a chunk of a deep network can take minutes, in which nothing
could be shown, saved or stopped, so it runs in pieces there. All pieces are one compiled program,
and neither the keys nor the updates depend on where they end.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from attnlab.compiling import fast_options, jit_options
from attnlab.training.member import (
    Memory,
    Report,
    State,
    Trace,
    chunk,
    conclude,
    piece,
    unguarded,
)
from attnlab.training.options import TrainingOptions
from attnlab.training.placement import over_members, place
from attnlab.training.program import Clock, MemberFunctions
from attnlab.training.updates import select

FIRST = 8  # steps of the first piece
SECONDS = 5.0  # that a piece should take
GROWTH = 4  # how many times as long as the one before a piece may be
MOST = 64  # chunks of one call


@dataclass
class Pace:
    """The length of the next piece, from the time that the last one took."""

    length: int = FIRST

    def took(self, length: int, seconds: float) -> None:
        """Take note of a piece; the first one includes the time of compiling."""
        affordable = SECONDS * length / max(seconds, 1e-9)
        self.length = max(1, int(min(GROWTH * self.length, affordable)))


class Reached(NamedTuple):
    """A population between two pieces.

    `step` is the next one to run; `trace` belongs to the chunk that is under way, and is None
    between two chunks. `reports` are those of the chunks that have just ended.
    """

    step: int
    state: State
    memory: Memory
    trace: Trace | None = None
    reports: tuple[Report, ...] = ()


class Chunks:
    """The chunks of one population.

    Parameters
    ----------
    functions, options, mesh
        What is compiled, and for which devices.
    members, keys, controls
        What belongs to the members and does not change.
    """

    def __init__(
        self,
        functions: MemberFunctions,
        options: TrainingOptions,
        mesh: Any,
        members: PyTree,
        keys: Array,
        controls: PyTree,
    ):
        self._functions, self._mesh, self._length = functions, mesh, options.chunk
        self._fixed = functions, options.chunk, mesh
        self._given = members, keys, controls
        backend = jax.default_backend()
        self._programs = _programs(options.fast_compile, backend)
        self._whole = backend != "cpu"
        self._pace = Pace() if backend == "cpu" else Pace(1)

    def advance(self, at: Reached, clock: Clock, guarded: bool) -> Reached:
        """Run the next piece of the chunk that begins at the clock, or several whole chunks.

        Parameters
        ----------
        at
            What has been reached.
        clock
            The first step of the chunk, and the last one of the training.
        guarded
            Whether a member has diverged before, so that chunks run one by one with their guard.
        """
        if not self._whole or at.trace is not None:
            return self._piece(at, clock)
        return self._guarded(at, clock) if guarded else self._several(at, clock)

    def _guarded(self, at: Reached, clock: Clock) -> Reached:
        clock = self._own(clock)
        state, memory, report = self._programs.chunk(
            *self._fixed, at.state, at.memory, *self._given, clock
        )
        return Reached(int(clock.stop), state, memory, reports=(report,))

    def _several(self, at: Reached, clock: Clock) -> Reached:
        left = -(-int(clock.stop - clock.start) // self._length)
        count, begun = min(self._pace.length, MOST, left), time.monotonic()
        state, memory, reports, done = self._programs.several(
            *self._fixed, at.state, at.memory, *self._given, clock, np.int32(count)
        )
        # All at once: every entry that is taken on a GPU is a program there.
        reports, done = jax.device_get(reports), int(done)
        self._pace.took(max(done, 1), time.monotonic() - begun)
        reached = min(int(clock.start) + done * self._length, int(clock.stop))
        found = tuple(jax.tree.map(lambda every, i=i: every[i], reports) for i in range(done))
        after = Reached(reached, state, memory, reports=found)
        if done == count:
            return after
        last = self._guarded(after, clock._replace(start=np.int32(reached)))
        return last._replace(reports=found + last.reports)

    def _piece(self, at: Reached, clock: Clock) -> Reached:
        clock = self._own(clock)
        stop = int(clock.stop)
        end = min(at.step + self._pace.length, stop)
        trace = self.empty_trace(at.state) if at.trace is None else at.trace
        begun = time.monotonic()
        # The step after the last one shows the loss after the last update.
        bounds = np.int32(at.step), np.int32(end + (end == stop))
        members, _, controls = self._given
        state, trace = self._programs.piece(
            self._functions, self._mesh, at.state, trace, at.memory.kept, *self._given, clock,
            bounds,
        )  # fmt: skip
        jax.block_until_ready(trace)
        self._pace.took(end - at.step, time.monotonic() - begun)
        if end < stop:
            return Reached(end, state, at.memory, trace)
        state, memory, report = self._programs.conclude(
            *self._fixed, state, at.memory, trace, members, controls, clock
        )
        return Reached(end, state, memory, reports=(report,))

    def _own(self, clock: Clock) -> Clock:
        """The clock of a single chunk."""
        return clock._replace(stop=np.int32(min(clock.start + self._length, clock.stop)))

    def empty_trace(self, state: State) -> Trace:
        """The trace of a chunk of which no step has run."""
        shape, dtype = (len(state.lowest), self._length + 1), state.lowest.dtype
        kinds = (dtype, jnp.int32, state.factor.dtype)
        return place(Trace(*(jnp.zeros(shape, kind) for kind in kinds)), self._mesh)


class _Programs(NamedTuple):
    several: Callable[..., Any]
    chunk: Callable[..., Any]
    piece: Callable[..., Any]
    conclude: Callable[..., Any]


@functools.cache
def _programs(fast: bool, backend: str) -> _Programs:
    """The programs for all members, compiled fast or with all optimisations."""
    options = jit_options(fast_options(backend) if fast else None)
    static = ("functions", "length", "mesh")
    return _Programs(
        jax.jit(_several, static_argnames=static, **options),
        jax.jit(_chunk, static_argnames=static, **options),
        jax.jit(_piece, static_argnames=("functions", "mesh"), **options),
        jax.jit(_conclude, static_argnames=static, **options),
    )


def _chunk(functions, length, mesh, state, memory, members, keys, controls, clock):
    def one(state, memory, member, controls, key, clock):
        return chunk(functions, length, state, memory, member, key, controls, clock)

    many = over_members(one, mesh, (0, 0, 0, 0, axis(keys), None))
    return many(state, memory, members, controls, keys, clock)


def _several(functions, length, mesh, state, memory, members, keys, controls, clock, count):
    """At most `count` chunks, their reports, and how many of them nobody doubts."""

    def one(state, memory, member, controls, key, clock):
        return unguarded(functions, length, state, memory, member, key, controls, clock)

    many = over_members(one, mesh, (0, 0, 0, 0, axis(keys), None))

    def run(state, memory, done):
        start = clock.start + done * length
        own = clock._replace(start=start, stop=jnp.minimum(start + length, clock.stop))
        return many(state, memory, members, controls, keys, own)

    def following(carried):
        done, _, state, memory, reports = carried
        *after, report, doubt = run(state, memory, done)
        good = ~doubt.any()
        state, memory = select(good, tuple(after), (state, memory))
        reports = jax.tree.map(lambda all, one: all.at[done].set(one), reports, report)
        return done + good, good, state, memory, reports

    def goes_on(carried):
        done, good, *_ = carried
        return good & (done < count)

    zero = jnp.zeros((), jnp.int32)
    shapes = jax.eval_shape(run, state, memory, zero)[2]
    reports = jax.tree.map(lambda one: jnp.zeros((MOST, *one.shape), one.dtype), shapes)
    begin = zero, jnp.ones((), jnp.bool_), state, memory, reports
    done, _, state, memory, reports = jax.lax.while_loop(goes_on, following, begin)
    return state, memory, reports, done


def _piece(functions, mesh, state, trace, kept, members, keys, controls, clock, bounds):
    def one(state, trace, kept, member, controls, key, clock, bounds):
        return piece(functions, state, trace, kept, member, key, controls, clock, bounds)

    many = over_members(one, mesh, (0, 0, 0, 0, 0, axis(keys), None, None))
    return many(state, trace, kept, members, controls, keys, clock, bounds)


def _conclude(functions, length, mesh, state, memory, trace, members, controls, clock):
    def one(state, memory, trace, member, controls, clock):
        return conclude(functions, length, state, memory, trace, member, controls, clock)

    many = over_members(one, mesh, (0, 0, 0, 0, 0, None))
    return many(state, memory, trace, members, controls, clock)


def axis(keys: Array) -> int | None:
    """The members' axis of their keys; None where they share one."""
    return 0 if keys.ndim else None
