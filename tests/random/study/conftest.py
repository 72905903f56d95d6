"""Evidence to judge: a recorded quick run, ideal rows of the paper scale, the shipped run of that
scale, and a very small run."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.lab.evidence import evidence_of
from attnlab.lab.part import decode
from attnlab.lab.study import View
from attnlab.random.study import grids, study
from tests.random.study import ideal, recorded, tiny

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def quick():
    """The recorded run of the quick scale with seed 0."""
    return recorded.load()


@pytest.fixture(scope="session")
def paper(quick):
    """Rows of the paper scale that follow the laws."""
    return ideal.view(quick)


@pytest.fixture(scope="session")
def shipped():
    """The run of the paper scale that ships with the study."""
    evidence = evidence_of(study)
    assert evidence is not None
    (run,) = evidence.runs
    return evidence.view(run)


@pytest.fixture(scope="module")
def small(seed, tmp_path_factory):
    """All cells of the study at very small dimensions, computed now."""
    folder = tmp_path_factory.mktemp("tiny")
    command = [sys.executable, "-m", "tests.random.study.tiny", str(folder), str(seed)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with tiny.in_place_of_quick():
        results = {
            cell.key: decode(cell, (folder / cell.key).read_bytes())[cell.key]
            for cell in grids.cells("quick", seed)
        }
        yield View("quick", seed, results)
