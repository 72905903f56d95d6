"""Adding a study is adding a folder; a folder that is none says what is wrong with it."""

import re
import textwrap
from importlib import metadata

import pytest

from attnlab import papers
from attnlab.errors import UserError
from attnlab.lab import catalog
from attnlab.lab.catalog import load_studies, load_study, study_names
from attnlab.lab.store import Store
from tests.lab.command_line import STUDIES, Attnlab

STUDY = """
from dataclasses import dataclass
from attnlab.lab.cell import CellKind
from attnlab.lab.study import Claim, Judgement, Study

@dataclass(frozen=True)
class Config:
    x: int

@dataclass(frozen=True)
class Row:
    y: int

double = CellKind("doubled", Config, Row, lambda config: Row(2 * config.x))
cells = lambda scale, seed: [double(Config(x)) for x in range(3)]

def check(view):
    found = [view.row(cell).y for cell in cells(view.scale, view.seed)]
    return Judgement("holds" if found == [0, 2, 4] else "fails", sum(found), 6, "equality")

study = Study(
    name="mine", title="Mine", source="me", summary="Doubles.", kinds=(double,), cells=cells,
    figures=(), claims=(Claim("mine-sum", "me", "Doubles add up.", check),),
)
"""


def folder(root, name, text=STUDY):
    (root / name).mkdir(parents=True)
    (root / name / "__init__.py").write_text(textwrap.dedent(text))
    return root


def test_the_built_in_studies_are_declared_and_found_without_an_installation(monkeypatch):
    assert {"linear", "random", "rank", "separation"} <= set(study_names())
    assert "toy" not in study_names()
    declared = {entry.name: entry.value for entry in metadata.entry_points(group=catalog.GROUP)}
    assert {name: declared[name] for name in papers.STUDIES} == papers.STUDIES
    monkeypatch.setattr(catalog, "entry_points", lambda group: ())
    assert study_names() == sorted(papers.STUDIES)
    assert load_study("separation").name == "separation"


def declare(monkeypatch, name, value):
    entry = metadata.EntryPoint(name, value, catalog.GROUP)
    monkeypatch.setattr(catalog, "entry_points", lambda group: (entry,))


def test_an_installed_package_adds_a_study_by_declaring_it(tmp_path, monkeypatch):
    (tmp_path / "a_strangers_package.py").write_text(STUDY)
    monkeypatch.syspath_prepend(tmp_path)
    declare(monkeypatch, "mine", "a_strangers_package:study")
    assert "mine" in study_names()
    assert load_study("mine").claims[0].id == "mine-sum"


def test_a_declared_study_that_does_not_load_says_so_and_ours_cannot_be_replaced(monkeypatch):
    declare(monkeypatch, "mine", "no_such_package:study")
    with pytest.raises(UserError, match=r"'mine', declared as 'no_such_package:study'.*loaded"):
        load_study("mine")
    declare(monkeypatch, "separation", "no_such_package:study")
    assert load_study("separation").name == "separation"


def test_a_folder_added_is_a_study_added(tmp_path):
    root = folder(tmp_path, "mine")
    assert study_names(root) == sorted([*study_names(), "mine"])
    assert load_study("mine", root).claims[0].id == "mine-sum"
    assert load_study("separation", root).name == "separation"


def test_the_command_line_runs_a_persons_own_study(tmp_path):
    root = folder(tmp_path / "studies", "mine")
    run = Attnlab(tmp_path)("reproduce", "mine", "--studies-dir", root, "--no-report")
    assert run.returncode == 0, run.stderr
    assert "mine (quick): 3 cells, 0 from the store, 3 computed" in run.stdout
    assert "mine (quick): 1 claim: 1 ✓ holds" in run.stdout
    run = Attnlab(tmp_path)("run", "doubled", "--x", "21", ATTNLAB_STUDIES=str(root))
    assert re.search(r"y +42", run.stdout)


def test_files_and_folders_without_an_init_are_no_studies(tmp_path):
    root = folder(tmp_path, "mine")
    (root / "notes").mkdir()
    (root / "readme.txt").write_text("mine")
    assert study_names(root) == sorted([*study_names(), "mine"])


def test_studies_come_in_the_order_asked_for_and_once():
    names = [study.name for study in load_studies(["toy", "separation", "toy"], STUDIES)]
    assert names == ["toy", "separation"]


def test_a_study_may_have_several_files(tmp_path):
    root = folder(tmp_path, "mine", "from .inner import study\n")
    (root / "mine" / "inner.py").write_text(STUDY)
    assert load_study("mine", root).name == "mine"


def test_an_unknown_study_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(UserError, match=r"'nosuch'; accepted are .*mine, .*separation"):
        load_study("nosuch", folder(tmp_path, "mine"))


def test_a_folder_with_another_name_than_its_study_is_refused(tmp_path):
    with pytest.raises(UserError, match="'yours' holds a study named 'mine'"):
        load_study("yours", folder(tmp_path, "yours"))


@pytest.mark.parametrize("text", ["", "study = 3\n", "from attnlab.lab.study import Study\n"])
def test_a_folder_that_defines_no_study_is_refused(tmp_path, text):
    with pytest.raises(UserError, match="'mine' must define 'study'"):
        load_study("mine", folder(tmp_path, "mine", text))


BROKEN = {
    "a syntax error": ("x = 1\ndef f(:\n", r"SyntaxError: .* \(__init__\.py:2\)"),
    "an unknown name": ("x = 1\n\ny = z\n", r"NameError: name 'z' .* \(__init__\.py:3\)"),
    "a missing library": ("import nosuchlibrary\n", r"ModuleNotFoundError: .*nosuchlibrary"),
    "a bad kind": (STUDY.replace('"doubled"', '"not a name"'), r"must be an identifier"),
    "a bad call": ("import json\njson.loads('x')\n", r"JSONDecodeError.* \(__init__\.py:2\)"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_study_that_does_not_load_says_in_which_line(tmp_path, what):
    text, said = BROKEN[what]
    root = folder(tmp_path, "mine", text)
    for _ in range(2):  # nothing half-loaded stays behind
        with pytest.raises(UserError, match=f"{re.escape(str(root / 'mine'))}.*{said}"):
            load_study("mine", root)
    (root / "mine" / "__init__.py").write_text(STUDY)
    assert load_study("mine", root).name == "mine"


def test_a_mistake_in_an_inner_file_is_placed_there(tmp_path):
    root = folder(tmp_path, "mine", "from .inner import study\n")
    (root / "mine" / "inner.py").write_text(f"{STUDY}\nstudy = study + 1\n")
    line = STUDY.count("\n") + 2
    with pytest.raises(UserError, match=rf"TypeError: .*\(inner\.py:{line}\)"):
        load_study("mine", root)
    (root / "mine" / "inner.py").write_text(STUDY)
    assert load_study("mine", root).name == "mine"


def test_a_broken_study_is_one_sentence_at_the_shell_and_no_other_study_suffers(tmp_path):
    attnlab = Attnlab(tmp_path)
    root = folder(folder(tmp_path / "studies", "mine"), "broken", "def f(:\n")
    run = attnlab("reproduce", "broken", "--studies-dir", root)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert re.search(r"broken cannot be loaded: SyntaxError: .* \(__init__\.py:1\)", run.stderr)
    run = attnlab("reproduce", "mine", "--studies-dir", root, "--no-report")
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "attnlab-report").exists()


def test_a_study_that_prints_exits_or_takes_a_name_of_ours_says_so(tmp_path, capsys):
    root = folder(tmp_path, "mine", f"print('loud')\n{STUDY}")
    assert load_study("mine", root).name == "mine"
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "loud\n")
    root = folder(tmp_path / "b", "mine", "import sys\nsys.exit(3)\n")
    with pytest.raises(UserError, match=r"cannot be loaded: SystemExit: 3 \(__init__\.py:2\)"):
        load_study("mine", root)
    root = folder(tmp_path / "c", "rank", STUDY.replace('name="mine"', 'name="rank"'))
    with pytest.raises(UserError, match="has the name of a study that is installed, 'rank'"):
        study_names(root)


def test_a_study_whose_plan_raises_is_one_sentence(tmp_path):
    broken = STUDY.replace("cells = lambda scale, seed:", "cells = lambda scale, seed: 1 / 0 or")
    root = folder(tmp_path / "studies", "mine", broken)
    Store(tmp_path / "attnlab-store")
    for command in ("reproduce", "claims", "report"):
        run = Attnlab(tmp_path)(command, "mine", "--studies-dir", root)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
        assert "Study 'mine' cannot say which cells it needs: ZeroDivisionError" in run.stderr


def test_a_verdict_that_is_none_is_a_bug_of_the_check(tmp_path):
    root = folder(tmp_path / "studies", "mine", STUDY.replace('"holds" if', '"perhaps" if'))
    run = Attnlab(tmp_path)("reproduce", "mine", "--studies-dir", root, "--no-report")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "decided nothing: mine-sum" in run.stderr
