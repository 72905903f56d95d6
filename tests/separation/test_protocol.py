"""Every problem draws a prompt from a key, every network answers one, and fast paths agree.

One shape per model, so that JAX compiles each program once.
"""

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.protocols import Predictor, Problem
from attnlab.separation.models import (
    KINDS,
    NETWORKS,
    AttentionNetwork,
    DrawnAttentionNetwork,
    DrawnRegressionNetwork,
    RegressionNetwork,
)
from attnlab.separation.problem import (
    CrossAttentionPair,
    RegressionPair,
    RegressionPrompt,
    SelfAttentionPair,
)
from attnlab.separation.rademacher import generators, packed, rademacher
from attnlab.separation.simulation.attention_trials import AttentionTrials
from attnlab.separation.simulation.regression_trials import RegressionTrials
from attnlab.stats import Estimate, agree

TRIALS = 40
# Not alike for all classes: the exact law refuses this, the Monte Carlo does not.
WEIGHTS = np.eye(8) + 0.1 * np.arange(64.0).reshape(8, 8) / 64

PAIRS = [SelfAttentionPair(60, 8, spike_row=17), CrossAttentionPair(60, 8, spike_row=17)]
ATTENTION = [AttentionNetwork(9), AttentionNetwork(9, X="ones", V=WEIGHTS, shared_signs=False)]
REGRESSION_PAIRS = [RegressionPair(8, data, spike=3) for data in ("uniform", "two-level")]
REGRESSION = [RegressionNetwork(9, tau=0.8, shared_signs=shared) for shared in (True, False)]


@pytest.fixture(scope="module")
def keys(seed):
    return list(jax.random.split(jax.random.key(seed), TRIALS))


@pytest.mark.parametrize("problem", [*PAIRS, *REGRESSION_PAIRS])
def test_a_problem_draws_prompts_that_its_networks_answer(problem, keys):
    assert isinstance(problem, Problem)
    prompt, again = problem.sample(keys[0]), problem.sample(keys[0])
    for one, same in zip(prompt, again, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_array_equal(one, same)
    # Batches are the caller's: traced without being compiled.
    batch = jax.eval_shape(jax.vmap(problem.sample), jax.numpy.stack(keys))
    for one, many in zip(prompt, batch, strict=True):
        assert (many.shape, many.dtype) == ((TRIALS, *one.shape), one.dtype)
    network = (ATTENTION if problem in PAIRS else REGRESSION)[0]
    for kind in KINDS:
        drawn = network.draw(keys[0], problem, kind)
        assert isinstance(drawn, Predictor)
        assert len(repr(drawn)) < 100
        # Usable without double precision in JAX: NumPy's numbers, not JAX's.
        answer = drawn(prompt)
        assert isinstance(answer, np.ndarray)
        assert answer.dtype == np.float64
        assert answer >= 0
        answers = jax.eval_shape(jax.vmap(drawn), batch)
        assert (answers.shape, answers.dtype) == ((TRIALS,), np.float64)


@pytest.mark.parametrize("problem", [PAIRS[1], REGRESSION_PAIRS[0]])
def test_a_compiled_batch_is_the_prompts_and_answers_one_by_one(problem, keys):
    """In JAX's arrays instead of NumPy's, and double precision is not switched on."""
    prompts = jax.jit(jax.vmap(problem.sample))(jax.numpy.stack(keys))
    network = (ATTENTION if problem in PAIRS else REGRESSION)[0]
    networks = [network.draw(keys[0], problem, kind) for kind in KINDS]
    answers = jax.jit(lambda batch: [jax.vmap(drawn)(batch) for drawn in networks])(prompts)
    for i, key in enumerate(keys[:5]):
        prompt = problem.sample(key)
        for one, many in zip(prompt, prompts, strict=True):
            np.testing.assert_allclose(one, many[i], rtol=1e-6)  # drawn in single precision
        for drawn, found in zip(networks, answers, strict=True):
            assert drawn(prompt) == pytest.approx(float(found[i]), rel=1e-5, abs=1e-5)
            assert found.dtype == np.float64


@pytest.mark.parametrize("pair", PAIRS)
def test_an_attention_prompt_is_the_input_of_either_dataset(pair, keys):
    labels = set()
    for key in keys:
        queries, own_keys, label = pair.sample(key)
        assert queries.dtype == np.float64
        np.testing.assert_array_equal(queries, pair.queries(int(label)))
        np.testing.assert_array_equal(own_keys, pair.keys(int(label)))
        labels.add(int(label))
    assert labels == {0, 1}  # 40 fair labels are all equal with probability 2^-39


@pytest.mark.parametrize("problem", REGRESSION_PAIRS)
def test_a_regression_prompt_holds_the_logits_of_either_dataset(problem, keys):
    prompts = [problem.sample(key) for key in keys]
    level = np.array([prompt.logits for prompt in prompts]) / problem.unit
    label = np.array([prompt.label for prompt in prompts])
    assert level.dtype == np.float64
    assert set(label) == {0, 1}
    np.testing.assert_allclose(level[label == 1, 3], 4, rtol=1e-15)
    on_d0 = np.concatenate([np.delete(level, 3, axis=1).ravel(), level[label == 0, 3]])
    rounded = 2.0**-23  # uniform levels are float32 numbers
    assert on_d0.min() >= 1 - rounded
    assert on_d0.max() <= 1.4 + rounded
    if problem.data == "two-level":
        expected = problem.draw_levels(np.random.default_rng(0))[:, 4:].repeat(TRIALS, axis=0)
        np.testing.assert_allclose(level[:, 4:], expected, rtol=1e-15)
    else:
        for moment, expected in ((on_d0, 1.2), ((on_d0 - 1.2) ** 2, 0.4**2 / 12)):
            assert agree(Estimate.of(moment), expected, comparisons=2, level=1e-6).agrees


def signs_of(problem, network, seed):
    """Signs of all trials, as the simulation draws them: shared by the networks or one for each."""
    (rng,) = generators(seed, 1)
    groups = () if network.shared_signs else (4,)
    return rademacher(rng, TRIALS, *groups, 9, 8)


def succeeds(answers):
    """E_success, from the answers of the four networks in each trial."""
    outputs = np.array(answers)
    return (outputs[:, 0] > 0) & (outputs[:, 1:] == 0).all(axis=1)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("network", ATTENTION)
def test_attention_trials_succeed_exactly_when_the_networks_do(pair, network, seed):
    signs = signs_of(pair, network, seed)
    tau, (X, V) = pair.threshold(network.offset), network.matrices(8)
    expected = succeeds(
        [
            [
                DrawnAttentionNetwork(kind, y if y.ndim == 2 else y[g], tau, X, V)(pair.prompt(b))
                for g, (kind, b) in enumerate(NETWORKS)
            ]
            for y in signs
        ]
    )
    np.testing.assert_array_equal(AttentionTrials(pair, network).outcomes(signs), expected)
    if network.shared_signs:  # success has a probability of about 1/3 here: both outcomes occur
        assert 0 < expected.sum() < TRIALS


@pytest.mark.parametrize("problem", REGRESSION_PAIRS)
@pytest.mark.parametrize("network", REGRESSION)
def test_regression_trials_succeed_exactly_when_the_networks_do(problem, network, seed):
    signs = signs_of(problem, network, seed)
    levels = problem.draw_levels(np.random.default_rng(seed), TRIALS)
    u = levels.astype(np.float64) * problem.unit
    data = (u, problem.spiked(u))
    expected = succeeds(
        [
            [
                DrawnRegressionNetwork(kind, y if y.ndim == 2 else y[g], 0.8)(
                    RegressionPrompt(data[b][i], b)
                )
                for g, (kind, b) in enumerate(NETWORKS)
            ]
            for i, y in enumerate(signs)
        ]
    )
    found = RegressionTrials(problem, network).outcomes(levels, packed(signs > 0))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("problem", "network"), [(PAIRS[0], ATTENTION[0]), (REGRESSION_PAIRS[0], REGRESSION[0])]
)
def test_a_key_fixes_the_signs_of_both_kinds(problem, network, keys, unchecked):
    first, second = (network.draw(keys[0], problem, kind) for kind in KINDS)
    other = network.draw(keys[1], problem)
    assert first.signs.shape == (9, 8)
    assert set(np.unique(first.signs)) == {-1, 1}
    np.testing.assert_array_equal(first.signs, second.signs)
    assert (first.signs != other.signs).any()
    with pytest.raises(UserError, match=r"^kind must be one of 'softmax', 'linear', got 'hard"):
        network.draw(keys[0], problem, "hardmax")
