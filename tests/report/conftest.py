"""A store filled by the garden study, and the report written from it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from attnlab.lab.catalog import load_study
from attnlab.lab.ledger import Judged
from attnlab.lab.runner import look_up
from attnlab.lab.store import Store
from attnlab.report.site import write_report

STUDIES = Path(__file__).parent / "studies"


@pytest.fixture(scope="session")
def garden():
    return load_study("garden", STUDIES)


@pytest.fixture(scope="session")
def store(garden, tmp_path_factory):
    found = Store(tmp_path_factory.mktemp("garden") / "store")
    importlib.import_module("attnlab_study_garden").fill(found)
    return found


def judged(store, *studies):
    """What the store holds of studies at scale quick and seed 0, judged."""
    plans = [study.plan("quick", 0) for study in studies]
    return [Judged.of(plan, look_up(plan, store).view) for plan in plans]


@pytest.fixture(scope="session")
def seen(store, garden):
    return judged(store, garden)[0].view


@pytest.fixture(scope="session")
def entries(store, garden):
    return judged(store, garden)[0].ledger


@pytest.fixture(scope="session")
def report(store, garden, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "site"
    notes = ["A note <b>in bold</b>."]
    return write_report(
        store, judged(store, garden), out, notes, formats=("png", "pdf")
    ).index.parent
