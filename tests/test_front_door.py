"""`import attnlab`: what a person at a Python prompt or in a notebook finds."""

import subprocess
import sys

import pytest

import attnlab
from attnlab.errors import UserError
from attnlab.lab.catalog import load_study
from tests.lab.command_line import STUDIES, Attnlab


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the toy study was reproduced."""
    here = tmp_path_factory.mktemp("front-door")
    assert Attnlab(here)("reproduce", "toy", "--no-report").returncode == 0
    return here


def test_dir_lists_the_papers_and_little_else():
    assert dir(attnlab) == sorted(attnlab.__all__)
    assert {"linear", "random", "rank", "separation", "stats", "study"} <= set(dir(attnlab))
    for name in ("linear", "random", "rank", "separation", "stats"):
        assert getattr(attnlab, name).__name__ == f"attnlab.{name}"
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = attnlab.nosuch


def test_importing_attnlab_and_its_papers_loads_nothing_heavy():
    code = (
        "import attnlab, sys\n"
        "from attnlab import linear, random, rank, separation\n"
        "print([m for m in ('jax', 'altair', 'pyarrow', 'duckdb', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_study_draws_a_figure_from_a_store(folder, tmp_path):
    toy = load_study("toy", STUDIES)
    assert repr(toy) == "Study(toy: 2 claims, 1 figures, 2 kinds of cells)"
    figure = toy.figure("squares", folder / "attnlab-store")
    assert repr(figure) == "DrawnFigure('Squares', 30 rows)"
    shown = figure._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert figure.chart().to_dict()["mark"]["type"] == "line"
    figure.save(tmp_path / "squares.png")
    assert (tmp_path / "squares.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match=r"must end in \.svg, \.png, \.pdf, got .*squares\.gif"):
        figure.save(tmp_path / "squares.gif")


def test_a_figure_that_cannot_be_drawn_says_what_to_do(folder, tmp_path):
    toy = load_study("toy", STUDIES)
    with pytest.raises(UserError, match="no figure 'nosuch'; it has squares"):
        toy.figure("nosuch", folder / "attnlab-store")
    with pytest.raises(UserError, match="attnlab reproduce toy --scale paper"):
        toy.figure("squares", folder / "attnlab-store", "paper")
    with pytest.raises(UserError, match="no store at"):
        toy.figure("squares", tmp_path / "nowhere")


def test_a_ledger_is_judged_on_a_store(folder):
    found = attnlab.ledger("separation", folder / "attnlab-store")
    assert {entry.verdict for entry in found} == {"undecided at this scale"}
    assert repr(found).startswith("Ledger(")
    assert len(repr(found)) < 200
    assert attnlab.study("separation").name == "separation"
