"""Who made a result is told beside the parts, never in them, and survives a cut line."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from attnlab.errors import AttnlabError
from attnlab.lab.engine import InProcess
from attnlab.lab.provenance import RunLog, machine, read_runs, versions
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store

QUIET = Console(quiet=True)


@pytest.fixture
def filled(tmp_path, toy):
    store = Store(tmp_path / "store")
    run_plans([toy.plan("quick", 0)], store, InProcess(), QUIET)
    return store


def test_a_run_tells_its_command_machine_and_versions(attnlab):
    attnlab("reproduce", "toy", "--no-report")
    ((header, cells),) = read_runs(attnlab.store / "runs")
    assert header["command"] == "attnlab reproduce toy --no-report"
    assert header["engine"] == "in-process"
    assert header["machine"] == machine()
    assert set(header["machine"]) == {"system", "processor", "instructions", "cores"}
    assert header["versions"] == versions()
    assert {"attnlab", "python", "numpy", "pyarrow", "duckdb"} <= set(header["versions"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}", header["started"])
    assert len(cells) == 32


def test_every_computed_cell_is_named_with_its_seconds(filled, toy):
    ((_, cells),) = read_runs(filled.root / "runs")
    assert {cell["key"] for cell in cells} == {cell.key for cell in toy.cells("quick", 0)}
    assert all(set(cell) == {"key", "kind", "seconds", "device"} for cell in cells)
    assert all(0 <= cell["seconds"] < 10 for cell in cells)


def test_a_run_that_computes_nothing_leaves_nothing(filled, toy):
    before = sorted((filled.root / "runs").iterdir())
    (summary,) = run_plans([toy.plan("quick", 0)], filled, InProcess(), QUIET)
    assert summary.computed == 0
    assert sorted((filled.root / "runs").iterdir()) == before
    log = RunLog(filled.root / "runs", "in-process")
    log.close()
    assert sorted((filled.root / "runs").iterdir()) == before


def test_a_second_run_has_a_file_of_its_own(filled, toy):
    run_plans([toy.plan("quick", 1)], filled, InProcess(), QUIET)
    runs = list(read_runs(filled.root / "runs"))
    assert sorted(len(cells) for _, cells in runs) == [30, 32]


def test_a_line_cut_short_by_a_kill_is_skipped(filled):
    (path,) = (filled.root / "runs").iterdir()
    whole = path.read_bytes()
    for cut in range(1, 60):
        path.write_bytes(whole[:-cut])
        ((header, cells),) = read_runs(filled.root / "runs")
        assert "versions" in header
        assert len(cells) == (32 if cut == 1 else 31)


def test_a_file_cut_within_its_first_line_is_skipped(filled):
    (path,) = (filled.root / "runs").iterdir()
    whole = path.read_bytes()
    for length in (0, 1, 50, whole.index(b"\n") - 1):
        path.write_bytes(whole[:length])
        assert list(read_runs(filled.root / "runs")) == []


@pytest.mark.parametrize("garbage", [b"3\n", b"[]\n", b"null\n", b'"key"\n', b"\xff\xfe\x00\n"])
def test_garbage_in_a_run_file_is_skipped(filled, garbage):
    (path,) = (filled.root / "runs").iterdir()
    path.write_bytes(garbage + path.read_bytes() + garbage)
    ((_, cells),) = read_runs(filled.root / "runs")
    assert len(cells) == 32


def test_no_runs_at_all_is_an_empty_account(tmp_path):
    assert list(read_runs(tmp_path / "nowhere")) == []


def test_the_parts_hold_none_of_it(filled):
    (path,) = (filled.root / "runs").iterdir()
    header = json.loads(path.read_text().splitlines()[0])
    told = [header["machine"]["processor"], header["machine"]["system"], header["started"]]
    told += ["command", "engine", "seconds", "versions", header["started"][:10]]
    files = [p for s in ("parts", "weights") for p in (filled.root / s).rglob("*") if p.is_file()]
    assert len(files) == 34
    for file in files:
        assert not [text for text in told if text.encode() in file.read_bytes()]


def test_a_full_disk_is_one_sentence(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    log = RunLog(tmp_path, "in-process")
    log._path = Path("/dev/full")
    with pytest.raises(AttnlabError, match=r"Cannot write /dev/full: No space left.*whole"):
        log.finished("key", "kind", 0.1)
    log.close()
