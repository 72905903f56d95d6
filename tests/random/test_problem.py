import math
import tracemalloc

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.philox import key_of
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.prompts import rescaled
from attnlab.stats import Estimate, agree

EPS = float(np.finfo(np.float32).eps)


def test_vec_h_is_the_outer_product_of_query_and_memory(seed):
    problem = SingleIndexRegression(5, 7, 3, "tanh", 0.1)
    full = problem.full_prompts(11, seed=seed)
    prompts = full.prompts()
    rows = prompts.features()
    for i in range(11):
        b = np.zeros(6)
        for x, y in zip(full.x[i], full.y[i], strict=True):
            b[:5] += 5 / 7 * y * x
            b[5] += y**2 / 7
        np.testing.assert_allclose(rows[i], np.outer(full.query[i], b).ravel(), rtol=1e-12)
    np.testing.assert_allclose(prompts.square_norms(), (rows**2).sum(1), rtol=1e-12)


def statistics(prompts):
    first = prompts.memory[:, :-1]
    overlap = (prompts.query * first).sum(1)
    norm = (first**2).sum(1)
    last = prompts.memory[:, -1]
    y = prompts.label
    return np.stack([y, y**2, norm, norm**1.5, last, y * overlap, last * norm])


def same_law(a, b, level=1e-7):
    """Whether seven statistics of prompts agree, at a familywise level."""
    pairs = zip(statistics(a), statistics(b), strict=True)
    return all(agree(Estimate.of(x), Estimate.of(y), 7, level).agrees for x, y in pairs)


@pytest.mark.parametrize("target", ["relu", "tanh", "linear", "sign"])
def test_the_short_draw_of_a_context_has_the_law_of_the_full_one(target, seed):
    problem = SingleIndexRegression(6, 5, 4, target, 0.3)
    short = problem.all_prompts(20_000, seed=seed, tasks="pool", split="train")
    assert same_law(short, problem.full_prompts(20_000, seed=seed).prompts())


def test_prompts_drawn_one_by_one_from_keys_have_the_law_of_fresh_tasks(seed):
    problem = SingleIndexRegression(6, 5, 4, "relu", 0.3)
    keys = jax.random.split(jax.random.key(seed), 20_000)
    drawn = jax.jit(jax.vmap(problem.sample))(keys)
    assert drawn.x.shape == (20_000, 5, 6)
    assert drawn.x.dtype == np.float32
    prompts = type(drawn)(*(np.asarray(part, float) for part in drawn)).prompts()
    assert same_law(prompts, problem.all_prompts(20_000, seed=seed, tasks="fresh", split="test"))
    # The same key gives the same prompt, whatever the batch, and needs no double precision.
    for part, several in zip(problem.sample(keys[7]), drawn, strict=True):
        np.testing.assert_allclose(part, several[7], rtol=100 * EPS, atol=100 * EPS)


def test_a_device_draws_the_prompts_of_the_host(seed):
    problem = SingleIndexRegression(5, 7, 3, "tanh", 0.1)
    kinds = [("pool", "train", 60), ("fresh", "test", 40), ("pool", "test", 30)]
    with jax.enable_x64(True):
        draw = jax.jit(lambda key, pool: problem.device_draws(key, kinds, pool, np.float32))
        found = draw(key_of(seed), problem.pool(seed))
    for ours, expected in zip(found, problem.draws(seed, kinds), strict=True):
        for part, values in zip(ours, expected, strict=True):
            assert part.dtype == np.float32
            # Sums of a dozen float32 terms: a few dozen roundings of their largest.
            tolerance = 64 * EPS * (1 + np.abs(values).max())
            np.testing.assert_allclose(part, values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("block", [1, 50, 1000])
def test_the_block_size_changes_no_prompt(block, seed):
    problem = SingleIndexRegression(4, 3, 2)
    whole = problem.all_prompts(300, seed=seed, tasks="pool", split="train")
    parts = list(problem.prompts(300, seed=seed, block=block))
    assert max(len(part.label) for part in parts) <= block
    for i, values in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([part[i] for part in parts]), values)


def test_fewer_prompts_are_the_first_of_more(seed):
    problem = SingleIndexRegression(4, 3, None)
    few = problem.all_prompts(70, seed=seed, tasks="pool", split="train")
    many = problem.all_prompts(400, seed=seed, tasks="pool", split="train")
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a, b[:70])


def test_a_pool_has_k_tasks_and_fresh_tasks_differ(seed):
    problem = SingleIndexRegression(4, 3, 2, "linear", 0.0)
    pool = problem.pool(seed)
    assert pool.shape == (2, 4)
    prompts = problem.all_prompts(200, seed=seed, tasks="pool", split="test")
    answers = prompts.query @ pool.T
    assert (np.abs(answers - prompts.label[:, None]).min(1) < 1e-12).all()
    chosen = np.abs(answers - prompts.label[:, None]).argmin(1)
    assert 50 < chosen.sum() < 150  # of 200 fair coins: seven standard deviations
    fresh = problem.all_prompts(200, seed=seed, tasks="fresh", split="test")
    assert (np.abs(fresh.query @ pool.T - fresh.label[:, None]).min(1) > 1e-12).all()
    np.testing.assert_array_equal(SingleIndexRegression(4, 3, 5).pool(seed)[:2], pool)
    assert SingleIndexRegression(4, 3, None).pool(seed) is None


def test_rescaled_prompts_have_one_norm(seed):
    problem = SingleIndexRegression(5, 4, 3)
    prompts = problem.all_prompts(40, seed=seed, tasks="pool", split="train")
    np.testing.assert_allclose(rescaled(prompts, 2.5).square_norms(), 2.5, rtol=1e-12)


def test_a_stream_holds_one_block_at_a_time():
    problem = SingleIndexRegression(20, 20, 10)
    list(problem.prompts(2, seed=0))  # what is loaded on first use is not the stream's
    tracemalloc.start()
    total = sum(len(part.label) for part in problem.prompts(40_000, seed=0, block=512))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 40_000
    assert peak < 4 * 2**20  # all prompts together are 14 MiB


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"d": 0}, "d must be an integer of at least 1, got 0."),
        ({"length": 0}, "length must be an integer of at least 1, got 0."),
        ({"tasks": 0}, "tasks must be an integer of at least 1, got 0."),
        ({"noise": -1}, "noise must be a finite number of at least 0, got -1."),
        ({"noise": math.nan}, "noise must be a finite number of at least 0, got nan."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_bad_single_index_problem_is_named(arguments, sentence):
    with pytest.raises(UserError) as refused:
        SingleIndexRegression(**{"d": 4, "length": 4, "tasks": 2, **arguments})
    assert str(refused.value) == sentence


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_target_is_named():
    with pytest.raises(UserError, match=r"^activation must be one of 'linear', 'relu'.*got 'cos'"):
        SingleIndexRegression(4, 4, 2, "cos")
    with pytest.raises(UserError, match=r"^tasks must be one of 'pool', 'fresh', got 'old'"):
        next(SingleIndexRegression(4, 4, 2).prompts(3, seed=0, tasks="old"))
    with pytest.raises(UserError, match=r"^split must be one of 'train', 'test', got 'both'"):
        next(SingleIndexRegression(4, 4, 2).prompts(3, seed=0, split="both"))
    with pytest.raises(UserError, match=r"^tasks must be one of 'pool', 'fresh', got 'old'"):
        SingleIndexRegression(4, 4, 2).full_prompts(3, seed=0, tasks="old")
