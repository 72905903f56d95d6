"""Fixtures: attnlab as a process in a folder of its own, and the toy study."""

import pytest

from attnlab.lab.catalog import load_study
from tests.lab.command_line import STUDIES, Attnlab


@pytest.fixture
def attnlab(tmp_path):
    return Attnlab(tmp_path)


@pytest.fixture
def another(tmp_path_factory):
    return Attnlab(tmp_path_factory.mktemp("another"))


@pytest.fixture
def toy():
    return load_study("toy", STUDIES)
