"""The examples of the gallery run, and each leaves a picture of its own."""

import importlib.util
import re

import altair as alt
import pytest

from tests.docs.markdown_pages import ROOT

_spec = importlib.util.spec_from_file_location("gallery_page", ROOT / "docs" / "gallery_page.py")
assert _spec is not None
assert _spec.loader is not None
gallery_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(gallery_page)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page and the folder of its pictures, made as Sphinx makes them."""
    images = tmp_path_factory.mktemp("images")
    text = (gallery_page.FOLDER / "index.md").read_text(encoding="utf-8")
    return gallery_page.with_examples(text, images), images


def test_every_script_is_on_the_page_once_with_a_thumbnail(page):
    text, images = page
    scripts = {path.stem for path in gallery_page.FOLDER.glob("*.py")}
    assert set(gallery_page.ORDER) == scripts
    assert len(gallery_page.ORDER) == len(scripts) == 12
    for each in gallery_page.examples():
        anchor = each.name.replace("_", "-")
        assert text.count(f'href="#{anchor}"') == 1
        assert text.count(f"({anchor})=\n## {each.title}\n") == 1
        assert text.count(f"../_images/gallery-{anchor}.svg") == 2
        assert each.about.endswith((".", "?"))
        assert each.code in text
    assert len(list(images.iterdir())) == 12


def test_every_example_draws_marks_and_no_two_draw_the_same(page):
    pictures = [path.read_text(encoding="utf-8") for path in page[1].iterdir()]
    assert len(set(pictures)) == 12
    for svg in pictures:
        marks = re.findall(r'class="mark-(\w+) role-mark', svg)
        assert marks
        assert "NaN" not in svg
        assert len(svg) < 100_000


def test_an_example_runs_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left = gallery_page.Example.read("checkpoint_ranks").run()
    assert left["reading"].heads
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_a_chart_without_a_network():
    chart = gallery_page.Example.read("least_angle").run()["chart"]
    with alt.renderers.enable("svg"):
        shown = chart._repr_mimebundle_(None, None)
    assert shown["image/svg+xml"].startswith("<svg")
