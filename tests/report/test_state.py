"""What a report depends on: the sources of a study, and no more than these."""

import pytest

from attnlab.lab.catalog import load_study
from attnlab.papers import STUDIES
from attnlab.report.state import PACKAGE, _folders


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_of_the_package_depends_on_the_package_alone(name):
    """Checks that are partial functions once brought all of Python's library along."""
    assert _folders(load_study(name)) == {PACKAGE}
