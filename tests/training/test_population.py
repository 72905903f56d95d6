"""The trainer on quadratics: known answers, one compilation, and members that do not meet."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.training import population
from attnlab.training.guard import Guard
from attnlab.training.population import member_keys, train
from tests.training.members import (
    CURVATURE,
    OPTIMUM,
    SGD,
    WIDTH,
    bowl_loss,
    bowl_score,
    bowls,
    descent,
    run,
)

EPS = np.finfo(np.float32).eps
RATES = [0.05, 0.1, 0.5, 1.0]
LENIENT = Guard(limit=np.inf)


def rounding(steps: int) -> float:
    """Each of t contracting steps rounds numbers of at most 3 a few times."""
    return 4 * steps * EPS * OPTIMUM.max()


def noisy_rounding(steps: int) -> float:
    """The same where a step is pulled by 0.3 g, |g| < 6, which two programs may round apart."""
    return 2 * rounding(steps)


def test_every_member_descends_at_its_own_learning_rate():
    trained = run(bowls(RATES), 20)
    known = np.stack([descent(rate, 20)[-1] for rate in RATES])
    np.testing.assert_allclose(trained.params, known, atol=rounding(20))
    assert trained.status == ("trained for 20 steps",) * 4
    assert trained.ends.tolist() == [8, 16, 20]


def test_every_member_converges_where_it_is_given_the_time():
    """The slowest has (1 - .05 / 4)^1600 = 2e-9 of its error left."""
    trained = run(bowls(RATES), 1600, evaluate=bowl_score)
    # A step below half a unit in the last place moves nothing: the error stops at eps x / rate c.
    settled = OPTIMUM.max() * EPS / (np.array(RATES) * CURVATURE.min())
    assert (np.abs(np.asarray(trained.params) - OPTIMUM).max(axis=1) < settled).all()
    assert (trained.best_score < WIDTH * settled**2).all()


def test_history_is_the_mean_loss_over_the_steps_of_a_chunk():
    trained = run(bowls(RATES), 12)
    seen = np.concatenate([np.zeros((1, WIDTH)), descent(RATES[2], 11)])
    losses = ((seen - OPTIMUM) ** 2 * CURVATURE).sum(axis=1) / 2
    known = [losses[:8].mean(), losses[8:].mean()]
    np.testing.assert_allclose(trained.losses[:, 2], known, rtol=100 * EPS)


def test_other_hyperparameters_steps_and_noise_compile_nothing(compilations, seed):
    counts = []
    for rates, noise, clip, limit, steps in (
        (RATES, 0.0, [np.inf, 9.0, 9.0, 9.0], 10.0, 20),
        ([0.3, 0.2, 0.1, 0.7], 1.0, 2.0, [3.0, 4.0, 5.0, 6.0], 27),
        ([1e9, 0.2, 0.1, 0.7], 0.1, [1.0, 2.0, 3.0, 4.0], 7.0, 3),
    ):
        before = len(compilations)
        run(bowls(rates, noise), steps, seed, clip=clip, guard=Guard(limit=limit))
        counts.append(len(compilations) - before)
    assert counts[1:] == [0, 0]
    before = len(compilations)
    jax.jit(lambda x: x + 1)(1.0)
    assert len(compilations) == before + 1, "the listener counts"


def test_a_member_is_the_same_alone_and_in_a_population(seed):
    together = run(bowls(RATES, 0.3), 20, seed)
    keys = member_keys(jax.random.key(seed), 4)
    for index in (0, 2):
        alone = run(bowls([RATES[index]], 0.3), 20, key=keys[index : index + 1])
        np.testing.assert_allclose(alone.params[0], together.params[index], atol=noisy_rounding(20))


def test_the_random_keys_do_not_depend_on_the_chunks(seed):
    eights = run(bowls(RATES, 0.3), 20, seed)
    sixes = run(bowls(RATES, 0.3), 20, seed, chunk=6)
    np.testing.assert_allclose(eights.params, sixes.params, atol=noisy_rounding(20))


def test_the_key_of_a_step_is_folded_from_the_members_key(seed):
    key = member_keys(jax.random.key(seed), 4)
    trained = run(bowls(RATES, 0.3), 3, seed)
    x = np.zeros(WIDTH)
    for step in range(3):
        for_pull, _ = jax.random.split(jax.random.fold_in(key[2], step))
        pull = 0.3 * np.asarray(jax.random.normal(for_pull, (WIDTH,)))
        x -= RATES[2] * (CURVATURE * (x - OPTIMUM) + pull)
    np.testing.assert_allclose(trained.params[2], x, atol=noisy_rounding(3))


def test_one_key_for_all_is_the_same_key_for_each(seed):
    key = jax.random.key(seed)
    shared = run(bowls(RATES, 0.3), 16, key=key)
    repeated = run(bowls(RATES, 0.3), 16, key=jnp.stack([key] * 4))
    np.testing.assert_allclose(shared.params, repeated.params, atol=noisy_rounding(16))


def test_replayed_batches_come_round_again(seed):
    """With one batch for ever the noise is a constant pull, and x settles at x* - noise g / c."""
    key = jax.random.key(seed)
    trained = run(bowls([1.0] * 4, 0.3), 200, key=key, replay=1, guard=LENIENT)
    for_pull, _ = jax.random.split(jax.random.fold_in(key, 0))
    pull = 0.3 * np.asarray(jax.random.normal(for_pull, (WIDTH,)))
    known = OPTIMUM - pull / CURVATURE
    np.testing.assert_allclose(trained.params[0], known, atol=4 * rounding(1) / CURVATURE.min())


def test_a_member_that_diverges_ends_finite_and_disturbs_nobody(seed):
    wild = run(bowls([0.1, 1e12, 0.5, 0.2], 0.1), 30, seed)
    calm = run(bowls([0.1, 0.1, 0.5, 0.2], 0.1), 30, seed)
    others = np.array([0, 2, 3])
    # One program and one key per member: what another member does changes no bit.
    np.testing.assert_array_equal(wild.params[others], calm.params[others])
    np.testing.assert_array_equal(wild.losses[:, others], calm.losses[:, others])
    assert np.isfinite(wild.params).all()
    assert not calm.events


def test_a_member_that_diverges_is_restored_then_stopped_and_all_is_reported(seed):
    trained = run(bowls([0.1, 1e12, 0.5, 0.2], 0.1), 30, seed)
    np.testing.assert_array_equal(trained.params[1], np.zeros(WIDTH))
    events = trained.events
    assert [event.action for event in events] == ["restored"] * 3 + ["stopped"]
    assert [event.step for event in events] == [1, 3, 5, 7]
    assert [event.factor for event in events] == [0.5, 0.25, 0.125, 0.125]
    assert all(event.member == 1 and event.loss > 1e12 and event.kept == 0 for event in events)
    assert trained.stopped == (1,)
    assert trained.status[1].startswith("stopped at step 7 with loss ")
    assert "at its weights of step 0; restored 3 times" in trained.status[1]


def test_a_member_just_beyond_stability_is_restored_once_and_converges():
    """rate c = 3 doubles the error every step; half of it contracts by 1/2."""
    trained = run(bowls([3.0, 0.1, 0.1, 0.1]), 400)
    assert [(event.member, event.action) for event in trained.events] == [(0, "restored")]
    np.testing.assert_allclose(trained.params[0], OPTIMUM, atol=rounding(2) / CURVATURE.min())
    assert trained.status[0] == "trained for 400 steps; restored once, learning rate times 0.5"
    assert "back to the weights of step 0, learning rate times 0.5" in str(trained.events[0])


def test_the_restored_state_is_that_of_the_last_good_chunk():
    """The rate explodes at step 20: the last weights kept before are those of step 16."""
    trained = run(bowls([0.1] * 4, burst=20.0), 30, guard=Guard(restores=0))
    assert [(event.action, event.kept) for event in trained.events] == [("stopped", 16)] * 4
    np.testing.assert_allclose(trained.params[0], descent(0.1, 16)[-1], atol=rounding(16))


def test_the_very_last_update_is_looked_at_too():
    trained = run(bowls([1e6, 0.1, 0.1, 0.1]), 1, guard=Guard(restores=0))
    assert [(event.action, event.step) for event in trained.events] == [("stopped", 1)]
    np.testing.assert_array_equal(trained.params[0], np.zeros(WIDTH))


def test_a_loss_that_is_never_finite_leaves_the_first_weights():
    broken = bowls([0.1] * 4)
    broken.curvature[1] = np.nan
    trained = run(broken, 40)
    np.testing.assert_array_equal(trained.params[1], np.zeros(WIDTH))
    assert trained.stopped == (1,)
    assert np.isinf(trained.losses[0, 1])
    np.testing.assert_allclose(trained.params[0], descent(0.1, 40)[-1], atol=rounding(40))


@pytest.mark.parametrize("clip", [np.inf, 1e9])
def test_updates_that_are_not_finite_are_skipped_and_counted(seed, clip):
    trained = run(bowls([0.1] * 4, overflow=0.25), 24, seed, clip=clip)
    for member, key in enumerate(member_keys(jax.random.key(seed), 4)):
        keys = [jax.random.split(jax.random.fold_in(key, step))[1] for step in range(24)]
        skipped = sum(float(jax.random.uniform(key)) < 0.25 for key in keys)
        own = [event for event in trained.events if event.member == member]
        assert sum(event.count for event in own) == skipped
        assert {event.action for event in own} <= {"skipped"}
        known = descent(0.1, 24 - skipped)[-1]
        np.testing.assert_allclose(trained.params[member], known, atol=rounding(24))


def test_the_gradient_is_clipped_to_its_global_norm_member_by_member():
    """From 0 the gradient is -c x* = -(1, 1, 3/4) scale; a scale of 1e30 squared overflows."""
    scaled = bowls([1.0] * 4)
    scaled.curvature[1] *= 1e30
    trained = run(scaled, 1, clip=[0.5, 0.5, 100.0, np.inf], guard=LENIENT)
    gradient = CURVATURE * OPTIMUM
    clipped = 0.5 * gradient / np.linalg.norm(gradient)
    known = [clipped, clipped, gradient, gradient]
    np.testing.assert_allclose(trained.params, known, rtol=20 * EPS)


def test_a_clip_that_is_never_reached_changes_nothing(seed):
    without, with_one = (run(bowls(RATES, 0.5), 30, seed, clip=clip) for clip in (np.inf, 1e9))
    np.testing.assert_allclose(without.params, with_one.params, atol=rounding(30))
    np.testing.assert_allclose(without.losses, with_one.losses, rtol=rounding(30))


def test_averaged_weights_are_the_mean_of_all_or_an_exponential_one():
    decays = [1.0, 0.9, 0.5, 0.0]
    trained = run(bowls([0.2] * 4), 30, average=decays)
    path = descent(0.2, 30)
    for member, decay in enumerate(decays):
        known = path[0]
        for t in range(1, 30):
            known = known + max(1 - decay, 1 / (t + 1)) * (path[t] - known)
        np.testing.assert_allclose(trained.averaged[member], known, atol=rounding(30))
    np.testing.assert_allclose(trained.averaged[0], path.mean(axis=0), atol=rounding(30))
    np.testing.assert_allclose(trained.averaged[3], path[-1], atol=rounding(30))
    np.testing.assert_array_equal(trained.best, trained.averaged)


def test_the_best_weights_are_those_of_the_best_held_out_score():
    """x_1 goes from 0 towards 1; the score likes it best half-way."""
    trained = run(bowls([0.02] * 4, aim=0.5), 80, evaluate=bowl_score, guard=LENIENT)
    path, ends = descent(0.02, 80), np.arange(8, 81, 8)
    scores = np.abs(path[ends - 1, 0] - 0.5)
    np.testing.assert_allclose(trained.scores[:, 0], scores, atol=rounding(80))
    best = ends[scores.argmin()]
    assert 8 < best < 80
    assert trained.best_step.tolist() == [best] * 4
    np.testing.assert_allclose(trained.member(0), path[best - 1], atol=rounding(80))


def test_first_weights_that_nothing_beats_stay_the_best():
    trained = run(bowls([0.05] * 4, aim=0.0), 8, evaluate=bowl_score, guard=LENIENT)
    assert trained.best_step[0] == 0
    np.testing.assert_array_equal(trained.best[0], np.zeros(WIDTH))


def test_a_held_out_score_can_call_a_member_diverged():
    """The score leaves ten times its first value, .05, while the loss falls."""
    trained = run(bowls([0.5] * 4, aim=0.05), 40, evaluate=bowl_score, guard=Guard(restores=0))
    assert [event.action for event in trained.events] == ["stopped"] * 4
    np.testing.assert_array_equal(trained.params[0], np.zeros(WIDTH))


def test_progress_is_reported_after_every_chunk():
    reports = []
    trained = run(bowls(RATES), 20, progress=lambda *seen: reports.append(seen))
    assert [(step, of) for step, of, _ in reports] == [(8, 20), (16, 20), (20, 20)]
    means = [loss for *_, loss in reports]
    np.testing.assert_allclose(means, trained.losses.mean(axis=1), rtol=10 * EPS)


SHARDED = """
import json, sys
import jax, numpy as np
from attnlab import compiling
from attnlab.training import pieces
compiling.FAST["xla_backend_optimization_level"] = 0
from tests.training.members import ADAM, bowl_score, bowls, run
assert len(jax.devices()) == 8
seed, folder = int(sys.argv[1]), sys.argv[2]
options = dict(optimiser=ADAM, evaluate=bowl_score, average=0.9)
rates = [0.1, 0.2, 1e12, 0.3, 0.4, 0.5, 1e12, 0.6]

def go(rates, **more):
    return run(bowls(rates, 0.3), 20, seed, **options, **more)

def near(a, b):
    # Adam's steps are at most about 1 long, and 20 of them round numbers of at most 10 a few times
    # in sums whose order may differ; what diverged is compared relative to its size.
    return np.allclose(a, b, rtol=1e-3, atol=20 * 10 * 20 * np.finfo(np.float32).eps)

def done(event):
    return event.member, event.step, event.action, event.kept, event.factor

def same(one, other, members=8):
    trees = [(r.params, r.best, r.averaged, r.losses.T, r.scores.T) for r in (one, other)]
    leaves = [[np.asarray(leaf)[:members] for leaf in jax.tree.leaves(t)] for t in trees]
    events = [[done(e) for e in r.events if e.member < members] for r in (one, other)]
    return all(map(near, *leaves)) and events[0] == events[1] != []

def bits(one, other):
    leaves = [jax.tree.leaves((r.params, r.best, r.averaged, r.losses)) for r in (one, other)]
    return all(map(np.array_equal, *leaves)) and one.events == other.events

one = go(rates)
many = go(rates, devices=jax.devices(), checkpoint=f"{folder}/many.safetensors")
five = go(rates[:5], devices=jax.devices())
again = go(rates, checkpoint=f"{folder}/many.safetensors")
calm = [rate for rate in rates if rate < 1]
alone = go(calm)
begin = pieces.Chunks.__init__

def as_on_gpus(self, *given):
    begin(self, *given)
    self._whole = True

pieces.Chunks.__init__ = as_on_gpus
print(json.dumps({
    "several": near(alone.losses, go(calm, devices=jax.devices()).losses),
    "guarded": same(one, go(rates, devices=jax.devices())),
    "eight": same(one, many),
    "five": same(one, five, 5) and len(five.params) == 5,
    "file": bits(many, again),
    "devices": len(many.params.sharding.device_set),
}))
"""


def test_eight_devices_train_what_one_does(seed, tmp_path):
    """Eight members fill the devices, five are filled up; the file of eight opens on one."""
    here, source = Path(__file__).parents[2], Path(population.__file__).parents[2]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": f"{here}{os.pathsep}{source}",
    }
    command = [sys.executable, "-c", SHARDED, str(seed), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("devices") == 8
    assert set(found) == {"eight", "five", "file", "several", "guarded"}
    assert all(found.values()), found


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"chunk": 2.5}, "chunk must be an integer of at least 1, got 2.5"),
        ({"clip": [1.0, 2.0]}, "clip must be one number, or one for each of 4 members"),
        ({"average": 1.5}, "average must be one number, .* from 0 to 1, got 1.5"),
        ({"guard": Guard(limit=0.5)}, "limit must be one number, .* from 1 to inf, got 0.5"),
        ({"key": 3}, "key must be one jax.random.key or 4 of them, got 3"),
        ({"key": member_keys(jax.random.key(0), 2)}, r"key must be one .* got .* shape \(2,\)"),
    ],
)
def test_a_wrong_argument_gets_a_sentence_that_names_it(options, named, unchecked):
    with pytest.raises(UserError, match=f"^{named}"):
        run(bowls(RATES), **({"steps": 4} | options))


def test_arrays_of_different_first_axes_are_refused():
    x = np.zeros((3, WIDTH), np.float32)
    with pytest.raises(UserError, match=r"first axis, got \[\(3,\), \(4,\)\] as first axes"):
        train(bowl_loss, x, bowls(RATES), jax.random.key(0), SGD, steps=1)


def test_a_trained_population_has_a_short_repr():
    assert repr(run(bowls(RATES), 8)) == "Trained(4 members, 8 steps, 0 stopped)"
