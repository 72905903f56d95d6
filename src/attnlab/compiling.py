"""Compiling lightly: for programs that take longer to compile than to run.

XLA's compiler for CPUs spends most of its time in LLVM's optimiser, much of it on the code of the
random generator. At level 1 a lone draw of normals took a fifth of the processor time to compile,
whole programs around draws about two thirds, and an encoder's steps ran as fast as before. Other
backends compile as they always do.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

LIGHT = {"xla_backend_optimization_level": 1}


def is_light() -> bool:
    """Whether the backend is one that has something to save: a CPU."""
    return jax.default_backend() == "cpu"


def filter_jit_lightly(function: Callable[..., Any]) -> Callable[..., Any]:
    """`equinox.filter_jit` at a low level of optimisation, where the backend is a CPU."""
    fully = eqx.filter_jit(function)
    lightly = eqx.filter_jit(function, compiler_options=LIGHT)  # pyright: ignore[reportCallIssue]

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        return (lightly if is_light() else fully)(*given, **named)

    return call
