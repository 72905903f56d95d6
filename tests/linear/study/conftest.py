"""FULL networks for tests of claims, whatever ships."""

import pytest

from attnlab.linear.study import grids_full, tails
from attnlab.linear.study.questions_full import MODELS
from attnlab.linear.study.table_1 import LAWS
from tests.linear.study import rows


@pytest.fixture(scope="module")
def full_networks():
    """All ten laws have FULL networks, one has those of all recipes, and no AXIS has extremes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids_full, "DIGESTS", dict.fromkeys(LAWS, "0" * 16))
        patch.setattr(grids_full, "RECIPE_DIGESTS", dict.fromkeys(("printed", *MODELS), "0" * 16))
        elsewhere = dict.fromkeys(("uniform:1", "uniform:2", "uniform:3"), (3, "0" * 16))
        patch.setattr(grids_full, "PRINTED_ELSEWHERE", elsewhere)
        patch.setattr(tails, "EXTREMES", {})
        _forget()
        yield
    _forget()


def _forget():
    rows.planned.cache_clear()
    rows.invented.cache_clear()
