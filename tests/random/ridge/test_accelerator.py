"""The accelerator's arrays on JAX's CPU backend: the host's numbers, from few programs.

All tests here ask for the same fits, so that their programs are compiled once.
"""

import logging
import re
from collections import Counter

import jax
import numpy as np
import pytest

from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.simulation import simulate
from attnlab.random.study import cells
from attnlab.random.study.panels import Grid

EPS = float(np.finfo(np.float32).eps)
PROBLEM = SingleIndexRegression(7, 7, 3, "relu", 0.1)
MODELS = [LinearAttention(True), RandomTransformer(44), EquivalentModel(44, "relu", 1)]
SIZES, RIDGES, TEST = [20, 62], [0.1, 1.0], 40


def compiled(seed, runs, at_once, log):
    """The points of a simulation, and how often each program was compiled for it."""
    log.clear()
    done = []
    options = {"n": SIZES, "ridge": RIDGES, "seed": seed, "test": TEST, "finished": done.append}
    arrays = Accelerator(concurrent_runs=at_once)
    jax.config.update("jax_log_compiles", True)  # in every thread
    try:
        points = simulate(PROBLEM, MODELS, runs=runs, arrays=arrays, **options)
    finally:
        jax.config.update("jax_log_compiles", False)
    assert done == list(range(1, runs + 1))
    found = [re.match(r"Finished XLA compilation of jit\((\w+)\)", line) for line in log]
    return points, Counter(match[1] for match in found if match)


@pytest.fixture(scope="module")
def log():
    """What is logged while the tests of this file run."""
    lines = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("jax")
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)


@pytest.fixture(scope="module")
def first(seed, log):
    """The first simulation, which compiles all programs."""
    return compiled(seed, 1, 1, log)


def test_it_has_one_program_per_step(first):
    # Two widths, one of them with an intercept; models of one width share their programs.
    once = ("_draws", "_scaled", "_weights", "_noise", "_train_block", "_test_block")
    twice = ("no_rows", "add_rows", "primal_fits", "dual_fits", "widened")
    assert first[1] == {**dict.fromkeys(once, 1), **dict.fromkeys(twice, 2)}


def test_it_compiles_nothing_for_further_runs_and_runs_may_overlap(first, log, seed):
    one, further = compiled(seed, 3, 1, log)
    two, more = compiled(seed, 3, 2, log)
    assert (len(further), len(more)) == (0, 0)
    assert one == two
    assert [point.runs[0] for point in one] == [point.runs[0] for point in first[0]]


@pytest.mark.usefixtures("first")
def test_a_cell_has_the_same_rows_as_on_the_host(monkeypatch, seed):
    grid = Grid(MODELS, SIZES, RIDGES)
    monkeypatch.setattr(cells.panels, "grid", lambda panel, problem: grid)
    config = cells.Run("size", 7, 7, 3, noise=0.1, test=TEST, seed=seed)
    host = cells.run.run(config).rows
    monkeypatch.setattr(cells, "best_arrays", Accelerator)
    device = cells.run.run(config).rows
    assert len(host) == len(device) == 12
    for ours, theirs in zip(host, device, strict=True):
        assert (ours.model, ours.n, ours.width) == (theirs.model, theirs.n, theirs.width)
        # Features differ by a few roundings; the normal equations amplify a relative difference by
        # at most their condition number.
        tolerance = 8 * EPS * max(ours.condition, 32)
        assert tolerance < 0.01
        for name in ("icl", "idg", "train"):
            assert getattr(theirs, name) == pytest.approx(getattr(ours, name), rel=tolerance)
