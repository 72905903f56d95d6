"""A study's page as an article: what stands where, and what is said only while it is true."""

from __future__ import annotations

import dataclasses
import importlib
import re

import pytest

from attnlab.lab.catalog import load_studies, load_study
from attnlab.lab.ledger import Ledger, Shipped
from attnlab.lab.store import Store
from attnlab.lab.study import Statement
from attnlab.report.mathml import mathml
from attnlab.report.site import write_report
from attnlab.report.text import rendered
from tests.report.conftest import STUDIES, judged


@pytest.fixture(scope="module")
def orchard():
    return load_study("orchard", STUDIES)


@pytest.fixture(scope="module")
def filled(orchard, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("orchard") / "store")
    importlib.import_module("attnlab_study_orchard").fill(store)
    return store


@pytest.fixture(scope="module")
def page(orchard, filled, tmp_path_factory):
    out = tmp_path_factory.mktemp("article") / "site"
    written = write_report(filled, judged(filled, orchard), out)
    assert written.faults == []
    return (out / "orchard.html").read_text()


def test_statements_stand_in_the_papers_order(page, orchard):
    found = re.findall(r'class="block[^"]*" id="statement-(s-\d+)"', page)
    assert found == [each.id for each in orchard.statements]


def test_each_claim_and_figure_stands_once_with_the_statement_it_is_about(page, orchard):
    for claim in orchard.claims:
        if int(claim.id.split("-")[1]) % 10 != 9:
            assert page.count(f'id="claim-{claim.id}"') == 1
    blocks = dict(
        re.findall(
            r'<section class="block" id="(statement-s-\d+)">(.*?)</section>', page, re.DOTALL
        )
    )
    assert 'id="figure-plot-3"' in blocks["statement-s-3"]
    assert (
        "<figure"
        not in blocks["statement-s-0"].replace('id="figure-plot-0"', "", 1).split("</figure>")[-1]
    )
    assert 'href="#claim-claim-3"' in blocks["statement-s-0"]


def test_what_was_found_is_said_only_while_the_ledger_agrees(page):
    assert "Tree 2 does not grow." in page
    assert "This is not what was found." not in page
    assert "Of a claim that does not exist." not in page


def test_mathematics_is_rendered_and_a_table_is_a_table(page):
    assert "<munder" not in page
    assert "<msubsup><mo>∑</mo>" in page
    assert "$" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert '<table class="grid">' in page
    assert '<td class="bad"><span class="ours"' in page
    assert '<td class="none">–</td>' in page


def test_a_study_without_statements_is_told_claim_by_claim(orchard, filled, tmp_path):
    bare = dataclasses.replace(orchard, statements=())
    write_report(filled, judged(filled, bare), tmp_path / "out")
    html = (tmp_path / "out" / "orchard.html").read_text()
    assert html.count('class="block"') == len(orchard.claims) + 1  # and a figure that none names


def test_a_figure_without_rows_says_so_and_is_no_fault(orchard, filled, tmp_path):
    first = dataclasses.replace(orchard.figures[0], data=lambda view: [])
    study = dataclasses.replace(orchard, figures=(first, *orchard.figures[1:]))
    written = write_report(filled, judged(filled, study), tmp_path / "out")
    assert written.faults == []
    html = (tmp_path / "out" / "orchard.html").read_text()
    assert html.count("this scale has nothing to show in it") == 1


def test_a_statement_may_name_a_claim_twice(orchard, filled, tmp_path):
    twice = Statement("s-x", "Appendix", "sentence", "Again.", ("claim-1",), beside=("claim-1",))
    study = dataclasses.replace(orchard, statements=(*orchard.statements, twice))
    write_report(filled, judged(filled, study), tmp_path / "out")
    html = (tmp_path / "out" / "orchard.html").read_text()
    assert html.count('id="claim-claim-1"') == 1


@pytest.mark.parametrize(
    ("tex", "expected"),
    {
        "x^2": "<msup><mi>x</mi><mn>2</mn></msup>",
        "x_i^2": "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>",
        r"\frac{1}{n}": "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>n</mi></mrow></mfrac>",
        r"\mathbb{R}^{d \times r}": "<msup><mi>ℝ</mi><mrow><mi>d</mi><mo>×</mo><mi>r</mi></mrow>",
        r"\text{a < b}": "<mtext>a &lt; b</mtext>",
        r"\left( x \right)": "<mrow><mo>(</mo><mrow><mi>x</mi></mrow><mo>)</mo></mrow>",
    }.items(),
)
def test_tex_becomes_mathml(tex, expected):
    assert expected in mathml(tex)


@pytest.mark.parametrize("tex", [r"\nosuch", "{x", "x^", "x}", r"\left( x", "x_1_2", r"\frac{1}"])
def test_tex_that_is_not_rendered_is_refused_and_stays_as_it_is_in_a_text(tex):
    with pytest.raises(ValueError, match=r"."):
        mathml(tex)
    assert str(rendered(f"a ${tex}$ b")).startswith("a ")


def test_indices_and_powers_of_plain_texts_are_set_and_all_else_is_escaped():
    text = str(rendered("F_lin(n^2.5) of `random_run` <b> & (1 − e)^m"))
    assert text == (
        "<i>F</i><sub>lin</sub>(n<sup>2.5</sup>) of <code>random_run</code> &lt;b&gt; &amp; "
        "(1 − e)<sup>m</sup>"
    )


def test_stars_and_powers_with_brackets_inside_are_set():
    text = str(rendered("σ_* and c_r^*; C 2^(d − (r+1) log(2d/r)) heads, f(x)^{-1}"))
    assert text == (
        "<i>σ</i><sub>*</sub> and <i>c</i><sub>r</sub><sup>*</sup>; "
        "C 2<sup>d − (r+1) log(2d/r)</sup> heads, f(x)<sup>-1</sup>"
    )


def test_the_front_page_says_what_shipped_runs_found(orchard, filled, tmp_path):
    (own,) = judged(filled, orchard)
    first, second, third, *rest = own.ledger
    runs = [("paper", "holds"), ("paper", "fails"), ("standard", "holds")]
    shipped = [
        dataclasses.replace(
            entry,
            shipped=Shipped(
                dataclasses.replace(entry, scale=scale, verdict=verdict),
                "Intel(R) Xeon(R) Processor",
                "2026-11-16",
                3,
                3,
            ),
        )
        for entry, (scale, verdict) in zip((first, second, third), runs, strict=True)
    ]
    told = dataclasses.replace(own, ledger=Ledger([*shipped, *rest]))
    page = write_report(filled, [told], tmp_path / "site").index.read_text()
    found = re.findall(r'<a href="ledger.html">Shipped</a> (.*?)</p>', page)
    assert found == [
        "at paper scale: 1 hold, 1 fail.",
        "at standard scale: 1 hold.",
    ]


@pytest.mark.parametrize("study", load_studies(()), ids=lambda study: study.name)
def test_every_paper_has_an_introduction_findings_and_a_glossary_that_render(study):
    article = study.article
    assert 120 <= len(article.introduction.split()) <= 220
    known = {claim.id for claim in study.claims}
    told = [each for each in article.findings if known.issuperset(each.claims)]
    assert len(told) >= 3
    assert article.picture in {figure.id for figure in study.figures}
    assert set(article.tables) <= {figure.id for figure in study.figures}
    words = [article.introduction, *(each.text for each in article.findings)]
    for text in [*words, *(part for pair in article.glossary for part in pair)]:
        for tex in re.findall(r"\$([^$]+)\$", text):
            mathml(tex)
