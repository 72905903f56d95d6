"""attnlab as a process and, for what a process would only slow down, as a call."""

import shutil
import signal
import warnings
from typing import NamedTuple

import pytest

from attnlab import cli
from command_line import STUDIES, Attnlab


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
            code = cli._main([str(each) for each in arguments])
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
