"""The server of explorers: what it answers and refuses, and that it computes what a cell does."""

from __future__ import annotations

import csv
import io
import json
import random
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
from attnlab.lab.cell import CellKind
from attnlab.lab.explorer import MOST_CELLS, Explorer, Knob
from attnlab.report.explore import Answers, Overtaken, make_explore_server
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


@pytest.mark.parametrize("number", range(4))
def test_the_page_shows_what_a_fresh_cell_computes(server, separation, seed, number):
    (explorer,) = separation.explorers
    values = drawn(explorer, (seed, number).__repr__())
    status, body = ask(server, "explore/separation/success.csv", **values)
    assert status == 200, body
    shown = list(csv.DictReader(io.StringIO(body)))
    configs = explorer.configs(**explorer.values(values))
    assert len(shown) == len(configs)
    for row, config in zip(shown, configs, strict=True):
        assert float(row["exact"]) == explorer.kind.run(config).exact
    status, body = ask(server, "explore/separation/success.json", **values)
    curves = [row for row in json.loads(body)["data"]["values"] if row["of"] == "success"]
    assert [row["probability"] for row in curves] == [float(row["exact"]) for row in shown]


@pytest.mark.parametrize("name", ["random", "rank", "separation"])
def test_every_explorer_draws_at_its_defaults_and_anywhere_between(name, seed):
    study = load_study(name)
    answers = Answers([study])
    for explorer in study.explorers:
        for values in ({}, drawn(explorer, f"{seed} 1"), drawn(explorer, f"{seed} 2")):
            asked = {knob: str(value) for knob, value in values.items()}
            spec = json.loads(answers.answer(name, explorer.id, "json", asked))
            svg = svg_of(themed(spec))
            assert svg.startswith("<svg")
            assert spec["data"]["values"]


def test_the_python_that_is_shown_gives_the_same_rows(server, separation):
    status, code = ask(server, "explore/separation/success.py", d=12, x="ones")
    assert status == 200
    scope = {}
    exec(code, scope)
    (explorer,) = separation.explorers
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
        return separation.kinds[0].run(config)

    (known,) = separation.explorers
    kind = CellKind("slow", known.kind.config, known.kind.row, slow)
    explorer = Explorer(
        "slow", "", "", kind, known.knobs[:1], lambda d: [kind.config(n=d - 2, d=d)], known.draw
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
    (known,) = separation.explorers
    many = Explorer("many", "", "", known.kind, (), lambda: [None] * (MOST_CELLS + 1), known.draw)
    with pytest.raises(UserError, match=f"at most {MOST_CELLS}"):
        many.rows()
    with pytest.raises(UserError, match="declares an explorer"):
        make_explore_server([load_study("garden", STUDIES)], None, tmp_path)


def test_a_busy_port_gets_a_sentence(server, separation, tmp_path):
    with pytest.raises(UserError, match=f"Port {server.server_port} is in use"):
        make_explore_server([separation], None, tmp_path, server.server_port)


def test_a_knob_of_halves_takes_numbers_between_its_steps():
    assert Knob("a", "", 0.5, 0.0, 1.0, 0.5).value("0.25") == 0.25
    with pytest.raises(UserError, match="a must be a number from 0"):
        Knob("a", "", 0.5, 0.0, 1.0, 0.5).value("inf")
