"""A study's page of the documentation in the report: words, code, mathematics, and live links."""

from __future__ import annotations

import dataclasses
import re

import pytest

from attnlab.lab.catalog import load_study
from attnlab.report.documentation import as_html, source_of
from attnlab.report.site import write_report
from tests.report.conftest import STUDIES, judged

PAPERS = ("linear", "random", "rank", "separation")
PAGE = """---
kernelspec: python3
---

# Beans

Of $n$ beans $\\frac12$ grow; see [rank](rank.md), [reading](reading.md) and
[a paper](https://arxiv.org/abs/2402.14180). <b>Raw</b> ![a bean](bean.png)

```console
$ attnlab run beans --price 3$
```

$$\\sum_i x_i \\unknown$$
"""


def test_markdown_becomes_a_page_whose_links_are_alive():
    found = str(as_html(PAGE, PAPERS))
    assert "kernelspec" not in found
    assert "<h1>Beans</h1>" in found
    assert "<math><mrow><mi>n</mi></mrow></math>" in found
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in found
    assert "$ attnlab run beans --price 3$" in found
    assert "<code>\\sum_i x_i \\unknown</code>" in found
    assert re.findall(r'href="([^"]*)"', found) == [
        "docs-rank.html",
        "https://arxiv.org/abs/2402.14180",
    ]
    assert "&lt;b&gt;Raw" in found
    assert "<img" not in found


def test_a_formula_on_a_line_of_its_own_scrolls_and_one_in_a_sentence_does_not():
    found = str(as_html("Of $n$ beans\n\n$$\\sum_i x_i$$\n\ngrow.", PAPERS))
    assert found.count("<math") == 2
    assert '<span class="formula" tabindex="0"><math display="block">' in found
    assert found.count('class="formula"') == 1


@pytest.mark.parametrize("name", PAPERS)
def test_the_page_of_every_paper_is_found_and_all_its_mathematics_is_rendered(name):
    path = source_of(load_study(name))
    assert path is not None
    found = str(as_html(path.read_text(encoding="utf-8"), PAPERS))
    assert found.count("<math>") > 50
    assert "<code>\\" not in found
    assert "\ue000" not in found


def test_a_study_without_sources_names_its_page_and_links_nothing(store, garden, tmp_path):
    article = dataclasses.replace(garden.article, page="nowhere.md")
    away = dataclasses.replace(garden, article=article)
    assert source_of(away) is None
    assert source_of(dataclasses.replace(garden, article=dataclasses.replace(
        article, page="../garden.md"))) is None  # fmt: skip
    written = write_report(store, judged(store, away), tmp_path / "site")
    assert "docs/nowhere.md" in (written.index.parent / "garden.html").read_text()
    assert not list(written.index.parent.glob("docs-*"))


def test_a_study_links_its_page(store, tmp_path, monkeypatch):
    garden = load_study("garden", STUDIES)
    page = tmp_path / "garden.md"
    page.write_text(PAGE)
    monkeypatch.setattr("attnlab.report.documentation.source_of", lambda study: page)
    written = write_report(store, judged(store, garden), tmp_path / "site")
    assert 'href="docs-garden.html"' in (written.index.parent / "garden.html").read_text()
    assert "<h1>Beans</h1>" in (written.index.parent / "docs-garden.html").read_text()
