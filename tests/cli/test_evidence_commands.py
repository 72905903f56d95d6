"""The commands show what a run of one's own found and what a shipped run found, never mixed."""

import json

import pytest

from attnlab.lab import provenance, task
from attnlab.lab.evidence import judged_beside_shipped
from attnlab.lab.packing import Unrecorded, companion_plan, pack
from attnlab.lab.runner import look_up
from attnlab.lab.store import Store
from attnlab.report import pages
from attnlab.report.article import Chapter
from attnlab.report.provenance import provenance_of
from tests.lab import tally

KNOWN = Unrecorded({"": "0" * 40})


@pytest.fixture
def shipped(main, tmp_path, monkeypatch):
    """The study `tally` with its quick and standard runs packed, and the date of these."""
    folder = tally.written(tmp_path)
    study = tally.loaded(folder)
    monkeypatch.setenv("ATTNLAB_STUDIES", str(folder))
    monkeypatch.setattr(provenance, "commit", lambda: None)
    monkeypatch.setattr(task, "device_name", lambda: "Abacus")
    for scale in ("quick", "standard"):
        plans = study.plan(scale, 0), companion_plan(study, scale)
        store = tally.computed(tmp_path / "packed", *plans)
        run = pack(store, study, scale, 0, KNOWN)
    return study, run.date


def test_without_a_run_of_ones_own_the_shipped_ledger_is_shown(main, shipped):
    _, date = shipped
    ended = main("claims", "tally")
    assert ended.code == 0
    first, *rest = ended.out.splitlines()
    assert first.startswith(
        "attnlab-store has no results at scale quick, seed 0: this is the shipp"
    )
    assert f"shipped run standard, Abacus, {date}" in ended.out
    assert rest[-1] == "shipped: 2 claims: 2 ✓ holds"
    assert "190" in main("claims", "tally", "--verdict", "holds", "--only", "tally-large").out
    assert "No claims." in main("claims", "tally", "--verdict", "undecided").out


def test_json_never_mixes_the_two(main, shipped):
    _, date = shipped
    found = json.loads(main("claims", "tally", "--json").out)
    assert {entry["verdict"] for entry in found} == {"undecided at this scale"}
    run = {"scale": "standard", "device": "Abacus", "date": date}
    kind = {"grade": "exact", "differs": "", "resolution": None}
    assert found[1]["shipped"] == {"verdict": "holds", **run, "measured": 190.0, **kind}
    assert main("reproduce", "tally", "--no-report").code == 0
    own = {e["id"]: e for e in json.loads(main("claims", "tally", "--json").out)}
    assert (own["tally-total"]["verdict"], own["tally-total"]["scale"]) == ("holds", "quick")
    assert own["tally-total"]["shipped"]["scale"] == "standard"
    assert own["tally-large"]["verdict"] == "undecided at this scale"


def test_both_verdicts_stand_in_the_terminal_and_the_digest(main, shipped):
    _, date = shipped
    digest = main("reproduce", "tally", "--no-report").out
    assert "? undecided here, decided by a shipped run" in digest
    assert "  ✓ holds: tally-large" in digest
    ledger = main("claims", "tally").out
    assert f"shipped ✓ holds (standard, Abacus, {date}): 190" in ledger
    assert "here: 2 claims: 1 ✓ holds, 1 ? undecided at this scale" in ledger
    assert "shipped: 2 claims: 2 ✓ holds" in ledger
    told = main("explain", "tally-large").out
    assert f"Shipped run\n✓ holds (standard, Abacus, {date}): 190" in told
    assert "Verdict\n? undecided" in told


def test_coverage_counts_what_a_shipped_run_decided_and_says_so(main, shipped):
    assert main("reproduce", "tally", "--no-report").code == 0
    ended = main("statements", "tally")
    assert "2 judged (1 by a shipped run), 2 exactly or at the paper's setting, 0 open" in ended.out
    assert "shipped: ✓ holds" in ended.out
    listed = {each["id"]: each for each in json.loads(main("statements", "tally", "--json").out)}
    assert listed["tally-second"]["verdicts"] == {"tally-large": "undecided at this scale"}
    assert listed["tally-second"]["shipped"] == {"tally-large": "holds"}


def test_the_report_has_both_verdicts(shipped, tmp_path):
    study, date = shipped
    plan, store = study.plan("quick", 0), Store(tmp_path / "packed")
    judged = judged_beside_shipped(plan, look_up(plan, store).view)
    chapter = Chapter(study, judged.ledger, [], provenance_of(store, plan, judged.view))
    found = pages.render(pages.Edition("quick", 0, [chapter]))
    page, told = found["ledger.html"], found["tally.html"]
    assert 'data-column="shipped"' in page
    assert page.count(f"standard, Abacus, {date}") == 2
    assert told.count("<dt>Shipped run</dt>") == 2
    assert "2 judged (1 by a shipped run)" in told


def test_a_scale_that_the_store_lacks_is_compared_by_its_shipped_run(main, shipped):
    _, date = shipped
    assert main("reproduce", "tally", "--no-report").code == 0
    ended = main("claims", "tally", "--compare", "quick", "standard")
    assert ended.code == 0
    named, counted = ended.out.splitlines()
    assert named.startswith(f"tally at standard: the shipped run (Abacus, {date}, ")
    assert counted.endswith("claims at quick and standard: none decided differently.")


def test_verify_names_the_cell_the_column_and_both_values(main, shipped, monkeypatch):
    ended = main("verify", "tally", "--draw", "3", "--cells", "9")
    assert ended.code == 0
    assert "Cells drawn with --draw 3" in ended.out
    assert "tally: 9 cells of 2 kinds computed again, none disagreed." in ended.out
    assert "tally_trained(rate=0.5, steps=2): 2 rows, within 1e-09 of its size" in ended.out
    monkeypatch.setenv("TALLY_SHIFT", "0.5")
    ended = main("verify", "tally", "--draw", "3")
    assert ended.code == 1
    assert "✗ tally_sum(n=" in ended.out
    assert "    total of row 0: shipped " in ended.out


def test_verify_says_what_it_could_not_verify(main, shipped):
    ended = main("verify", "tally", "--longest", "1e-12")
    assert "- tally_sum: not verified, its cells should take longer than 1e-12 s here" in ended.out
    assert "0 cells of 0 kinds computed again" in ended.out


def test_mistakes_are_one_sentence(shipped, refused):
    study, _ = shipped
    for typed, piece in {
        "verify tally --cells 0": "--cells must be an integer of at least 1, got 0",
        "verify tally --longest 0": "--longest must be above 0 seconds, got 0",
        "verify nosuch": "Unknown study 'nosuch'",
        "claims tally --compare paper quick": "no store at attnlab-store with the",
    }.items():
        refused(typed, [piece])
    (study.evidence / "tally_sum.parquet").write_bytes(b"PAR1")
    for typed in ("claims tally", "verify tally", "explain tally-large", "statements tally"):
        refused(typed, ["is damaged: the bytes of tally_sum.parquet are not those"])


def test_a_study_without_evidence_needs_a_store_and_has_nothing_to_verify(refused):
    refused("claims toy", ["There is no store at attnlab-store"])
    refused("verify toy", ["No evidence ships with toy: nothing to verify."])
