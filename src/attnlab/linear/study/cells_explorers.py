"""The kinds of cells behind the explorers; `questions_explorers` says what they are asked."""

from __future__ import annotations

from attnlab.lab.cell import CellKind, Outcome
from attnlab.linear.study.questions_explorers import (
    ContextRow,
    NoiseProfile,
    OneContext,
    ProfileRow,
)


def run_context(config: OneContext) -> Outcome[ContextRow]:
    from attnlab.linear.study import compute_explorers

    return compute_explorers.one_context(config)


def run_profile(config: NoiseProfile) -> Outcome[ProfileRow]:
    from attnlab.linear.study import compute_explorers

    return compute_explorers.noise_profile(config)


one_context = CellKind("linear_context", OneContext, ContextRow, run_context)
profile = CellKind("linear_profile", NoiseProfile, ProfileRow, run_profile)
EXPLORER_KINDS = (one_context, profile)
