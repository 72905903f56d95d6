"""The cells of `linear`: theorems on real networks, small training, bad input, the paper's grid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.lab.ledger import judge
from attnlab.lab.part import compute, decode, decode_weights
from attnlab.lab.study import View
from attnlab.linear.models.predictors import Ridge
from attnlab.linear.models.weights import DiagWeights
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study import evaluation, grids, study
from attnlab.linear.study.cells import Matrices, Reference, Training, full, matrices, training
from attnlab.linear.study.cells_constructions import LeastSquares, least_squares
from attnlab.linear.study.cells_ridges import Baselines, Iterations, baselines, iterations
from attnlab.linear.study.cells_state import Cosine, StateCheck, cosine, state_check
from attnlab.linear.study.table_1 import LAWS, PAPER, paper_error, rounding, trained_range
from attnlab.linear.weights import shipped as reference

Z = 5.0
EFFORT = {"starts": 1, "screening": 16, "fitted": 64, "pool": 256, "tail": 8, "rounds": 1}
SMALL = {"noise": "uniform:2", "d": 3, "n": 8, "sequences": 4000, "level_sequences": 500}
TRAINED = Training(**SMALL, **EFFORT, family="diag", depth=2, fresh=256, sigma_max=2.0)
EXACT = {"theorem-4.1", "lemma-4.3", "lemma-4.4", "section-5.3"}
THEOREMS = EXACT | {"theorem-4.2", "theorem-5.1", "lemma-a.2", "lemma-a.3", "theorem-5.2"}
THEOREMS |= {"theorem-5.2-third-level", "section-5.3-adapts"}


@pytest.fixture(scope="module")
def theory(seed):
    """The theorems' cells as `quick` runs them."""
    kinds = ("state", "cosine", "least_squares", "rates", "rescaling", "step_size")
    wanted = [c for c in grids.cells("quick", seed) if c.kind.name.removeprefix("linear_") in kinds]
    return View("quick", seed, {cell.key: [cell.kind.run(cell.config)] for cell in wanted})


@pytest.mark.parametrize("claim", sorted(THEOREMS))
def test_theorems_hold_on_real_networks_and_printed_errors_show(theory, claim):
    (asked,) = [each for each in study.claims if each.id == claim]
    entry = judge(study, asked, theory)
    assert entry.verdict == ("holds as corrected" if claim in EXACT else "holds"), entry


@pytest.fixture(scope="module")
def trained():
    cell = training(TRAINED)
    return cell, compute(cell)


def test_training_is_the_same_bytes_twice_and_keeps_its_weights(trained):
    cell, first = trained
    assert compute(cell).part == first.part
    weights = decode_weights(first.weights)
    assert {name.split("/")[1] for name in weights} == {"p_x", "p_y", "q_x", "q_y"}
    assert weights["2/p_x"].shape == (2, 1)
    assert weights["2/p_x"].dtype == np.float64


def test_stored_weights_have_the_stored_losses(trained):
    cell, done = trained
    kept = decode_weights(done.weights)
    parts = {name: kept[f"2/{name}"] for name in ("p_x", "p_y", "q_x", "q_y")}
    with jax.enable_x64(True):
        network = DiagWeights(**{name: jnp.asarray(part) for name, part in parts.items()})
        again = evaluation.of_network(network, TRAINED.evaluation(), profile=True)
    rows = [row for row in decode(cell, done.part) if row.layers == 2]
    assert [(row.sigma, row.read, row.loss) for row in rows] == [
        (found.sigma, found.read, found.loss) for found in again
    ]


def test_reading_before_layer_one_costs_what_answering_zero_does(trained):
    """w^0 = 0, so its adjusted loss is E |w_oracle|^2 / 2 = 1/2 E sum s / (s + sigma^2)."""
    cell, done = trained
    zero = [row for row in decode(cell, done.part) if row.read == 0 and row.sigma is None]
    assert len({row.loss for row in zero}) == 1  # every depth, the same sequences
    from attnlab.linear.theory import laws

    exact = 1.5 - laws.oracle_loss(TRAINED.problem()).value
    assert abs(zero[0].loss - exact) < Z * zero[0].error


def test_the_oracle_has_no_loss_and_other_ridges_have():
    with jax.enable_x64(True):
        problem = NoisyRegression(3, 8, Fixed(1.0))
        at = evaluation.Evaluation(problem, 200, (), 2, 0)
        assert evaluation.of_predictor(Ridge(1.0), at)[0].loss < 1e-25
        assert evaluation.of_predictor(Ridge(2.0), at)[0].loss > 1e-3


def test_ridges_and_bayes_are_ordered_and_laws_are_exact():
    config = Baselines(**SMALL, tuning=500)
    rows = baselines.run(config).rows
    found = {row.model: row for row in rows if row.sigma is None}
    floor = found["BAYES"]
    for name in ("CONSTRR", "ADARR", "TUNEDRR"):
        noise = Z * np.hypot(found[name].error, floor.error)
        assert found[name].loss > floor.loss - noise
    law = found["GD++ floor"]
    assert abs(found["CONSTRR"].loss - law.loss) < Z * found["CONSTRR"].error
    assert law.error == 0


def test_a_loss_whose_square_overflows_has_a_mean_and_an_error():
    found = evaluation._mean(None, 0, np.array([1e200, 3e200, 1e-5, 0]))
    assert found.loss == pytest.approx(1e200)
    assert found.error == pytest.approx(np.std([1, 3, 0, 0], ddof=1) * 1e200 / 2)
    overflowed = evaluation._mean(None, 0, np.array([1.0, np.inf]))
    assert (overflowed.loss, overflowed.diagnosis) == (None, "overflow in 1 of 2 sequences")
    same = np.array([0.1, 0.7, 0.3])
    assert evaluation._mean(None, 0, same).loss == same.mean()


def test_the_reference_is_evaluated_afresh_near_what_its_machine_measured():
    law, run = "uniform:5", reference.runs("uniform:5")[0]
    config = Reference(noise=law, run=run, weights=reference.digest(law), sequences=2048)
    rows = [row for row in full.run(config).rows if row.read == row.layers and row.layers < 3]
    assert [row.layers for row in rows] == [1, 2]
    for row in rows:
        value, error, _ = reference.recorded_loss(law, run, row.layers)
        assert abs(row.loss - value) < Z * np.hypot(row.error, error)


@pytest.mark.parametrize(
    ("kind", "config", "sentence"),
    [
        (training, Training(noise="normal:1"), 'noise must be "fixed:SIGMA"'),
        (training, Training(family="mlp"), "family must be one of 'gd\\+\\+', 'diag', 'omegas'"),
        (training, Training(depth=0), "depth must be an integer of at least 1, got 0"),
        (training, Training(run=-1), "run must be an integer of at least 0, got -1"),
        (training, Training(profile="some"), "profile must be one of 'deepest', 'every'"),
        (training, Training(sequences=1), "sequences must be an integer of at least 2, got 1"),
        (training, Training(sigma_max=-1.0), "sigma_max must be a finite number of at least 0"),
        (
            full,
            Reference(noise="uniform:9"),
            "noise must be one of categorical:1,3, ",
        ),
        (full, Reference(weights="0"), "weights must be the digest of the shipped networks"),
        (
            matrices,
            Matrices(noise="fixed:1"),
            "noise must be one of categorical:1,3, ",
        ),
        (matrices, Matrices(layers=99), "There is no reference network"),
        (baselines, Baselines(tuning=0), "tuning must be an integer of at least 1, got 0"),
        (iterations, Iterations(step=0.0), "step must be a finite number above 0, got 0.0"),
        (state_check, StateCheck(depth=1), "depth must be an integer of at least 2, got 1"),
        (cosine, Cosine(contexts=1), "contexts must be an integer of at least 2, got 1"),
        (least_squares, LeastSquares(kappa=0.5), "kappa must be a finite number of at least 1"),
    ],
)
def test_bad_input_is_one_sentence(unchecked, kind, config, sentence):
    with pytest.raises(UserError, match=sentence):
        kind.run(config)


def test_the_papers_grid_has_every_network_of_table_1():
    cells = [cell for cell in grids.cells("paper", 0) if cell.kind is training]
    both = [c.config for c in cells if c.config.family != "omegas"]
    networks = sum(min(config.depth, 7) for config in both)
    assert networks == 2 * 7 * 10 * 5
    assert {config.noise for config in both} == set(LAWS)
    assert {(c.d, c.n) for c in both} == {(10, 20)}
    assert max(c.depth for c in both) == 8  # Figure 7 goes one layer further on U(0, 5)
    assert len(PAPER) == 24 * 10


def test_no_two_trainings_share_their_draws_and_evaluation_does_not_move_them():
    from attnlab.linear.study.cells import _training_seed

    seeds = [_training_seed(c.config) for c in grids.cells("paper", 0) if c.kind is training]
    assert len(set(seeds)) == len(seeds)
    moved = Training(**{**SMALL, "sequences": 50}, **EFFORT, family="diag", depth=2, fresh=256)
    assert _training_seed(moved) == _training_seed(TRAINED)


def test_the_error_of_the_papers_evaluation_is_that_of_sampled_queries(seed):
    """Against draws: e fixed, C a multiple of I, z ~ N(0, x^T C x)."""
    rng = np.random.default_rng(seed)
    d, c, count = 10, 0.3, 400_000
    e = np.full(d, 0.1)
    x = rng.standard_normal((count, d))
    z = np.sqrt(c * np.square(x).sum(1)) * rng.standard_normal(count)
    values = (np.square(x @ e) - 2 * (x @ e) * z) / 2
    loss = e @ e / 2
    predicted = paper_error(loss, loss**2, c * d / 2) * np.sqrt(100_000)
    spread = np.square(values - loss)
    noise = spread.std() / np.sqrt(count)
    assert abs(spread.mean() - predicted**2) < Z * noise


def test_a_printed_number_is_known_to_half_its_last_digit():
    assert rounding(0.265) == 5e-4
    assert rounding(1.19e-4) == pytest.approx(5e-7)
    assert rounding(2.5e-12) == pytest.approx(5e-15)
    assert trained_range("categorical:1,3,5") == (1.0, 5.0)
    assert trained_range("uniform:5") == (0.0, 5.0)
