"""Where single claims of `random` draw their lines, each on rows that are moved across it."""

import math

from tests.random.study.changes import changed, fitted, times, to
from tests.random.study.judging import UNDECIDED, drawn, verdict


def test_a_prompt_whose_pre_activations_forget_its_norm_is_noticed(paper):
    """N(0, 1) given the prompt, and the law without the condition, are not what (10) says."""
    unscaled = to("conditional", mean_square=lambda row: 1 / row.square_norm)
    mixed = to("conditional", kolmogorov=0.05)
    one = to("conditional", lambda config, row: row.prompt == 3, kolmogorov=0.05)
    for change in (unscaled, mixed, one):
        assert verdict("lemma-1-conditional", changed(paper, change)) == "fails"


def test_an_average_is_within_five_per_cent_where_it_is_known_to_be(paper):
    """Off by 3% it is, by 4.9% this is not known, by 20% it is refuted."""
    for off, expected in ((0.03, "holds"), (0.049, UNDECIDED), (0.2, "fails")):
        moved = changed(paper, times(math.exp(off), "run", drawn))
        assert verdict("refinement-agrees", moved) == expected


def test_a_gain_of_tanh_beyond_a_slight_one_is_noticed(paper):
    """A quarter of the gain of ReLU is more than little."""
    gained = changed(paper, times(math.exp(-0.1), "run", fitted("n", "tanh")))
    assert verdict("fig-1a-tanh-hardly", gained) == "fails"


def test_a_large_gain_is_not_a_slight_one(paper):
    halved = changed(paper, times(0.5, "run", fitted("n", "tanh", "tanh")))
    assert verdict("fig-1b-little-gained", halved) == "fails"
