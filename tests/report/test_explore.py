"""The server of explorers: what it answers and refuses, and that it computes what a cell does."""

from __future__ import annotations

import csv
import io
import json
import random
import socket
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from attnlab.drawing.pictures import svg_of
from attnlab.drawing.theme import themed
from attnlab.errors import UserError
from attnlab.lab.catalog import load_study
from attnlab.lab.cell import CellKind, Outcome, config_values
from attnlab.lab.explorer import MOST_CELLS, Explorer, Knob
from attnlab.report.explore import Answers, Overtaken, make_explore_server
from attnlab.report.figures import as_csv
from tests.report.conftest import STUDIES


@pytest.fixture(scope="module")
def separation():
    return load_study("separation")


@pytest.fixture(scope="module")
def server(separation, tmp_path_factory):
    own = tmp_path_factory.mktemp("explore")
    with make_explore_server([separation], None, own) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server, path, host=None, **query):
    address = f"{server.address}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def drawn(explorer, seed):
    """Values of all knobs, between the steps of their sliders where they are no integers."""
    dice = random.Random(seed)
    found = {}
    for knob in explorer.knobs:
        if knob.choices:
            found[knob.name] = dice.choice(knob.choices)
        elif isinstance(knob.default, int):
            found[knob.name] = dice.randrange(int(knob.low), int(knob.high) + 1)
        else:
            found[knob.name] = round(dice.uniform(knob.low, knob.high), 4)
    return found


def cells_of(explorer, values):
    """The rows of fresh cells, as text."""
    found = []
    for config in explorer.configs(**explorer.values(values)):
        result = explorer.kind.run(config)
        several = result.rows if isinstance(result, Outcome) else [result]
        found += [{**config_values(config), **config_values(row)} for row in several]
    return list(csv.DictReader(io.StringIO(as_csv(found))))


def data_of(spec):
    """All rows of data in a document, however deep."""
    if isinstance(spec, list):
        return [row for part in spec for row in data_of(part)]
    if not isinstance(spec, dict):
        return []
    own = spec["values"] if isinstance(spec.get("values"), list) else []
    return own + [row for part in spec.values() for row in data_of(part)]


def explorers_of(live):
    studies = [load_study(name) for name in ("linear", "random", "rank", "separation")]
    return [(s.name, e.id) for s in studies for e in s.explorers if e.live == live]


@pytest.mark.parametrize(("name", "id"), explorers_of(live=False))
def test_an_explorer_shows_what_fresh_cells_compute(name, id, seed):
    study = load_study(name)
    answers, explorer = Answers([study]), Answers([study]).explorers[name, id]
    for values in ({}, drawn(explorer, f"{seed} 1"), drawn(explorer, f"{seed} 2")):
        asked = {knob: str(value) for knob, value in values.items()}
        body = answers.answer(name, id, "csv", asked)
        shown = list(csv.DictReader(io.StringIO(body)))
        assert shown == cells_of(explorer, values)
        spec = json.loads(answers.answer(name, id, "json", asked))
        assert svg_of(themed(spec)).startswith("<svg")
        numbers = {
            value for row in shown for value in map(as_number, row.values()) if value is not None
        }
        points = [
            abs(value)
            for row in data_of(spec)
            for name_of, value in row.items()
            if isinstance(value, float) and name_of in PLOTTED
        ]
        assert points
        assert set(points) <= {abs(number) for number in numbers}


PLOTTED = {"success", "probability", "error", "loss", "entry", "value"}


def as_number(text):
    try:
        return float(text)
    except ValueError:
        return None


def test_the_page_shows_what_the_server_answers(server, separation, seed):
    explorer = separation.explorers[0]
    values = drawn(explorer, f"{seed} page")
    status, body = ask(server, "explore/separation/success.csv", **values)
    assert status == 200, body
    assert list(csv.DictReader(io.StringIO(body))) == cells_of(explorer, values)


def test_the_python_that_is_shown_gives_the_same_rows(server, separation):
    status, code = ask(server, "explore/separation/success.py", d=12, x="ones")
    assert status == 200
    scope = {}
    exec(code, scope)
    explorer = separation.explorers[0]
    assert scope["rows"] == explorer.rows(d=12, x="ones")


@pytest.mark.parametrize(
    ("path", "query", "pieces"),
    [
        ("success.json", {"d": "1000"}, ("d must be a number from 4 to 130", "'1000'")),
        ("success.json", {"d": "nan"}, ("d must be a number from 4 to 130",)),
        ("success.json", {"d": "7.5"}, ("d must be an integer",)),
        ("success.json", {"x": "zeros"}, ("x must be one of identity, ones",)),
        ("success.json", {"dd": "7"}, ("no knob 'dd'", "did you mean d?")),
        ("nosuch.json", {}, ("no explorer separation/nosuch.json", "separation/success")),
        ("success.exe", {}, ("no explorer separation/success.exe",)),
    ],
)
def test_a_wrong_request_gets_one_sentence(server, path, query, pieces):
    status, body = ask(server, f"explore/separation/{path}", **query)
    assert status == 400
    assert "\n" not in body
    for piece in pieces:
        assert piece in body


def test_it_answers_this_machine_only_and_gives_no_file_away(server):
    assert ask(server, "explore/separation/success.json", host="evil.example")[0] == 403
    for path in ("explore-assets/../../secret", "explore-assets/%2e%2e/%2e%2e/etc/passwd"):
        assert ask(server, path)[0] == 404
    assert ask(server, "explore.html")[0] == 200
    assert ask(server, "explore-assets/explore.js")[0] == 200


def test_a_request_that_was_overtaken_is_dropped_and_answers_are_kept(separation):
    calls = []

    def slow(config):
        calls.append(config)
        time.sleep(0.2)
        return known.kind.run(config)

    known = separation.explorers[0]
    kind = CellKind("slow", known.kind.config, known.kind.row, slow)
    explorer = Explorer(
        "slow", "", "", kind, known.knobs[1:2], lambda d: [kind.config(d=d)], known.draw
    )
    answers = Answers([separation])
    answers.explorers = {("s", "slow"): explorer}
    found = {}

    def ask_for(serial):
        try:
            found[serial] = answers.answer(
                "s", "slow", "json", {"d": str(4 + 2 * serial), "page": "p", "serial": str(serial)}
            )
        except Overtaken:
            found[serial] = "overtaken"

    threads = [threading.Thread(target=ask_for, args=(serial,)) for serial in range(1, 5)]
    for thread in threads:
        thread.start()
        time.sleep(0.03)
    for thread in threads:
        thread.join()
    assert found[2] == found[3] == "overtaken"
    assert found[4].startswith("{")
    before = len(calls)
    assert answers.answer("s", "slow", "json", {"d": "12"}) == found[4]
    assert len(calls) == before


def test_too_many_cells_and_no_explorer_are_refused(separation, tmp_path):
    known = separation.explorers[0]
    many = Explorer("many", "", "", known.kind, (), lambda: [None] * (MOST_CELLS + 1), known.draw)
    with pytest.raises(UserError, match=f"at most {MOST_CELLS}"):
        many.rows()
    with pytest.raises(UserError, match="declares an explorer"):
        make_explore_server([load_study("garden", STUDIES)], None, tmp_path)


def test_a_browser_that_goes_away_in_the_middle_leaves_the_server_answering(server):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.server_port)) as gone:
            gone.sendall(b"GET /explore/separation/map.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(server, "explore/separation/success.csv", d=9)[0] == 200


def test_a_busy_port_gets_a_sentence(server, separation, tmp_path):
    with pytest.raises(UserError, match=f"Port {server.server_port} is in use"):
        make_explore_server([separation], None, tmp_path, server.server_port)


def test_a_knob_of_halves_takes_numbers_between_its_steps():
    assert Knob("a", "", 0.5, 0.0, 1.0, 0.5).value("0.25") == 0.25
    with pytest.raises(UserError, match="a must be a number from 0"):
        Knob("a", "", 0.5, 0.0, 1.0, 0.5).value("inf")
