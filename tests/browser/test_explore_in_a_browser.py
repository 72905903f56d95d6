"""The explorers in a browser: a knob moves, by mouse or keyboard, and the figure follows."""

from __future__ import annotations

import threading

import pytest

from attnlab.lab.catalog import load_study
from attnlab.report.explore import make_explore_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    own = tmp_path_factory.mktemp("explore")
    with make_explore_server([load_study("separation")], None, own) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"{server.address}explore.html"
        server.shutdown()
        thread.join()


def curves(page):
    page.wait_for_selector(".explorer .chart svg")
    return page.locator(".explorer .chart svg").inner_html()


def test_the_figure_follows_a_knob_and_a_link_restores_it(visit, address):
    page = visit(address)
    page.wait_for_selector(".explorer[data-drawn]")
    before = curves(page)
    knob = page.locator("input[name=d]")
    knob.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.explorer').dataset.drawn > 1")
    assert page.locator("input[name=d] + output").inner_text() == "24"
    after = curves(page)
    assert after != before
    page.locator("select[name=x]").select_option("ones")
    page.wait_for_function("document.querySelector('.explorer').dataset.drawn > 2")
    link = page.locator("[data-link=here]").get_attribute("href")
    again = visit(link)
    again.wait_for_selector(".explorer[data-drawn]")
    assert again.locator("input[name=d]").input_value() == "24"
    assert again.locator("select[name=x]").input_value() == "ones"
    assert "d=24" in again.locator("[data-link=csv]").get_attribute("href")


def test_explorers_fit_a_phone(visit, address):
    page = visit(address, viewport={"width": 390, "height": 800}, color_scheme="dark")
    page.wait_for_selector(".explorer[data-drawn]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
