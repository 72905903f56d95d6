import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.gaussianity import joint_with_index, kolmogorov, pre_activations
from attnlab.random.problem import SingleIndexRegression
from attnlab.stats import rate


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
    sizes = (12, 24, 48)
    found = [pre_activations(problem_of(d), directions=16, prompts=3000, seed=seed) for d in sizes]
    variances = [each.norm_variance for each in found]
    slope = rate(sizes, [v.value for v in variances], [v.standard_error for v in variances])
    # The next order, 1 + c/d, bends the line: 0.3 allows for it at d = 12.
    assert abs(slope.slope + 1) < 0.3 + 6 * slope.slope_error
    first, last = found[0].kolmogorov, found[-1].kolmogorov
    spread = math.hypot(first.standard_error, last.standard_error)
    assert first.value - last.value > 3 * spread


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


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_diagnostics_are_named():
    with pytest.raises(UserError, match=r"^directions must be an integer of at least 2, got 1\.$"):
        pre_activations(problem_of(8), directions=1)
    with pytest.raises(UserError, match=r"^prompts must be an integer of at least 10, got 3\.$"):
        joint_with_index(problem_of(8), prompts=3)
