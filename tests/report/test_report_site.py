"""The site: whole, self-contained, escaped, and the same bytes for the same store."""

from __future__ import annotations

import csv
import dataclasses
import errno
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attnlab.drawing.specs import plain
from attnlab.errors import AttnlabError, UserError
from attnlab.files import writer_name
from attnlab.lab.store import Store
from attnlab.report import figures, site
from attnlab.report.site import write_report
from tests.report.conftest import judged

DRAWN = ("heights", "likeness", "beside", "waves")


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.handlers += [name for name in given if name.startswith("on")]
        if "id" in given:
            assert given["id"] not in self.anchors, f"the id {given['id']} is used twice"
            self.anchors.add(given["id"])
        if "href" in given:
            (self.links if tag == "a" else self.loads).append(given["href"])
        if "src" in given:
            self.loads.append(given["src"])


def pages(folder):
    return {path.name: Page(path.read_text()) for path in sorted(folder.glob("*.html"))}


def test_every_link_leads_to_a_file_an_anchor_or_arxiv(report):
    found = pages(report)
    assert set(found) == {"index.html", "garden.html", "ledger.html"}
    for name, page in found.items():
        for link in page.links:
            if link.startswith("https://"):
                assert link.startswith("https://arxiv.org/abs/")
                continue
            file, _, anchor = link.partition("#")
            assert (report / (file or name)).is_file(), link
            if anchor:
                assert anchor in found[file or name].anchors, link


def test_a_page_loads_local_files_only_and_has_no_inline_handlers(report):
    for page in pages(report).values():
        for address in page.loads:
            assert address == "data:," or (report / address).is_file(), address
        assert not page.handlers


def test_pictures_other_than_svg_are_written_when_they_are_asked_for(store, garden, tmp_path):
    out = write_report(store, judged(store, garden), tmp_path / "out").index.parent
    kinds = {path.suffix for path in (out / "figures").iterdir()}
    assert kinds == {".csv", ".json", ".svg"}
    assert "PNG" not in (out / "garden.html").read_text()


def test_every_figure_comes_with_its_five_files(report):
    for name in DRAWN:
        stem = report / "figures" / f"garden-{name}"
        assert stem.with_suffix(".svg").read_text().startswith("<svg")
        assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert stem.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        spec = json.loads(stem.with_suffix(".vl.json").read_text())
        assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
        assert spec["config"]["range"]["category"]


@pytest.mark.parametrize("name", DRAWN)
def test_the_csv_is_the_data_of_the_figure(report, garden, seen, name):
    figure = next(f for f in garden.figures if f.id == name)
    with (report / "figures" / f"garden-{name}.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    expected = [plain(row) for row in figure.data(seen)]
    written = [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]
    assert found == written


def test_a_figure_without_its_cells_says_so_and_how_to_get_it(report):
    html = (report / "garden.html").read_text()
    assert "Not drawn: the store has no result for" in html
    assert "growing(plant=sunflower, water=99.0, seed=0)" in html
    assert "attnlab reproduce garden --scale quick" in html
    assert not list((report / "figures").glob("garden-never*"))


def test_a_statement_is_text_and_never_markup(report):
    for name in ("ledger.html", "garden.html"):
        html = (report / name).read_text()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html
    assert "A note &lt;b&gt;in bold&lt;/b&gt;." in (report / "index.html").read_text()


def test_data_cannot_close_the_script_that_carries_it(store, garden, tmp_path):
    import altair as alt

    first = dataclasses.replace(
        garden.figures[0],
        data=lambda view: [{"x": "</script><b>"}],
        draw=lambda rows: alt.Chart(alt.Data(values=rows)).mark_point().encode(x="x:N"),
    )
    study = dataclasses.replace(garden, figures=(first,), claims=())
    index = write_report(store, judged(store, study), tmp_path / "out").index
    assert "</script><b>" not in (index.parent / "garden.html").read_text()


def test_every_study_has_a_card_and_the_verdicts_are_counted(report, garden):
    html = (report / "index.html").read_text()
    assert html.count('<li class="card">') == 1
    assert garden.title in html
    for words in ("1 holds", "1 corrected", "1 fails", "1 undecided"):
        assert words in html
    ledger = (report / "ledger.html").read_text()
    assert ledger.count('role="row" data-verdict=') == 4


def test_the_front_page_names_what_fails_and_what_was_corrected(report):
    html = (report / "index.html").read_text()
    for claim in ("garden-3", "garden-2"):
        assert f'href="garden.html#claim-{claim}"' in html
    assert "Beans and sunflowers are watered and measured." in html


def test_how_it_was_made_tells_cells_ranges_runs_and_versions(report):
    html = (report / "garden.html").read_text()
    made = html[html.index('id="made"') :]
    for words in (
        "71 cells, of which 70 computed",
        "in 2 runs",
        "in process, part 1",
        "in process, part 2",
        "0 to 7 (8 values)",
        "0.5, 1, 2",
        "bean, sunflower",
        "numpy",
        "version 2",
    ):
        assert words in made, words


def test_the_same_store_gives_the_same_bytes(report, store, garden, tmp_path):
    notes = ["A note <b>in bold</b>."]
    found = judged(store, garden)
    again = write_report(store, found, tmp_path / "b", notes, formats=("png", "pdf")).index.parent
    files = sorted(p.relative_to(report) for p in report.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    for name in files:
        if name.suffix != ".pdf":  # the converter orders a PDF's resources as it likes
            assert (report / name).read_bytes() == (again / name).read_bytes(), name


def test_an_empty_store_still_gives_a_report(garden, tmp_path):
    store = Store(tmp_path / "store")
    index = write_report(store, judged(store, garden), tmp_path / "out").index
    html = (index.parent / "garden.html").read_text()
    assert html.count("Not drawn:") == len(garden.figures)
    assert "71 cells, of which 0 computed" in html


def test_a_report_of_no_study_is_a_page_of_plans(store, tmp_path):
    index = write_report(store, judged(store), tmp_path / "out").index
    assert "No claim has been judged yet" in index.read_text()


def test_a_folder_that_is_not_a_report_is_refused_and_left_alone(store, tmp_path):
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("mine")
    with pytest.raises(UserError, match="something other than a report"):
        write_report(store, judged(store), foreign)
    assert (foreign / "chapter.tex").read_text() == "mine"
    with pytest.raises(UserError, match="is a file"):
        write_report(store, judged(store), foreign / "chapter.tex")
    with pytest.raises(UserError, match="cannot be"):
        write_report(store, judged(store), foreign / "chapter.tex" / "report")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["thesis"]


def test_a_report_replaces_a_report_as_a_whole(store, tmp_path):
    out = tmp_path / "out"
    write_report(store, judged(store), out)
    (out / "stale.html").write_text("old")
    write_report(store, judged(store), out)
    assert not (out / "stale.html").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "last", [".attnlab-report", "assets/theme.js", "figures/garden-heights.csv", "index.html"]
)
def test_a_disk_that_is_full_half_way_leaves_the_old_report_alone(
    store, garden, tmp_path, monkeypatch, last
):
    out = tmp_path / "out"
    write_report(store, judged(store), out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refused = []

    def nearly_full(write):
        def writing(path, *given, **named):
            if path.as_posix().endswith(f"/{last}"):
                refused.append(path)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(path, *given, **named)

        return writing

    with monkeypatch.context() as patch:
        for name in ("write_text", "write_bytes"):
            patch.setattr(Path, name, nearly_full(getattr(Path, name)))
        with pytest.raises(AttnlabError, match="disk is full"):
            write_report(store, judged(store, garden), out)
    assert refused
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_writer_left_is_put_right(store, tmp_path):
    out = tmp_path / "out"
    write_report(store, judged(store), out)
    # Of this machine, by a process that has ended: no process has this number.
    machine = writer_name().partition("-")[0]
    out.rename(tmp_path / f".out.old-{machine}-{2**22 + 1}-a")
    (tmp_path / f".out.new-{machine}-{2**22 + 1}-b").mkdir()
    write_report(store, judged(store), out)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_report_of_the_same_results_is_left_as_it_is(store, garden, tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_report(store, judged(store, garden), out)
    written = {p: p.stat().st_mtime_ns for p in out.rglob("*")}

    def fail(*_):
        raise AssertionError("drawn again")

    with monkeypatch.context() as patch:
        patch.setattr(site.figures, "start_figure", fail)
        assert write_report(store, judged(store, garden), out).index == out / "index.html"
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*")} == written
    (out / "figures" / "garden-heights.svg").unlink()
    write_report(store, judged(store, garden), out)
    assert (out / "figures" / "garden-heights.svg").is_file()


def test_a_picture_is_drawn_again_only_where_its_document_changed(
    store, garden, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    write_report(store, judged(store, garden), out)
    drawn = []
    svg_of = figures.pictures.svg_of
    monkeypatch.setattr(figures.pictures, "svg_of", lambda spec: drawn.append(spec) or svg_of(spec))
    first = dataclasses.replace(garden.figures[0], caption="Another caption.")
    changed = dataclasses.replace(garden, figures=(first, *garden.figures[1:]))
    write_report(store, judged(store, changed), out, ["A new note."])
    assert [spec["description"] for spec in drawn] == ["Another caption."]
    assert "Another caption." in (out / "garden.html").read_text()


@pytest.mark.parametrize("part", ["data", "draw"])
def test_a_figure_that_cannot_be_drawn_is_named_and_stops_no_other(store, garden, tmp_path, part):
    def broken(given):
        raise ZeroDivisionError("by nought")

    bad = dataclasses.replace(garden.figures[0], **{part: broken})
    study = dataclasses.replace(garden, figures=(bad, *garden.figures[1:]))
    written = write_report(store, judged(store, study), tmp_path / "out")
    index, (fault,) = written.index, written.faults
    assert fault.startswith("Figure 'heights' of study 'garden' could not be drawn: ZeroDivision")
    assert "by nought (test_report_site.py:" in fault
    html = (index.parent / "garden.html").read_text()
    assert "Not drawn: <code>ZeroDivisionError: by nought" in html
    assert (index.parent / "figures" / "garden-likeness.svg").is_file()
    again = write_report(store, judged(store, garden), tmp_path / "out").index
    assert (again.parent / "figures" / "garden-heights.svg").is_file()


def test_names_that_would_overwrite_a_page_are_refused(store, garden, tmp_path):
    with pytest.raises(UserError, match="cannot be named 'index'"):
        write_report(
            store, judged(store, dataclasses.replace(garden, name="index")), tmp_path / "o"
        )
    with pytest.raises(UserError, match="given twice"):
        write_report(store, judged(store, garden, garden), tmp_path / "o")
    twice = dataclasses.replace(garden, figures=garden.figures[:1] * 2)
    with pytest.raises(UserError, match="two figures with the same id"):
        write_report(store, judged(store, twice), tmp_path / "o")


def test_importing_the_package_is_nearly_free():
    import subprocess

    code = (
        "import attnlab.report, sys; print([m for m in sys.modules if m.split('.')[0] in sys.argv])"
    )
    heavy = ["altair", "vl_convert", "jinja2", "rich", "numpy", "pyarrow"]
    found = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_short_labels_stand_upright_and_long_ones_turn(report):
    spec = json.loads((report / "figures" / "garden-likeness.vl.json").read_text())
    assert spec["config"]["axisXDiscrete"]["labelAngle"] == 0
    other = json.loads((report / "figures" / "garden-heights.vl.json").read_text())
    assert "axisXDiscrete" not in other["config"]


def test_the_script_of_the_figures_is_one_classic_script(report):
    script = (report / "assets" / "vega.js").read_text()
    assert "window.vegaEmbed=" in script
    assert not re.search(r"(^|;)\s*(import|export)\s*[{*]", script)
