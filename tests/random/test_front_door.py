"""The public names of `attnlab.random`, the protocol of its problem and of all its predictors."""

import inspect
import subprocess
import sys

import jax
import numpy as np
import pytest

from attnlab import random
from attnlab.errors import UserError
from attnlab.protocols import Predictor, Problem
from attnlab.stats import Estimate, agree

PROBLEM = random.SingleIndexRegression(5, 6, 3, "relu", 0.1)
MODELS = (
    random.LinearAttention(),
    random.LinearAttention(intercept=True),
    random.RandomTransformer(20),
    random.EquivalentModel(20, "tanh", 2),
)


def predictors(seed):
    """One of each kind of thing that answers prompts."""
    rng = np.random.default_rng(seed)
    yield from (random.fit(PROBLEM, model, n=40, ridge=1.0, seed=seed) for model in MODELS)
    yield random.ConstantPredictor.of(PROBLEM)
    yield random.FullAttention(*rng.standard_normal((3, 6, 6)))


@pytest.mark.parametrize("name", random.__all__)
def test_every_public_name_has_a_docstring_and_lists_its_arguments(name):
    thing = getattr(random, name)
    assert name in dir(random)
    assert len(inspect.getdoc(thing) or "") > 20
    own = thing.__init__ if inspect.isclass(thing) else thing
    if not issubclass(thing if inspect.isclass(thing) else object, Warning | tuple):
        given = [p for p in inspect.signature(own).parameters if p != "self"]
        assert len(given) <= 4 or "Parameters\n" in inspect.getdoc(thing)


def test_importing_the_package_imports_neither_jax_nor_numpy_and_nothing_needs_double_precision():
    code = """
import sys
from attnlab import random
assert not {"jax", "numpy"} & set(sys.modules)
problem = random.SingleIndexRegression(d=6, length=6, tasks=3, target="relu")
model = random.RandomTransformer(20)
call = {"n": random.samples(problem, 1.5), "ridge": 0.1}
points = [
    *random.law(problem, model, **call),
    *random.refined(problem, model, prompts=400, pools=4, **call),
    *random.simulate(problem, model, runs=2, test=20, **call),
    random.best_ridge(problem, model, n=call["n"]),
]
import jax
answer = jax.jit(random.fit(problem, model, **call))(problem.sample(jax.random.key(0)))
assert answer.dtype == "float32" and not jax.config.jax_enable_x64
assert max(len(repr(each)) for each in (problem, model, *points)) < 400
print(len(points))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "4", done.stderr


def test_the_problem_and_all_predictors_fulfil_the_protocol(seed):
    assert isinstance(PROBLEM, Problem)
    keys = jax.random.split(jax.random.key(seed), 4)
    several = jax.vmap(PROBLEM.sample)(keys)
    one = random.FullPrompt(*(np.asarray(part) for part in PROBLEM.sample(keys[1])))
    for part, parts in zip(one, several, strict=True):
        np.testing.assert_allclose(part, parts[1], atol=1e-5)
    found = list(predictors(seed))
    by_jax = jax.jit(lambda prompts: [jax.vmap(each)(prompts) for each in found])(several)
    for predictor, answers in zip(found, by_jax, strict=True):
        assert isinstance(predictor, Predictor)
        assert len(repr(predictor)) < 200
        assert answers.shape == (4,)
        answer = predictor(one)
        assert answer.shape == ()
        # float32 in sums of a few dozen terms, and weights of a well-conditioned fit.
        np.testing.assert_allclose(answers[1], answer, atol=1e-4 * (1 + np.abs(answers).max()))


def test_representations_are_short(seed):
    full = PROBLEM.full_prompts(30, seed=seed)
    assert repr(full) == "FullPrompt(30 prompts, length=6, d=5)"
    assert repr(full.prompts()) == "Prompts(30 prompts, d=5)"
    assert repr(random.FullPrompt(*(part[0] for part in full))).startswith("FullPrompt(one prompt")
    assert repr(random.Host()) == "Host(float32)"
    assert len(repr(random.Accelerator())) < 120


def test_reduced_prompts_are_answered_like_full_ones(seed):
    full = PROBLEM.full_prompts(30, seed=seed)
    for predictor in predictors(seed):
        if not isinstance(predictor, random.FullAttention):
            np.testing.assert_allclose(predictor(full.prompts()), predictor(full), rtol=1e-12)


def test_the_constant_predictor_has_the_error_of_its_closed_form(seed):
    from attnlab.random.theory.law import setting_of
    from attnlab.random.theory.linear_attention_law import constant_error

    problem = random.SingleIndexRegression(64, 4, None, "tanh", 0.2)
    prompts = problem.all_prompts(20_000, seed=seed, tasks="fresh", split="test")
    squares = (prompts.label - random.ConstantPredictor.of(problem)(prompts)) ** 2
    # |xi|^2 / d is 1 up to a relative variance of 2/d, which changes E tanh^2 by less than 2/d.
    exact = constant_error(setting_of(problem))
    assert agree(Estimate.of(squares), exact, level=1e-7, slack=2 / 64 * exact).agrees


def test_the_best_ridge_is_a_minimum_of_the_law():
    problem = random.SingleIndexRegression(20, 20, 10, "relu")
    for model in (random.LinearAttention(True), random.RandomTransformer(300)):
        best = random.best_ridge(problem, model, n=400)
        others = random.law(problem, model, n=400, ridge=[0.0, 0.8 * best.ridge, 1.25 * best.ridge])
        assert best.icl.value < min(point.icl.value for point in others)


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_a_fit_are_named():
    with pytest.raises(UserError, match=r"^run must be an integer of at least 0, got -1\.$"):
        random.fit(PROBLEM, MODELS[0], n=10, ridge=0.1, run=-1)
    with pytest.raises(UserError, match=r"^ridge must be a finite number .*, got nan\.$"):
        random.fit(PROBLEM, MODELS[0], n=10, ridge=float("nan"))
