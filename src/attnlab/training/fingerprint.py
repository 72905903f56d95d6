"""The configuration of a training run: functions described in words, arrays by their digests.

A checkpoint carries them, so that no run continues another one.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from attnlab.training.checkpoint import digest, named_leaves

DEEPEST = 32  # nested parts of a function that are described


def fingerprint(tree: PyTree) -> str:
    """A digest of a tree: its structure, and the dtype, shape and bytes of every array in it."""
    return digest({name: np.asarray(leaf, order="C") for name, leaf in named_leaves(tree)})


def describe(part: Any) -> str:
    """A function or an optimiser in words: its name, and the values that it was built with.

    Closed-over values count, so that optax's adam(0.1) and adam(0.2) differ; a change of the code
    of a function does not show.
    """
    text = _description(part, 0)
    if len(text) < 100:
        return text
    return f"{text[:60]}... {hashlib.sha256(text.encode()).hexdigest()}"


def _description(part: Any, depth: int) -> str:
    if part is None or isinstance(part, bool | int | float | str):
        return repr(part)
    if depth > DEEPEST:
        return "..."
    if isinstance(part, np.ndarray | jax.Array):
        return fingerprint(part)
    if isinstance(part, functools.partial):
        part = (part.func, part.args, part.keywords)
    if isinstance(part, Mapping):
        part = tuple(part.items())
    if isinstance(part, tuple | list):
        return f"({', '.join(_description(item, depth + 1) for item in part)})"
    if dataclasses.is_dataclass(part):
        return repr(part)
    if not inspect.isfunction(part):
        return type(part).__qualname__
    values = [*inspect.getclosurevars(part).nonlocals.items(), *(part.__defaults__ or ())]
    inside = _description(values, depth + 1) if values else ""
    return f"{part.__module__}.{part.__qualname__}{inside}"
