"""How long an explorer takes from a moved slider to the drawn figure, in a real browser.

    python benchmarks/explore.py [MOVES]

serves the explorers of all studies, opens them in Chromium and moves the first slider of each to
MOVES (12) values that were not asked for before. Printed for each explorer: the median and the
longest time from the event of the slider until the figure is in the page and the browser has had a
frame to paint it, the median as a ratio to an empty request (one that the same server refuses at
once), and the processor time of the server per move, which other jobs change little. The goal is a
median below 100 ms for the laws. Trainings, which do not follow their knobs, are left out. Needs
Playwright and Chromium.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STUDIES = ("linear", "random", "rank", "separation")
GOAL = 100.0  # milliseconds
LAWS = {"random/laws", "rank/bounds", "separation/success", "separation/map"}

EMPTY = """async (times) => {
  const found = [];
  for (let i = 0; i < times; i += 1) {
    const start = performance.now();
    await (await fetch('/explore-assets/empty-' + i)).text();
    found.push(performance.now() - start);
  }
  return found;
}"""

MOVE = """async ([study, id, moves]) => {
  const explorer = document.querySelector(`[data-study="${study}"][data-explorer="${id}"]`);
  explorer.scrollIntoView();
  const drawn = (least) => new Promise((done) => {
    const ready = () => Number(explorer.dataset.drawn || 0) >= least;
    if (ready()) return done();
    const seen = new MutationObserver(() => {
      if (!ready()) return;
      seen.disconnect();
      done();
    });
    seen.observe(explorer, { attributes: true });
  });
  await drawn(1);
  const slider = explorer.querySelector('input[type=range]');
  const [low, high, step] = [slider.min, slider.max, slider.step].map(Number);
  const count = Math.min(moves, Math.floor((high - low) / step));
  const found = [];
  for (let i = 0; i < count; i += 1) {
    const before = Number(explorer.dataset.drawn);
    slider.value = String(low + step * Math.floor((i * (high - low)) / (count * step)));
    const start = performance.now();
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await drawn(before + 1);
    await new Promise((painted) => requestAnimationFrame(() => painted()));
    found.push(performance.now() - start);
  }
  return found;
}"""


def main() -> None:
    """Measure every explorer that follows its knobs."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None or importlib.util.find_spec("playwright") is None:
        print("No Chromium or no Playwright: nothing is measured.")
        return
    from playwright.sync_api import sync_playwright

    from attnlab.lab.catalog import load_study
    from attnlab.report.explore import PAGE, make_explore_server

    moves = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    studies = [load_study(name) for name in STUDIES]
    with tempfile.TemporaryDirectory() as own:
        server = make_explore_server(studies, None, Path(own))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{server.address}{PAGE}")
            for study in studies:  # everything is compiled and drawn once
                for explorer in study.explorers:
                    if not explorer.live:
                        page.evaluate(MOVE, [study.name, explorer.id, 0])
            empty = statistics.median(page.evaluate(EMPTY, 20))
            print(f"{'an empty request':24} {empty:7.1f} ms")
            for study in studies:
                for explorer in study.explorers:
                    if explorer.live:
                        continue
                    name = f"{study.name}/{explorer.id}"
                    started = time.process_time()
                    found = page.evaluate(MOVE, [study.name, explorer.id, moves])
                    spent = 1000 * (time.process_time() - started) / len(found)
                    middle = statistics.median(found)
                    goal = ""
                    if name in LAWS:
                        goal = "met" if middle < GOAL else "not met"
                    print(
                        f"{name:24} {middle:7.1f} ms   longest {max(found):7.1f} ms   "
                        f"{middle / empty:6.1f} empty requests   server {spent:5.1f} ms   {goal}"
                    )
            browser.close()
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
