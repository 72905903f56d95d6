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
from attnlab.linear.study import (
    claims_appendix,
    claims_constructions,
    claims_readings,
    claims_state,
    evaluation,
    grids,
    study,
)
from attnlab.linear.study.cells import axis, baselines, matrices, training
from attnlab.linear.study.compute_networks import evaluation_of, training_seed
from attnlab.linear.study.questions_constructions import LeastSquaresNetwork, Rescaling, StepSize
from attnlab.linear.study.questions_networks import Matrices, Reference, Training
from attnlab.linear.study.questions_ridges import Baselines, Iterations
from attnlab.linear.study.questions_state import Cosine, StateCheck
from attnlab.linear.study.table_1 import LAWS, PAPER, paper_error, rounding, trained_range
from attnlab.linear.theory import laws
from attnlab.linear.weights.shipped import shipped
from attnlab.stats import Estimate, agree
from tests.docs.tables import check_table
from tests.lab.statement_checks import check_evidence

EFFORT = {"starts": 1, "screening": 16, "fitted": 64, "pool": 256, "tail": 8, "rounds": 1}
SMALL = {"noise": "uniform:2", "d": 3, "n": 8, "sequences": 4000, "level_sequences": 500}
TRAINED = Training(**SMALL, **EFFORT, family="diag", depth=2, fresh=256, sigma_max=2.0)
CORRECTED = {"theorem-4.1", "lemma-4.3", "lemma-a.1", "section-5.3", "theorem-5.2-proof"}
THEOREMS = [
    claim.id
    for module in (claims_state, claims_readings, claims_constructions, claims_appendix)
    for claim in module.CLAIMS
]


def estimate(row):
    return Estimate(row.loss, row.error, row.samples)


@pytest.fixture(scope="module")
def theory(seed):
    """The theorems' cells as `quick` runs them."""
    kinds = ("state", "cosine", "least_squares", "rates", "rescaling", "step_size", "readings")
    kinds += ("rescaled", "known_noise", "orders", "adjustment", "appendix")
    wanted = [c for c in grids.cells("quick", seed) if c.kind.name.removeprefix("linear_") in kinds]
    found = {cell.key: cell.kind.run(cell.config) for cell in wanted}
    rows = {key: list(getattr(each, "rows", [each])) for key, each in found.items()}
    return View("quick", seed, rows)


def judged(seen):
    return [judge(study, claim, seen) for claim in study.claims if claim.id in THEOREMS]


def test_theorems_hold_on_real_networks_and_printed_errors_show(theory):
    entries = judged(theory)
    check_evidence(entries)
    for entry in entries:
        assert entry.verdict == ("holds as corrected" if entry.id in CORRECTED else "holds"), entry


def test_the_page_has_the_verdicts_of_the_theory(theory):
    check_table("linear", judged(theory))


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
        again = evaluation.of_network(network, evaluation_of(TRAINED), profile=True)
    rows = [row for row in decode(cell, done.part)[cell.key] if row.layers == 2]
    assert [(row.sigma, row.read) for row in rows] == [(each.sigma, each.read) for each in again]
    np.testing.assert_allclose([r.loss for r in rows], [each.loss for each in again], rtol=1e-12)


def test_reading_before_layer_one_costs_what_answering_zero_does(trained):
    """w^0 = 0, so its adjusted loss is E |w_oracle|^2 / 2 = 1/2 E sum s / (s + sigma^2)."""
    cell, done = trained
    zero = [row for row in decode(cell, done.part)[cell.key] if row.read == 0 and row.sigma is None]
    losses = [row.loss for row in zero]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-12)  # every depth, the same sequences
    exact = 1.5 - laws.oracle_loss(evaluation_of(TRAINED).problem).value
    assert agree(estimate(zero[0]), exact).agrees


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
        comparison = agree(estimate(found[name]), estimate(floor))
        assert comparison.difference > -comparison.allowed
    law = found["GD++ floor"]
    assert agree(estimate(found["CONSTRR"]), law.loss).agrees
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
    law, held = "uniform:5", shipped()
    run = held.runs(law)[0]
    config = Reference(noise=law, run=run, weights=held.digest(law), sequences=2048)
    rows = [row for row in axis.run(config).rows if row.read == row.layers and row.layers < 3]
    assert [row.layers for row in rows] == [1, 2]
    for row in rows:
        value, error, *_ = held.recorded_loss(law, run, row.layers)
        assert agree(estimate(row), Estimate(value, error, 524_288)).agrees


MISTAKES = [
    (
        Training,
        {"family": "mlp"},
        "family must be one of 'gd\\+\\+', 'diag', 'omegas', 'no-momentum', 'no-rescaling', got "
        "'mlp'",
    ),
    (Training, {"depth": 0}, "depth must be an integer of at least 1, got 0"),
    (Training, {"run": -1}, "run must be an integer of at least 0, got -1"),
    (Training, {"profile": "some"}, "profile must be one of 'deepest', 'every', got 'some'"),
    (Training, {"sequences": 1}, "sequences must be an integer of at least 2, got 1"),
    (Training, {"sigma_max": -1.0}, "sigma_max must be a finite number of at least 0, got -1"),
    (Training, {"sigma_max": float("nan")}, "sigma_max must be a finite number of at least 0, got"),
    (Training, {"d": 0}, "d must be an integer of at least 1, got 0"),
    (Training, {"seed": -1}, "seed must be an integer of at least 0, got -1"),
    (Reference, {"run": -1}, "run must be an integer of at least 0, got -1"),
    (Matrices, {"layers": 0}, "layers must be an integer of at least 1, got 0"),
    (Baselines, {"tuning": 0}, "tuning must be an integer of at least 1, got 0"),
    (Iterations, {"step": 0.0}, "step must be a finite number above 0, got 0.0"),
    (StateCheck, {"depth": 1}, "depth must be an integer of at least 2, got 1"),
    (StateCheck, {"weights": "gd"}, "weights must be one of 'full', 'diag', got 'gd'"),
    (Cosine, {"contexts": 1}, "contexts must be an integer of at least 2, got 1"),
    (Cosine, {"n": 3}, "n must be at least d = 10, got 3"),
    (LeastSquaresNetwork, {"kappa": 0.5}, "kappa must be a finite number of at least 1, got 0.5"),
    (LeastSquaresNetwork, {"kappa": float("nan")}, "kappa must be a finite number above 0, got"),
    (LeastSquaresNetwork, {"precision": 2.0}, "precision must be a number strictly between 0 and"),
    (Rescaling, {"sigma": float("inf")}, "sigma must be a finite number of at least 0, got inf"),
    (StepSize, {"omega_xy": float("nan")}, "omega_xy must be a finite number, got nan"),
]


@pytest.mark.parametrize(("config", "given", "sentence"), MISTAKES)
def test_a_wrong_argument_is_refused_in_one_sentence_that_names_it(config, given, sentence):
    with pytest.raises(UserError, match=f"^{sentence}"):
        config(**given)


@pytest.mark.parametrize(
    ("kind", "config", "sentence"),
    [
        (training, Training(noise="normal:1"), 'noise must be "fixed:SIGMA"'),
        (training, Training(noise="uniform:nan"), "noise must be a valid noise law, got 'unifo"),
        (axis, Reference(noise="uniform:9"), "noise must be one of categorical:1,3, "),
        (axis, Reference(weights="0"), "weights must be the digest of the shipped networks"),
        (matrices, Matrices(noise="fixed:1"), "noise must be one of categorical:1,3, "),
        (matrices, Matrices(layers=99), "There is no shipped network of 99 layers"),
    ],
)
def test_what_only_the_computation_can_know_is_refused_in_one_sentence(kind, config, sentence):
    with pytest.raises(UserError, match=f"^{sentence}"):
        kind.run(config)


def test_the_papers_grid_has_every_network_of_table_1():
    cells = [cell for cell in grids.cells("paper", 0) if cell.kind is training]
    of_table = [c.config for c in cells if c.config.run < 5]
    both = [config for config in of_table if config.family in ("gd++", "diag")]
    networks = sum(min(config.depth, 7) for config in both)
    assert networks == 2 * 7 * 10 * 5
    assert {config.noise for config in both} == set(LAWS)
    assert {(c.d, c.n) for c in both} == {(10, 20)}
    assert max(c.depth for c in both) == 8  # Figure 7 goes one layer further on U(0, 5)
    assert len(PAPER) == 24 * 10


def test_no_two_trainings_share_their_draws_and_evaluation_does_not_move_them():
    seeds = [training_seed(c.config) for c in grids.cells("paper", 0) if c.kind is training]
    assert len(set(seeds)) == len(seeds)
    moved = Training(**{**SMALL, "sequences": 50}, **EFFORT, family="diag", depth=2, fresh=256)
    assert training_seed(moved) == training_seed(TRAINED)


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
    assert agree(Estimate.of(np.square(values - loss)), predicted**2).agrees


def test_a_printed_number_is_known_to_half_its_last_digit():
    assert rounding(0.265) == 5e-4
    assert rounding(1.19e-4) == pytest.approx(5e-7)
    assert rounding(2.5e-12) == pytest.approx(5e-15)
    assert trained_range("categorical:1,3,5") == (1.0, 5.0)
    assert trained_range("uniform:5") == (0.0, 5.0)
