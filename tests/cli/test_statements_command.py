"""`attnlab statements` and `attnlab claims --compare`."""

import json

import pytest


def test_statements_are_printed_in_the_papers_order(main, filled):
    shown = main("statements", "toy")
    assert shown.code == 0
    assert shown.out.index("toy-squares") < shown.out.index("toy-more")
    assert "No more than a joke." in shown.out
    assert shown.out.splitlines()[-1] == (
        "toy: 2 statements, 1 of them can be true or false; 1 judged, 1 exactly or at the paper's "
        "setting, 0 open"
    )
    listed = json.loads(main("statements", "toy", "--json").out)
    keys = {"id", "study", "where", "kind", "statement", "claims", "reason"}
    assert keys <= set(listed[0])
    assert listed[0]["claims"] == ["toy-sum", "toy-false"]


@pytest.mark.parametrize(
    ("typed", "pieces"),
    {
        "statements toy --only toy-squars": ("Unknown statement", "toy-squares"),
        "statements toy --only": ("--only needs",),
        "claims toy --only toy-sun": ("Unknown claim", "toy-sum?"),
        "claims toy --compare quick paper": (
            "lacks 970 of 1002 cells of toy at the scale 'paper'",
        ),
        "claims toy --compare quick quick": ("two different scales", "got 'quick quick'"),
        "claims toy --compare quick nonsense": ("quick, standard, paper", "got 'quick nonsense'"),
        "claims toy --compare quick": ("two different scales of quick, standard, paper",),
        "claims toy --compare": ("two different scales of quick, standard, paper, got none",),
    }.items(),
)
@pytest.mark.usefixtures("filled")
def test_a_mistake_is_one_sentence(refused, typed, pieces):
    refused(typed, pieces)


def test_two_scales_that_agree_end_with_code_0_and_a_flip_with_1(main, filled, monkeypatch):
    assert main("reproduce", "toy", "--scale", "standard", "--no-report").code == 0
    assert main("claims", "toy", "--compare", "quick", "standard").code == 0
    monkeypatch.setenv("TOY_TURN", "standard")
    ended = main("claims", "toy", "--compare", "quick", "standard")
    assert ended.code == 1
    assert "toy-false of toy: fails at quick, holds at standard" in ended.out
