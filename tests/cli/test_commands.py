"""What the commands print, write and answer."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import attnlab
from attnlab.cli.main import COMMANDS, parse

KEYS = [
    "id",
    "study",
    "source",
    "statement",
    "verdict",
    "measured",
    "reference",
    "tolerance",
    "scale",
    "note",
    "grade",
    "differs",
    "resolution",
    "statement_id",
    "ours",
    "shipped",
]


def test_reproduce_prints_what_was_found_and_says_where_the_report_is(attnlab):
    run = attnlab("reproduce", "toy")
    assert run.returncode == 0, run.stderr  # although toy-false fails
    assert run.stderr == ""
    assert "toy (quick): 32 cells, 0 from the store, 32 computed in" in run.stdout
    assert "toy (quick): 2 claims: 1 ✓ holds, 1 ✗ fails" in run.stdout
    lines = run.stdout.splitlines()
    failed = lines.index("  toy-false (toy): The square of one is minus one.")
    assert lines[failed + 1] == "    measured 1.0, reference -1"
    assert lines[-1] == f"Report: {(attnlab.folder / 'attnlab-report/index.html').as_uri()}"
    page = (attnlab.folder / "attnlab-report" / "toy.html").read_text()
    assert "The squares add up." in page
    assert "\x1b" not in run.stdout


def test_a_second_run_computes_nothing_and_says_so(main, filled):
    ended = main("reproduce", "toy", "--no-report")
    assert ended.code == 0
    assert "32 cells, 32 from the store, 0 computed" in ended.out
    assert "Report:" not in ended.out
    assert not (filled.parent / "attnlab-report").exists()


def test_strict_turns_a_failed_claim_into_exit_code_1(main, filled):
    assert main("reproduce", "toy", "--no-report").code == 0
    ended = main("reproduce", "toy", "--no-report", "--strict")
    assert ended.code == 1
    assert "1 ✗ fails" in ended.out


def test_claims_as_json_are_objects_with_the_promised_keys(main, filled):
    entries = json.loads(main("claims", "toy", "--json").out)
    assert [list(entry) for entry in entries] == [KEYS, KEYS]
    assert [entry["id"] for entry in entries] == ["toy-sum", "toy-false"]
    assert entries[0] == {
        "id": "toy-sum",
        "study": "toy",
        "source": "arithmetic",
        "statement": "The squares add up.",
        "verdict": "holds",
        "measured": 8555.0,
        "reference": 8555,
        "tolerance": "equality",
        "scale": "quick",
        "note": "",
        "grade": "exact",
        "differs": "",
        "resolution": None,
        "statement_id": "toy-squares",
        "ours": False,
        "shipped": None,
    }
    assert entries[1]["verdict"] == "fails"


def test_claims_of_cells_that_were_not_run_are_undecided(main, filled):
    entries = json.loads(main("claims", "toy", "--scale", "paper", "--json").out)
    assert [entry["verdict"] for entry in entries] == ["undecided at this scale", "fails"]
    assert "attnlab reproduce toy --scale paper" in entries[0]["note"]
    assert {e["scale"] for e in entries} == {"paper"}


def test_only_picks_claims_by_id(main, filled):
    (entry,) = json.loads(main("claims", "toy", "--only", "toy-false", "--json").out)
    assert entry["id"] == "toy-false"
    table = main("claims", "toy", "--only", "toy-false").out
    assert "toy-false" in table
    assert "toy-sum" not in table
    assert "1 claim: 1 ✗ fails" in table


def test_reading_the_store_changes_nothing_in_it(main, filled):
    before = {p: p.read_bytes() for p in filled.rglob("*") if p.is_file()}
    for typed in (["claims", "toy"], ["query"], ["query", "FROM toy_vector"]):
        assert main(*typed).code == 0
    assert {p: p.read_bytes() for p in filled.rglob("*") if p.is_file()} == before


def test_scales_and_seeds_share_one_store_and_never_mix(main):
    def parts():
        return {p.name for p in (Path("attnlab-store") / "parts").rglob("*.parquet")}

    first = main("reproduce", "toy", "--no-report")
    quick = parts()
    assert "32 computed" in first.out
    second = main("reproduce", "toy", "--no-report", "--seed", "1")
    assert "32 cells, 2 from the store, 30 computed" in second.out  # the vectors have no seed
    third = main("reproduce", "toy", "--no-report", "--scale", "standard")
    assert "122 cells, 32 from the store, 90 computed" in third.out
    assert quick < parts()
    for options, total in (([], 8555), (["--seed", "1"], 9455), (["--scale", "standard"], 568820)):
        (entry,) = json.loads(main("claims", "toy", "--only", "toy-sum", "--json", *options).out)
        assert (entry["verdict"], entry["measured"]) == ("holds", total)


def test_run_keeps_its_row_like_any_other(main):
    ended = main("run", "toy_square", "--x", "31", "--shift", "0.5")
    assert ended.code == 0
    assert re.search(r"square +992\.25", ended.out)
    answer = main("query", "SELECT x, shift, square FROM toy_square", "--format", "json")
    assert json.loads(answer.out) == [{"x": 31, "shift": 0.5, "square": 992.25}]


def test_run_without_a_kind_lists_the_kinds_with_their_parameters(main):
    ended = main("run")
    assert ended.code == 0
    assert re.search(r"toy_square +toy +x, shift", ended.out)
    assert "separation_attention" in ended.out


def test_a_cell_that_fails_on_its_own_account_is_no_mistake_of_the_user(main, monkeypatch):
    monkeypatch.setenv("TOY_FAIL", "3")
    ended = main("run", "toy_square", "--x", "3")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert re.fullmatch(r"attnlab: RuntimeError: asked to fail \(__init__\.py:\d+\)\n", ended.err)


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_refused_cell_is_exit_code_2_and_all_others_are_stored(attnlab, workers):
    run = attnlab("reproduce", "toy", "--no-report", *workers, TOY_LARGE="3")
    assert run.returncode == 2
    assert run.stderr == "attnlab: 1 cell was refused, named above; all others are stored.\n"
    assert "toy_square(x=3, shift=0.0): The numbers of toy_square need 1,000,000 GB" in run.stdout
    assert "31 computed" in run.stdout
    again = attnlab("reproduce", "toy", "--no-report")
    assert again.returncode == 0
    assert "31 from the store, 1 computed" in again.stdout


def test_a_failure_beside_a_refusal_is_exit_code_1(main, monkeypatch):
    monkeypatch.setenv("TOY_LARGE", "3")
    monkeypatch.setenv("TOY_FAIL", "4")
    ended = main("reproduce", "toy", "--no-report")
    assert ended.code == 1
    assert ended.err == (
        "attnlab: 1 cell failed and 1 cell was refused, named above; all others are stored.\n"
    )


def test_the_version_is_that_of_the_package(attnlab):
    from importlib.metadata import version

    run = attnlab("--version")
    assert (run.returncode, run.stdout) == (0, f"attnlab {version('attnlab')}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(main, name):
    ended = main(name, "--help")
    assert ended.code == 0
    assert "For example:" in ended.out
    assert f"attnlab {name}" in ended.out.split("For example:")[1]
    assert re.search(rf"\b{name}\b", main("--help").out)


def examples():
    for command in COMMANDS.values():
        text = (command.__doc__ or "").split("For example:")[1]
        for line in text.strip().splitlines():
            typed = re.split(r"  +| > ", line.strip())[0]
            yield shlex.split(typed)[1:]


@pytest.mark.parametrize("typed", list(examples()), ids=" ".join)
def test_every_example_of_the_help_is_accepted(main, typed):
    if typed[0] == "run" and len(typed) > 1:
        assert main(*typed).code == 0
    elif typed[0] != "completion":  # prints and exits, tested below
        assert isinstance(parse(typed), COMMANDS[typed[0]])


def test_the_examples_name_claims_and_columns_that_exist(main):
    assert main("run", "separation_attention").code == 0
    queries = [typed for typed in examples() if typed[0] == "query" and len(typed) > 1]
    assert len(queries) == 2
    for typed in queries:
        ended = main(*typed)
        assert ended.code == 0, ended.err
        assert "0.76" in ended.out
    for picked in [typed for typed in examples() if "--only" in typed and "claims" in typed]:
        assert main(*picked).code == 0


def test_the_help_of_a_kind_lists_its_parameters(main):
    ended = main("run", "separation_attention", "--help")
    assert ended.code == 0
    for piece in ("--n INT", "multiple of d - 2", "--x {identity,ones}", "--store DIR"):
        assert piece in ended.out


def test_help_imports_nothing_heavy(tmp_path):
    program = """
import sys
sys.argv = ["attnlab", "--help"]
from attnlab.cli.main import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
heavy = ("numpy", "scipy", "pyarrow", "duckdb", "altair", "jax", "distributed", "vl_convert")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert run.stderr.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_knows_the_commands(main, tmp_path, shell):
    ended = main("completion", shell)
    assert ended.code == 0
    assert "reproduce" in ended.out
    if shell == "bash":
        script = tmp_path / "completion.bash"
        script.write_text(ended.out)
        assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_a_reader_that_stops_early_is_no_error(attnlab, filled):
    process = attnlab.start("query", "SELECT a.*, b.* FROM toy_square a, toy_square b")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=600) == 0
    assert errors == ""


def test_nothing_is_ever_pickled(filled):
    words = ("import pickle", "from pickle", "allow_pickle=True", ".pkl", "cloudpickle", "joblib")
    sources = list(Path(attnlab.__file__).parent.rglob("*.py"))
    assert len(sources) > 30
    found = [(p.name, word) for p in sources for word in words if word in p.read_text()]
    assert found == []
    files = [p for p in filled.rglob("*") if p.is_file()]
    assert len(files) > 34
    assert {p.read_bytes()[:1] for p in files}.isdisjoint({b"\x80", b"("})


def test_a_cell_run_without_a_store_makes_one_and_is_kept_and_logged(attnlab):
    ran = attnlab("run", "toy_square", "--x", "4")
    assert ran.returncode == 0, ran.stderr
    (log,) = (attnlab.store / "runs").iterdir()
    assert len(log.read_text().splitlines()) == 2
    assert len(attnlab.contents()) == 1
