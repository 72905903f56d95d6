"""What ships with the studies is whole, small, found, agrees with itself, and can be recomputed."""

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import attnlab
from attnlab.lab.catalog import load_study
from attnlab.lab.cell import column_types
from attnlab.lab.compare import flips
from attnlab.lab.evidence import KEY, evidence_of
from attnlab.lab.ledger import NOT_COMPUTED, ledger
from attnlab.lab.packing import SCRIPT
from attnlab.lab.part import VERSION
from attnlab.lab.verify import candidates, verify
from tests.lab.statement_checks import check_evidence

PACKAGE = Path(attnlab.__file__).parent
ROOT = Path(__file__).parents[2]
MOST = 10_000_000  # bytes of evidence and weights
CHEAP = 1.0  # seconds
SHIPPED = sorted(path.parents[1].name for path in PACKAGE.glob("*/evidence/evidence.json"))


@pytest.fixture(params=SHIPPED)
def study(request):
    return load_study(request.param)


def test_evidence_ships_and_stays_small():
    assert "separation" in SHIPPED
    files = [*PACKAGE.glob("*/evidence/*"), *PACKAGE.glob("*/weights/*")]
    assert sum(path.stat().st_size for path in files) < MOST


def test_the_folder_holds_the_files_that_its_json_names(study):
    evidence = evidence_of(study)
    present = {path.name for path in evidence.folder.iterdir()}
    assert present == {*evidence.files, "evidence.json"}
    for run in evidence.runs:
        assert 0 < run.cells <= run.planned
        for source in run.sources:
            assert len(source.commit) == 40
            assert source.device
            assert source.command.startswith(("attnlab ", f"{SCRIPT} "))
            assert "/" not in source.command


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
    )


def test_the_commits_that_evidence_names_are_in_the_history(study):
    """Evidence of a commit that nobody can check out cannot be computed again as it was."""
    whole = (ROOT / ".git").exists() and shutil.which("git")
    if not whole or _git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no checkout with its history")
    named = {source.commit for run in evidence_of(study).runs for source in run.sources}
    lost = [
        commit for commit in named if _git("merge-base", "--is-ancestor", commit, "HEAD").returncode
    ]
    assert not lost


def test_the_page_says_how_much_of_a_scale_is_shipped():
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    stated = set(re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+ of \d+) \|", page, re.MULTILINE))
    held = {
        (name, run.scale, f"{run.cells} of {run.planned}")
        for name in SHIPPED
        for run in evidence_of(load_study(name)).runs
    }
    assert stated == held


def test_the_key_of_a_shipped_row_is_that_of_its_configuration(study):
    evidence = evidence_of(study)
    for kind in study.kinds:
        table = evidence.table(kind.name)
        if table is None:
            continue
        names = [KEY, VERSION, *column_types(kind.config)]
        assert set(names) <= set(table.column_names)
        known = {tuple(row.values()) for row in table.select(names).to_pylist()}
        for key, version, *values in known:
            if version == kind.version:
                assert kind(kind.config(**dict(zip(names[2:], values, strict=True)))).key == key


def test_no_claim_is_decided_differently_by_two_shipped_runs(study):
    evidence = evidence_of(study)
    ledgers = [ledger(study, evidence.view(run)) for run in evidence.runs]
    assert any(entry.decided for found in ledgers for entry in found)
    assert not any(entry.broken for found in ledgers for entry in found)
    for first, second in itertools.combinations(ledgers, 2):
        assert not flips(first, second)


def test_every_verdict_of_a_shipped_run_has_its_evidence(study):
    evidence = evidence_of(study)
    for run in evidence.runs:
        found = ledger(study, evidence.view(run))
        check_evidence(entry for entry in found if entry.measured != NOT_COMPUTED)


@pytest.mark.usefixtures("unchecked")
def test_a_cheap_cell_of_every_kind_is_found_again(study):
    """Within the tolerance of its kind: the tests compile in another way than users do."""
    evidence = evidence_of(study)
    found = candidates(study, evidence)
    assert found
    for group in found.values():
        cheapest = min(group, key=lambda drawn: drawn.seconds)
        if cheapest.seconds < CHEAP:
            assert not verify(evidence, cheapest, exact=False).differences
