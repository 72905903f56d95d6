import sys

import pytest

from attnlab.errors import UserError
from attnlab.random.memory import available_memory, require_memory


def test_the_sentence_names_what_is_needed_what_there_is_and_what_to_reduce():
    with pytest.raises(UserError) as refused:
        require_memory("The fits", 3e12, "d or n", available=1.5e9)
    assert str(refused.value) == (
        "The fits need 3,000 GB of memory, and 1.5 GB are available: d or n must be smaller."
    )
    require_memory("The fits", 1e9, "d or n", available=1.5e9)


def test_the_machine_says_what_it_has_with_and_without_psutil(monkeypatch):
    assert 2**20 < available_memory() < 2**50
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert 2**20 < available_memory() < 2**50
