"""The documentation tells the truth: it builds, its examples run, its outputs are the program's."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import attnlab
from attnlab.cli.main import parse
from tests.docs.gallery import gallery_page
from tests.docs.markdown_pages import PAGES, ROOT, Command, answered, commands, execute, files, same

DOCS = ROOT / "docs"
STUDY_PAGE = DOCS / "write-your-own-study.md"

EVERY_COMMAND = [command for page in PAGES for command in commands(page)]
ELSEWHERE = {"make", "dask"}  # programs of a page that are not ours
OUR_COMMANDS = [
    command
    for command in EVERY_COMMAND
    if command.words[0] == "attnlab" and command.page != STUDY_PAGE.name
]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    """A folder where a reader has run the study that the pages talk about."""
    folder = tmp_path_factory.mktemp("reader")
    done = execute(["attnlab", "reproduce", "separation", "--no-report"], folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The pages as Sphinx builds them; every example on them runs."""
    folder = tmp_path_factory.mktemp("docs")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_the_documentation_builds_without_warnings_and_needs_no_network(built):
    pages = {path.stem: path.read_text(encoding="utf-8") for path in built.glob("*.html")}
    assert {page.stem for page in DOCS.glob("*.md")} <= set(pages)
    assert {page.stem for page in DOCS.glob("api/*.md")} <= {
        path.stem for path in built.glob("api/*.html")
    }
    assert "softmax is worse" in pages["add-an-attention-variant"]
    for name, html in pages.items():
        loaded = re.findall(
            r'<(?:script|link|img)\b[^>]*(?:src|href)="((?:https?:)?//[^"]*)"', html
        )
        assert not loaded, f"{name} loads {loaded}"
    assert "<math" in pages["separation"]
    assert "usage: attnlab reproduce" in pages["cli"]
    assert "exact   0.7633" in pages["quickstart"]


@pytest.mark.slow
def test_every_example_of_the_gallery_has_a_thumbnail_and_draws_what_no_other_does(built):
    text = (built / "gallery" / "index.html").read_text(encoding="utf-8")
    scripts = {path.stem for path in gallery_page.FOLDER.glob("*.py")}
    assert set(gallery_page.ORDER) == scripts
    assert len(gallery_page.ORDER) == len(scripts) == 12
    drawn = set()
    for each in gallery_page.examples():
        anchor = each.name.replace("_", "-")
        assert text.count(f'id="{anchor}"') == 1
        for picture in (f"gallery-{anchor}.svg", f"gallery-{anchor}-small.svg"):
            assert text.count(f'src="../_images/{picture}"') == 1
            assert (built / "_images" / picture).is_file()
        assert each.about.endswith((".", "?"))
        svg = (built / "_images" / f"gallery-{anchor}.svg").read_text(encoding="utf-8")
        assert re.findall(r'class="mark-(\w+) role-mark', svg)
        assert "NaN" not in svg
        assert len(svg) < 100_000
        drawn.add(svg)
    assert len(drawn) == 12


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in OUR_COMMANDS if c.shown], ids=str)
def test_what_a_page_shows_is_what_the_program_prints(reproduced, command: Command):
    done = execute(command.words, reproduced)
    assert done.returncode == 0, done.stderr
    assert same(done.stdout) == same(command.shown)


@pytest.mark.slow
def test_python_on_a_page_prints_what_the_page_shows(reproduced):
    examples = [example for page in PAGES for example in answered(page)]
    assert len(examples) >= 2  # README and the lab's page
    for code, shown in examples:
        done = execute(["python", "-W", "error", "-c", code], reproduced)
        assert done.returncode == 0, done.stderr
        assert same(done.stdout) == same(shown)


@pytest.mark.parametrize("command", EVERY_COMMAND, ids=str)
def test_commands_on_pages_exist(command: Command):
    program, *arguments = command.words
    if program == "make":
        targets = (ROOT / "Makefile").read_text()
        assert all(re.search(rf"^{name}:", targets, re.MULTILINE) for name in arguments)
    elif program == "attnlab" and arguments[0] == "run":
        if command.page != STUDY_PAGE.name:  # there a study of the reader's own, run below
            kind, *options = arguments[1:]
            help_text = execute(["attnlab", "run", kind, "--help"], ROOT).stdout
            assert all(word in help_text for word in options if word.startswith("--"))
    elif program == "attnlab":
        parse(arguments)
    else:
        assert program in ELSEWHERE | {"python"}


def test_the_study_to_copy_runs_reports_and_is_tested(tmp_path):
    written = files(STUDY_PAGE)
    assert set(written) == {"my_studies/coins/__init__.py", "test_coins.py"}
    for name, code in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    session = commands(STUDY_PAGE)
    assert any("pytest" in command.words for command in session)
    for command in session:
        done = execute(command.words, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert same(done.stdout) == same(command.shown), command

    judged = ["attnlab", "claims", "coins", "--studies-dir", "my_studies", "--json"]
    quick = {e["id"]: e["verdict"] for e in json.loads(execute(judged, tmp_path).stdout)}
    assert quick == {"coins-law": "holds", "coins-certain": "undecided at this scale"}
    paper = json.loads(execute([*judged, "--scale", "paper"], tmp_path).stdout)
    assert {e["verdict"] for e in paper} == {"holds"}

    html = (tmp_path / "attnlab-report" / "coins.html").read_text(encoding="utf-8")
    assert "Majority against n" in html
    assert (tmp_path / "attnlab-report/figures/coins-majority.svg").is_file()


def test_a_check_without_teeth_would_not_pass_the_tests_on_the_page(tmp_path):
    """The page's own tests notice if its claims are made unable to fail."""
    written = files(STUDY_PAGE)
    study = written["my_studies/coins/__init__.py"]
    toothless = study.replace('"holds" if test.agrees else "fails"', '"holds"')
    assert toothless != study
    (tmp_path / "my_studies/coins").mkdir(parents=True)
    (tmp_path / "my_studies/coins/__init__.py").write_text(toothless, encoding="utf-8")
    (tmp_path / "test_coins.py").write_text(written["test_coins.py"], encoding="utf-8")
    done = execute(["python", "-m", "pytest", "-q", "test_coins.py"], tmp_path)
    assert done.returncode == 1
    assert "1 failed, 4 passed" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    linked = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text)
    linked += re.findall(r"^```\{figure\} (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    for target in linked:
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def test_the_picture_is_a_small_png():
    picture = (DOCS / "images" / "separation.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000


def _files_of_the_repository() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_package_index():
    # Written so that this file does not contain what it looks for.
    address = re.compile(rb"https?://\S*/simple\b|index[-_]url|find[-_]links", re.IGNORECASE)
    found = [
        str(path.relative_to(ROOT))
        for path in _files_of_the_repository()
        if address.search(path.read_bytes())
    ]
    assert not found


def test_pins_are_names_and_versions():
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) == 2
    for lock in locks:
        for line in lock.read_text().splitlines():
            assert not line or re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line


def test_what_the_package_needs_is_pinned_for_those_who_only_run_it():
    run, develop = (_pinned(ROOT / f"requirements{kind}.lock") for kind in ("", "-dev"))
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[>=<\[]", name)[0].lower() for name in needed} <= run
    assert not run & develop


def _pinned(lock: Path) -> set[str]:
    lines = lock.read_text().splitlines()
    return {line.partition("==")[0].lower() for line in lines if "==" in line}


def test_the_citation_file_is_complete():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == attnlab.__version__
    assert cited["license"] == "Apache-2.0"
    assert cited["message"]
    assert cited["title"]
    assert cited["authors"] == [{"name": "The attnlab developers"}]
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Deng", "Song", "Zhou"]
    assert "2310.11685" in paper["url"]
