import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import AttnlabError, UserError
from attnlab.files import writer_name
from attnlab.lab.part import compute
from attnlab.lab.store import CHEAP, MARKER, Store, StoreWarning


@pytest.fixture
def cell(toy):
    kind = toy.kind("toy_square")
    return kind(kind.config(x=7))


@pytest.fixture
def heavy(toy):
    kind = toy.kind("toy_vector")
    return kind(kind.config(length=5, kept=0))


@pytest.fixture
def filled(tmp_path, cell, heavy):
    store = Store(tmp_path / "store")
    for each in (cell, heavy):
        store.add(each, compute(each))
    return store


def part_of(store, cell, section="parts"):
    (path,) = (store.root / section / cell.kind.name).glob(f"{cell.key}-*")
    return path


def test_rows_and_weights_come_back_as_they_were(filled, cell, heavy):
    again = Store(filled.root)
    assert again.rows(cell) == [cell.kind.run(cell.config)]
    outcome = heavy.kind.run(heavy.config)
    assert again.rows(heavy) == list(outcome.rows)
    np.testing.assert_array_equal(again.weights(heavy)["matrix"], outcome.weights["matrix"])
    assert again.weights(cell) is None
    assert set(again.holding([cell, heavy])) == {cell.key, heavy.key}


def test_nothing_is_held_that_was_not_added(filled, toy):
    kind = toy.kind("toy_square")
    absent = kind(kind.config(x=8))
    assert filled.rows(absent) is None
    assert filled.holding([absent]) == {}


def test_computing_twice_gives_the_same_bytes(cell, heavy):
    for each in (cell, heavy):
        first, second = compute(each), compute(each)
        assert (first.part, first.weights) == (second.part, second.weights)


def truncate(path: Path):
    path.write_bytes(path.read_bytes()[:-20])


def flip_a_bit(path: Path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def replace_by_foreign(path: Path):
    path.write_text("not parquet at all")


def empty(path: Path):
    path.write_bytes(b"")


DAMAGE = [truncate, flip_a_bit, replace_by_foreign, empty]
ASK = {
    "rows": lambda store, cell: store.rows(cell),
    "holding": lambda store, cell: store.holding([cell]),
    "parts": lambda store, cell: store.parts(cell.kind.name),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("section", ["parts", "weights"])
@pytest.mark.parametrize("ask", list(ASK))
def test_a_damaged_file_is_named_set_aside_and_not_used(filled, heavy, damage, section, ask):
    path = part_of(filled, heavy, section)
    damage(path)
    store = Store(filled.root)
    part = part_of(filled, heavy)
    with pytest.warns(StoreWarning, match=part.name):
        found = ASK[ask](store, heavy)
    assert not found
    assert not part.exists()
    assert [p for p in (store.root / "aside").iterdir() if p.name.startswith(heavy.key)]
    store.add(heavy, compute(heavy))
    assert Store(filled.root).rows(heavy) == list(heavy.kind.run(heavy.config).rows)


def test_every_single_bit_flip_is_noticed(filled, cell):
    path = part_of(filled, cell)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        data = bytearray(whole)
        data[position] ^= 1 << (position % 8)
        path.write_bytes(bytes(data))
        with pytest.warns(StoreWarning, match="bytes are not those"):
            assert Store(filled.root).rows(cell) is None


def test_a_whole_part_under_the_wrong_key_is_refused(filled, cell, toy):
    other = cell.kind(cell.kind.config(x=8))
    path = part_of(filled, cell)
    path.rename(path.with_name(path.name.replace(cell.key, other.key)))
    with pytest.warns(StoreWarning, match="answers another question"):
        assert Store(filled.root).rows(other) is None


def test_a_foreign_name_is_set_aside(filled, cell):
    (filled.root / "parts" / cell.kind.name / "notes.txt").write_text("mine")
    with pytest.warns(StoreWarning, match=r"notes\.txt"):
        assert Store(filled.root).rows(cell) is not None
    assert any(p.name.startswith("notes.txt") for p in (filled.root / "aside").iterdir())


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_full_disk_leaves_whole_files_or_none(filled, toy, monkeypatch, call):
    kind = toy.kind("toy_vector")
    fresh = kind(kind.config(length=9, kept=0))
    finished = replace(compute(fresh), seconds=1.0)
    before = sorted(p for p in filled.root.rglob("*") if p.is_file())

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if call == "write":
            opened = Path.open

            def open_on_full_disk(path, *arguments, **options):
                file = opened(path, *arguments, **options)
                file.close()
                return full()

            patch.setattr(Path, "open", open_on_full_disk)
        elif call == "fsync":
            patch.setattr(os, "fsync", full)
        else:
            patch.setattr(Path, "rename", full)
        with pytest.raises(AttnlabError, match=r"disk is full.*whole"):
            filled.add(fresh, finished)
    assert sorted(p for p in filled.root.rglob("*") if p.is_file()) == before
    filled.add(fresh, finished)
    assert filled.rows(fresh) is not None


@pytest.mark.parametrize(("seconds", "flushed"), [(CHEAP / 2, 0), (CHEAP, 2), (3600.0, 2)])
def test_only_what_takes_less_time_than_a_flush_is_not_flushed(
    filled, toy, monkeypatch, seconds, flushed
):
    kind, files = toy.kind("toy_vector"), []
    fresh = kind(kind.config(length=9, kept=0))
    monkeypatch.setattr(os, "fsync", files.append)
    filled.add(fresh, replace(compute(fresh), seconds=seconds))
    assert len(files) == flushed  # the weights and the part
    assert filled.rows(fresh) is not None


def test_a_dead_writers_temporary_file_is_cleared_and_a_living_ones_kept(tmp_path):
    import subprocess
    import sys

    store = Store(tmp_path / "store")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    machine = writer_name().partition("-")[0]
    dead = store.root / "tmp" / f"{machine}-{gone.pid}-0"
    living = store.root / "tmp" / f"{machine}-{os.getpid()}-0"
    elsewhere = store.root / "tmp" / f"0123456789ab-{gone.pid}-0"
    old = store.root / "tmp" / f"0123456789ab-{gone.pid}-1"
    foreign = store.root / "tmp" / "notes.txt"
    for path in (dead, living, elsewhere, old, foreign):
        path.write_bytes(b"half a part")
    os.utime(old, (0, 0))
    os.utime(foreign, (0, 0))
    Store(store.root)
    kept = [path.exists() for path in (dead, living, elsewhere, old, foreign)]
    assert kept == [False, True, True, False, True]


def test_a_store_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(UserError, match="is a file; give a directory"):
        Store(path)
    assert path.read_text() == "mine"


def test_a_directory_of_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="holds other things"):
        Store(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="cannot be used"):
        Store(tmp_path / "file" / "store")


def test_an_unwritable_store_is_refused(tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(UserError, match=r"cannot be used \(not writable\)"):
        Store(store.root)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 99}'])
def test_a_store_of_another_format_is_refused(tmp_path, text):
    store = Store(tmp_path / "store")
    (store.root / MARKER).write_text(text)
    with pytest.raises(UserError, match=r"damaged|format 99"):
        Store(store.root)


def test_reading_never_creates_a_store(tmp_path):
    with pytest.raises(UserError, match="There is no store at"):
        Store(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_store_can_be_moved(filled, cell, tmp_path):
    moved = tmp_path / "elsewhere" / "store"
    shutil.copytree(filled.root, moved)
    assert Store(moved, create=False).rows(cell) == filled.rows(cell)


def test_the_part_carries_its_question_and_no_time_or_machine(filled, cell):
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(part_of(filled, cell))
    assert json.loads(metadata.metadata[b"attnlab"])["config"] == {"x": 7, "shift": 0.0}
    assert set(metadata.metadata) == {b"attnlab"}


def test_a_store_that_another_process_makes_meanwhile_is_recognised(tmp_path, monkeypatch):
    root = tmp_path / "store"
    root.mkdir()
    listed = Path.iterdir

    def meanwhile(path):
        if path == root:
            (root / MARKER).write_text('{"format": 1}\n')
            (root / "tmp").mkdir(exist_ok=True)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", meanwhile)
    assert Store(root).kinds() == []
