"""The seed contract and the shape checks of every test.

A test that needs randomness takes the fixture `seed`, 0 to 99, and passes for each of them; the
date picks one unless ATTNLAB_TEST_SEED does. The shapes in the signatures of the mathematics are
checked here, and only here.
"""

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager

import jaxtyping
import pytest

PAPERS = ("linear", "random", "rank", "separation")
ROOMS = ("problem", "noise", "models", "theory", "kernels", "training", "reading", "ridge")
SHARED = ("checkpoints", "maths", "stats", "tensor_files", "training")
SHAPE_CHECKED = [
    *(f"attnlab.{paper}.{room}" for paper in PAPERS for room in (*ROOMS, "simulation")),
    *(f"attnlab.random.{name}" for name in ("gaussianity", "philox", "prompts")),
    *(f"attnlab.{name}" for name in (*SHARED, "separation.rademacher")),
]

# An int is accepted where a float is annotated, as everywhere else in Python.
TYPE_CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

# XLA's optimiser takes a third of the suite's processor time, and no fact depends on it: programs
# are compiled at level 1 unless ATTNLAB_TEST_OPTIMISED is set (at level 0 they run so much slower
# that it costs more), by the older code generator and in one piece. Set before JAX is imported.
COMPILED_QUICKLY = (
    "--xla_backend_optimization_level=1",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
if "ATTNLAB_TEST_OPTIMISED" not in os.environ:
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *COMPILED_QUICKLY]).strip()

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
    level = (
        "as users compile" if "ATTNLAB_TEST_OPTIMISED" in os.environ else "with little optimisation"
    )
    return f"test seed: {_seed()} (ATTNLAB_TEST_SEED sets it); compiled {level}"


@pytest.fixture(scope="session")
def seed() -> int:
    return _seed()


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations go unchecked, as for a user, so that a wrong type meets the library's own no."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@contextmanager
def in_double_precision() -> Iterator[None]:
    """Double precision for fixtures that outlive a test.

    What they compile is found again in the tests only under the same settings.
    """
    import jax

    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def double_precision() -> Iterator[None]:
    """float64, and a rank that grows silently is an error."""
    with in_double_precision():
        yield


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """The names of what XLA compiles from here on."""
    import jax  # after the flags above are set

    names: list[str] = []

    def listen(name: str, *_, **__) -> None:
        if name == "/jax/core/compile/backend_compile_duration":
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)
