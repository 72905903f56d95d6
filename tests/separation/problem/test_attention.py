import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.problem import CrossAttentionPair, DefinitionWarning, SelfAttentionPair

PAIRS = (SelfAttentionPair, CrossAttentionPair)


def test_rows_follow_definition_6_1():
    pair = SelfAttentionPair(12, 6, spike_row=5)
    for label, a in ((0, 0.01), (1, 1.2)):
        A = pair.keys(label) / math.sqrt(math.log(12))
        for j in range(12):
            row = np.zeros(6)
            row[0] = a if j == 5 else 0.0
            row[1 + j % 4] = 0.2
            row[5] = 0.8
            np.testing.assert_allclose(A[j], row, rtol=1e-15)


def test_self_attention_queries_are_its_keys():
    pair = SelfAttentionPair(12, 6, spike_row=5)
    for label in (0, 1):
        np.testing.assert_array_equal(pair.queries(label), pair.keys(label))


def test_cross_attention_sets_differ_only_in_the_spike_of_the_keys():
    pair = CrossAttentionPair(12, 6, spike_row=7)
    np.testing.assert_array_equal(pair.queries(0), pair.queries(1))
    np.testing.assert_array_equal(np.argwhere(pair.keys(0) != pair.keys(1)), [[7, 0]])
    assert pair.queries(0)[7, 0] == pytest.approx(1.2 * pair.unit, rel=1e-15)
    assert pair.keys(0)[7, 0] == pytest.approx(0.01 * pair.unit, rel=1e-15)


def test_the_spike_of_d0_may_sit_in_a_row_of_its_own():
    pair = SelfAttentionPair(12, 6, spike_row=5, zero_row=2)
    for label, row in ((0, 2), (1, 5)):
        np.testing.assert_array_equal(np.flatnonzero(pair.keys(label)[:, 0]), [row])
        assert pair.row(label) == row
    assert (pair.spike_class, pair.zero_class) == (1, 2)
    with pytest.raises(UserError, match="zero_row must be an integer from 0 to n - 1 = 11, got 12"):
        SelfAttentionPair(12, 6, zero_row=12)


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize(("n", "d", "spike_row"), [(2, 4, 1), (4, 4, 3), (12, 6, 5), (5, 7, 4)])
def test_distinct_rows_with_their_counts_rebuild_the_matrix(pair_type, n, d, spike_row):
    pair = pair_type(n, d, spike_row=spike_row)
    for label in (0, 1):
        for full, distinct in (
            (pair.queries(label), pair.distinct_queries(label)),
            (pair.keys(label), pair.distinct_keys(label)),
        ):
            rows, counts = np.unique(full, axis=0, return_counts=True)
            order = np.lexsort(distinct.rows.T[::-1])
            np.testing.assert_array_equal(distinct.rows[order], rows)
            np.testing.assert_array_equal(distinct.counts[order], counts)


def test_threshold_is_c_plus_offset_times_root_log_n():
    pair = SelfAttentionPair(200, 22)
    assert pair.threshold() == pytest.approx(0.9 * math.sqrt(math.log(200)), rel=1e-15)
    assert pair.threshold(0.3) == pytest.approx(1.1 * math.sqrt(math.log(200)), rel=1e-15)


def test_parameters_of_the_definition_have_no_departures():
    for c in (0.9, 0.8, 0.5, 0.3, 0.1):
        assert SelfAttentionPair(200, 22, c=c, b=1 - c).departures() == ()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"c": 0.5}, "b + c should be 1, got 0.7"),
        ({"a0": 0.1}, "a0 should lie strictly between 0 and 0.1, got 0.1"),
        ({"a0": 0}, "a0 should lie strictly between 0 and 0.1, got 0"),
        ({"a1": 0.6}, "a1 should be at least 0.7, got 0.6"),
        ({"b": 0.05, "c": 0.95}, "b should be at least 0.1, got 0.05"),
        ({"b": 0.95, "c": 0.05}, "c should be at least 0.1, got 0.05"),
    ],
)
def test_leaving_the_definition_warns_with_the_reason(data, sentence):
    with pytest.warns(DefinitionWarning) as caught:
        pair = SelfAttentionPair(200, 22, **data)
    assert pair.departures() == (sentence,)
    assert str(caught[0].message) == f"Outside Definition 6.1: {sentence}."


@pytest.mark.parametrize("pair_type", PAIRS)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 205, "d": 22}, "n must be a positive multiple of d - 2 = 20, got 205."),
        ({"n": 0, "d": 22}, "n must be a positive multiple of d - 2 = 20, got 0."),
        ({"n": 200.0, "d": 22}, "n must be a positive multiple of d - 2 = 20, got 200.0."),
        ({"n": True, "d": 22}, "n must be a positive multiple of d - 2 = 20, got True."),
        ({"n": 200, "d": 3}, "d must be an integer of at least 4, got 3."),
        ({"n": 200, "d": "22"}, "d must be an integer of at least 4, got '22'."),
        ({"n": 200, "d": 22, "a0": -0.1}, "a0 must be a finite number of at least 0, got -0.1."),
        ({"n": 200, "d": 22, "a1": math.nan}, "a1 must be a finite number of at least 0, got nan."),
        ({"n": 200, "d": 22, "b": math.inf}, "b must be a finite number of at least 0, got inf."),
        ({"n": 200, "d": 22, "c": "1"}, "c must be a finite number of at least 0, got '1'."),
        ({"n": 200, "d": 22, "c": True}, "c must be a finite number of at least 0, got True."),
        (
            {"n": 200, "d": 22, "spike_row": 200},
            "spike_row must be an integer from 0 to n - 1 = 199, got 200.",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_argument_is_named_with_what_is_accepted(pair_type, arguments, sentence):
    with pytest.raises(UserError) as refused:
        pair_type(**arguments)
    assert str(refused.value) == sentence


def test_a_label_is_0_or_1():
    pair = SelfAttentionPair(200, 22)
    for method in (pair.queries, pair.keys, pair.distinct_queries, pair.distinct_keys):
        with pytest.raises(
            UserError, match=r"^label must be 0 \(for D0\) or 1 \(for D1\), got 2\.$"
        ):
            method(2)
