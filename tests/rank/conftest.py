"""The tests of `rank` compile with few optimisations, as those of the trainer do."""

from tests.training.conftest import quick_compilation as quick_compilation
