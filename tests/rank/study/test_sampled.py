"""Cells that sample at several sizes, and the identities of Section 3."""

import math

import pytest

from attnlab.errors import UserError
from attnlab.lab.part import compute, decode
from attnlab.rank.study.cells_covering import covering_bound, covering_sample
from attnlab.rank.study.cells_identities import IDENTITIES, ROUNDING, Identities, identities
from attnlab.rank.study.cells_sampled import single_heads, softmax, theorem_4_heads
from attnlab.rank.study.compute_sampled import SCALES, SINGLE_DIMENSIONS
from attnlab.rank.study.identities_harmonics import DISTANCE_PRINTED
from attnlab.rank.study.identities_heads import VALUE_BIAS
from attnlab.rank.study.questions_covering import LENGTHS, CoveringBound, CoveringSample
from attnlab.rank.study.questions_sampled import SingleHeads, SoftmaxCurve, TheoremFourHeads
from attnlab.rank.theory.majority_vote import single_head_probability
from attnlab.stats import Estimate, agree, agreement

# Only prompts with nearly equal scores contribute, a few in a thousand: with few samples the
# standard error itself would be a matter of chance.
SAMPLES = 200_000


@pytest.mark.parametrize(
    "config",
    [
        SoftmaxCurve("independent", 8, 3, SAMPLES),
        SoftmaxCurve("biased", 8, 3, SAMPLES),
        SoftmaxCurve("theorem 4", 8, 2, SAMPLES),
    ],
    ids=lambda config: config.setting,
)
def test_softmax_heads_follow_the_law_of_nearly_equal_scores(config, seed):
    rows = softmax.run(SoftmaxCurve(**{**vars(config), "seed": seed})).rows
    assert len(rows) == len(SCALES)
    # At the largest c the next order, sqrt(d) / c of the limit, is far below the noise.
    last = rows[-1]
    found = Estimate(last.c * last.error, last.c * last.standard_error)
    assert agree(found, last.limit).agrees


def test_a_softmax_cell_survives_the_store():
    cell = softmax(SoftmaxCurve("theorem 4", 4, 2, 64))
    assert decode(cell, compute(cell).part)[cell.key] == list(softmax.run(cell.config).rows)


def test_single_heads_are_right_as_often_as_their_law_says(seed):
    rows = single_heads.run(SingleHeads(20_000, seed)).rows
    laws = [single_head_probability(d).value for d in SINGLE_DIMENSIONS]
    assert agreement([row.right for row in rows], 20_000, laws).agrees


def test_identities_hold_to_rounding_and_what_is_none_does_not(seed):
    found = {row.identity: row.difference for row in identities.run(Identities(seed=seed)).rows}
    assert set(found) == set(IDENTITIES)
    none = {
        "the biased neighbour ignores the order of points",
        "thresholds as printed",
        VALUE_BIAS,
        DISTANCE_PRINTED,
    }
    for name, difference in found.items():
        assert (difference > ROUNDING) == (name in none), name
    assert math.isfinite(max(found.values()))


def test_the_law_of_theorem_4_multiplies_errors_by_d(seed):
    row = theorem_4_heads.run(TheoremFourHeads(5, 6, 2000, seed))
    assert agree(Estimate(row.error, row.standard_error), row.exact).agrees


def test_bad_input_is_one_sentence():
    with pytest.raises(UserError, match="setting must be one of"):
        softmax.run(SoftmaxCurve("magic"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match="samples must be an integer of at least 2"):
        softmax.run(SoftmaxCurve(samples=1))


def test_covering_cells_survive_the_store_and_their_errors_are_below_the_bound():
    sample = covering_sample(CoveringSample(2, 16, samples=50))
    rows = decode(sample, compute(sample).part)[sample.key]
    assert rows == list(covering_sample.run(sample.config).rows)
    assert {(row.N, row.form) for row in rows} == {
        (N, form) for N in LENGTHS for form in ("hardmax", "softmax", "full rank")
    }
    bound = covering_bound(CoveringBound(2, 16))
    bounds = decode(bound, compute(bound).part)[bound.key]
    assert bounds == list(covering_bound.run(bound.config).rows)
    at = {row.N: row.bound for row in bounds}
    assert all(
        row.error - 5 * row.standard_error <= at[row.N] for row in rows if row.form == "hardmax"
    )
    largest = [row.largest for row in bounds if row.largest is not None]
    assert largest == sorted(largest)
    assert all(row.bound <= row.beyond + 1e-12 for row in bounds)
