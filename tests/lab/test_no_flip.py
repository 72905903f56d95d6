"""No claim is decided one way by a quick run and another way by a run that ships.

`random` and `separation` are compared in their own tests, with quick runs of their own.
"""

import pytest

from attnlab.lab.catalog import load_study
from attnlab.lab.ledger import NOT_COMPUTED, ledger
from tests.lab import quick_runs
from tests.lab.statement_checks import check_no_flip


@pytest.mark.parametrize("name", quick_runs.NAMES)
def test_no_claim_is_decided_differently_at_two_scales(name):
    study = load_study(name)
    check_no_flip(study, quick_runs.load(study))


@pytest.mark.parametrize("name", quick_runs.NAMES)
def test_the_recorded_run_is_of_this_version_of_the_study(name):
    study = load_study(name)
    entries = ledger(study, quick_runs.load(study))
    assert not any(entry.broken for entry in entries)
    missing = [entry.id for entry in entries if entry.measured == NOT_COMPUTED]
    assert not missing, "record the run again"
    assert sum(entry.decided for entry in entries) > len(entries) / 3, "record the run again"
