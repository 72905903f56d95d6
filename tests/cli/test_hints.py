"""What a command suggests is what has to be typed, and what is missing is named in a sentence."""

import json

import pytest

from attnlab.lab.ledger import finite
from attnlab.lab.part import Finished
from attnlab.lab.task import attempt


def test_the_last_line_of_a_run_names_its_scale_seed_and_store(main):
    ended = main("reproduce", "toy", "--seed", "4", "--store", "my results", "--no-report")
    assert "attnlab claims --seed 4 --store 'my results'; one claim" in ended.out
    assert "attnlab claims; one claim" in main("reproduce", "toy", "--no-report").out


def test_a_note_about_a_missing_result_names_the_seed(main, filled):
    found = json.loads(main("claims", "toy", "--seed", "7", "--json").out)
    assert {"--seed 7" in entry["note"] for entry in found} == {True}


def test_a_statement_of_one_study_is_named_with_it(main):
    listed = json.loads(main("statements", "--only", "rank/theorem-2", "--json").out)
    assert {each["study"] for each in listed} == {"rank"}


def test_a_package_that_is_not_installed_is_named(main, filled, monkeypatch):
    def without(self, console):
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr("attnlab.cli.query.Query.run", without)
    ended = main("query", "SELECT 1")
    assert ended.code == 2
    assert "needs the package 'duckdb', which is not installed" in ended.err


def test_json_has_no_numbers_that_are_none():
    found = finite({"a": float("inf"), "b": {"c": float("nan"), "d": 1.5}, "e": "inf", "f": None})
    assert found == {"a": None, "b": {"c": None, "d": 1.5}, "e": "inf", "f": None}


def test_the_ledger_is_json_as_others_read_it(main):
    def refuse(word):
        raise ValueError(word)

    text = main("claims", "rank", "--json").out
    assert json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "reason", [MemoryError("4 TiB"), RuntimeError("RESOURCE_EXHAUSTED: Out of memory")]
)
def test_a_cell_that_runs_out_of_memory_is_a_mistake_in_one_sentence(monkeypatch, reason):
    from attnlab.lab.catalog import load_study
    from tests.lab.command_line import STUDIES

    (cell, *_) = load_study("toy", STUDIES).plan("quick", 0).cells.values()

    def fail(cell):
        raise reason

    monkeypatch.setattr("attnlab.lab.task.compute", fail)
    found = attempt(cell)
    assert isinstance(found, Finished)
    assert found.mistake
    assert "ran out of memory, of which" in found.error
