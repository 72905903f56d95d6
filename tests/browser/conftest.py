"""A written report, a server for it, and one Chromium for each worker of the test run."""

from __future__ import annotations

import importlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from attnlab.lab.catalog import load_study
from attnlab.lab.store import Store
from attnlab.report.server import make_server
from attnlab.report.site import write_report
from tests.report.conftest import judged

STUDIES = Path(__file__).parent.parent / "report" / "studies"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Visit:
    """A page with what went wrong on it and everything it asked for."""

    page: object
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    garden = load_study("garden", STUDIES)
    store = Store(tmp_path_factory.mktemp("garden") / "store")
    importlib.import_module("attnlab_study_garden").fill(store)
    written = write_report(store, judged(store, garden), tmp_path_factory.mktemp("out") / "site")
    return written.index.parent


@pytest.fixture(scope="session")
def article(tmp_path_factory) -> str:
    """The address of the report of a study with many statements, figures and a table."""
    orchard = load_study("orchard", STUDIES)
    store = Store(tmp_path_factory.mktemp("orchard") / "store")
    importlib.import_module("attnlab_study_orchard").fill(store)
    written = write_report(store, judged(store, orchard), tmp_path_factory.mktemp("out") / "site")
    return written.index.parent.as_uri() + "/"


@pytest.fixture(scope="session")
def served(report) -> Iterator[str]:
    with make_server(report) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium():
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no Chromium on this machine (looked for {', '.join(BROWSERS)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(params=["file", "server"])
def site(request) -> str:
    """The address of the site, from the disk and from the server."""
    if request.param == "server":
        return request.getfixturevalue("served")
    return request.getfixturevalue("report").as_uri() + "/"


@pytest.fixture
def disk(report) -> str:
    return report.as_uri() + "/"


@pytest.fixture
def visit(chromium):
    """Opens a page in a fresh context; afterwards nothing may have gone wrong on any of them."""
    contexts, visits = [], []

    def open_page(address: str, **options):
        context = chromium.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        made = Visit(page)
        visits.append(made)
        page.on("console", lambda message: made.problems.append(message.text))
        page.on("pageerror", lambda error: made.problems.append(str(error)))
        page.on("requestfailed", lambda request: made.problems.append(f"failed: {request.url}"))
        page.on("request", lambda request: made.requests.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    for made in visits:
        assert made.problems == []
        outside = [
            url
            for url in made.requests
            if not url.startswith(("file://", "http://127.0.0.1:", "data:", "blob:"))
        ]
        assert outside == []
