"""Claims of `rank` that rest on laws and counts turn where the law or the count is another one."""

import math

import pytest

from attnlab.rank.study import claims_figure_1, claims_theorem_4, grids, published
from attnlab.rank.theory import full_rank, majority_vote, random_features, spectral_tail
from attnlab.stats import Estimate
from tests.rank.study import evidence
from tests.rank.study.changed_evidence import entry


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1, "holds as corrected"), (0.25, "holds"), (0.5, "fails")]
)
def test_the_ratio_of_parameters_is_the_printed_one_the_corrected_one_or_wrong(
    monkeypatch, factor, verdict
):
    def count(config):
        own = config.layers * config.rank * config.d * config.shape().heads
        return own * factor if config.layers == 5 else own

    monkeypatch.setattr(claims_figure_1, "attention_numbers", count)
    assert entry("figure-1-eighty-times", evidence.view("quick")).verdict == verdict


@pytest.mark.parametrize(
    ("figures", "verdict"), [(0, "holds"), (2, "holds as corrected"), (3, "fails")]
)
def test_one_setting_for_all_figures_holds_for_all_some_or_none(monkeypatch, figures, verdict):
    settings = dict.fromkeys(published.TRAINING, published.TEXT)
    for name in list(settings)[:figures]:
        settings[name] = (0.005, 200_000)
    monkeypatch.setattr(published, "TRAINING", settings)
    assert entry("same-training", evidence.view("quick")).verdict == verdict


def test_the_scale_paper_has_the_settings_of_the_published_files():
    panel = grids.PANELS["paper"]
    assert published.TRAINING["Figure 1"] == (panel.base.rate, panel.base.steps)
    for name in ("Figure 3", "Figure 4"):
        assert published.TRAINING[name] == (panel.long_rate, panel.long_steps)


@pytest.mark.parametrize(
    ("claim", "law"),
    [("theorem-2-i", "high_accuracy_constant"), ("theorem-2-harmonics", "least_tail")],
)
def test_a_proved_bound_above_the_computed_one_makes_the_claim_fail(monkeypatch, claim, law):
    """One of the two is then wrong."""
    view = evidence.view("quick")
    known = getattr(spectral_tail, law)
    monkeypatch.setattr(spectral_tail, law, lambda *sizes: 4 * known(*sizes))
    assert entry(claim, view).verdict == "fails"


def test_equation_11_would_hold_as_printed_if_that_form_decayed(monkeypatch):
    assert claims_theorem_4.printed_form(8) == pytest.approx(1, abs=1e-6)
    monkeypatch.setattr(claims_theorem_4, "printed_form", lambda d: math.exp(-d))
    assert entry("theorem-4-decay", evidence.view("quick")).verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "module", "law"),
    [
        ("fact-1", full_rank, "softmax_limit"),
        ("fact-1", full_rank, "full_rank_error"),
        ("fact-3", full_rank, "softmax_limit"),
        ("theorem-7", majority_vote, "majority_vote_error"),
        ("theorem-7-single-head", majority_vote, "single_head_probability"),
    ],
)
def test_a_law_beyond_its_proved_bound_makes_the_claim_fail(monkeypatch, claim, module, law):
    """The samples are as they were: the law itself is judged at sizes that nobody sampled."""
    known = getattr(module, law)

    def wrong(d, *sizes):
        found = known(d, *sizes)
        beyond = 100.0 if law != "single_head_probability" else 0.5
        if d in (4, 256):
            return Estimate(beyond) if isinstance(found, Estimate) else beyond * 300
        return found

    monkeypatch.setattr(module, law, wrong)
    assert entry(claim, evidence.view("quick")).verdict == "fails"


def test_a_number_of_heads_beyond_every_power_of_d_is_no_power(monkeypatch):
    """d^(log d) passes at the stored sizes and not between d = 10^5 and 10^6."""
    view = evidence.view("quick")
    assert entry("theorem-2-tightness", view).verdict == "holds"
    monkeypatch.setattr(random_features, "log_features", lambda d, epsilon: math.log(d) ** 2)
    assert entry("theorem-2-tightness", view).verdict == "fails"
