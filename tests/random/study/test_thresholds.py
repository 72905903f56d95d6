"""Where single claims of `random` draw their lines, each on rows that are moved across it."""

import math

import pytest

from tests.random.study.changes import changed, fitted, times, to
from tests.random.study.judging import MLP, UNDECIDED, at_psi, at_tau, drawn, verdict


def test_a_prompt_whose_pre_activations_forget_its_norm_is_noticed(paper):
    """N(0, 1) given the prompt, and the law without the condition, are not what (10) says."""
    unscaled = to("conditional", mean_square=lambda row: 1 / row.square_norm)
    mixed = to("conditional", kolmogorov=0.05)
    one = to("conditional", lambda config, row: row.prompt == 3, kolmogorov=0.05)
    for change in (unscaled, mixed, one):
        assert verdict("lemma-1-draws", changed(paper, change)) == "fails"


def test_an_average_is_within_five_per_cent_where_it_is_known_to_be(paper):
    """Off by 3% it is, by 4.9% this is not known, by 20% it is refuted."""
    for off, expected in ((0.03, "holds"), (0.049, UNDECIDED), (0.2, "fails")):
        moved = changed(paper, times(math.exp(off), "run", drawn))
        assert verdict("refinement-agrees", moved) == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.0, "holds"), (0.1, "fails")])
@pytest.mark.parametrize("tau", [0.5, 1.0, 1.1, 3.0])
def test_a_gain_of_tanh_beyond_a_slight_one_is_noticed_at_every_n(paper, tau, gain, expected):
    """A quarter of the gain of ReLU is more than little, at whichever n."""
    models = fitted("n", "tanh|linear")
    level = to("run", models, icl=lambda row: 1.0)
    one = times(math.exp(-gain), "run", fitted("n", "tanh", where=at_tau(tau)))
    assert verdict("fig-1a-tanh-hardly", changed(paper, level, one)) == expected


def test_a_short_context_may_gain_slightly(paper):
    """What is asked for beyond l = d is a significant gain, and so is what is excluded below."""

    def gaining(gain):
        rows = fitted("length", f"{MLP}|linear")
        return to("run", rows, icl=lambda row: math.exp(-gain * (row.model != "linear")))

    claim = "fig-2a-mlp-needs-length"
    assert verdict(claim, changed(paper, gaining(0.02))) == "holds"
    assert verdict(claim, changed(paper, gaining(0.2))) == "fails"


@pytest.mark.parametrize("psi", [0.05, 0.75, 1.5, 3.0])
def test_every_width_away_from_the_peak_must_gain_and_the_peak_need_not(paper, psi):
    worse = changed(paper, times(20, "run", fitted("width", "relu", where=at_psi(psi))))
    assert verdict("width-or-ridge-suffices", worse) == "fails"
    better = changed(paper, times(1e-9, "run", fitted("width", "relu", where=at_psi(1.0))))
    assert verdict("width-or-ridge-suffices", better) == "holds"


def test_the_ridge_of_linear_attention_must_keep_an_effect(paper):
    """An effect that falls as 1/d does not survive in the limit."""

    def falling(config, row):
        if config.panel != "linear":
            return {}
        return {"icl": math.exp(-10 / config.d * (row.ridge > 1e-3) + 0.001 * config.run % 2)}

    assert verdict("ridge-scaling", changed(paper, ("run", falling))) == "fails"


def test_a_large_gain_is_not_a_slight_one(paper):
    halved = changed(paper, times(0.5, "run", fitted("n", "tanh", "tanh")))
    assert verdict("fig-1b-little-gained", halved) == "fails"
