"""Every claim gets a verdict of its own, whatever happens to the others."""

import dataclasses
import json
import textwrap

import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.engine import InProcess
from attnlab.lab.ledger import judge, ledger, select
from attnlab.lab.runner import look_up, run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Claim, Judgement, View
from attnlab.report.deciding import command_for
from tests.lab.command_line import STUDIES, Attnlab

QUIET = Console(quiet=True)


@pytest.fixture
def store(tmp_path, toy):
    found = Store(tmp_path / "store")
    run_plans([toy.plan("quick", 0)], found, InProcess(), QUIET)
    return found


def view(store, study, scale, seed):
    return look_up(study.plan(scale, seed), store).view


def test_a_view_holds_every_stored_cell_of_its_scale_and_seed(store, toy):
    assert len(view(store, toy, "quick", 0).results) == 32
    assert len(view(store, toy, "standard", 0).results) == 32
    assert len(view(store, toy, "quick", 1).results) == 2  # the vectors have no seed


def test_claims_are_judged_on_what_the_store_holds(store, toy):
    entries = ledger(toy, view(store, toy, "quick", 0))
    assert [(e.id, e.verdict, e.measured) for e in entries] == [
        ("toy-sum", "holds", 8555.0),
        ("toy-false", "fails", 1.0),
    ]
    assert entries.counts == {"holds": 1, "fails": 1}
    assert repr(entries) == "Ledger(2 claims: 1 holds, 1 fails)"
    assert ">toy-sum</td>" in entries._repr_html_()


def test_a_missing_cell_leaves_the_claim_undecided_and_says_what_to_run(store, toy):
    seen = view(store, toy, "standard", 0)
    entry = judge(toy, toy.claims[0], seen)
    assert entry.verdict == "undecided at this scale"
    assert "no result for toy_square(x=30, shift=0.0)" in entry.note
    assert "'attnlab reproduce toy --scale standard'" in entry.note
    assert not entry.broken


@pytest.mark.parametrize(
    ("scale", "note", "wanted"),
    [
        ("quick", "Open.", "Open. 'attnlab reproduce toy --scale standard' decides."),
        ("paper", "", "No scale of the study decides it."),
        ("quick", "Needs --scale paper.", "Needs --scale paper."),
        ("quick", "No scale of the study decides it.", "No scale of the study decides it."),
    ],
)
def test_an_undecided_claim_names_the_next_scale_unless_it_has_said_more(toy, scale, note, wanted):
    claim = Claim(
        "open", "us", "Open.", lambda _: Judgement("undecided at this scale", "", "", "", note)
    )
    entry = judge(toy, claim, View(scale, 0, {}))
    assert entry.note == wanted
    assert bool(command_for(entry)) == ("No scale" not in wanted)


def test_an_empty_store_decides_nothing(toy):
    entries = ledger(toy, View("quick", 0, {}))
    assert {entry.verdict for entry in entries} == {"undecided at this scale"}


def test_a_bug_in_a_check_is_told_and_hides_no_other_claim(store, toy):
    def check(seen):
        return Judgement("holds", 1 / len([]), 0, "")

    broken = dataclasses.replace(toy, claims=(Claim("buggy", "us", "Divides.", check), *toy.claims))
    entries = ledger(broken, view(store, toy, "quick", 0))
    assert [entry.verdict for entry in entries] == ["undecided at this scale", "holds", "fails"]
    assert [entry.broken for entry in entries] == [True, False, False]
    assert "ZeroDivisionError: division by zero (test_ledger.py:" in entries[0].note
    assert "says nothing about the claim" in entries[0].note
    assert entries[0].measured == "not judged"


def test_what_is_printed_of_an_entry_is_its_columns(store, toy):
    (first, _) = ledger(toy, view(store, toy, "quick", 0))
    assert len(first.as_dict()) == 16
    assert "broken" not in first.as_dict()


@pytest.fixture
def buggy(tmp_path):
    """The toy study under another name with one claim whose check raises."""
    folder = tmp_path / "studies" / "buggy"
    folder.mkdir(parents=True)
    text = (STUDIES / "toy" / "__init__.py").read_text()
    text = text.replace('name="toy"', 'name="buggy"').replace("toy_", "buggy_")
    more = """
        def divide(view):
            return Judgement("holds", 1 / 0, 0, "")


        import dataclasses

        more = (Claim("buggy", "us", "Divides.", divide), *study.claims)
        study = dataclasses.replace(study, claims=more)
    """
    (folder / "__init__.py").write_text(text + textwrap.dedent(more))
    return folder.parent


def test_a_bug_in_a_check_ends_reproduce_and_claims_with_exit_code_1(tmp_path, buggy):
    attnlab = Attnlab(tmp_path)
    run = attnlab("reproduce", "buggy", "--studies-dir", buggy)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "decided nothing: buggy; 'attnlab claims --json' says why" in run.stderr
    assert "3 claims: 1 ✓ holds, 1 ✗ fails, 1 ? undecided at this scale" in run.stdout
    assert "not judged, the check stopped: buggy" in run.stdout
    assert (tmp_path / "attnlab-report" / "index.html").as_uri() in run.stdout
    run = attnlab("claims", "buggy", "--studies-dir", buggy, "--json")
    assert run.returncode == 1
    entries = {entry["id"]: entry for entry in json.loads(run.stdout)}
    assert "ZeroDivisionError" in entries["buggy"]["note"]
    assert entries["toy-sum"]["verdict"] == "holds"
    run = attnlab("claims", "buggy", "--studies-dir", buggy, "--only", "toy-sum")
    assert run.returncode == 0  # the broken one was not asked for


def test_claims_are_selected_by_id_and_an_unknown_id_is_refused(toy):
    assert [claim.id for _, claim in select([toy], ())] == ["toy-sum", "toy-false"]
    assert [claim.id for _, claim in select([toy], ("toy-false",))] == ["toy-false"]
    assert [claim.id for _, claim in select([toy], ("toy-f",))] == ["toy-false"]
    assert [claim.id for _, claim in select([toy], ("toy",))] == ["toy-sum", "toy-false"]
    with pytest.raises(UserError, match=r"'nosuch'.* the 2 ids of toy"):
        select([toy], ("nosuch",))
