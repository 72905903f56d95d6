"""A paper statement by statement: what is judged, how closely, and that no verdict turns."""

import dataclasses

import pytest

from attnlab.lab.compare import flips
from attnlab.lab.coverage import Coverage, judged_statements
from attnlab.lab.judgement import Judgement, Resolution
from attnlab.lab.ledger import judge, ledger
from attnlab.lab.statement import Statement
from attnlab.lab.study import Claim, Study, View
from tests.lab.statement_checks import check_evidence, check_statements


def a_claim(name, *, ours=False, **found):
    given = {"verdict": "holds", "measured": 1.0, "reference": 1.0, "tolerance": "exact law"}
    return Claim(name, "us", f"{name} is true.", lambda view: Judgement(**given | found), ours=ours)


SHARP = Resolution(0.1, 0.2, "")
CLAIMS = (
    a_claim("theorem-1", grade="exact"),
    a_claim("figure-1", grade="smaller setting", differs="d = 4", resolution=SHARP),
    a_claim("rate", ours=True, grade="paper's setting", resolution=SHARP),
    a_claim("open", verdict="undecided at this scale", note="--scale paper decides this."),
)
STATEMENTS = (
    Statement("theorem-1", "Section 2", "theorem", "For all n.", ("theorem-1",), ("rate",)),
    Statement("figure-1", "Figure 1", "figure", "It falls with n.", ("figure-1",)),
    Statement("sentence-1", "Section 3", "sentence", "It falls fast.", ("open",)),
    Statement("future", "Section 4", "remark", "More is to come.", reason="a plan"),
)


@pytest.fixture
def study():
    return Study("paper", "T", "S", "", (), lambda scale, seed: [], (), CLAIMS, STATEMENTS)


def view(scale="quick"):
    return View(scale, 0, {})


def test_an_entry_knows_its_statement_its_grade_and_whose_it_is(study):
    entries = {entry.id: entry for entry in ledger(study, view())}
    assert entries["rate"].statement_id == "theorem-1"
    assert entries["rate"].ours
    assert entries["figure-1"].smaller
    shown = entries["rate"].as_dict()
    assert shown["resolution"] == {"value": 0.1, "limit": 0.2, "unit": ""}
    assert (shown["grade"], shown["ours"]) == ("paper's setting", True)


def test_a_claim_belongs_to_the_statement_of_its_own_id_before_any_other(study):
    earlier = Statement("abstract", "Abstract", "sentence", "It is so.", ("theorem-1", "open"))
    several = dataclasses.replace(study, statements=(earlier, *STATEMENTS))
    assert several.statement_of("theorem-1") == "theorem-1"
    assert several.statement_of("open") == "sentence-1"  # which no other claim judges
    assert dataclasses.replace(study, statements=(earlier,)).statement_of("open") == "abstract"
    figure = Statement("figure-2", "Figure 2", "figure", "So it is.", ("open", "rate", "theorem-1"))
    both = dataclasses.replace(study, statements=(earlier, figure))
    assert both.statement_of("open") == "figure-2"  # a result comes before a sentence
    assert several.statement_of("nothing") is None


def test_coverage_counts_what_is_decided_and_where(study):
    judged = judged_statements(study, ledger(study, view()))
    assert Coverage.of(judged) == Coverage(statements=4, assertions=3, judged=2, as_stated=1)
    assert [each.covered for each in judged] == [True, True, False, False]
    assert judged[0].as_dict()["verdicts"] == {"theorem-1": "holds", "rate": "holds"}
    check_statements(study)
    check_evidence(ledger(study, view()))


def test_a_failing_claim_decides_a_statement_whose_other_claims_are_open(study):
    refuted = a_claim("part", verdict="fails", grade="exact")
    both = Statement("all", "Abstract", "sentence", "All of it.", ("part", "open"))
    wider = dataclasses.replace(study, claims=(*CLAIMS, refuted), statements=(*STATEMENTS, both))
    judged = judged_statements(wider, ledger(wider, view()))[-1]
    assert (judged.covered, judged.as_stated, judged.by_shipped) == (True, True, False)


@pytest.mark.parametrize("grade", ["paper's setting", "smaller setting"])
def test_a_sampled_verdict_without_a_resolution_decides_nothing(study, grade):
    differs = "d" if grade == "smaller setting" else ""
    silent = a_claim("x", verdict="holds", grade=grade, differs=differs, resolution=None)
    entry = judge(study, silent, view())
    assert entry.verdict == "undecided at this scale"
    assert "states no resolution" in entry.note


@pytest.mark.parametrize("verdict", ["holds", "holds as corrected", "fails"])
def test_a_check_that_could_not_have_noticed_decides_nothing(study, verdict):
    blind = a_claim("x", verdict=verdict, resolution=Resolution(0.3, 0.2, "of the ratio"))
    entry = judge(study, blind, view())
    assert entry.verdict == "undecided at this scale"
    assert "would have noticed 0.3 of the ratio; the statement is about 0.2" in entry.note
    sharp = a_claim("x", verdict=verdict, resolution=Resolution(0.2, 0.2, "of the ratio"))
    assert judge(study, sharp, view()).verdict == verdict
    nothing = a_claim("x", verdict=verdict, resolution=Resolution(float("nan"), 0.2, ""))
    assert judge(study, nothing, view()).verdict == "undecided at this scale"


@pytest.mark.parametrize(
    "wrong", [{"grade": "good"}, {"grade": "smaller setting"}, {"differs": "d"}]
)
def test_a_judgement_that_contradicts_itself_is_a_bug_of_the_check(study, wrong):
    assert judge(study, a_claim("x", **wrong), view()).broken


@pytest.mark.parametrize(
    "broken",
    [
        {"statements": STATEMENTS[1:]},  # a claim without a statement
        {"claims": CLAIMS[:-1]},  # a statement with a claim that does not exist
        {"statements": (*STATEMENTS, Statement("x", "1", "lemma", "No claim."))},
        {"claims": (*CLAIMS, a_claim("more", ours=True))},  # ours, beside nothing
    ],
)
def test_a_list_with_a_hole_is_noticed(study, broken):
    with pytest.raises(AssertionError):
        check_statements(dataclasses.replace(study, **broken))


def test_a_verdict_may_become_decided_and_never_turn(study):
    def at(scale, **verdicts):
        claims = tuple(a_claim(name, verdict=verdict) for name, verdict in verdicts.items())
        return ledger(dataclasses.replace(study, claims=claims, statements=()), view(scale))

    quick = at("quick", a="undecided at this scale", b="holds", c="holds as corrected")
    paper = at("paper", a="fails", b="holds", c="fails")
    assert [str(flip) for flip in flips(quick, paper)] == [
        "c of paper: holds as corrected at quick, fails at paper"
    ]
