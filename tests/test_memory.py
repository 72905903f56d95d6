import sys

import pytest

from attnlab import memory
from attnlab.errors import UserError


def test_what_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(UserError) as refused:
        memory.require_memory("The numbers of one trial", 8.4e11, "the width m", available=2.46e10)
    assert str(refused.value) == (
        "The numbers of one trial need 840 GB of memory, and 24.6 GB are available: "
        "the width m must be smaller."
    )
    with pytest.raises(UserError, match=r"need 1,000,000,000 GB of memory"):
        memory.require_memory("The points", 1e18, "n")


def test_what_fits_is_not_refused(monkeypatch):
    memory.require_memory("The points", 1e9, "n", available=1e9)
    monkeypatch.setattr(memory, "available_memory", lambda: 6e8)
    memory.require_memory("The points", memory.LITTLE, "n")
    memory.require_memory("The points", 6e8, "n")
    with pytest.raises(UserError, match=r"0\.6 GB are available"):
        memory.require_memory("The points", 7e8, "n")


def test_the_machine_says_what_it_has_with_and_without_psutil(monkeypatch):
    assert 1e7 < memory.available_memory() < 1e15
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert 1e7 < memory.available_memory() < 1e15


def test_a_card_that_is_full_is_not_told_with_the_memory_of_the_machine():
    assert "are available here" in memory.out_of_memory("A cell")
    said = memory.out_of_memory("A cell", "NVIDIA H200")
    assert "on the NVIDIA H200" in said
    assert "available here" not in said
