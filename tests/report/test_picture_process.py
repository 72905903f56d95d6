"""Pictures drawn by a process beside this one: the same bytes, and nothing lost with it."""

from __future__ import annotations

import dataclasses

import pytest

from attnlab.drawing import pictures
from attnlab.report import picture_process
from attnlab.report.picture_process import Drawer, open_drawer
from attnlab.report.site import write_report
from tests.report.conftest import judged

SPEC = {
    "data": {"values": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
    "mark": "line",
    "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y"}},
}


@pytest.fixture
def two_cores(monkeypatch):
    """Two cores, whatever this machine has, and a process even for a few pictures."""
    monkeypatch.setattr(picture_process, "_cores", lambda: 2)
    monkeypatch.setattr(picture_process, "MANY", 1)


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pdf"
    }


def test_a_process_beside_this_one_writes_the_same_bytes(
    store, garden, report, tmp_path, two_cores, monkeypatch
):
    def fail(*_):
        raise AssertionError("drawn in this process")

    for name in ("svg_of", "vega_bundle"):
        monkeypatch.setattr(pictures, name, fail)
    found = judged(store, garden)
    notes = ["A note <b>in bold</b>."]
    beside = write_report(store, found, tmp_path / "out", notes, formats=("png", "pdf"))
    assert files(beside.index.parent) == files(report)


def test_what_the_process_does_not_answer_is_drawn_here(two_cores):
    with open_drawer() as drawer:
        drawn = drawer.svg(SPEC)
        assert drawer.process
        drawer.process.kill()
        drawer.process.wait()
        assert drawer.svg(SPEC) == drawn == pictures.svg_of(SPEC)


def test_a_process_that_cannot_be_started_is_not_needed(two_cores, monkeypatch):
    monkeypatch.setattr(picture_process.sys, "executable", "/no/such/python")
    with open_drawer() as drawer:
        assert drawer.svg(SPEC) == pictures.svg_of(SPEC)


def test_a_fault_is_described_as_in_one_process(store, garden, tmp_path, two_cores):
    first = dataclasses.replace(garden.figures[0], draw=lambda rows: Bad())
    study = dataclasses.replace(garden, figures=(first,), claims=())
    (beside,) = write_report(store, judged(store, study), tmp_path / "a").faults
    assert beside.startswith("Figure 'heights' of study 'garden' could not be drawn: ValueError")


def test_the_process_ends_with_the_report(two_cores):
    with open_drawer() as drawer:
        drawer.svg(SPEC)
        process = drawer.process
    assert process
    assert process.poll() is not None


def test_one_core_or_few_pictures_start_no_process(monkeypatch):
    monkeypatch.setattr(picture_process, "_cores", lambda: 1)
    with open_drawer(1000) as alone:
        assert not alone.apart
    monkeypatch.setattr(picture_process, "_cores", lambda: 2)
    with open_drawer(picture_process.MANY - 1) as few, open_drawer(picture_process.MANY) as many:
        assert isinstance(few, Drawer)
        assert (few.apart, many.apart) == (False, True)


class Bad:
    """A chart that Vega-Lite does not draw."""

    def to_dict(self, validate):
        return {"mark": "no such mark"}
