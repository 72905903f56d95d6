import jax
import numpy as np
import pytest

from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.training.layer_proposals import PAIRS, SINGLE, proposals

pytestmark = pytest.mark.usefixtures("double_precision")


def network(depth: int, axes: int, mark: float) -> AxisWeights:
    side = axes + 1
    block, rest = np.full((depth, side, side), mark), np.full(depth, mark)
    return AxisWeights(block, rest, block, rest)


@pytest.mark.parametrize("axes", [1, 2])
def test_layers_go_where_they_are_said_to(seed, axes):
    below, two_below = network(2, axes, 7.0), network(1, axes, 5.0)
    proposed = dict(proposals(jax.random.key(seed), [below], [two_below], 1))
    assert len(proposed) == len(SINGLE) + len(PAIRS)
    assert {weights.depth for weights in proposed.values()} == {3}
    for name, kept, mark in (
        ("first 0.3", [1, 2], 7),
        ("inside 1", [0, 2], 7),
        ("last 2", [0, 1], 7),
        ("pair last 0.6", [0], 5),
        ("pair inside 0.6", [2], 5),
    ):
        is_old = np.asarray(proposed[name].p_rest) == mark
        np.testing.assert_array_equal(np.flatnonzero(is_old), kept)


def test_draws_differ_and_take_turns(seed):
    parents = [network(2, 2, mark) for mark in (7.0, 8.0)]
    above = [network(1, 2, 5.0)]
    proposed = [weights for _, weights in proposals(jax.random.key(seed), parents, above, 2)]
    kinds = len(SINGLE)
    assert proposed[0].p_rest[-1] == 7
    assert proposed[kinds].p_rest[-1] == 8
    assert proposed[0].p_rest[0] != proposed[kinds].p_rest[0]
    # A pair of the first draw writes y into the first direction, one of the second into the second:
    # 0.6 and 1 stand out of the noise, which is 0.1, in the draw of either.
    strong = next(i for i, kind in enumerate(PAIRS) if kind == ("last", 1.0))
    for draw in range(2):
        write = np.asarray(proposed[2 * kinds + draw * len(PAIRS) + strong].p[1])
        assert write[draw, -1] == pytest.approx(1, abs=0.6)
        assert write[1 - draw, -1] == pytest.approx(0, abs=0.6)


def test_pairs_need_a_network_two_depths_below(seed):
    proposed = list(proposals(jax.random.key(seed), [network(1, 1, 7.0)], [], 2))
    assert len(proposed) == 2 * len(SINGLE)
