import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.problem import RegressionPair
from attnlab.separation.simulation import random_sums, sign_sums
from attnlab.stats import Estimate, agree, agreement


def test_sign_sums_are_symmetric_and_bounded(seed):
    sums = sign_sums(RegressionPair(30), 0, "linear", 5000, seed)
    assert np.abs(sums).max() <= 1
    assert agreement([int((sums > 0).sum())], 5000, [0.5]).agrees
    with pytest.raises(UserError, match=r"^label must be 0"):
        sign_sums(RegressionPair(30), 2, "linear", 10)


@pytest.mark.parametrize("kind", ["softmax", "linear"])
@pytest.mark.parametrize("label", [0, 1])
def test_the_mean_square_of_a_sum_is_that_of_the_weights(kind, label, seed):
    """E <f, sigma>^2 = sum_i f_i^2, exactly known for two-level data; level 1e-6 for the four."""
    problem = RegressionPair(40, "two-level", spike=7)
    u = np.where(np.arange(40) < 20, 1.0, 1.4) * np.log(40)
    u[7] = 4 * np.log(40) if label else u[7]
    w = np.exp(u) if kind == "softmax" else u
    sums = sign_sums(problem, label, kind, 4000, seed)
    expected = float(((w / w.sum()) ** 2).sum())
    found = Estimate.of(sums**2)
    assert agree(found, expected, comparisons=4, level=1e-6, slack=1e-12).agrees


@pytest.mark.parametrize("data", ["uniform", "two-level"])
def test_a_sum_may_run_in_chunks(monkeypatch, data, seed):
    """Coordinates in chunks of 8: the same law, and the spike is in the right chunk."""
    problem = RegressionPair(30, data, spike=17)
    monkeypatch.setattr(random_sums, "CHUNK", 8)
    sums = np.abs(sign_sums(problem, 1, "softmax", 50, seed))
    assert 0.99 < sums.min() <= sums.max() <= 1  # the spike holds nearly all of the weight
    linear = Estimate.of(sign_sums(problem, 0, "linear", 400, seed) ** 2)
    # sum_i f_i^2 is (1 + v) / n, v = var(u) / mean(u)^2: 1/36 and 1/108 (in the mean, to 1 / n^2).
    v = 1 / 36 if data == "two-level" else 1 / 108
    assert agree(linear, (1 + v) / 30, level=1e-6, slack=2 / 30**3).agrees


def test_work_without_end_is_refused():
    with pytest.raises(UserError) as refused:
        sign_sums(RegressionPair(10**10), 0, "linear", 2000)
    assert str(refused.value) == "samples times n must be at most 1e+12, got 2e+13."
