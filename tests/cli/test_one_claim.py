"""`attnlab explain`, `claims --verdict`, prefixes of ids, and `attnlab diff`."""

import json
import re
import shutil
from pathlib import Path

from attnlab.lab.catalog import load_studies
from attnlab.lab.evidence import shipped_verdicts


def test_explain_says_everything_about_one_claim(main, filled):
    ended = main("explain", "toy-s")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("toy-sum (toy)\n")
    parts = dict(re.findall(r"^\n(.+)\n(.+)$", ended.out, re.MULTILINE))
    assert parts["Statement"] == "The squares add up."
    assert parts["Source"] == "arithmetic; arithmetic"
    assert parts["Sentence of the paper"].startswith("toy-squares, Chapter 1: ")
    assert parts["Verdict"] == "✓ holds (scale quick, seed 0)"
    assert parts["Tolerance"] == "equality"
    assert parts["Figures"] == "squares: Squares"
    file, line = re.fullmatch(r"(.+):(\d+)", parts["Check"]).groups()
    assert "def check_sum" in Path(file).read_text().splitlines()[int(line) - 1]


def test_explain_needs_no_store_and_names_the_command(main, tmp_path):
    ended = main("explain", "toy-sum", "--scale", "paper")
    assert ended.code == 0
    assert "\nDecided by\nattnlab reproduce toy --scale paper\n" in ended.out
    assert list(tmp_path.iterdir()) == []


def test_explain_has_the_note_of_the_shipped_run(main):
    (study,) = load_studies(["separation"])
    found = shipped_verdicts(study, study.claims)
    name, note = next((name, each.entry.note) for name, each in found.items() if each.entry.note)
    parts = main("explain", f"separation/{name}").out.split("Note of the shipped run\n")
    shown = parts[1].split("\n\n")[0]
    assert " ".join(shown.split()) == " ".join(note.split())


def test_the_name_of_a_study_tells_claims_of_the_same_id_apart(main):
    assert main("explain", "rank/equation-10").out.startswith("equation-10 (rank)\n")
    assert main("explain", "linear/equation-10").out.startswith("equation-10 (linear)\n")
    listed = json.loads(main("claims", "--only", "rank/equation-10", "--json").out)
    assert [(entry["study"], entry["id"]) for entry in listed] == [("rank", "equation-10")]
    both = json.loads(main("claims", "--only", "equation-10", "--json").out)
    assert [entry["study"] for entry in both] == ["linear", "rank"]


def test_claims_are_picked_by_verdict_and_by_the_beginning_of_their_ids(main, filled):
    failed = main("claims", "toy", "--verdict", "fails", "--json")
    assert [entry["id"] for entry in json.loads(failed.out)] == ["toy-false"]
    both = main("claims", "--only", "toy-", "--verdict", "fails", "holds", "--json")
    assert len(json.loads(both.out)) == 2
    assert "No claims." in main("claims", "toy", "--verdict", "corrected").out


def test_verbose_prints_the_law_behind_every_claim(main, filled):
    assert "tolerance" not in main("claims", "toy").out
    assert main("claims", "toy", "--verbose").out.count("tolerance equality") == 2


def test_diff_of_two_seeds_names_the_numbers_that_changed(main, filled):
    assert main("reproduce", "toy", "--seed", "1", "--no-report").code == 0
    ended = main("diff", "seed=0", "seed=1", "--study", "toy")
    assert ended.code == 0
    assert "A: attnlab-store at quick, seed 0 (attnlab " in ended.out
    assert "measured  toy-sum (toy): 8555 → 9455" in ended.out
    assert ended.out.endswith(
        "2 claims in both: no other verdicts (none decided differently), other numbers in 2.\n"
    )


def test_diff_of_two_stores_ends_with_code_1_where_a_verdict_turned(main, filled, monkeypatch):
    assert main("reproduce", "toy", "--scale", "standard", "--no-report").code == 0
    shutil.copytree(filled, "other-store")
    monkeypatch.setenv("TOY_TURN", "standard")
    ended = main("diff", "attnlab-store", "other-store,standard", "--study", "toy")
    assert ended.code == 1
    assert "✗ turned  toy-false (toy): fails → holds" in ended.out
    changed = json.loads(main("diff", "quick", "standard", "--study", "toy", "--json").out)
    assert [(each["id"], each["turned"]) for each in changed] == [
        ("toy-sum", False),
        ("toy-false", True),
    ]


def test_diff_leaves_out_what_one_of_them_never_computed(main, filled):
    ended = main("diff", "quick", "paper", "--study", "toy")
    assert ended.code == 0
    assert "Not computed in one of them (1): toy-sum." in ended.out
    assert "1 claim in both" in ended.out


def test_lists_are_swept_and_every_row_is_printed(main):
    ended = main("run", "toy_square", "--x", "3,4", "--shift=0,0.5")
    assert ended.code == 0, ended.err
    for row in (r"3 +0 +9 +odd", r"3 +0\.5 +12\.25 +odd", r"4 +0 +16 +even"):
        assert re.search(row, ended.out)
    assert "4 rows" in ended.out
    ended = main("run", "toy_vector", "--length", "5", "--kept", "0")
    assert "5 rows" in ended.out
    assert "length = 5, kept = 0" in ended.out
    assert re.search(
        r"Weights: attnlab-store/weights/toy_vector/[0-9a-f-]+\.safetensors", ended.out
    )


def test_of_a_sweep_with_a_refused_configuration_the_others_are_kept(main):
    ended = main("run", "separation_attention", "--n", "200,205,400", "--trials", "5")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "1 of 3 cells failed, the others are stored" in ended.err
    assert "n must be a positive multiple of d - 2 = 20, got 205." in ended.err
    assert "2 rows" in ended.out
