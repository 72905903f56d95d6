"""The page of `random` says what its shipped ledger says, and its tables have the laws' values."""

import re

import pytest

from attnlab.lab.ledger import ledger
from attnlab.random.study import grids, study
from tests.docs.markdown_pages import ROOT
from tests.docs.tables import check_table


def test_the_page_has_every_claim_with_its_verdict(shipped):
    """Of the ledger that ships, which a fresh clone prints."""
    check_table("random", ledger(study, shipped))


def test_the_page_has_the_grade_of_every_verdict(shipped):
    text = (ROOT / "docs" / "random.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| [a-z ]+ \| ([a-z' ]+) \| .* \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted((entry.id, entry.grade) for entry in ledger(study, shipped))


def test_the_laws_tables_have_the_specifications_values(quick):
    rows = quick.rows(grids.law_numbers())
    found = {(row.table, row.model, row.at): row.value for row in rows}
    lengths = [round(found["length", "linear", at], 3) for at in (1, 2, 4, 8)]
    assert lengths == [1.351, 1.398, 1.595, 2.072]
    relu = [round(found["length", "relu", at], 3) for at in (0.1, 1, 2, 4, 8, 16, 100)]
    assert relu == [1.022, 0.889, 0.842, 0.815, 0.81, 0.82, 0.852]
    implicit = [(row.at, row.value) for row in rows if row.table == "implicit ridge"]
    assert implicit[0] == pytest.approx((0.18411, 0.42181), abs=6e-6)
    assert implicit[1] == pytest.approx((0.03786, 0.93100), abs=6e-6)
    assert round(found["width", "relu", 100.0], 3) == 0.424
