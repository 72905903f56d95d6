import math
import tracemalloc

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.problem import GROUP, SingleIndexRegression, rescaled


def test_vec_h_is_the_outer_product_of_query_and_memory(seed):
    problem = SingleIndexRegression(5, 7, 3, "tanh", 0.1)
    full = problem.contexts(11, seed=seed)
    prompts = full.prompts()
    rows = prompts.features()
    for i in range(11):
        b = np.zeros(6)
        for x, y in zip(full.x[i], full.y[i], strict=True):
            b[:5] += 5 / 7 * y * x
            b[5] += y**2 / 7
        np.testing.assert_allclose(rows[i], np.outer(full.query[i], b).ravel(), rtol=1e-12)
    np.testing.assert_allclose(prompts.square_norms(), (rows**2).sum(1), rtol=1e-12)


@pytest.mark.parametrize("target", ["relu", "tanh", "linear", "sign"])
def test_the_short_draw_of_a_context_has_the_law_of_the_full_one(target, seed):
    # 7 statistics of 20,000 prompts each way: |difference| < 6 standard errors.
    problem = SingleIndexRegression(6, 5, 4, target, 0.3)
    short = problem.all_prompts(20_000, seed=seed, tasks="pool", split="train")
    full = problem.contexts(20_000, seed=seed).prompts()

    def statistics(prompts):
        first = prompts.memory[:, :-1]
        overlap = (prompts.query * first).sum(1)
        norm = (first**2).sum(1)
        last = prompts.memory[:, -1]
        y = prompts.label
        return np.stack([y, y**2, norm, norm**1.5, last, y * overlap, last * norm])

    a, b = statistics(short), statistics(full)
    error = np.sqrt(a.var(1) / a.shape[1] + b.var(1) / b.shape[1])
    assert (np.abs(a.mean(1) - b.mean(1)) < 6 * error).all()


@pytest.mark.parametrize("block", [1, 50, GROUP, 1000])
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
    fresh = problem.all_prompts(200, seed=seed, tasks="fresh", split="test")
    assert (np.abs(fresh.query @ pool.T - fresh.label[:, None]).min(1) > 1e-12).all()
    assert SingleIndexRegression(4, 3, None).pool(seed) is None


def test_rescaled_prompts_have_one_norm(seed):
    problem = SingleIndexRegression(5, 4, 3)
    prompts = problem.all_prompts(40, seed=seed, tasks="pool", split="train")
    np.testing.assert_allclose(rescaled(prompts, 2.5).square_norms(), 2.5, rtol=1e-12)


def test_a_stream_holds_one_block_at_a_time():
    problem = SingleIndexRegression(20, 20, 10)
    list(problem.prompts(2, seed=0))  # what is loaded on first use is not the stream's
    tracemalloc.start()
    total = sum(len(part.label) for part in problem.prompts(20_000, seed=0, block=512))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 20_000
    assert peak < 3 * 2**20


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
