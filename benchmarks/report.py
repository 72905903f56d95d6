"""What a report costs: to write, to find unchanged, and to draw in a browser.

    python benchmarks/report.py [REPORT]

prints (1) the seconds to write the report of a study with 60 statements and 19 figures, to write it
again with one figure changed, and to see that nothing has changed, each as a ratio to the first;
(2) how long a browser takes from opening a page until all its figures are drawn, for each page of
REPORT (or of that study), as a ratio to an empty page, with the page's height at 1280 pixels. Needs
a source checkout; the second part needs Playwright and Chromium and is left out without them.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
READY = "document.querySelector('script.spec') === null || document.documentElement.dataset.charts"


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def write(folder: Path) -> Path:
    """Write reports of the study of the tests; prints the ratios."""
    sys.path.insert(0, str(ROOT))
    from attnlab.lab.catalog import load_study
    from attnlab.lab.store import Store
    from attnlab.report.site import write_report
    from tests.report.conftest import STUDIES, judged

    study = load_study("orchard", STUDIES)
    store = Store(folder / "store")
    importlib.import_module("attnlab_study_orchard").fill(store)
    out = folder / "report"
    whole = seconds(lambda: write_report(store, judged(store, study), out))
    same = seconds(lambda: write_report(store, judged(store, study), out))
    first = dataclasses.replace(study.figures[0], caption="Another caption.")
    changed = dataclasses.replace(study, figures=(first, *study.figures[1:]))
    one = seconds(lambda: write_report(store, judged(store, changed), out, ["changed"]))
    print(f"written      {whole:6.2f} s   1")
    print(f"one changed  {one:6.2f} s   {one / whole:.2f}")
    print(f"unchanged    {same:6.2f} s   {same / whole:.2f}")
    return out


def draw(report: Path) -> None:
    """Open every page of a report; prints the ratios to an empty page."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None or importlib.util.find_spec("playwright") is None:
        print("No Chromium or no Playwright: pages are not drawn.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        empty = min(seconds(lambda: page.goto("data:text/html,<p>empty")) for _ in range(3))
        for file in sorted(report.glob("*.html")):

            def open_page(file: Path = file) -> None:
                page.goto(file.resolve().as_uri())
                page.wait_for_function(READY, timeout=120_000)

            taken = min(seconds(open_page) for _ in range(2))
            height = page.evaluate("document.documentElement.scrollHeight")
            figures = page.locator("script.spec").count()
            print(
                f"{file.name:20} {taken:6.2f} s   {taken / empty:6.0f} empty pages, "
                f"{figures} figures, {height} px"
            )
        browser.close()


def main() -> None:
    """Both parts."""
    with tempfile.TemporaryDirectory() as folder:
        written = write(Path(folder))
        draw(Path(sys.argv[1]) if len(sys.argv) > 1 else written)


if __name__ == "__main__":
    main()
