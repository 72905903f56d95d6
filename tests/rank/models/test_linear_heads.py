"""d heads that see one coordinate each: weights of attention, and their exact error."""

import numpy as np
import pytest

from attnlab.maths.harmonics import coefficient
from attnlab.rank.models.linear_heads import linear_head_values
from attnlab.rank.study.compute_sampled import coordinate_rows
from attnlab.rank.study.questions_sampled import CoordinateHeads
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.stats import Estimate, agree


@pytest.mark.parametrize("d", [3, 4, 5, 8, 9, 64])
def test_values_sum_to_one_and_are_large_enough_for_weights_between_0_and_1(d):
    values = linear_head_values(d)
    assert values.sum() == pytest.approx(1)
    assert np.abs(values).min() >= coefficient(d, 1) * d * (1 - 1e-12)


def test_the_sampled_error_is_exact_and_that_of_the_bound_without_degree_one(seed):
    rows = coordinate_rows(CoordinateHeads(samples=4000, seed=seed))
    for row in rows:
        assert agree(Estimate(row.error, row.standard_error), row.exact, len(rows)).agrees
        # Bound (C) allows d heads exactly this error, less what they could see of other degrees.
        assert lower_bound(row.d, 1, row.d, "C").value <= row.exact
