import dataclasses
import functools
import subprocess
import sys

import numpy as np
import pytest

from attnlab import memory
from attnlab.errors import UserError
from attnlab.lab.cell import seed_of
from attnlab.lab.part import compute, decode
from attnlab.lab.study import SCALES
from attnlab.separation.study import cells_lemmas, grids
from attnlab.separation.study.cells_attention import AttentionPoint, attention
from attnlab.separation.study.cells_lemmas import SignSums, TensorForm, sign_sums, tensor_form
from attnlab.separation.study.cells_map import SuccessMap, divisors, success_map
from attnlab.separation.study.cells_regression import RegressionPoint, regression

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


@functools.cache
def every_cell(scale):
    return grids.cells(scale, 0)


def points(scale):
    return [point for cell in every_cell(scale) for point in cell.points]


@pytest.mark.parametrize("scale", SCALES)
def test_every_point_is_in_exactly_one_cell(scale):
    keys = [point.key for point in points(scale)]
    assert len(set(keys)) == len(keys)
    assert len(every_cell(scale)) < 40  # parts in the store


def test_a_larger_scale_adds_cells_to_those_of_the_smaller_ones():
    quick, standard, paper = ({cell.key for cell in every_cell(scale)} for scale in SCALES)
    assert quick < standard < paper


@pytest.mark.parametrize("scale", SCALES)
def test_every_point_of_a_panel_is_planned(scale):
    planned = {point.key for point in points(scale)}
    wanted = [
        *(grids.attention_sweep(panel, x, 0) for panel in grids.PANELS for x in grids.XS),
        *(grids.regression_sweep(panel, scale, 0) for panel in "ab"),
    ]
    assert {cell.key for sweep in wanted for cell in sweep} <= planned


def test_another_seed_computes_the_exact_law_no_second_time():
    others = {point.key for cell in grids.cells("quick", 1) for point in cell.points}
    shared = [point.config for point in points("quick") if point.key in others]
    assert {getattr(config, "trials", 0) for config in shared} == {0}
    assert len(shared) > 400


def test_no_two_points_share_their_signs():
    seeds = [seed_of(point.config) for point in points("quick")]
    assert len(set(seeds)) == len(seeds)


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
        (attention, AttentionPoint(m=10**9), r"The numbers of one trial need [\d,.]+ GB of memory"),
        (regression, RegressionPoint(n=10**10), r"The logits of the bounds need .* GB of memory"),
        (regression, RegressionPoint(m=10**9), r"The numbers of one trial need .* GB of memory"),
        (sign_sums, SignSums(n=10**10), r"samples times n must be at most 1e\+12, got 2e\+13"),
        (tensor_form, TensorForm(n=10**9), r"tensor form of at most 16777216 entries, got \d+"),
        (success_map, SuccessMap("a0-a1", steps=10**6), r"The points of the map need .* GB"),
    ],
)
def test_bad_input_is_one_sentence(kind, config, sentence, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16e9)
    with pytest.raises(UserError, match=sentence):
        kind.run(config)


def test_a_constant_of_a_row_is_noticed_before_it_cancels(monkeypatch):
    """Claims C.3 and C.5 are about u and alpha; the output would not show it."""
    right = tensor_form.run(TensorForm())
    names = [f.name for f in dataclasses.fields(right) if f.name != "transposed_error"]
    assert max(getattr(right, name) for name in names) < 1e-13
    scores = cells_lemmas.tensor_scores
    monkeypatch.setattr(cells_lemmas, "tensor_scores", lambda *given: scores(*given) + 0.1)
    wrong = tensor_form.run(TensorForm())
    assert wrong.softmax_error < 1e-13
    assert wrong.softmax_u_error == pytest.approx(np.expm1(0.1))
    assert wrong.softmax_alpha_error == pytest.approx(np.expm1(0.1))
    assert min(wrong.linear_u_error, wrong.linear_alpha_error) > 1e-3


def test_a_point_survives_the_store():
    cell = attention(AttentionPoint(n=40, d=12, trials=20))
    (row,) = decode(cell, compute(cell).part)[cell.key]
    assert row == attention.run(cell.config)
    assert row.outside_definition == ""
    outside = attention.run(AttentionPoint(c=0.5, trials=0))
    assert "b + c should be 1" in outside.outside_definition


def test_a_point_is_the_same_in_a_sweep_and_alone():
    configs = [AttentionPoint(n=40, d=12, trials=20), AttentionPoint(n=40, d=12, m=3, trials=20)]
    swept = decode(attention.sweep(configs), compute(attention.sweep(configs)).part)
    for config in configs:
        assert swept[attention(config).key] == [attention.run(config)]


def test_the_divisors_are_those_found_one_by_one():
    for n in (4, 36, 97, 240, 5040):
        assert divisors(n, n // 2) == [k for k in range(2, n // 2 + 1) if n % k == 0]


def test_the_study_loads_without_jax_and_altair():
    code = (
        "import attnlab.separation.study, sys; "
        "print([m for m in ('jax', 'altair', 'scipy', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
