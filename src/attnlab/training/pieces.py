"""How many steps run before the host looks again: pieces of a chunk that are bounded in time.

A chunk decides what is computed: scores, kept states and losses are those of its end. On a GPU it
takes seconds at most, and runs as one program. On a processor one of a deep network can take
minutes, in which nothing could be shown, saved or stopped, so it runs in pieces there. All pieces
are one compiled program, and neither the keys nor the updates depend on where they end.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from attnlab.compiling import fast_options, jit_options
from attnlab.training.member import Memory, Report, State, Trace, chunk, conclude, piece
from attnlab.training.options import TrainingOptions
from attnlab.training.placement import over_members, place
from attnlab.training.program import Clock, MemberFunctions

FIRST = 8  # steps of the first piece
SECONDS = 5.0  # that a piece should take
GROWTH = 4  # how many times as long as the one before a piece may be


class Pace:
    """The steps of the next piece, from the time that the last one took."""

    def __init__(self) -> None:
        self.length = FIRST

    def took(self, steps: int, seconds: float) -> None:
        """Take note of a piece; the first one includes the time of compiling."""
        affordable = SECONDS * steps / max(seconds, 1e-9)
        self.length = max(1, int(min(GROWTH * self.length, affordable)))


class Reached(NamedTuple):
    """A population between two pieces.

    `step` is the next one to run; `trace` belongs to the chunk that is under way, and is None
    between two chunks. `report` is that of a chunk that has just ended.
    """

    step: int
    state: State
    memory: Memory
    trace: Trace | None = None
    report: Report | None = None


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
        self._members, self._keys, self._controls = members, keys, controls
        backend = jax.default_backend()
        self._programs = _programs(options.fast_compile, backend)
        self._whole = backend != "cpu"
        self._pace = Pace()

    def advance(self, at: Reached, clock: Clock) -> Reached:
        """Run the next piece of the chunk of the clock."""
        given = (self._functions, self._length, self._mesh)
        if self._whole and at.trace is None:
            state, memory, report = self._programs.chunk(
                *given, at.state, at.memory, self._members, self._keys, self._controls, clock
            )
            return Reached(int(clock.stop), state, memory, report=report)
        stop = int(clock.stop)
        end = min(at.step + self._pace.length, stop)
        trace = self.empty_trace(at.state) if at.trace is None else at.trace
        begun = time.monotonic()
        # The step after the last one shows the loss after the last update.
        bounds = np.int32(at.step), np.int32(end + (end == stop))
        state, trace = self._programs.piece(
            self._functions,
            self._mesh,
            at.state,
            trace,
            at.memory.kept,
            self._members,
            self._keys,
            self._controls,
            clock,
            bounds,
        )
        jax.block_until_ready(trace)
        self._pace.took(end - at.step, time.monotonic() - begun)
        if end < stop:
            return Reached(end, state, at.memory, trace)
        state, memory, report = self._programs.conclude(
            *given, state, at.memory, trace, self._members, self._controls, clock
        )
        return Reached(end, state, memory, report=report)

    def empty_trace(self, state: State) -> Trace:
        """The trace of a chunk of which no step has run."""
        shape, dtype = (len(state.lowest), self._length + 1), state.lowest.dtype
        kinds = (dtype, jnp.int32, state.factor.dtype)
        return place(Trace(*(jnp.zeros(shape, kind) for kind in kinds)), self._mesh)


class _Programs(NamedTuple):
    chunk: Callable[..., Any]
    piece: Callable[..., Any]
    conclude: Callable[..., Any]


@functools.cache
def _programs(fast: bool, backend: str) -> _Programs:
    """The programs for all members, compiled fast or with all optimisations."""
    options = jit_options(fast_options(backend) if fast else None)
    static = ("functions", "length", "mesh")
    return _Programs(
        jax.jit(_chunk, static_argnames=static, **options),
        jax.jit(_piece, static_argnames=("functions", "mesh"), **options),
        jax.jit(_conclude, static_argnames=static, **options),
    )


def _chunk(functions, length, mesh, state, memory, members, keys, controls, clock):
    def one(state, memory, member, controls, key, clock):
        return chunk(functions, length, state, memory, member, key, controls, clock)

    many = over_members(one, mesh, (0, 0, 0, 0, axis(keys), None))
    return many(state, memory, members, controls, keys, clock)


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
