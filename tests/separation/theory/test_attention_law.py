"""The exact law of the attention pairs against brute force written independently of it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import memory
from attnlab.errors import UserError
from attnlab.separation import theory
from attnlab.separation.models import NETWORKS, TIE, AttentionNetwork
from attnlab.separation.problem import CrossAttentionPair, RegressionPair, SelfAttentionPair
from tests.separation.paper_sweeps import attention_laws, attention_sweeps

PAIRS = (SelfAttentionPair, CrossAttentionPair)
SIZES = [(2, 4), (4, 4), (6, 4), (3, 5), (6, 5), (12, 5), (4, 6), (8, 6), (20, 6)]
DATA = [(0.01, 1.2, 0.2, 0.8), (0.05, 2.1, 0.43, 0.57), (0.07, 0.71, 0.71, 0.29)]

pytestmark = pytest.mark.filterwarnings("ignore::attnlab.separation.problem.DefinitionWarning")


def full_rows(pair, X, V, label, kind):
    """All n attention rows, from the full matrices, with no shortcut."""
    scores = pair.queries(label) @ X @ pair.keys(label).T
    u = np.exp(scores) if kind == "softmax" else scores
    return (u / u.sum(axis=1, keepdims=True)) @ pair.keys(label) @ V


def brute_force(pair, X, V, offset):
    """q, r, e and the three p as exact rationals, from all 2^d sign vectors and all n rows."""
    Y = np.array(list(product((-1.0, 1.0), repeat=pair.d)))
    tau = (pair.c + offset) * math.sqrt(math.log(pair.n))
    tops = [(full_rows(pair, X, V, label, kind) @ Y.T).max(axis=0) for kind, label in NETWORKS]
    fires = np.array(tops) > tau + TIE
    quiet = ~fires[1:].any(axis=0)
    events = (quiet, quiet & ~fires[0], *fires)
    return [Fraction(int(event.sum()), 2**pair.d) for event in events]


def law_of(pair, X, V, offset):
    law = theory.neuron_law(pair, AttentionNetwork(7, offset, X=X, V=V))
    assert Fraction(law.spoil) == 1 - Fraction(law.q)
    return [Fraction(x) for x in (law.q, law.r, law.fire, *law.exceed)]


def exchangeable(d, first, last, diagonal, off, corner):
    M = np.full((d, d), off)
    np.fill_diagonal(M, diagonal)
    M[0, 1:-1], M[1:-1, 0] = first
    M[-1, 1:-1], M[1:-1, -1] = last
    M[0, 0], M[0, -1], M[-1, 0], M[-1, -1] = corner
    return M


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("X", ["identity", "ones"])
def test_the_law_equals_all_sign_vectors_on_full_attention(pair_type, n, d, data, X):
    pair = pair_type(n, d, *data, spike_row=n - 1)
    matrix = np.eye(d) if X == "identity" else np.ones((d, d))
    for offset in (0.1, 0.03):
        assert law_of(pair, X, "identity", offset) == brute_force(pair, matrix, np.eye(d), offset)


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("data", [*DATA, (0.6, 1.2, 0.2, 0.8)])
@pytest.mark.parametrize("X", ["identity", "ones"])
def test_the_law_equals_brute_force_where_the_datasets_have_their_spikes_in_different_rows(
    pair_type, n, d, data, X
):
    matrix = np.eye(d) if X == "identity" else np.ones((d, d))
    for spike_row, zero_row in ((0, 1), (n - 1, 0), (0, (d - 2) % n)):
        pair = pair_type(n, d, *data, spike_row, zero_row)
        expected = brute_force(pair, matrix, np.eye(d), 0.1)
        assert law_of(pair, X, "identity", 0.1) == expected


def test_weights_may_not_single_out_a_class_where_the_spikes_are_of_different_classes():
    X = np.eye(22)
    X[1, 1] = 2.0
    theory.success(SelfAttentionPair(200, 22), AttentionNetwork(X=X))
    with pytest.raises(UserError, match="X must treat all classes"):
        theory.success(SelfAttentionPair(200, 22, zero_row=1), AttentionNetwork(X=X))


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize("X", ["identity", "ones"])
def test_drawn_rows_are_the_mean_over_all_pairs_of_rows(pair_type, X):
    network = AttentionNetwork(3, X=X)
    data = (0.6, 1.2, 0.2, 0.8)
    found = theory.success_with_drawn_rows(pair_type(8, 6, *data), network).value
    every = [
        theory.success(pair_type(8, 6, *data, one, zero), network).value
        for one, zero in product(range(8), repeat=2)
    ]
    assert found == pytest.approx(np.mean(every), rel=1e-12)


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_the_law_equals_brute_force_for_exchangeable_weights(pair_type, n, d, seed):
    rng = np.random.Generator(np.random.Philox(seed))
    for _ in range(4):
        X, V = (
            exchangeable(d, rng.uniform(0, 1, 2), rng.uniform(0, 1, 2), *draw[:2], draw[2:])
            for draw in rng.uniform(0.1, 1, (2, 6))
        )
        a0, a1, b, c, offset = rng.uniform(0, [0.5, 2.5, 1, 1, 0.5])
        pair = pair_type(n, d, a0, a1, b, c, int(rng.integers(n)))
        assert law_of(pair, X, V, offset) == brute_force(pair, X, V, offset)


def test_weights_may_single_out_the_class_of_the_spike():
    X = exchangeable(6, (0.3, 0.2), (0.5, 0.4), 1.0, 0.1, (0.7, 0.2, 0.9, 0.6))
    X[2, :], X[:, 2] = X[2, :] + 0.3, X[:, 2] * 1.5
    pair = SelfAttentionPair(12, 6, spike_row=5)
    assert pair.spike_class == 1
    assert law_of(pair, X, "identity", 0.1) == brute_force(pair, X, np.eye(6), 0.1)


@pytest.mark.parametrize("name", ["X", "V"])
def test_other_weights_are_refused_and_sent_to_the_monte_carlo(name):
    M = np.eye(22)
    M[3, 4] = 0.5
    with pytest.raises(UserError) as refused:
        theory.success(SelfAttentionPair(200, 22), AttentionNetwork(**{name: M}))
    assert str(refused.value) == (
        f"{name} must treat all classes but the spike row's alike for the exact law, got entries "
        "that differ by 0.5; the Monte Carlo does not need this."
    )


def test_reference_values_at_n_200_d_22():
    def value(pair_type, X, **network):
        return theory.success(pair_type(200, 22), AttentionNetwork(15, X=X, **network)).value

    assert value(SelfAttentionPair, "identity") == pytest.approx(0.763, abs=5e-4)
    assert value(SelfAttentionPair, "ones") == pytest.approx(0.892, abs=5e-4)
    assert value(CrossAttentionPair, "identity") == pytest.approx(0.76, abs=5e-3)
    assert value(CrossAttentionPair, "ones") == pytest.approx(0.86, abs=5e-3)
    assert value(SelfAttentionPair, "identity", shared_signs=False) == pytest.approx(0.59, abs=5e-3)


def test_reference_values_of_the_d_sweep():
    values = [theory.success(*point).value for point in attention_sweeps()["d"]]
    np.testing.assert_allclose(values, [0.131, 0.076, 0.318, 0.737, 0.944, 0.985], atol=5e-4)


@pytest.mark.parametrize("pair_type", PAIRS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(row=st.integers(0, 39), X=st.sampled_from(["identity", "ones"]))
def test_the_spike_may_sit_in_any_row(pair_type, row, X):
    network = AttentionNetwork(15, X=X)
    first = theory.neuron_law(pair_type(40, 12), network)
    moved = theory.neuron_law(pair_type(40, 12, spike_row=row), network)
    assert (moved.q, moved.r, moved.fire, moved.exceed) == (
        first.q,
        first.r,
        first.fire,
        first.exceed,
    )
    assert moved.margin == pytest.approx(first.margin, rel=1e-6)


@pytest.mark.parametrize("X", ["identity", "ones"])
def test_root_log_n_cancels_in_linear_attention(X):
    # Inputs in units of sqrt(log n) against the threshold c + offset give the same two laws.
    pair, matrix = SelfAttentionPair(20, 7), np.eye(7) if X == "identity" else np.ones((7, 7))
    Y = np.array(list(product((-1.0, 1.0), repeat=7)))
    law = theory.neuron_law(pair, AttentionNetwork(X=X))
    for label, expected in ((1, law.exceed[0]), (0, law.exceed[2])):
        A = pair.keys(label) / pair.unit
        scores = A @ matrix @ A.T
        rows = scores / scores.sum(axis=1, keepdims=True) @ A
        assert ((rows @ Y.T).max(axis=0) > pair.c + 0.1).mean() == expected


def rounding_bound(pair):
    """A bound on the rounding of a score, in units of sqrt(log n).

    A product A_1 X A_2^T of non-negative numbers is off by at most 2 d eps of itself, so the
    logits by (2 d + 2) eps times the largest; exp turns that into a relative error. Sums of
    r + d terms of one sign add (r + d) eps each, and every score is at most a + b + c.
    """
    eps, rows = np.finfo(np.float64).eps, pair.classes + 1
    largest = (pair.a1 + pair.b + pair.c) ** 2 * pair.unit**2
    size = max(pair.a0, pair.a1) + pair.b + pair.c
    return eps * ((2 * pair.d + 2) * max(largest, 1) + 4 * (rows + pair.d)) * size


@pytest.mark.parametrize("X", ["identity", "ones"])
def test_float64_decides_every_state_of_the_papers_grids(X):
    laws = attention_laws(X)
    for _, pair, _, law in laws:
        assert law.margin > rounding_bound(pair) + TIE
    smallest = min(law.margin for *_, law in laws)
    assert smallest == pytest.approx({"identity": 1.2e-6, "ones": 6.3e-11}[X], rel=0.05)


def test_the_grids_have_one_exact_tie_and_it_decides_nothing():
    # n = 256, d = 6, X = I, F_lin(D1): a row whose own sign is - while the other three classes and
    # the spike have + scores c + b (3 c^2 - b^2 - c^2) / s + a1 c^2 / (64 s), s = 4 c^2 + b^2.
    tied = [
        (X, swept, pair.d)
        for X in ("identity", "ones")
        for swept, pair, _, law in attention_laws(X)
        if law.tied
    ]
    assert tied == [("identity", "d", 6)]
    a1, b, c = Fraction(12, 10), Fraction(2, 10), Fraction(8, 10)
    s = 4 * c**2 + b**2
    assert b * (3 * c**2 - b**2 - c**2) / s + a1 * c**2 / (64 * s) == Fraction(1, 10)

    pair = SelfAttentionPair(256, 6)
    exact = brute_force(pair, np.eye(6), np.eye(6), 0.1)
    lowered = brute_force(pair, np.eye(6), np.eye(6), 0.1 - 1e-9)
    assert law_of(pair, "identity", "identity", 0.1) == exact == lowered


def test_e_rises_from_a_quarter_to_a_half_at_the_two_steps():
    first, second = theory.fire_steps(0.8, 0.2)
    assert (first, second) == pytest.approx((1.5, 1.9))

    def e(a1):
        return theory.neuron_law(SelfAttentionPair(200, 22, a1=a1), AttentionNetwork(X="ones")).fire

    assert [e(first - 0.02), e(first + 0.02)] == [1 / 4, 3 / 8]
    assert [e(second - 0.02), e(second + 0.02)] == [3 / 8, 1 / 2]
    assert e(1.2) == 1 / 4


@pytest.mark.parametrize("X", ["identity", "ones"])
@pytest.mark.parametrize("m", [15, 60])
def test_the_zero_claims_hold_from_the_stated_dimension(X, m):
    d = math.ceil(theory.zero_dimension(0.2, 0.1, m, 0.01))
    law = theory.neuron_law(SelfAttentionPair(8 * (d - 2), d), AttentionNetwork(m, X=X))
    assert law.q**m > 1 - 0.01
    small = theory.neuron_law(SelfAttentionPair(200, 12), AttentionNetwork(m, X=X))
    assert small.q**m < 0.7


@pytest.mark.parametrize("d", [4, 6, 12])
def test_a_larger_offset_makes_the_theorem_hold_at_small_d(d):
    pair = SelfAttentionPair(100 * (d - 2), d)
    wide = AttentionNetwork(15, offset=0.5)
    law = theory.neuron_law(pair, wide)
    assert law.exceed == (0, 0, 0)
    assert theory.success(pair, wide).value == pytest.approx(1 - 0.75**15, rel=1e-12)
    assert theory.success(pair, AttentionNetwork(15)).value < 0.7


def test_a_dimension_that_no_machine_can_hold_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16e9)
    with pytest.raises(UserError, match=r"^The states of the exact law need [\d,.]+ GB of memory"):
        theory.success(SelfAttentionPair(10**6, 10**6 + 2), AttentionNetwork())


def test_a_thousand_classes_are_no_problem():
    value = theory.success(SelfAttentionPair(1500, 1502), AttentionNetwork(15, X="ones")).value
    assert value == pytest.approx(1 - 0.75**15, abs=1e-3)


def test_a_network_of_the_wrong_kind_is_refused():
    for call in (theory.success, theory.neuron_law):
        with pytest.raises(UserError, match=r"^network must be an AttentionNetwork for attention"):
            call(RegressionPair(100), AttentionNetwork())
