"""attnlab as a process and, for what a process would only slow down, as a call."""

import shlex
import shutil
import signal
import warnings
from typing import NamedTuple

import pytest

from attnlab.cli.main import run_line
from tests.lab.command_line import STUDIES, Attnlab, snapshot


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def attnlab(tmp_path):
    return Attnlab(tmp_path)


@pytest.fixture
def main(tmp_path, monkeypatch, capsys):
    """`attnlab ...` in this process, in a folder of its own, with the toy study."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNLAB_STUDIES", str(STUDIES))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("ATTNLAB_STORE", raising=False)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    before = signal.getsignal(signal.SIGTERM)

    def run(*arguments):
        capsys.readouterr()
        try:
            code = run_line([str(each) for each in arguments])
        except SystemExit as stop:  # the parser ends --help so
            code = stop.code or 0
        return Ended(code, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def toy_store(tmp_path_factory):
    """A folder with a filled store, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    run = Attnlab(folder)("reproduce", "toy", "--no-report")
    assert run.returncode == 0, run.stderr
    return folder / "attnlab-store"


@pytest.fixture
def filled(toy_store, tmp_path):
    """The default store of this folder, filled with the toy study at scale quick."""
    return shutil.copytree(toy_store, tmp_path / "attnlab-store")


@pytest.fixture
def refused(main, tmp_path):
    """What was typed ends with code 2 and one sentence with the given pieces; no file changes."""

    def check(typed, pieces):
        before = snapshot(tmp_path)
        ended = main(*shlex.split(typed))
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert ended.err.startswith("attnlab: ")
        for piece in pieces:
            assert piece in ended.err
        assert snapshot(tmp_path) == before
        return ended

    return check
