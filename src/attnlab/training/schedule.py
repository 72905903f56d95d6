"""Learning rates and Adam as functions of a member, so that a sweep over them compiles once.

The trainer multiplies an optimiser's update by `rate(member, step)`. Here are the rate that both
training studies use, linear warm-up followed by a cosine, and Adam with betas of its own for each
member. Both read the fields `schedule` and `betas` of the member and nothing else.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float


class Schedule(NamedTuple):
    """peak x linear warm-up over `warmup` steps x a cosine from 1 to `final` at step `steps`.

    final = 1 is a constant rate. Every field is one number, or one number per member.
    """

    peak: Any
    warmup: Any = 0.0
    steps: Any = 1.0
    final: Any = 1.0


class Betas(NamedTuple):
    """Adam's decay rates of the first and the second moment."""

    first: Any = 0.9
    second: Any = 0.999


class ScheduledAdam(NamedTuple):
    """The hyperparameters of members that have nothing else of their own."""

    schedule: Schedule
    betas: Betas


def equal_members(count: int, schedule: Schedule, betas: Betas, dtype: Any) -> ScheduledAdam:
    """`count` members with the same schedule and betas."""

    def column(value: Any) -> Float[Array, " members"]:
        return jnp.full(count, value, dtype)

    return ScheduledAdam(Schedule(*map(column, schedule)), Betas(*map(column, betas)))


def warmup_cosine(schedule: Schedule, step: Float[Array, ""]) -> Float[Array, ""]:
    """The rate of one step, counted from 0: the first of w warm-up steps has 1 / w of the peak."""
    rising = jnp.minimum((step + 1) / jnp.maximum(schedule.warmup, 1), 1)
    length = jnp.maximum(schedule.steps - schedule.warmup, 1)
    passed = jnp.clip((step - schedule.warmup) / length, 0, 1)
    cosine = (1 + jnp.cos(jnp.pi * passed)) / 2
    return schedule.peak * rising * (schedule.final + (1 - schedule.final) * cosine)


def scheduled_rate(member: Any, step: Float[Array, ""]) -> Float[Array, ""]:
    """`warmup_cosine` of the member's own schedule."""
    return warmup_cosine(member.schedule, step)


def adam(member: Any) -> optax.GradientTransformation:
    """Adam with the member's own betas and a learning rate of 1, to be scaled by its rate."""
    return optax.adam(1.0, b1=member.betas.first, b2=member.betas.second)
