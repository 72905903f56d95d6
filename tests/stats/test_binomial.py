import numpy as np
import pytest
from scipy import stats

from attnlab.errors import UserError
from attnlab.stats.binomial import agreement, binomial_p_value, clopper_pearson


@pytest.mark.parametrize("trials", [1, 7, 100, 1000])
def test_intervals_equal_scipys_exact_ones(trials):
    for count in sorted({0, 1, trials // 3, trials - 1, trials}):
        for confidence in (0.95, 0.999):
            expected = stats.binomtest(count, trials).proportion_ci(confidence, "exact")
            np.testing.assert_allclose(
                clopper_pearson(count, trials, confidence), expected, rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("p", [0.001, 0.13, 0.5, 0.76, 0.99])
def test_intervals_cover_at_least_their_confidence(p):
    trials = 100
    covered = [low <= p <= high for low, high in (clopper_pearson(k, trials) for k in range(101))]
    assert stats.binom.pmf(np.flatnonzero(covered), trials, p).sum() >= 0.95


@pytest.mark.parametrize("p", [0.0, 0.01, 0.4, 0.976, 1.0])
def test_p_values_are_twice_the_smaller_tail(p):
    for count in range(31):
        tails = stats.binom.cdf(count, 30, p), stats.binom.sf(count - 1, 30, p)
        assert binomial_p_value(count, 30, p) == pytest.approx(
            min(1, 2 * min(tails)), rel=1e-9, abs=1e-300
        )


def test_a_p_value_is_small_exactly_when_the_interval_excludes():
    for count in range(0, 41, 3):
        low, high = clopper_pearson(count, 40, 0.99)
        for p in np.linspace(0.011, 0.989, 50):
            assert (binomial_p_value(count, 40, float(p)) >= 0.01) == (low <= p <= high)


def test_agreement_divides_the_level_by_the_comparisons():
    answer = agreement([50, 60, 38], 100, [0.5, 0.5, 0.5], level=0.03)
    assert (answer.threshold, answer.comparisons) == (0.01, 3)
    assert answer.smallest == min(answer.p_values) == binomial_p_value(38, 100, 0.5)
    assert answer.agrees
    assert not agreement([50, 60, 38], [100, 100, 100], [0.5, 0.5, 0.6], level=0.03).agrees


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: clopper_pearson(5, 0), "trials must be an integer of at least 1, got 0."),
        (lambda: clopper_pearson(-1, 5), "count must be an integer of at least 0, got -1."),
        (lambda: clopper_pearson(6, 5), "count must be at most trials = 5, got 6."),
        (
            lambda: clopper_pearson(3, 5, 1.0),
            "confidence must be a number strictly between 0 and 1, got 1.0.",
        ),
        (lambda: binomial_p_value(3, 5, 1.5), "p must be a number between 0 and 1, got 1.5."),
        (
            lambda: agreement([1], 5, []),
            "counts, trials and probabilities must be equally many and at least one, "
            "got 1, 1 and 0.",
        ),
    ],
)
def test_a_bad_binomial_argument_is_named(call, sentence):
    with pytest.raises(UserError) as refused:
        call()
    assert str(refused.value) == sentence
