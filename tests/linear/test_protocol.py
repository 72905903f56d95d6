"""Every problem draws a prompt from a key, and every predictor answers it, however it is called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab import protocols
from attnlab.linear.models import predictors
from attnlab.linear.models.bayes import Bayes, DiscreteBayes, ScaleFreeBayes
from attnlab.linear.models.network import Network
from attnlab.linear.models.predictors import LinearPredictor
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression, Prompt
from tests.linear.prompts import difference, full_weights, gram_matrix, prompt

pytestmark = pytest.mark.usefixtures("double_precision")

N = 9
PREDICTORS = {
    "OLS": predictors.OLS(),
    "Ridge": predictors.Ridge(0.5),
    "ConstRidge": predictors.ConstRidge(0.3),
    "AdaRidge": predictors.AdaRidge(),
    "TunedRidge": predictors.TunedRidge(1.2, 0.5),
    "IterativeAdaRidge": predictors.IterativeAdaRidge(20),
    "GradientDescent": predictors.GradientDescent(5, 0.1),
    "Bayes": Bayes(Uniform(0.5)),
    "DiscreteBayes": DiscreteBayes(np.array([0.1, 0.5]), np.array([0.25, 0.75])),
    "ScaleFreeBayes": ScaleFreeBayes(),
}
NETWORKS = ("LinearTransformer", "EveryLayer", "Network")


def all_predictors():
    """The classes that answer prompts, found in the sources."""
    found, waiting = set(), [LinearPredictor]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            found.add(kind.__name__)
            waiting.append(kind)
    return {name for name in found if not name.startswith("_")}


def predictor_of(name, seed):
    if name in PREDICTORS:
        return PREDICTORS[name]
    network = full_weights(seed, 2, 1)
    return Network(network) if name == "Network" else getattr(predictors, name)(network)


def test_every_predictor_is_here():
    assert all_predictors() | {"Network"} == {*PREDICTORS, *NETWORKS}


@pytest.mark.parametrize("name", [*PREDICTORS, *NETWORKS])
def test_a_predictor_answers_a_prompt_and_its_fast_path_agrees(seed, name):
    predictor, one = predictor_of(name, seed), prompt(seed)
    assert isinstance(predictor, protocols.Predictor)
    answer = np.asarray(predictor(one))
    fast = predictor.predictor if isinstance(predictor, Network) else predictor
    w = np.asarray(jax.jit(lambda G: fast.weights(G, N))(jnp.asarray(gram_matrix(seed))))
    assert answer.shape == w.shape[:-1]
    assert difference(answer, w @ np.asarray(one.query)) < 1e-9
    several = fast.predict(one.X, one.y, jnp.stack([one.query, 2 * one.query]))
    assert difference(several[..., 1], 2 * answer) < 1e-9


@pytest.mark.parametrize("noise", [Uniform(5), Categorical((1, 3)), Fixed(2)], ids=lambda n: n.name)
def test_a_problem_draws_one_prompt_from_a_key(seed, noise):
    problem = NoisyRegression(4, N, noise)
    assert isinstance(problem, protocols.Problem)
    draw = jax.jit(problem.sample)
    first, again, other = (draw(jax.random.key(s)) for s in (seed, seed, seed + 1))
    assert isinstance(first, Prompt)
    assert [part.shape for part in first] == [(N, 4), (N,), (4,), (4,), ()]
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert not np.array_equal(first.X, other.X)
