import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UserError
from attnlab.separation import theory
from attnlab.separation.models import AttentionNetwork
from attnlab.separation.problem import SelfAttentionPair
from attnlab.separation.theory import NeuronLaw
from attnlab.separation.theory.one_neuron import binomial_weights
from tests.separation.paper_sweeps import attention_laws, attention_sweeps


def law(q, r, fire=0.25, exceed=(0.0, 0.0, 0.0)):
    return NeuronLaw(q, r, fire, exceed, spoil=1 - q, margin=1.0)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.floats(0.05, 0.995), st.floats(0.01, 0.95))
def test_the_best_width_is_the_best_of_all_widths(q, ratio):
    one = law(q, q * ratio)
    best = theory.best_width(one)
    highest = max(theory.success_from(one, m) for m in range(1, 200))
    assert theory.success_from(one, best.integer) == pytest.approx(highest, rel=1e-12)


def test_the_best_width_at_the_papers_parameters_is_near_ten():
    best = theory.best_width(theory.neuron_law(SelfAttentionPair(200, 22), AttentionNetwork()))
    values = [theory.success(*point).value for point in attention_sweeps()["m"]]
    assert best.integer == 1 + values.index(max(values)) == 10
    assert best.real == pytest.approx(10.28, abs=0.01)


def test_a_best_width_that_does_not_exist_says_why():
    none, endless, narrowest = (
        theory.best_width(law(*pair)) for pair in ((0.5, 0.5), (1.0, 0.75), (0.5, 0.0))
    )
    assert (none.real, none.integer) == (None, None)
    assert none.note == "No neuron can succeed, so success is 0 at every width."
    assert (endless.real, endless.integer) == (math.inf, None)
    assert endless.note == "No neuron can spoil success, so it grows with the width without end."
    assert narrowest.integer == 1


@pytest.mark.parametrize("shared", [True, False])
def test_success_never_passes_its_cap(shared):
    for _, _, network, one in attention_laws("identity"):
        m = network.width
        assert theory.success_from(one, m, shared) <= theory.cap(one, m) + 1e-12


def test_independent_signs_multiply_the_four_marginals():
    one = law(0.9, 0.6, 0.3, (0.01, 0.02, 0.03))
    expected = (1 - 0.7**5) * 0.99**5 * 0.98**5 * 0.97**5
    assert theory.success_from(one, 5, shared=False) == pytest.approx(expected, rel=1e-14)


def test_the_law_is_exact_and_says_so():
    answer = theory.success(SelfAttentionPair(200, 22), AttentionNetwork())
    assert (answer.standard_error, answer.samples, answer.exact) == (0.0, None, True)


def test_the_neuron_law_does_not_depend_on_the_width():
    pair = SelfAttentionPair(200, 22)
    assert theory.neuron_law(pair, AttentionNetwork(1)) == theory.neuron_law(
        pair, AttentionNetwork(80)
    )


def test_a_width_below_one_is_refused():
    for call in (theory.success_from, theory.cap):
        with pytest.raises(UserError, match=r"^width must be an integer of at least 1, got 0\.$"):
            call(law(0.9, 0.5), 0)


@pytest.mark.parametrize("N", [0, 1, 9, 63, 1500])
def test_binomial_weights_are_the_binomial_law(N):
    weights = binomial_weights(N)
    assert weights.sum() == pytest.approx(1, rel=1e-13)
    assert all(weights[k] == math.comb(N, k) / 2**N for k in {0, N // 3, N // 2, N})


def test_a_network_nobody_can_spoil_has_q_exactly_one():
    for d in (12, 66, 130):
        one = theory.neuron_law(SelfAttentionPair(4 * (d - 2), d), AttentionNetwork(offset=0.5))
        assert one.q == 1
        assert theory.best_width(one).real == math.inf


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(1e-6, 0.2), st.floats(0.05, 0.9), st.floats(0.01, 0.6))
def test_the_widths_that_serve_are_those_found_one_by_one(spoil, ratio, goal):
    one = law(1 - spoil, (1 - spoil) * ratio)
    good = [m for m in range(1, 2000) if 1 - one.q**m + one.r**m <= goal]
    found = theory.width_range(one, goal)
    if not good:
        assert found is None or found[0] >= 2000
        return
    assert found is not None
    least, largest = found
    assert least == good[0]
    assert largest == good[-1] or good[-1] == 1999


def test_a_tiny_failure_keeps_its_digits():
    pair, network = SelfAttentionPair(10_000, 202), AttentionNetwork(X="ones")
    one = theory.neuron_law(pair, network)
    assert theory.failure_from(one, 200) == pytest.approx(200 * one.spoil + one.r**200, rel=1e-6)
    assert theory.failure_from(one, 200) < 1e-10
    silent = law(1.0, 0.75)
    assert theory.failure_from(silent, 1000) == pytest.approx(0.75**1000, rel=1e-12)
    assert theory.width_range(silent, 1e-3) == (25, 10**9)
    assert theory.width_range(law(0.0, 0.0), 0.5) is None
    assert theory.width_range(law(0.5, 0.5), 0.5) is None  # every neuron that fires spoils
