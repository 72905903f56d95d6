"""Fast compilation for programs that take longer to compile than to run.

XLA's compiler for CPUs spends most of its time in LLVM's optimiser. With the options below, which
choose a low level of optimisation and the older code generator, a training step of the rank
study's encoder compiled in 45% of the processor time and ran as fast as with the defaults. The
random numbers are the same bits either way. Other backends compile as they always do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

FAST = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}


def fast_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """`equinox.filter_jit` with the options of `fast_options`, for use as a decorator."""

    @functools.cache
    def compiled(backend: str) -> Callable[..., Any]:
        return eqx.filter_jit(function, **jit_options(fast_options(backend)))

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        return compiled(jax.default_backend())(*given, **named)

    return call


def jit_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """Compiler options as keyword arguments of `jax.jit`; none where there are no options."""
    return {} if options is None else {"compiler_options": options}


@functools.cache
def fast_options(backend: str) -> dict[str, Any] | None:
    """The compiler options of `FAST` that this version of XLA knows; None unless on a CPU."""
    if backend != "cpu":
        return None
    return {name: value for name, value in FAST.items() if _known({name: value})}


def _known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
