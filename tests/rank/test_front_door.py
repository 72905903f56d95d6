"""The public names of `attnlab.rank`: each imports, is documented, and works without settings."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import attnlab
from attnlab import rank
from attnlab.stats import Estimate

WANTED = {
    "Neighbours",
    "SelfNeighbours",
    "lower_bound",
    "heads_needed",
    "exact_error",
    "full_rank_error",
    "sampled_full_rank_error",
    "majority_vote_error",
    "sampled_majority_vote_error",
    "FullRankHead",
    "MajorityVote",
    "RankAttention",
    "Encoder",
    "train",
    "error",
    "PUBLIC_SIZES",
}


def test_every_public_name_is_there_and_documented():
    assert set(dir(rank)) >= WANTED
    assert rank.__all__ == dir(rank)
    for name in rank.__all__:
        found = getattr(rank, name)
        if name != "PUBLIC_SIZES":
            assert inspect.getdoc(found), name
        if inspect.isfunction(found) and len(inspect.signature(found).parameters) > 3:
            assert "Parameters" in found.__doc__ or "arguments" in found.__doc__, name
        assert len(repr(found)) < 600, name


def test_laws_are_estimates_with_no_samples():
    for law in (
        rank.lower_bound(8, 1, 4),
        rank.full_rank_error(8, 2.0),
        rank.majority_vote_error(8, 3),
        rank.exact_error(rank.random_heads(8, 4, seed=0)),
    ):
        assert isinstance(law, Estimate)
        assert law.exact
        assert len(repr(law)) < 60
    assert rank.full_rank_error(8, float("inf")).value == 0


FRESH = """
import sys
from attnlab import rank
assert "jax" not in sys.modules, "the front door imports JAX"
import attnlab.rank.study
heavy = {"jax", "equinox", "altair", "scipy"} & set(sys.modules)
assert not heavy, f"the study imports {heavy}"
found = rank.error(rank.FullRankHead(), rank.Neighbours(4, 3), samples=16, chunk=16)
assert "jax" in sys.modules
print(found.samples, found.value < 1e-10)
"""


def test_a_fresh_process_needs_no_settings_and_imports_jax_when_it_is_used():
    source = Path(attnlab.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(source), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    command = [sys.executable, "-c", FRESH]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "16 True\n"
