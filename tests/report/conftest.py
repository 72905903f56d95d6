"""A store filled by the garden study, and the report written from it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from attnlab.lab.catalog import load_study
from attnlab.lab.ledger import ledger, view
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


@pytest.fixture(scope="session")
def seen(store, garden):
    return view(store, garden, "quick", 0)


@pytest.fixture(scope="session")
def entries(garden, seen):
    return ledger(garden, seen)


@pytest.fixture(scope="session")
def report(store, garden, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "site"
    return write_report(store, [garden], "quick", 0, out, ["A note <b>in bold</b>."]).parent
