"""SQL over the store: one table a kind, the stored values and types, nothing damaged."""

import csv
import dataclasses
import io
import json
from dataclasses import dataclass

import pytest
from rich.console import Console

import attnlab
from attnlab.cli.query import Query
from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import CellKind
from attnlab.lab.part import compute, digest
from attnlab.lab.query import query, tables
from attnlab.lab.store import Store, StoreWarning


@dataclass(frozen=True)
class Config:
    n: int
    a: float = 0.1
    name: str = "x"
    flag: bool = True


@dataclass(frozen=True)
class Row:
    value: float | None
    count: int | None
    note: str | None


def run(config: Config) -> Row:
    if config.n % 2:
        return Row(None, None, None)
    return Row(config.a * config.n / 3, config.n**2, f'it\'s, "{config.n}"\nß')


every = CellKind("every", Config, Row, run)


def fill(store, numbers):
    cells = [every(Config(n, a=0.1 * n, flag=n > 2)) for n in numbers]
    for cell in cells:
        store.add(cell, compute(cell))
    return cells


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "store")
    fill(found, range(4))
    return found


def test_there_is_one_table_a_kind_with_the_declared_types(store, toy):
    cell = toy.kind("toy_vector")(toy.kind("toy_vector").config(5, 0))
    store.add(cell, compute(cell))
    answer = tables(Store(store.root))
    assert answer.columns == ["table", "rows", "columns"]
    assert answer.rows == [
        (
            "every",
            4,
            "n BIGINT, a DOUBLE, name VARCHAR, flag BOOLEAN, "
            "value DOUBLE, count BIGINT, note VARCHAR, cell_version BIGINT",
        ),
        (
            "toy_vector",
            5,
            "length BIGINT, kept BIGINT, value DOUBLE, index BIGINT, cell_version BIGINT",
        ),
    ]


def test_values_come_back_to_the_last_bit(store):
    answer = query(store, "SELECT n, a, flag, value, count, note FROM every ORDER BY n")
    expected = [run(Config(n, 0.1 * n)) for n in range(4)]
    assert answer.rows == [
        (n, 0.1 * n, n > 2, row.value, row.count, row.note) for n, row in enumerate(expected)
    ]


@pytest.mark.parametrize("numbers", [[1, 3], [1], [0, 1], [1, 0]])
def test_a_column_that_is_empty_in_some_parts_keeps_its_type(tmp_path, numbers):
    store = Store(tmp_path / "store")
    fill(store, numbers)
    answer = query(store, "SELECT typeof(value), typeof(count), typeof(note), value FROM every")
    assert {row[:3] for row in answer.rows} == {("DOUBLE", "BIGINT", "VARCHAR")}
    assert [row[3] for row in answer.rows].count(None) == sum(n % 2 for n in numbers)


def asked(store, sql, form, capsys):
    assert Query(store.root, sql=sql, format=form).run(Console()) == 0
    return capsys.readouterr().out


def test_json_parses_back_to_the_same_values(store, capsys):
    sql = "SELECT * FROM every ORDER BY n"
    answer = query(store, sql)
    records = json.loads(asked(store, sql, "json", capsys))
    assert [tuple(record.values()) for record in records] == answer.rows
    assert list(records[0]) == list(answer.columns)


def test_csv_parses_back_to_the_same_values(store, capsys):
    sql = "SELECT n, a, value, note FROM every ORDER BY n"
    header, *lines = csv.reader(io.StringIO(asked(store, sql, "csv", capsys), newline=""))
    assert header == ["n", "a", "value", "note"]
    parsed = [
        (int(n), float(a), float(value) if value else None, note or None)
        for n, a, value, note in lines
    ]
    assert parsed == query(store, sql).rows


def test_json_says_null_where_it_has_no_word(store, capsys):
    sql = "SELECT 'nan'::DOUBLE AS a, '-inf'::DOUBLE AS b, 0.5 AS c, [1, 2] AS d"
    found = json.loads(asked(store, sql, "json", capsys))
    assert found == [{"a": None, "b": None, "c": 0.5, "d": [1, 2]}]


def test_two_columns_of_one_name_are_both_kept(store):
    answer = query(store, "SELECT n, -n AS n, n AS n_2 FROM every WHERE n = 3")
    assert list(answer.columns) == ["n", "n_2", "n_2_2"]
    assert answer.rows == [(3, -3, 3)]


def test_a_damaged_part_is_named_and_left_out(store):
    victim = sorted((store.root / "parts" / "every").iterdir())[0]
    victim.write_bytes(victim.read_bytes()[:-30])
    with pytest.warns(StoreWarning, match=victim.name):
        answer = query(Store(store.root), "SELECT count(*) FROM every")
    assert answer.rows == [(3,)]


def test_a_kind_with_nothing_whole_has_no_table(store):
    for path in (store.root / "parts" / "every").iterdir():
        path.write_bytes(b"")
    with pytest.warns(StoreWarning):
        assert tables(Store(store.root)).rows == []


def test_an_empty_store_lists_nothing_and_says_so(tmp_path):
    store = Store(tmp_path / "store")
    assert tables(store).rows == []
    with pytest.raises(UserError, match=r"nosuch.*tables: none yet"):
        query(store, "SELECT * FROM nosuch")


@pytest.mark.parametrize("name", ["it's a store", 'say "store"', "[ab] * ?", "ß%20{a,b}"])
def test_a_store_may_live_under_any_name(tmp_path, name):
    root = tmp_path / name / "the store"
    fill(Store(root), range(3))
    assert query(Store(root), "SELECT sum(n) FROM every").rows == [(3,)]


def test_a_relative_path_with_dots_is_no_obstacle(store, monkeypatch):
    (store.root.parent / "below").mkdir()
    monkeypatch.chdir(store.root.parent / "below")
    assert query(Store("../store"), "SELECT count(*) FROM every").rows == [(4,)]


def test_a_foreign_folder_among_the_parts_is_no_table(store):
    (store.root / "parts" / 'not "a" kind').mkdir()
    assert [row[0] for row in tables(Store(store.root)).rows] == ["every"]


@pytest.mark.parametrize("sql", ["DESCRIBE every", "SUMMARIZE every", "SHOW TABLES", "FROM every;"])
def test_the_short_forms_of_a_question_are_questions(store, sql):
    assert query(store, sql).rows


def test_asking_leaves_no_file_behind(store):
    before = {p: p.read_bytes() for p in store.root.rglob("*") if p.is_file()}
    query(store, "SELECT * FROM every a, every b ORDER BY a.value")
    tables(store)
    assert {p: p.read_bytes() for p in store.root.rglob("*") if p.is_file()} == before


def test_answers_of_an_older_version_can_be_told_from_new_ones(tmp_path, toy):
    store, kind = Store(tmp_path / "store"), toy.kind("toy_square")
    for version in (1, 2):
        cell = dataclasses.replace(kind, version=version)(kind.config(3))
        store.add(cell, compute(cell))
    answer = query(store, "SELECT x, cell_version FROM toy_square ORDER BY cell_version")
    assert answer.rows == [(3, 1), (3, 2)]


def test_a_file_that_is_no_parquet_is_set_aside_even_under_its_true_digest(store):
    (first, *_) = fill(store, [7])
    (path,) = (store.root / "parts" / "every").glob(f"{first.key}-*")
    path.unlink()
    data = b"not a Parquet file"
    path.with_name(f"{first.key}-{digest(data)}.parquet").write_bytes(data)
    again = Store(store.root)
    with pytest.warns(StoreWarning, match="it is not a Parquet file"):
        found = query(again, "SELECT count(*) FROM every")
    assert found.rows == [(4,)]
    assert Store(store.root).holding([first]) == {}


def test_a_damaged_inside_is_one_sentence(store):
    (first, *_) = fill(store, [7])
    (path,) = (store.root / "parts" / "every").glob(f"{first.key}-*")
    path.unlink()
    data = b"PAR1" + bytes(50) + b"PAR1"
    path.with_name(f"{first.key}-{digest(data)}.parquet").write_bytes(data)
    with pytest.raises(AttnlabError, match="The parts of every cannot be read"):
        query(Store(store.root), "SELECT count(*) FROM every")
    with pytest.warns(StoreWarning, match="not a part of attnlab"):
        assert Store(store.root).holding([first]) == {}


def test_an_answer_becomes_a_table_of_arrow_and_of_pandas(store, monkeypatch):
    answer = attnlab.query("SELECT n, a, name, flag, value FROM every ORDER BY n", store.root)
    table = answer.to_arrow()
    assert table.column_names == list(answer.columns)
    assert [tuple(row.values()) for row in table.to_pylist()] == list(answer.rows)
    assert [str(field.type) for field in table.schema][:4] == ["int64", "double", "string", "bool"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs pandas, which is not installed.*to_arrow"):
        answer.to_pandas()
    huge = attnlab.query(f"SELECT {2**100}::HUGEINT AS huge", store.root)
    with pytest.raises(UserError, match=r"'huge' has no type of Arrow.*CAST"):
        huge.to_arrow()


def test_a_notebook_shows_an_answer_as_text(store):
    answer = attnlab.query("SELECT '<b>' AS \"<i>\", range FROM range(99)", store.root)
    shown = answer._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert "and 39 more rows" in shown
