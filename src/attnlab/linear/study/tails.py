"""Heavy tails: whether a mean loss is known, and what a loss over a noise law does not show.

A deep network is a polynomial of high degree, so that a few sequences can make up its mean. Often
none of them is in the sample, and then the standard error is small as well. Two other sources show
such a tail: the losses at single noise levels of the law, and, for the shipped AXIS networks, the
most extreme of 17 million further sequences (`scripts/axis_tails.py`). A network that has one there
has a standard error of at least as much here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from attnlab.linear.study.shipped_table import EXTREMES
from attnlab.linear.study.table_1 import trained_levels
from attnlab.stats import Estimate

STEADY = 0.05  # a mean whose standard error is a larger share of it decides nothing


def steady(loss: Estimate) -> bool:
    """Whether a mean is known to a few per cent; a heavy tail shows up in its standard error."""
    return math.isfinite(loss.value) and loss.standard_error <= STEADY * loss.value


def heavy_levels(loss: Estimate, profile: Mapping[float, Estimate], law: str) -> list[float]:
    """The noise levels of a law at which a network has a heavy tail.

    A level has fewer sequences than the law, and thus a larger standard error without any tail.
    Therefore the one that as many sequences would give is compared with `STEADY`.

    Parameters
    ----------
    loss
        The loss over the law, for its number of sequences.
    profile
        The losses at single noise levels, also at such that the law does not have.
    law
        The noise law on which the network was trained.
    """

    def heavy(level: Estimate) -> bool:
        fewer = math.sqrt(min((level.samples or 1) / (loss.samples or 1), 1.0))
        return not steady(replace(level, standard_error=fewer * level.standard_error))

    return [s for s in trained_levels(law, profile) if profile[s].value > 0 and heavy(profile[s])]


def with_tail(
    loss: Estimate, profile: Mapping[float, Estimate], model: str, law: str, layers: int
) -> Estimate:
    """The loss with a standard error that counts the tails which other sequences show.

    It is at least the loss itself where a noise level of the law has a heavy tail, and for AXIS at
    least what the extremes of further sequences add to the mean.
    """
    if not math.isfinite(loss.value):
        return loss
    hidden = loss.value if heavy_levels(loss, profile, law) else 0.0
    if model == "AXIS":
        hidden = max(hidden, EXTREMES.get((law, layers), 0.0) * loss.value)
    return replace(loss, standard_error=max(loss.standard_error, hidden))
