"""The report as a reader meets it: on a screen, a phone, paper, in the dark, by keyboard."""

from __future__ import annotations

import re
import urllib.request

import pytest

pytestmark = pytest.mark.browser

HEAT = {"mark": "rect", "width": 120, "height": 120, "encoding": {"x": {"axis": None}}}
DRAWN = ("heights", "likeness", "beside", "waves")

CONTRASTS = """() => {
  const channel = (c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = (css) => {
    const [r, g, b] = css.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  return Array.from(document.querySelectorAll('.badge')).map((badge) => {
    const style = getComputedStyle(badge);
    const pair = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
    return (pair[1] + 0.05) / (pair[0] + 0.05);
  });
}"""


def open_study(visit, address, **options):
    page = visit(address + "garden.html", **options)
    page.wait_for_selector("html[data-charts=drawn]")
    return page


def ids(page):
    return page.locator("table.ledger tbody tr:visible td.id").all_inner_texts()


def scrolls_sideways(page):
    return page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


def test_every_figure_is_drawn(visit, site):
    page = open_study(visit, site)
    for name in DRAWN:
        picture = page.locator(f"#figure-{name} .chart :is(svg, canvas)").first
        box = picture.bounding_box()
        assert box is not None, name
        assert box["width"] > 200, name
        assert box["height"] > 100, name
        assert page.locator(f"#figure-{name} .static").is_hidden()
    assert page.locator("#figure-waves .chart canvas").count() == 1
    assert "Not drawn" in page.locator("#figure-never").inner_text()


def test_what_an_address_points_at_stays_in_view_while_figures_are_drawn(visit, site):
    page = visit(site + "garden.html#figure-waves", viewport={"width": 1000, "height": 500})
    page.wait_for_selector("html[data-charts=drawn]")
    top = "document.getElementById('figure-waves').getBoundingClientRect().top"
    # Figures above it are higher or lower than their pictures, which would move it.
    assert 0 <= page.evaluate(top) < 250
    page.keyboard.press("Home")  # and a reader who moves on is not brought back
    page.wait_for_function("window.scrollY === 0")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    page.wait_for_timeout(400)
    assert page.evaluate("window.scrollY") == 0


def test_every_link_is_alive(visit, site, report):
    page = visit(site + "index.html")
    seen = set()
    for name in ("index.html", "ledger.html", "garden.html"):
        page.goto(site + name)
        for link in page.eval_on_selector_all("a[href]", "found => found.map((a) => a.href)"):
            address, _, anchor = link.partition("#")
            if address.startswith("https://arxiv.org/") or link in seen:
                continue
            seen.add(link)
            if address.startswith("file:"):
                assert (report / address.rsplit("/site/", 1)[1]).is_file(), link
            else:
                with urllib.request.urlopen(address) as answer:
                    assert answer.status == 200, link
            if anchor and address == site + name:
                assert page.locator(f"[id='{anchor}']").count() == 1, link
    assert len(seen) > 20


def test_a_row_of_the_ledger_leads_to_its_claim(visit, site):
    page = visit(site + "ledger.html")
    page.get_by_role("link", name="garden-3").click()
    page.wait_for_url(re.compile(r"garden\.html#claim-garden-3$"))
    target = page.locator(":target")
    assert target.is_visible()  # its details are opened
    assert "Measured" in target.inner_text()
    assert "0.097" in target.inner_text()


def test_the_ledger_sorts_by_click_and_by_keyboard(visit, site):
    page = visit(site + "ledger.html")
    written = ["garden-10", "garden-2", "garden-3", "garden-4"]
    assert ids(page) == written
    header = page.locator("th[data-column=id]")
    assert header.get_attribute("aria-sort") == "none"
    header.get_by_role("button").click()
    assert ids(page) == ["garden-2", "garden-3", "garden-4", "garden-10"]
    assert header.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert ids(page) == ["garden-10", "garden-4", "garden-3", "garden-2"]
    assert header.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert ids(page) == written
    measured = page.locator("th[data-column=measured]")
    measured.get_by_role("button").press("Enter")
    assert header.get_attribute("aria-sort") == "none"
    assert measured.get_attribute("aria-sort") == "ascending"
    assert ids(page)[:2] == ["garden-3", "garden-10"]


def test_the_ledger_filters_by_text_and_by_verdict(visit, site):
    page = visit(site + "ledger.html")
    box = page.get_by_label("Filter the claims")
    box.fill("SUNFLOWER")
    assert ids(page) == ["garden-10", "garden-4"]
    assert page.get_by_role("status").inner_text() == "2 of 4 shown"
    undecided = page.get_by_role("button", name="undecided at this scale")
    undecided.press("Space")
    assert undecided.get_attribute("aria-pressed") == "true"
    assert ids(page) == ["garden-4"]
    box.fill("nothing like it")
    assert ids(page) == []
    assert page.get_by_text("No claim matches.").is_visible()
    box.fill("")
    page.get_by_role("button", name="fails").click()
    assert ids(page) == ["garden-3", "garden-4"]


@pytest.mark.parametrize("name", ["index.html", "ledger.html", "garden.html"])
def test_a_phone_does_not_scroll_sideways(visit, disk, name):
    page = visit(disk + name, viewport={"width": 360, "height": 740})
    if name == "garden.html":
        page.wait_for_selector("html[data-charts=drawn]")
        for figure in DRAWN:
            box = page.locator(f"#figure-{figure} .chart :is(svg, canvas)").first.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= 360, figure
        for summary in page.locator("summary").all():
            summary.click()
    assert not scrolls_sideways(page)


def test_charts_follow_the_width_of_the_window(visit, disk):
    page = open_study(visit, disk)
    picture = page.locator("#figure-heights .chart svg")
    before = picture.bounding_box()["width"]
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function(
        f"document.querySelector('#figure-heights .chart svg').clientWidth < {before} - 50"
    )
    assert not scrolls_sideways(page)


def test_the_dark_scheme_changes_page_and_charts(visit, disk):
    page = open_study(visit, disk, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    axis = "document.querySelector('#figure-heights .chart svg text').getAttribute('fill')"
    light = page.evaluate(background), page.evaluate(axis)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#figure-waves[data-scheme=dark]")
    dark = page.evaluate(background), page.evaluate(axis)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    lines = page.eval_on_selector_all(
        "#figure-heights .chart svg line", "found => found.map((e) => e.getAttribute('stroke'))"
    )
    assert "black" not in lines, "a black rule would vanish on a dark page"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_badges_are_readable(visit, disk, scheme):
    page = visit(disk + "garden.html", color_scheme=scheme)
    ratios = page.evaluate(CONTRASTS)
    assert len(ratios) == 8
    assert min(ratios) >= 4.5
    for sign in ("✓", "✓*", "✗", "?"):
        assert page.locator(".badge .sign", has_text=sign).count()


def test_paper_gets_static_pictures_and_open_details(visit, disk):
    page = open_study(visit, disk)
    page.emulate_media(media="print", color_scheme="dark")
    for name in DRAWN:
        assert page.locator(f"#figure-{name} .static").is_visible()
        assert page.locator(f"#figure-{name} .chart").is_hidden()
    loaded = "found => found.every((image) => image.complete && image.naturalWidth > 0)"
    assert page.eval_on_selector_all("img.static", loaded)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".ranges").first.is_visible()
    assert page.locator("header.top").is_hidden()


def test_without_javascript_the_pictures_and_the_table_are_there(visit, disk):
    page = visit(disk + "garden.html", java_script_enabled=False)
    for name in DRAWN:
        assert page.locator(f"#figure-{name} .static").is_visible()
    page.goto(disk + "ledger.html")
    assert page.locator("table.ledger tbody tr").count() == 4
    assert page.get_by_label("Filter the claims").is_hidden()


def test_the_keyboard_reaches_the_skip_link_first_and_then_every_control(visit, disk):
    page = visit(disk + "ledger.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    box = page.locator(".skip").bounding_box()
    assert box is not None
    assert box["y"] >= 0
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid" or page.evaluate("document.activeElement === document.body")
    for control in ("✗ fails", "Id", "Verdict", "garden-10"):
        assert control in reached
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_figures_have_words_for_those_who_do_not_see_them(visit, disk):
    page = open_study(visit, disk)
    for name in DRAWN:
        assert page.locator(f"#figure-{name} .chart").get_attribute("aria-label")
        assert page.locator(f"#figure-{name} .static").get_attribute("alt")


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        ({"mark": "point"}, "width", 320),
        ({"mark": "point", "width": 200}, "width", 200),
        ({"mark": "point", "width": 400}, "width", 320),
        ({"hconcat": [{"mark": "point", "width": 400}]}, "vconcat.0.width", 230),
        ({"mark": "point", "encoding": {"column": {"field": "k"}}}, "encoding.facet.columns", 1),
        ({"facet": {"column": {"field": "k"}}, "spec": {"mark": "point"}}, "facet.field", "k"),
        ({"facet": {"field": "k"}, "columns": 4, "spec": {"mark": "bar"}}, "columns", 1),
        # Panels below one another take the width; heat maps without axes share it, as squares.
        ({"facet": {"column": {"field": "k"}}, "spec": {"width": 160}}, "spec.width", 230),
        ({"concat": [HEAT] * 4, "columns": 4}, "concat.3.width", 142),
        ({"concat": [HEAT] * 4, "columns": 4}, "concat.3.height", 142),
        ({"concat": [HEAT] * 12, "columns": 4}, "columns", 2),
        (
            {
                "repeat": {"column": ["a", "b"]},
                "spec": {"mark": "point", "encoding": {"y": {"field": {"repeat": "column"}}}},
            },
            "spec.encoding.y.field.repeat",
            "row",
        ),
    ],
)
def test_charts_of_every_shape_are_made_to_fit_a_phone(visit, disk, spec, path, expected):
    page = visit(disk + "garden.html")
    found = page.evaluate("(spec) => window.attnlabFit(spec, 320)", spec)
    for step in path.split("."):
        found = found[int(step) if step.isdigit() else step]
    assert found == expected
