"""The explorers as a page that asks this machine for rows: no mathematics in the browser.

`GET /explore/<study>/<id>.json?knob=value` computes the cells that the knobs ask for and answers
with the Vega-Lite document of their figure; `.csv` gives the rows, `.py` the Python that computes
them. One request computes at a time. A page numbers its requests: one that was overtaken while it
waited is dropped. Answers are kept, the last `KEPT` of them. A training is started by
`POST /explore/<study>/<id>.start?knob=value`, watched by `.json?training=NUMBER` and ended by
`POST ....stop?training=NUMBER` (`attnlab.report.live`). All else is the report's server.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from attnlab.drawing.specs import plain, spec_of
from attnlab.errors import AttnlabError, UserError
from attnlab.lab.explorer import Explorer
from attnlab.lab.fault import describe
from attnlab.lab.study import Study
from attnlab.report import pages
from attnlab.report.figures import as_csv
from attnlab.report.live import Busy, Trainings
from attnlab.report.server import HOST, NAMES, Handler, Server
from attnlab.report.site import write_assets

KEPT = 128
PAGE = "explore.html"
TYPES = {"json": "application/json", "csv": "text/csv", "py": "text/plain"}
ACTIONS = ("start", "stop")  # of a training


class Overtaken(Exception):
    """The page has asked for something newer."""


class Answers:
    """What explorers answer: computed one at a time, the last ones kept."""

    def __init__(self, studies: Sequence[Study]):
        self.explorers = {(s.name, e.id): e for s in studies for e in s.explorers}
        self._busy = threading.Lock()
        self._newest: dict[str, int] = {}
        self._computed = functools.lru_cache(KEPT)(self._compute)
        self.trainings = Trainings()

    def answer(self, study: str, name: str, kind: str, asked: Mapping[str, str]) -> str:
        """The body of an answer; a UserError says what is wrong with the request."""
        explorer = self._find(study, name, kind, TYPES)
        given = dict(asked)
        if explorer.live and kind == "json":
            training = self.trainings.find(given.get("training", ""))
            with self._busy:
                return training.answer()
        page, serial = given.pop("page", ""), given.pop("serial", "0")
        values = explorer.values(given)
        if kind == "py":
            return python_of(study, explorer, values)
        if explorer.live:
            return as_csv([plain(row) for row in self.trainings.rows(explorer, values)])
        number = int(serial) if serial.isdecimal() else 0
        if page:
            self._newest[page] = max(number, self._newest.get(page, 0))
        with self._busy:
            if page and number < self._newest[page]:
                raise Overtaken
            spec, rows = self._computed(study, name, tuple(values.items()))
        return as_csv(rows) if kind == "csv" else spec

    def act(self, study: str, name: str, action: str, asked: Mapping[str, str]) -> str:
        """Start or stop a training; the answer has its number."""
        explorer = self._find(study, name, action, ACTIONS)
        if not explorer.live:
            raise UserError(f"The explorer {study}/{name} follows its knobs; it trains nothing.")
        given = dict(asked)
        if action == "stop":
            number = given.get("training", "")
            self.trainings.find(number).stop()
        else:
            page = given.pop("page", "")
            number = self.trainings.start(explorer, explorer.values(given), page)
        return json.dumps({"training": number})

    def _find(self, study: str, name: str, kind: str, kinds: Collection[str]) -> Explorer:
        explorer = self.explorers.get((study, name))
        if explorer is None or kind not in kinds:
            known = ", ".join("/".join(key) for key in self.explorers) or "none"
            raise UserError(f"There is no explorer {study}/{name}.{kind}; there are {known}.")
        return explorer

    def _compute(self, study: str, name: str, values: tuple[tuple[str, Any], ...]):
        explorer = self.explorers[study, name]
        rows = [plain(row) for row in explorer.rows(**dict(values))]
        return json.dumps(spec_of(explorer.draw, rows)), rows


def python_of(study: str, explorer: Explorer, values: Mapping[str, Any]) -> str:
    """The Python that gives the rows of these knobs and their chart."""
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return (
        "from attnlab.lab.catalog import load_study\n\n"
        f'explorers = {{each.id: each for each in load_study("{study}").explorers}}\n'
        f'explorer = explorers["{explorer.id}"]\n'
        f"rows = explorer.rows({given})\n"
        "chart = explorer.draw(rows)  # an Altair chart\n"
    )


class ExploreHandler(Handler):
    """The report's files, the page of the explorers, and their answers."""

    answers: Answers
    own: str  # folder with the page and its assets

    def do_GET(self) -> None:  # noqa: N802 - the base class's name
        """Answer one request."""
        if not self._answered(self.answers.answer):
            super().do_GET()

    def do_POST(self) -> None:  # noqa: N802 - the base class's name
        """Start or stop a training, for a page of this server only."""
        origin = urlsplit(self.headers.get("Origin") or f"http://{HOST}").hostname
        if origin not in NAMES:
            self.send_error(HTTPStatus.FORBIDDEN, "This server answers its own pages only")
        elif not self._answered(self.answers.act):
            self.send_error(HTTPStatus.NOT_FOUND)

    def translate_path(self, path: str) -> str:
        """The page of the explorers and its assets lie in a folder of their own."""
        first = urlsplit(path).path.lstrip("/").split("/")[0]
        kept = self.directory
        if first in (PAGE, "explore-assets"):
            self.directory = self.own
        try:
            return super().translate_path(path)
        finally:
            self.directory = kept

    def send_head(self):
        """Files of the folder of explorers are inside of that folder, all others of the report."""
        first = urlsplit(self.path).path.lstrip("/").split("/")[0]
        kept = self.directory
        if first in (PAGE, "explore-assets"):
            self.directory = self.own
        try:
            return super().send_head()
        finally:
            self.directory = kept

    def _answered(self, answer: Callable[[str, str, str, Mapping[str, str]], str]) -> bool:
        """Whether the request was for an explorer; it is answered then."""
        address = urlsplit(self.path)
        parts = address.path.strip("/").split("/")
        if parts[0] != "explore" or len(parts) != 3:
            return False
        name, _, kind = parts[2].partition(".")
        asked = dict(parse_qsl(address.query, keep_blank_values=True))
        try:
            body, status = answer(parts[1], name, kind, asked), HTTPStatus.OK
        except Overtaken:
            body, status = "overtaken by a newer request", HTTPStatus.CONFLICT
        except Busy:
            body = "Another page is training; stop it there, or wait until it has ended."
            status = HTTPStatus.SERVICE_UNAVAILABLE
        except AttnlabError as reason:
            body, status = str(reason), HTTPStatus.BAD_REQUEST
        except Exception as reason:  # a bug in a cell ends one answer and not the server
            body, status = describe(reason), HTTPStatus.INTERNAL_SERVER_ERROR
        data = body.encode()
        self.send_response(status)
        shown = TYPES.get(kind, TYPES["json"]) if status == HTTPStatus.OK else "text/plain"
        self.send_header("Content-Type", f"{shown}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return True


def write_page(folder: Path, studies: Sequence[Study], report: bool) -> None:
    """The page of the explorers, with its assets."""
    write_assets(folder / "explore-assets")
    shown = [(study, explorer) for study in studies for explorer in study.explorers]
    html = pages.environment().get_template("explore.html").render(shown=shown, report=report)
    (folder / PAGE).write_text(html, encoding="utf-8")
    if not report:
        (folder / "index.html").write_text(html, encoding="utf-8")


def make_explore_server(
    studies: Sequence[Study], report: Path | None, own: Path, port: int = 0
) -> Server:
    """A server that listens but does not answer yet; port 0 takes a free one.

    Parameters
    ----------
    studies
        Their explorers are shown.
    report
        Folder of a report to show beside them.
    own
        An empty folder for the page.
    port
        Where to listen, on this machine only.
    """
    if not any(study.explorers for study in studies):
        raise UserError("None of these studies declares an explorer.")
    write_page(own, studies, report is not None)
    folder = str((report or own).resolve())
    attributes = {"answers": Answers(studies), "own": str(own.resolve())}
    handler = type("ExploreHandler", (ExploreHandler,), attributes)
    try:
        return Server((HOST, port), functools.partial(handler, directory=folder))
    except (OSError, OverflowError) as reason:
        raise UserError(
            f"Port {port} is in use or cannot be used; give another with --port, or 0 for any."
        ) from reason
