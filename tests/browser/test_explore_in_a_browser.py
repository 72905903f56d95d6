"""The explorers in a browser: a knob moves, by mouse or keyboard, and the figure follows."""

from __future__ import annotations

import threading

import pytest

from attnlab.lab.catalog import load_study
from attnlab.report.explore import make_explore_server
from tests.report import test_live

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
    return page.locator(".explorer .chart svg").first.inner_html()


def test_the_figure_follows_a_knob_and_a_link_restores_it(visit, address):
    page = visit(address)
    page.wait_for_selector(".explorer[data-drawn]")
    before = curves(page)
    knob = page.locator("input[name=d]")
    knob.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.explorer').dataset.drawn > 1")
    assert page.locator("input[name=d] + output").inner_text() == "23"
    after = curves(page)
    assert after != before
    page.locator("select[name=x]").first.select_option("ones")
    page.wait_for_function("document.querySelector('.explorer').dataset.drawn > 2")
    page.locator(".explorer").nth(1).locator("select[name=x]").select_option("ones")
    link = page.locator("[data-link=here]").first.get_attribute("href")
    again = visit(link)
    assert again.locator(".explorer").nth(1).locator("select[name=x]").input_value() == "ones"
    again.wait_for_selector(".explorer[data-drawn]")
    assert again.locator("input[name=d]").input_value() == "23"
    assert again.locator("select[name=x]").first.input_value() == "ones"
    assert "d=23" in again.locator("[data-link=csv]").first.get_attribute("href")
    assert "d=23" in again.locator("[data-link=py]").first.get_attribute("href")


def test_explorers_fit_a_phone(visit, address):
    page = visit(address, viewport={"width": 390, "height": 800}, color_scheme="dark")
    page.wait_for_selector(".explorer[data-drawn]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_explorer_is_drawn_within_its_column_when_it_comes_near(visit, address):
    page = visit(address, viewport={"width": 390, "height": 800})
    for explorer in page.locator(".explorer").all():
        explorer.scroll_into_view_if_needed()
        explorer.locator(".chart svg").wait_for()
        width = explorer.locator(".chart svg").bounding_box()["width"]
        assert width <= explorer.locator(".chart").bounding_box()["width"] + 1


def test_the_contents_lead_to_an_explorer_and_the_address_keeps_the_knobs(visit, address):
    page = visit(address)
    page.wait_for_selector(".explorer[data-drawn]")
    before = page.url
    page.locator("[data-jump=separation-map]").click()
    page.wait_for_function("document.activeElement.id === 'separation-map'")
    assert page.url == before
    assert "separation.map.n=200" in before


@pytest.fixture
def walks(tmp_path):
    test_live.gate.clear()
    with make_explore_server([test_live.STUDY], None, tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"{server.address}explore.html"
        test_live.gate.set()
        server.shutdown()
        thread.join()


def test_a_training_is_started_watched_and_stopped(visit, walks):
    page = visit(walks)
    start, stop = page.get_by_role("button", name="Start"), page.get_by_role("button", name="Stop")
    assert stop.is_disabled()
    start.press("Enter")
    page.wait_for_selector(".explorer .chart svg")
    assert start.is_disabled()
    with page.expect_response("**/walk.stop?*"):
        stop.press("Enter")
    test_live.gate.set()
    page.wait_for_selector(".explorer[data-training=ended]")
    assert page.locator(".live output").inner_text().startswith("stopped at step")
    page.locator("input[name=steps]").fill("3")
    start.click()
    page.wait_for_function("document.querySelector('.live output').textContent === 'done'")
