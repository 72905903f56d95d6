"""A wrong argument: exit code 2, one sentence with what was given and what is accepted, no loss."""

import os
import shlex

import pytest

from tests.lab.command_line import snapshot

COMMANDS = "reproduce, claims, explain, statements, diff, report, serve, explore, query, run"
SCALES = "quick, standard, paper"

# What was typed, and what the sentence must contain.
MISTAKES = {
    "reproduce nosuch": ("'nosuch'", "separation, toy"),
    "claims nosuch": ("'nosuch'", "separation, toy"),
    "claims --verdict maybe": ("--verdict must be one of", "corrected", "'maybe'"),
    "explain": ("Missing ID", "'attnlab explain --help'"),
    "explain nosuch": ("Unknown claim 'nosuch'", "'attnlab claims' lists"),
    "explain toy-": ("'toy-' fits more than one claim: toy/toy-sum, toy/toy-false",),
    "explain equation-10": ("fits more than one claim: linear/equation-10, rank/equation-10;",),
    "explain separation/equation-10": ("Unknown claim 'separation/equation-10'",),
    "run toy_square --x 1,zwei": ("--x must be an integer, got 'zwei'",),
    "run toy_square --x 1,": ("--x must be an integer",),
    "weights nosuch": ("begins with 'nosuch'", "'attnlab weights' lists them"),
    "read linear/axs/uniform-5/7": ("did you mean linear/axis/uniform-5/7",),
    "read 123456789abc": ("There is no file: 123456789abc", "'attnlab weights' lists them"),
    "diff quick quick": ("A and B are the same run",),
    "diff quick nosuch": ("'nosuch' is no store, no scale (quick, standard, paper) and no seed=N",),
    "diff quick seed=x": ("seed must be an integer of at least 0, got 'x'",),
    "diff quick,, paper": ("names no run",),
    "diff quick seed=9,paper --study separation": ("no study in common",),
    "claims --only nosuch": ("'nosuch'", "'attnlab claims' lists"),
    "reproduce toy --scale huge": ("'huge'", SCALES),
    "claims toy --scale huge": ("'huge'", SCALES),
    "report toy --scale ''": ("''", SCALES),
    "reproduce toy --seed -1": ("seed", "at least 0", "-1"),
    "claims toy --seed -1": ("seed", "at least 0", "-1"),
    "report toy --seed -1": ("seed", "at least 0", "-1"),
    "reproduce toy --seed abc": ("--seed", "an integer", "'abc'"),
    "reproduce toy --workers many": ("--workers", "an integer", "'many'"),
    "reproduce toy --stop-after 0": ("--stop-after", "above 0 minutes", "got 0"),
    "reproduce toy --cells toy_sqare": ("--cells", "did you mean toy_square"),
    "reproduce toy --cells toy_square:x=99": ("--cells toy_square:x=99", "none of the"),
    "reproduce toy --gpus first": ("--gpus", "all or the numbers of GPUs", "'first'"),
    "reproduce toy --gpus all --workers 0": ("--workers", "1 or more beside --gpus", "got 0"),
    "reproduce toy --gpus all --scheduler tcp://h:1": ("Give --gpus or --scheduler, not both",),
    "run separation_attention --d 9000000 --n 17999996": ("need", "GB of memory", "d or m"),
    "reproduce toy --workers -2": ("--workers", "0 (this process) or more", "-2"),
    "reproduce toy --bogus": ("--bogus", "'attnlab reproduce --help' lists what is accepted"),
    "reproduce toy --stor x": ("--stor", "did you mean --store?"),
    "reproduce toy --seed": ("--seed", "'attnlab reproduce --help'"),
    "run nosuch": ("'nosuch'", "separation_attention", "toy_square"),
    "run separation_attention --n 205": ("n must be a positive multiple of d - 2 = 20, got 205.",),
    "run separation_attention --d 3": ("d must be", "at least 4", "got 3"),
    "run separation_attention --m 0": ("m must be an integer of at least 1, got 0.",),
    "run separation_attention --trials -1": ("trials must be an integer of at least 0, got -1.",),
    "run separation_attention --seed -1": ("seed", "at least 0", "-1"),
    "run separation_attention --x zeros": ("--x", "identity, ones", "'zeros'"),
    "run separation_attention --n ten": ("--n must be an integer, got 'ten'",),
    "run separation_attention --b wide": ("--b must be a number, got 'wide'",),
    "run separation_attention --b nan": ("b must be a finite number, got nan.",),
    "run separation_attention --b inf": ("b must be a finite number, got inf.",),
    "run separation_attention --bogus 1": ("--bogus", "'attnlab run separation_attention --help'"),
    "run separation_attention --store": ("--store", "'attnlab run separation_attention --help'"),
    "run separation_regression --share 1.5": ("share must be", "between 0 and 1, got 1.5."),
    "run separation_regression --m 0": ("m must be an integer of at least 1, got 0.",),
    "run separation_map": ("Missing --plane", "'attnlab run separation_map --help'"),
    "run toy_square": ("Missing --x", "'attnlab run toy_square --help'"),
    "run --store attnlab-store toy_square": ("KIND comes first", "attnlab run toy_square"),
    "run --studies-dir nowhere": ("nowhere", "--studies-dir DIR"),
    "bogus": ("bogus", COMMANDS),
    "clams": ("did you mean claims?", COMMANDS),
    "--bogus": ("--bogus", "'attnlab --help'"),
    "": ("Missing a command", "'attnlab --help'"),
    "reproduce toy --store file": ("file is a file", "--store DIR"),
    "reproduce toy --store foreign": ("foreign holds other things", "--store DIR"),
    "reproduce toy --store file/below": ("file/below", "--store DIR"),
    "run toy_square --x 3 --store foreign": ("foreign holds other things", "--store DIR"),
    "claims toy --store file/below": ("file/below", "--store DIR"),
    "claims toy --store missing": ("no store at missing", "--store DIR"),
    "query --store missing": ("no store at missing", "--store DIR"),
    "report toy --store missing": ("no store at missing", "--store DIR"),
    "query --store foreign": ("foreign holds other things", "--store DIR"),
    "claims --studies-dir nowhere": ("nowhere does not exist", "--studies-dir DIR"),
    "claims --studies-dir file": ("file is a file", "--studies-dir DIR"),
    "query SELEC": ("SELEC", "tables: toy_square, toy_vector"),
    "query 'SELECT 1; SELECT 2'": ("one SELECT statement", "got SELECT, SELECT"),
    "query ''": ("one SELECT statement", "got nothing"),
    "query 'SELECT * FROM nosuch'": ("nosuch", "tables: toy_square, toy_vector"),
    "query 'SELECT nosuch FROM toy_square'": ("nosuch", "tables: toy_square, toy_vector"),
    "query --format xml": ("'xml'", "table, json, csv"),
    "completion tcsh": ("'tcsh'", "bash, zsh, fish"),
    "completion": ("Missing SHELL", "'attnlab completion --help'"),
    "claims --only": ("--only needs", "at least one claim"),
    "reproduce toy --cells": ("--cells needs at least one KIND",),
    "claims toy --compare quick paper --json --verbose": ("leave out --json, --verbose",),
    "claims toy --compare quick paper --seed 7": ("--scale quick --seed 7 --store attnlab-store",),
    "explain tyo/toy-squares": ("Unknown study 'tyo'", "did you mean toy?"),
    "statements --only rank/nosuch": ("Unknown statement 'rank/nosuch'",),
    "report toy --out foreign": ("foreign", "give a new folder"),
    "report toy --out file": ("file is a file", "give a new folder"),
    "report separation --seed 5": ("no results of scale quick", "reproduce separation --scale"),
    "reproduce toy --report /proc/x": ("/proc/x", "cannot be written"),
    "serve nowhere": ("nowhere", "attnlab report"),
    "serve file": ("file", "attnlab report"),
    "bench nosuch": ("'nosuch'", "accepted are", "separation"),
    "store": ("Missing ACTION, FILE",),
    "store pack x": ("ACTION must be one of export, import, got 'pack'",),
    "store export": ("Missing FILE",),
    "store export a.tar.gz --store missing": ("no store at missing",),
    "store export no/where.tar.gz": ("no/where.tar.gz cannot be written",),
    "store export file": ("file exists already", "a new file"),
    "store import nowhere.tar.gz --store fresh": ("There is no file: nowhere.tar.gz",),
    "store import nowhere.tar.gz": ("There is no file: nowhere.tar.gz",),
    "store import file": ("file is truncated or not a bundle of attnlab",),
    "store import foreign": ("foreign cannot be read",),
    "bench lb": ("did you mean lab?",),
}


@pytest.fixture
def folder(tmp_path, filled):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("mine")
    return tmp_path


@pytest.mark.parametrize("typed", MISTAKES, ids=lambda typed: typed or "no command")
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence_and_changes_nothing(refused, typed):
    ended = refused(typed, MISTAKES[typed])
    assert "UserError" not in ended.err
    assert ".py" not in ended.err


@pytest.mark.parametrize(
    "typed",
    [
        "reproduce nosuch",
        "run separation_attention --n 205",
        "reproduce toy --bogus",
        "query SELEC",
    ],
)
def test_a_person_at_a_shell_sees_the_same(attnlab, folder, typed):
    before = snapshot(folder)
    run = attnlab(*shlex.split(typed))
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert all(piece in run.stderr for piece in MISTAKES[typed])
    assert "Traceback" not in run.stderr
    assert snapshot(folder) == before


FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('attnlab-store/attnlab-store.json')",
    "SELECT * FROM '/etc/passwd'",
    "COPY toy_square TO 'out.csv'",
    "COPY toy_square TO 'attnlab-store/parts/toy_square/mine.csv'",
    "COPY (SELECT 1) TO '{part}' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{part}' (FORMAT parquet)",
    "SELECT 1; COPY (SELECT 1) TO '{part}' (FORMAT parquet)",
    "EXPORT DATABASE 'attnlab-store/parts'",
    "ATTACH 'mine.db'",
    "SET enable_external_access = true",
    "INSTALL httpfs",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_sql_reads_the_parts_and_nothing_else_and_writes_nowhere(main, folder, sql):
    part = next((folder / "attnlab-store" / "parts" / "toy_square").iterdir())
    before = snapshot(folder)
    ended = main("query", sql.format(part=part.relative_to(folder)))
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("attnlab: The SQL was refused: ")
    assert ended.err.count("\n") == 1
    assert "root:" not in ended.err
    assert snapshot(folder) == before


@pytest.mark.parametrize("columns", ["20", "60", "100", "300"])
def test_a_long_value_is_named_whole_however_narrow_the_terminal(main, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    value = "x" * 150
    assert f"got '{value}'." in main("reproduce", "--seed", value).err
    assert f"'{value}'" in main("reproduce", value).err
    assert os.environ["COLUMNS"] == columns


def test_a_sentence_stays_on_one_line_whatever_was_given(main):
    for typed in (["reproduce", "two\nlines"], ["report", "--store", "two\nlines"], ["two\nlines"]):
        ended = main(*typed)
        assert (ended.code, ended.err.count("\n")) == (2, 1)


def test_a_terminal_without_our_signs_gets_a_ledger_all_the_same(attnlab, filled):
    run = attnlab("claims", "toy", PYTHONIOENCODING="ascii")
    assert run.returncode == 0, run.stderr
    assert "? holds" in run.stdout


def test_a_report_folder_of_something_else_costs_no_result(main, folder):
    before = snapshot(folder)
    ended = main("reproduce", "toy", "--report", "foreign")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "The folder foreign holds something other than a report" in ended.err
    assert snapshot(folder) == before


def test_the_parser_is_understood_where_it_can_draw_no_boxes(attnlab):
    for encoding in ("ascii", "utf-8"):
        run = attnlab("reproduce", "--seed", "abc", "--qqq", PYTHONIOENCODING=encoding)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1)
        assert run.stderr.startswith("attnlab: Unknown argument --qqq; 'attnlab reproduce")
        run = attnlab("run", "toy_square", "--x", "abc", PYTHONIOENCODING=encoding)
        assert run.stderr == "attnlab: --x must be an integer, got 'abc'.\n"


def test_a_refused_configuration_leaves_no_store_behind(attnlab):
    refused = attnlab("run", "separation_attention", "--n", "205")
    assert refused.returncode == 2
    assert not attnlab.store.exists()


def test_a_foreign_report_folder_is_refused_before_anything_is_computed(attnlab):
    thesis = attnlab.folder / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("mine")
    refused = attnlab("reproduce", "toy", "--report", "thesis")
    assert refused.returncode == 2
    assert "thesis holds something other than a report" in refused.stderr
    assert not attnlab.store.exists()
