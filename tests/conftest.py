"""The seed contract and the shape checks of every test.

A test that needs randomness takes the fixture `seed`, 0 to 99, and passes for each of them; the
date picks one unless ATTNLAB_TEST_SEED does. The shapes in the signatures of the mathematics are
checked here, and only here.
"""

import datetime
import os
from collections.abc import Iterator

import jaxtyping
import pytest

CHECKED = ("problems", "models", "theory", "estimators", "training", "reading")
SHAPE_CHECKED = [f"attnlab.{name}" for name in CHECKED]

# An int is accepted where a float is annotated, as everywhere else in Python.
TYPE_CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

# Before any of these modules is imported: an import that came first would go unchecked.
jaxtyping.install_import_hook(SHAPE_CHECKED, TYPE_CHECKER)


def _seed() -> int:
    given = os.environ.get("ATTNLAB_TEST_SEED")
    if given is None:
        return datetime.datetime.now(datetime.UTC).timetuple().tm_yday % 100
    if not given.isdecimal() or int(given) > 99:
        raise pytest.UsageError(
            f"ATTNLAB_TEST_SEED must be an integer from 0 to 99, got {given!r}."
        )
    return int(given)


def pytest_report_header() -> str:
    return f"test seed: {_seed()} (ATTNLAB_TEST_SEED sets it)"


@pytest.fixture(scope="session")
def seed() -> int:
    return _seed()


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations go unchecked, as for a user, so that a wrong type meets the library's own no."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
