"""Theorem 4 with constants: against the bound that it follows from, and against layers."""

import math

import numpy as np
import pytest

from attnlab.rank.theory.biased_bound import ERROR, needed, printed
from attnlab.rank.theory.lower_bound import heads_needed, lower_bound


@pytest.mark.parametrize(("d", "r"), [(8, 1), (8, 4), (16, 8), (16, 14), (32, 16)])
def test_one_cut_of_the_spectrum_asks_for_no_more_heads_than_the_whole_bound(d, r):
    whole = math.log(heads_needed(d, r, ERROR / d))
    assert needed(d, r).log_heads <= whole + 1e-9
    assert needed(d, r).log_heads > 0.5 * whole - 1


@pytest.mark.parametrize(("d", "r"), [(8, 1), (16, 8), (32, 24)])
def test_fewer_heads_have_a_larger_error(d, r):
    heads = max(1, math.floor(math.exp(needed(d, r).log_heads)) - 1)
    assert d * lower_bound(d, r, heads).value >= ERROR


@pytest.mark.parametrize(("d", "r"), [(8, 1), (16, 8), (16, 2)])
def test_the_weight_is_at_most_what_some_number_of_heads_allows(d, r):
    # sqrt(e(m)) - W sqrt(d / m) > sqrt(ERROR) for some m, with the whole bound for e(m).
    log_weight, top = needed(d, r).log_weight, needed(d, r).log_heads
    margins = []
    for log_m in np.linspace(0, top, 200):
        m = math.floor(math.exp(log_m))
        left = d * lower_bound(d, r, m).value
        margins.append(math.sqrt(left) - math.exp(log_weight) * math.sqrt(d / m))
    assert max(margins) >= math.sqrt(ERROR) - 0.02


def test_sampling_heads_by_their_weight_is_off_by_no_more_than_maureys_bound(seed):
    """The mean square of g - (S/m) sum of drawn heads is at most S^2 d / m."""
    rng = np.random.default_rng(seed)
    d, H, m, draws = 6, 40, 10, 4000
    V = rng.standard_normal((H, d, d)) * rng.uniform(0.1, 2, (H, 1, 1))
    sizes = np.linalg.norm(V, 2, axis=(1, 2))
    frame = np.linalg.qr(rng.standard_normal((d, 2)))[0] * math.sqrt(d)
    weights = rng.dirichlet([1, 1], H)
    answers = np.einsum("hij,jn,hn->hi", V, frame, weights)
    total, share = sizes.sum(), sizes / sizes.sum()
    chosen = rng.choice(H, (draws, m), p=share)
    drawn = (total / m) * (answers / sizes[:, None])[chosen].sum(1)
    squares = ((drawn - answers.sum(0)) ** 2).sum(1)
    # The exact mean is (S sum |a_h|^2 / |V_h| - |g|^2) / m.
    exact = (total * ((answers**2).sum(1) / sizes).sum() - (answers.sum(0) ** 2).sum()) / m
    assert abs(squares.mean() - exact) < 6 * squares.std() / math.sqrt(draws)
    assert exact <= total**2 * d / m


@pytest.mark.parametrize("r", [15, 16])
def test_full_rank_needs_one_head_and_an_answer_that_is_not_too_short(r):
    assert needed(16, r).log_heads == 0
    assert needed(16, r).log_weight == pytest.approx(math.log(1 - math.sqrt(ERROR / 16)))
    assert needed(16, r, 16.0).log_weight == -math.inf  # the answer 0 has the error d


@pytest.mark.parametrize("d", [3, 4, 5, 8])
def test_every_weight_that_is_excluded_is_so_by_an_integer_number_of_heads(d):
    """sqrt(e(m)) - W sqrt(d / m) for m = 1, 2, ..., or an answer that is too short."""
    for r in range(1, d - 1):
        weight = math.exp(needed(d, r).log_weight) * (1 - 1e-9)
        short = math.sqrt(d) * (1 - weight)
        drawn = max(
            math.sqrt(d * lower_bound(d, r, m).value) - weight * math.sqrt(d / m)
            for m in (*range(1, 200), *(4**k for k in range(4, 30)))
        )
        assert max(short, drawn) >= math.sqrt(ERROR) - 0.02


def test_the_printed_limit():
    assert printed(16, 8, 0.5, 2.0) == pytest.approx(4 - math.log(2) - 2 * math.log(16))


def test_what_is_needed_falls_with_the_rank():
    found = [needed(32, r) for r in (1, 8, 16, 24, 30)]
    assert [one.log_heads for one in found] == sorted(
        (one.log_heads for one in found), reverse=True
    )
    assert [one.log_weight for one in found] == sorted(
        (one.log_weight for one in found), reverse=True
    )
