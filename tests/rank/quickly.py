"""Compilation for tests: programs that run for milliseconds are hardly optimised.

This changes the time and the last digits alone; the tests allow for both.
"""

from functools import partial

import equinox as eqx
import jax

from attnlab.compiling import fast_options

OPTIONS = {**(fast_options("cpu") or {}), "xla_backend_optimization_level": 0}

quickly = partial(jax.jit, compiler_options=OPTIONS)
filter_quickly = partial(eqx.filter_jit, compiler_options=OPTIONS)
