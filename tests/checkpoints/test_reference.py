"""The distribution of a random head, against heads that are drawn whole."""

import math

import numpy as np
import pytest

from attnlab.checkpoints.forms import factor, read_form
from attnlab.checkpoints.reference import SHARE, random_head


@pytest.mark.parametrize(("d", "r"), [(24, 4), (8, 8), (10, 7), (6, 9)])
def test_random_heads_drawn_whole_have_that_distribution(seed, d, r):
    rng = np.random.default_rng(seed)
    drawn = random_head(d, r)
    number = 400
    forms = [read_form(factor(Q), factor(K)) for Q, K in rng.standard_normal((number, 2, d, r))]
    # Both sides are samples: the share within (low, high) has the standard error of either.
    error = math.sqrt(SHARE * (1 - SHARE) * (1 / number + 1 / drawn.draws))
    half = math.sqrt(0.25 * (1 / number + 1 / drawn.draws))
    for name in ("stable_rank", "entropy_rank", "angle"):
        spread, values = getattr(drawn, name), [getattr(form, name) for form in forms]
        within = sum(map(spread.holds, values)) / number
        below = sum(value < spread.median for value in values) / number
        # 24 comparisons in all: 4.5 standard errors are passed once in 5,000 suites.
        assert within == pytest.approx(SHARE, abs=4.5 * error)
        assert below == pytest.approx(0.5, abs=4.5 * half)


def test_the_angle_of_a_random_head_is_a_right_one_up_to_one_over_d():
    for d in (16, 64, 256):
        angle = random_head(d, 8).angle
        # cos = trace / (|A| sqrt(d)) has mean 0 and standard deviation near 1 / d.
        assert angle.high - 90 == pytest.approx(math.degrees(1.96 / d), rel=0.5)


def test_the_numbers_are_the_same_at_every_call_and_large_heads_are_drawn_less_often():
    once = random_head(20, 5)
    random_head.cache_clear()
    assert random_head(20, 5) == once
    assert random_head(128, 128).draws < once.draws
