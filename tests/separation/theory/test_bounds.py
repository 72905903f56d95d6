import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation import theory
from attnlab.separation.models import AttentionNetwork
from attnlab.separation.problem import RegressionPair, SelfAttentionPair
from attnlab.separation.simulation import sign_sums
from attnlab.stats import clopper_pearson


def test_hoeffdings_exponent_is_the_log_of_the_moment_generating_function(seed):
    rng = np.random.Generator(np.random.Philox(seed))
    for p, s in zip(rng.uniform(0.01, 0.99, 50), rng.uniform(-20, 20, 50), strict=True):
        direct = math.log((1 - p) * math.exp(-s * p) + p * math.exp(s * (1 - p)))
        assert theory.hoeffding_exponent(p, s) == pytest.approx(direct, rel=1e-9, abs=1e-12)
        assert theory.hoeffding_exponent(p, s) <= s**2 / 8


def test_lemma_4_1_part_2_says_nothing_up_to_n_2000():
    # |<f, sigma>| <= 1 always; the mildest case is delta = 0.1 and C = 1.
    assert all(theory.lemma_4_1_softmax(n, 0.1) > 1 for n in range(100, 2001, 10))


@pytest.mark.parametrize(("a1", "b"), [(1.2, 0.2), (0.7, 0.55), (0.7, 0.7), (1.6, 0.2), (2.0, 0.2)])
def test_the_limit_of_e_is_that_of_the_law_at_large_sizes(a1, b):
    pair = SelfAttentionPair(1000 * 10**15, 1002, a1=a1, b=b, c=1 - b)
    law = theory.neuron_law(pair, AttentionNetwork(X="ones"))
    assert law.fire == pytest.approx(theory.fire_limit(a1, b), abs=0.02)


def test_one_neuron_fires_with_a_quarter_or_more_in_the_limit():
    """On the range of Definition 6.1, in steps of 1/100."""
    spikes, bs = range(70, 400), range(10, 91)
    assert min(theory.fire_limit(a1 / 100, b / 100) for a1 in spikes for b in bs) == 0.25


def test_lemma_4_2_part_1_as_printed_is_broken_by_most_samples(seed):
    n, delta = 1000, 0.05
    sums = np.abs(sign_sums(RegressionPair(n), 1, "linear", 4000, seed))
    printed, corrected = (
        lemma(n, delta) for lemma in (theory.lemma_4_2_linear_printed, theory.lemma_4_2_linear)
    )
    assert corrected == pytest.approx(printed * math.sqrt(n))
    low, _ = clopper_pearson(int((sums > printed).sum()), 4000, 1 - 1e-6)
    assert low > 0.8
    C = theory.hoeffding_constant(n, delta, 4)
    low, _ = clopper_pearson(int((sums > C * corrected).sum()), 4000, 1 - 1e-6)
    assert low <= delta / n


def test_lemma_4_2_part_2_holds_for_every_sample_from_n_4_on(seed):
    for n in (4, 10, 100):
        sums = np.abs(sign_sums(RegressionPair(n), 1, "softmax", 2000, seed))
        assert sums.min() >= theory.lemma_4_2_softmax(n) - 1e-12
        assert theory.lemma_4_2_softmax(n) >= 1 / 4


def test_hoeffding_lies_above_the_exact_tail():
    f = np.full(12, 1 / 12)
    for plus in range(7, 13):
        t = (2 * plus - 12) / 12
        exact = 2 * sum(math.comb(12, k) for k in range(plus, 13)) / 2**12
        assert exact <= theory.hoeffding_tail(f, t)


@pytest.mark.parametrize("entry", [2.0, 4.0])
def test_the_hoeffding_constant_gives_failure_delta_over_n(entry):
    n, delta = 500, 0.03
    bound = theory.hoeffding_constant(n, delta, entry) * theory.lemma_4_1_linear(n, delta)
    assert theory.hoeffding_tail(np.full(n, entry / n), bound) == pytest.approx(delta / n)


def test_the_dimension_of_the_zero_claims_is_the_formula():
    assert theory.zero_dimension(0.2, 0.1, 15, 0.01) == pytest.approx(8 * math.log(1500))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: theory.lemma_4_1_linear(100, 0.0),
            "delta must be a number strictly between 0 and 1, got 0.0.",
        ),
        (lambda: theory.lemma_4_2_linear(1, 0.1), "n must be an integer of at least 2, got 1."),
        (
            lambda: theory.lemma_4_1_softmax(100, 0.1, math.nan),
            "C must be a finite number above 0, got nan.",
        ),
        (
            lambda: theory.zero_dimension(0.2, 0.0, 15, 0.01),
            "offset must be a finite number above 0, got 0.0.",
        ),
        (
            lambda: theory.zero_dimension(0.2, 0.1, 0, 0.01),
            "width must be an integer of at least 1, got 0.",
        ),
        (
            lambda: theory.fire_steps(-0.8, 0.2),
            "c must be a finite number of at least 0, got -0.8.",
        ),
    ],
)
def test_a_bad_argument_of_a_bound_is_named(call, sentence):
    with pytest.raises(UserError) as refused:
        call()
    assert str(refused.value) == sentence
