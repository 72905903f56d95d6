"""Recorded quick runs of the studies that train, so that their ledgers can be compared in no time.

    python -m tests.lab.quick_runs STORE

packs what `attnlab reproduce` left in a store. Cells are found by their keys: of what an older
version of a kind answered nothing is judged, so record again when the cells of a study change. The
tests of `random` and `separation` have quick runs of their own.
"""

import dataclasses
import sys
from pathlib import Path

from attnlab.lab.catalog import load_study
from attnlab.lab.evidence import evidence_of
from attnlab.lab.packing import pack
from attnlab.lab.store import Store
from attnlab.lab.study import Study, View

NAMES = ("linear", "rank")


def _in_place(study: Study) -> Study:
    """The study with the recorded run as its evidence."""
    return dataclasses.replace(
        study, evidence=Path(__file__).with_name("quick_evidence") / study.name
    )


def load(study: Study) -> View:
    """The recorded quick run of a study."""
    evidence = evidence_of(_in_place(study))
    assert evidence is not None
    (run,) = evidence.runs
    return evidence.view(run)


def write(store: Path) -> None:
    """Pack the quick runs of a store."""
    for name in NAMES:
        study = _in_place(load_study(name))
        assert study.evidence is not None
        study.evidence.mkdir(parents=True, exist_ok=True)
        pack(Store(store, create=False), study, "quick", fresh=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
