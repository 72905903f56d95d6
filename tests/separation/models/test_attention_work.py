"""Counted attention is attention, and its counts are those of the products written out."""

import numpy as np
import pytest

from attnlab.separation.models import attention_output
from attnlab.separation.models.attention_work import linear_work, softmax_work


@pytest.mark.parametrize(("n", "keys", "d"), [(7, 5, 3), (4, 9, 2)])
def test_counted_outputs_are_those_of_the_definition(seed, n, keys, d):
    rng = np.random.default_rng(seed)
    A_1, A_2, A_3 = (rng.uniform(0.1, 1.0, (rows, d)) for rows in (n, keys, keys))
    X, V = rng.uniform(0.1, 1.0, (2, d, d))
    for counted, kind in ((softmax_work, "softmax"), (linear_work, "linear")):
        found, _ = counted(A_1, A_2, A_3, X, V)
        np.testing.assert_allclose(found, attention_output(A_1, A_2, A_3, X, V, kind), rtol=1e-10)
    _, softmax = softmax_work(A_1, A_2, A_3, X, V)
    assert softmax.multiplications == n * d * d + n * keys * d + keys * d * d + n * keys * d
    _, linear = linear_work(A_1, A_2, A_3, X, V)
    assert linear.multiplications == keys * d * d + (d * keys + d * d + n * d) * (d + 1)
    assert linear.largest == max(keys * d, n * (d + 1), d * (d + 1))
