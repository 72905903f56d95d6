"""Claims of `rank` one by one: what else turns them, and what must not."""

import pytest

from attnlab.lab.ledger import NO_SCALE, ledger
from attnlab.rank.study import grids, study
from attnlab.rank.study.results import rounded_down, rounded_up
from attnlab.rank.theory.architectures import attention_shapes
from tests.rank.study import evidence
from tests.rank.study.changed_evidence import changed, entry
from tests.rank.study.test_claims import BROKEN, NEEDS_PAPER


@pytest.mark.parametrize(
    ("kind", "when", "fields"),
    [
        # A network that is not accurate at one N, in one of its forms, is no counterexample.
        ("covering_sample", lambda c: c.d == 3, {"error": lambda v, row: 0.06}),
        (
            "covering_sample",
            lambda c: c.d == 2,
            {"error": lambda v, row: 0.3 if (row.N, row.form) == (4096, "softmax") else v},
        ),
        # Nor one whose error a sample does not resolve.
        ("covering_sample", lambda c: True, {"standard_error": 0.02}),
        # A hardmax error above its bound says that one of the two is wrong.
        ("covering_sample", lambda c: True, {"error": 0.045, "standard_error": 1e-4}),
        # Without a bound, the sampled numbers of points say nothing about all others.
        ("covering_bound", lambda c: True, {"largest": lambda v, row: v and 0.06}),
        ("covering_bound", lambda c: True, {"beyond": 0.06}),
    ],
)
def test_conjecture_8_stands_where_no_counterexample_is_accurate_for_all_n(kind, when, fields):
    view = evidence.view("quick")
    assert entry("conjecture-8", view).verdict == "fails"
    assert entry("conjecture-8", changed(view, kind, when, **fields)).verdict.startswith("undec")


@pytest.mark.parametrize(
    ("claim", "when"),
    [
        ("figure-1-depth", lambda c: c.layers in (1, 3)),
        ("replayed-stream", lambda c: c.rank < c.d),
    ],
)
def test_seeds_that_overlap_decide_nothing(claim, when):
    view = changed(evidence.view("standard"), "encoder", when, test=0.6, least_training=0.6)
    assert entry(claim, view).verdict == "undecided at this scale"


def test_the_best_of_three_rates_is_the_one_that_serves():
    """A rate that diverges or does worse changes nothing, whichever of the three it is."""
    view = evidence.view("paper")
    for rate in (0.01, *grids.RATES[1:]):
        worse = changed(view, "encoder", lambda c, rate=rate: is_deep(c) and c.rate == rate, test=5)
        assert entry("figure-1-best-rate", worse).verdict == "holds"
        lost = changed(
            view,
            "encoder",
            lambda c, rate=rate: is_deep(c) and c.rate == rate,
            test=None,
            test_error=None,
        )
        assert entry("five-layers-best-rate", lost).verdict == "holds"


@pytest.mark.parametrize("error", [0.06, 0.6])
def test_what_the_scale_paper_leaves_open_is_not_sent_there(error):
    """Everything that the scale plans is there, with errors between which nothing is decided."""
    view = changed(evidence.view("paper"), "encoder", test=error, least_training=error)
    left_open = [one for one in ledger(study, view) if not one.decided]
    assert len(left_open) > 2
    for one in left_open:
        assert "--scale" not in one.note, one.id
        assert NO_SCALE in one.note, one.id


def is_deep(config):
    return config.layers in (3, 5) and config.width_multiplier == 1 and not config.replay


@pytest.mark.parametrize("claim", sorted(NEEDS_PAPER))
def test_smaller_encoders_neither_refute_nor_confirm_what_is_said_of_the_papers(claim):
    assert not entry(claim, evidence.view("standard")).decided
    for kind, when, fields in BROKEN[claim]:
        view = changed(evidence.view("standard"), kind, when or (lambda _: True), **fields)
        assert not entry(claim, view).decided


def test_exceptions_within_a_factor_of_2_confirm_nothing_about_all_models():
    view = changed(evidence.view("paper"), "sizes", share=1.5)
    assert entry("heads-times-rank-exceptions", view).verdict == "fails"  # by the library
    view = changed(view, "architectures", share=1.5)
    assert not entry("heads-times-rank-exceptions", view).decided


@pytest.mark.parametrize(("share", "verdict"), [(1.0, "holds"), (0.8, None), (0.4, "fails")])
def test_the_census_decides_where_nearly_all_or_few_architectures_follow_the_habit(share, verdict):
    names = sorted({shape.architecture for shape in attention_shapes()})
    right = names[: round(share * len(names))]
    view = changed(
        evidence.view("quick"),
        "architectures",
        share=lambda v, row: 1.0 if row.architecture in right else 0.8,
    )
    found = entry("heads-times-rank", view)
    assert found.verdict == (verdict or "undecided at this scale")


def test_an_architecture_with_one_layer_beyond_the_habit_is_an_exception():
    view = evidence.view("quick")
    before = entry("heads-times-rank", view).measured
    name = next(
        shape.architecture
        for shape in attention_shapes()
        if {s.share for s in attention_shapes() if s.architecture == shape.architecture} == {1.0}
        and sum(s.architecture == shape.architecture for s in attention_shapes()) > 1
    )
    assert name not in before.split()
    layer = next(s for s in attention_shapes() if s.architecture == name)
    off = changed(
        view,
        "architectures",
        share=lambda v, row: 0.7 if row.architecture == name and row.d == layer.d else v,
    )
    assert f"0.7 in {name}" in entry("heads-times-rank", off).measured


def test_labels_that_are_too_near_or_too_long_tell_no_majority():
    view = evidence.view("quick")
    for fields in ({"coherence": 0.34}, {"dimension": lambda v, row: row.terms}):
        assert not entry("majority-linear-in-n", changed(view, "majority_codes", **fields)).decided


def test_without_a_counterexample_nothing_is_said_of_its_consequence():
    view = changed(evidence.view("quick"), "covering_bound", beyond=0.06)
    assert not entry("conjecture-8-consequence", view).decided


def test_one_depth_that_says_the_contrary_refutes_the_sentence_on_one_head():
    view = changed(
        evidence.view("paper"),
        "encoder",
        lambda c: c.layers == 3 and c.rank == 32 and c.width_multiplier == 1 and not c.replay,
        test=0.009,
    )
    assert entry("figure-1-one-head", view).verdict == "fails"


def test_one_configuration_that_is_not_understated_decides_against_the_replayed_stream():
    view = changed(
        evidence.view("paper"),
        "encoder",
        lambda c: c.replay > 0 and c.rank == 2 and c.layers == 1,
        least_training=0.98,
        test=0.95,
    )
    assert entry("replayed-stream", view).verdict == "fails"


def test_the_ledger_says_which_published_numbers_the_replayed_stream_gives():
    view = evidence.view("paper")
    assert "8 of these 8 published numbers." in entry("stream-never-repeats", view).note
    off = changed(
        view,
        "encoder",
        lambda c: c.replay > 0 and c.rank == 64 and c.layers == 3,
        least_training=0.002,
    )
    found = entry("stream-never-repeats", off)
    assert found.verdict == "fails"
    assert "7 of these 8 published numbers, and not those of L = 3, r = 64." in found.note


def test_bounds_are_rounded_to_the_side_on_which_they_are_true():
    assert rounded_down(16.97, 1) == "16.9"
    assert rounded_down(0.15800, 3) == "0.158"
    assert rounded_down(-0.016, 1) == "-0.1"
    assert rounded_up(0.9561, 3) == "0.957"
