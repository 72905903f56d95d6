"""A long article in a browser: height, columns, mathematics, a table, contrast."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

WIDTHS = """() => Array.from(document.querySelectorAll('.chart')).map((chart) => {
  const picture = chart.querySelector('svg, canvas');
  return [chart.closest('figure').id, picture.getBoundingClientRect().width, chart.clientWidth];
})"""

ALL_DRAWN = """Array.from(document.querySelectorAll('.chart'))
  .every((chart) => chart.querySelector('svg, canvas'))"""

CONTRAST = """(selector) => {
  const channel = (c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (css) => css.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  return Array.from(document.querySelectorAll(selector))
    .filter((element) => element.textContent.trim() && element.getClientRects().length)
    .map((element) => {
      const pair = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
      pair.sort((a, b) => a - b);
      return (pair[1] + 0.05) / (pair[0] + 0.05);
    });
}"""

TEXT = "p, li, dt, dd, th, td, td span, h1, h2, h3, h4, summary, .quiet, a"


def opened(visit, address, width, **options):
    page = visit(address + "orchard.html", viewport={"width": width, "height": 800}, **options)
    page.wait_for_selector("html[data-charts=drawn]")
    return page


def test_sixty_statements_and_nineteen_figures_are_read_on_a_page_of_bounded_height(visit, article):
    page = opened(visit, article, 1280)
    assert page.locator("figure.figure").count() == 19
    assert page.evaluate("document.documentElement.scrollHeight") < 9000


def test_the_ledger_has_one_line_per_claim_until_few_are_left(visit, article):
    page = visit(article + "ledger.html", viewport={"width": 1280, "height": 800})
    rows = page.locator("table.ledger tbody tr")
    tall = "found => Math.max(...found.filter((row) => !row.hidden).map((row) => row.offsetHeight))"
    assert rows.count() > 30
    assert rows.evaluate_all(tall) < 36  # 240 claims are below 9,000
    whole = rows.first.locator(".statement").inner_text()
    page.get_by_label("Filter the claims").fill(rows.first.locator(".id").inner_text())
    assert "few" in page.locator("table.ledger").get_attribute("class")
    assert rows.first.locator(".statement").inner_text() == whole


@pytest.mark.parametrize("width", [1280, 390])
def test_no_figure_is_wider_than_its_column_or_needlessly_narrow(visit, article, width):
    page = opened(visit, article, width)
    page.locator("details.folded > summary").click()  # drawn when it is opened
    page.wait_for_function(ALL_DRAWN)
    for name, drawn, column in page.evaluate(WIDTHS):
        assert drawn <= column + 1, name
        assert drawn >= min(300, 0.7 * column), name
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_small_multiples_are_a_grid_over_the_whole_width(visit, article):
    page = opened(visit, article, 1280)
    box = page.locator("#figure-panels .chart svg").bounding_box()
    main = page.locator("main").bounding_box()
    assert box["width"] > 0.9 * main["width"]
    assert box["height"] < 1100  # one column of 21 panels is 4,500


def test_mathematics_is_drawn_with_the_font_that_comes_with_the_page(visit, article):
    page = opened(visit, article, 1280)
    page.evaluate("document.fonts.ready")
    assert page.evaluate("""document.fonts.check('16px "attnlab math"')""")
    boxes = page.eval_on_selector_all(
        "math", "found => found.map((m) => [m.clientWidth, m.clientHeight])"
    )
    assert len(boxes) > 50
    visible = [box for box in boxes if box != [0, 0]]
    assert len(visible) > 50
    fraction = page.locator(".says mfrac").first.bounding_box()
    assert fraction["height"] > 1.2 * fraction["width"]  # one above the other


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "ledger.html", "orchard.html"])
def test_every_text_can_be_read(visit, article, scheme, name):
    page = visit(article + name, viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    ratios = page.evaluate(CONTRAST, TEXT)
    assert len(ratios) > 10
    assert min(ratios) >= 4.5


def test_a_table_scrolls_by_itself_on_a_phone(visit, article):
    page = opened(visit, article, 390)
    region = page.locator(".scroll:has(table.grid)")
    sizes = region.evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert sizes[1] <= 390
    assert page.locator("table.grid td.good .ours").first.is_visible()


def test_a_link_to_a_claim_opens_it(visit, article):
    page = visit(article + "orchard.html#claim-claim-7")
    assert page.locator("#claim-claim-7").is_visible()
    assert page.locator("#claim-claim-8").is_hidden()


def test_the_front_page_fits_a_screen(visit, article):
    page = visit(article + "index.html", viewport={"width": 1280, "height": 800})
    card = page.locator(".card").bounding_box()
    assert card["y"] + 4 * card["height"] < 900  # four studies
