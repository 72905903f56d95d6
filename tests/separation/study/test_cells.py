import pytest

from attnlab.errors import UserError
from attnlab.lab.cell import stream
from attnlab.lab.part import compute, decode
from attnlab.separation.study import grids
from attnlab.separation.study.cells import AttentionPoint, RegressionPoint, attention, regression

REFERENCE = {  # the specification's values, to their last digit
    ("identity", 200, 22): 0.763,
    ("ones", 200, 22): 0.892,
    ("identity", 256, 4): 0.131,
    ("identity", 256, 6): 0.076,
    ("identity", 256, 10): 0.318,
    ("identity", 256, 18): 0.737,
    ("identity", 256, 34): 0.944,
    ("identity", 256, 66): 0.985,
}


@pytest.mark.parametrize(("x", "n", "d"), list(REFERENCE))
def test_a_point_has_the_value_of_the_specification(x, n, d):
    row = attention.run(AttentionPoint(n, d, x=x, trials=0))
    assert round(row.exact, 3) == REFERENCE[x, n, d]
    assert row.sampled is None


def test_the_papers_grids_and_trial_counts():
    sizes = {panel: len(grids.attention_sweep(panel, "ones", 0)) for panel in grids.PANELS}
    assert sizes == {"a": 81, "b": 6, "c": 80, "d": 81, "e": 80, "f": 81}
    assert {c.config.trials for p in grids.PANELS for c in grids.attention_sweep(p, "ones", 0)} == {
        100
    }
    paper = grids.regression_sweep("a", "paper", 0), grids.regression_sweep("b", "paper", 0)
    assert [len(sweep) for sweep in paper] == [191, 100]
    assert {cell.config.trials for sweep in paper for cell in sweep} == {1000}
    widths = {cell.config.m for p in "ab" for cell in grids.attention_sweep(p, "identity", 0)}
    assert widths == {15}


def test_larger_scales_contain_the_smaller_ones_points():
    for panel in "ab":
        quick, standard, paper = (
            {cell.key for cell in grids.regression_sweep(panel, scale, 0)}
            for scale in ("quick", "standard", "paper")
        )
        assert quick <= standard <= paper


def test_no_two_points_share_their_signs():
    streams = [stream(cell.config) for cell in grids.cells("quick", 0)]
    assert len(set(streams)) == len({cell.key for cell in grids.cells("quick", 0)})


@pytest.mark.parametrize(
    ("kind", "config", "sentence"),
    [
        (attention, AttentionPoint(n=205), "n must be a positive multiple of d - 2 = 20, got 205"),
        (attention, AttentionPoint(d=3), "d must be an integer of at least 4, got 3"),
        (attention, AttentionPoint(m=0), "m must be an integer of at least 1, got 0"),
        (attention, AttentionPoint(trials=-1), "trials must be an integer of at least 0, got -1"),
        (attention, AttentionPoint(a1=-1.0), "a1 must be a finite number of at least 0"),
        (attention, AttentionPoint(x="zeros"), "x must be one of"),
        (attention, AttentionPoint(model="none"), "model must be one of"),
        (regression, RegressionPoint(m=0), "m must be an integer of at least 1, got 0"),
        (regression, RegressionPoint(share=1.5), "share must be a number between 0 and 1"),
        (regression, RegressionPoint(tau=0.0), "tau must be a finite number above 0"),
        (regression, RegressionPoint(n=1), "n must be an integer of at least 2"),
    ],
)
def test_bad_input_is_one_sentence(kind, config, sentence):
    with pytest.raises(UserError, match=sentence):
        kind.run(config)


def test_a_point_survives_the_store():
    cell = attention(AttentionPoint(n=40, d=12, trials=20))
    (row,) = decode(cell, compute(cell).part)
    assert row == attention.run(cell.config)
    assert row.outside_definition == ""
    outside = attention.run(AttentionPoint(c=0.5, trials=0))
    assert "b + c should be 1" in outside.outside_definition
