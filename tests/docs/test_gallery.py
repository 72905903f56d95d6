"""Examples of the gallery as people run them; `test_docs` builds the page with all pictures."""

import altair as alt

from tests.docs.gallery import gallery_page


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
