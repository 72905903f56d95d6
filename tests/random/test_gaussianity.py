import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.gaussianity import joint_with_index, kolmogorov, pre_activations, rate
from attnlab.random.problem import SingleIndexRegression
from attnlab.stats.estimate import Estimate


def problem_of(d):
    return SingleIndexRegression(d, d, d // 2, "relu", 0.01)


def test_the_distance_of_a_sample_to_the_normal_law_is_kolmogorovs(seed):
    from scipy.stats import kstest

    x = np.random.Generator(np.random.Philox(seed)).standard_normal(500) * 1.1
    assert kolmogorov(x) == pytest.approx(kstest(x, "norm").statistic, rel=1e-9)


def test_pre_activations_have_the_kurtosis_of_their_norms(seed):
    found = pre_activations(problem_of(30), directions=64, prompts=4000, seed=seed)
    gap = found.excess_kurtosis.value - 3 * found.norm_variance.value
    spread = math.hypot(
        found.excess_kurtosis.standard_error, 3 * found.norm_variance.standard_error
    )
    assert abs(gap) < 6 * spread
    # Kurtosis 4.6 and Var s = .53 are known at d = 30; their last digit is the tolerance.
    assert abs(found.excess_kurtosis.value - 1.6) < 0.05 + 6 * found.excess_kurtosis.standard_error
    assert abs(found.norm_variance.value - 0.53) < 0.02 + 6 * found.norm_variance.standard_error


def test_norms_fluctuate_like_one_over_d_and_lemma_1_follows(seed):
    def variance(d):
        return pre_activations(problem_of(d), directions=8, prompts=3000, seed=seed).norm_variance

    slope = rate((12, 24, 48), variance)
    # The next order, 1 + c/d, bends the line: .3 allows for it at d = 12.
    assert abs(slope.value + 1) < 0.3 + 6 * slope.standard_error
    distances = [
        pre_activations(problem_of(d), directions=16, prompts=3000, seed=seed).kolmogorov
        for d in (8, 48)
    ]
    spread = math.hypot(*(distance.standard_error for distance in distances))
    assert distances[0].value - distances[1].value > 3 * spread


def test_equal_norms_make_pre_activations_gaussian(seed):
    plain, equal = (
        pre_activations(problem_of(24), directions=32, prompts=3000, seed=seed, rescale=rescale)
        for rescale in (False, True)
    )
    assert equal.norm_variance.value < 1e-20
    assert abs(equal.excess_kurtosis.value) < 0.15 < plain.excess_kurtosis.value
    assert equal.kolmogorov.value < 2 * equal.floor


def test_pre_activation_and_index_become_jointly_gaussian(seed):
    small, large = (joint_with_index(problem_of(d), prompts=2000, seed=seed) for d in (8, 48))
    spread = math.hypot(small.kolmogorov.standard_error, large.kolmogorov.standard_error)
    assert small.kolmogorov.value - large.kolmogorov.value > 3 * spread
    assert large.excess_kurtosis.value < small.excess_kurtosis.value


def test_a_rate_is_the_slope_of_the_logarithms():
    slope = rate((10, 20, 40), lambda d: Estimate(3 / d**0.5, 0.01 / d**0.5, 5))
    assert slope.value == pytest.approx(-0.5, abs=1e-9)
    assert 0 < slope.standard_error < 0.01
    with pytest.raises(UserError, match=r"^dimensions must be at least two to fit a slope, got 1"):
        rate((10,), lambda d: Estimate(1.0))
    with pytest.raises(UserError, match=r"^measure must be positive at every d"):
        rate((10, 20), lambda d: Estimate(-1.0))


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_diagnostics_are_named():
    with pytest.raises(UserError, match=r"^directions must be an integer of at least 2, got 1\.$"):
        pre_activations(problem_of(8), directions=1)
    with pytest.raises(UserError, match=r"^prompts must be an integer of at least 10, got 3\.$"):
        joint_with_index(problem_of(8), prompts=3)
