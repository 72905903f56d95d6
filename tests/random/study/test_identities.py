"""Identities that claims compute themselves, from no stored row, and what breaks them."""

import numpy as np
import pytest

from attnlab.lab.study import View
from attnlab.random.prompts import FullPrompt, Prompts
from attnlab.random.study import claims_samples_law
from tests.random.study.judging import entry_of, verdict

NOTHING = View("quick", 0, {})


@pytest.mark.parametrize("claim", ["lemma-1-scale", "lemma-1-conditional"])
def test_an_identity_holds_without_any_run(claim):
    found = entry_of(claim, NOTHING)
    assert (found.verdict, found.grade, found.resolution) == ("holds", "exact", None)


def test_a_variance_other_than_the_norm_over_t_is_noticed(monkeypatch):
    norms = Prompts.square_norms
    monkeypatch.setattr(Prompts, "square_norms", lambda self: norms(self) + 1e-6)
    assert verdict("lemma-1-conditional", NOTHING) == "fails"


def test_features_with_a_mean_are_noticed(monkeypatch):
    """Without E vec H = 0 the trace of the covariance is not the mean square."""
    plain = FullPrompt.prompts

    def shifted(self):
        found = plain(self)
        return found._replace(query=found.query + 1e-6 * np.abs(found.query))

    monkeypatch.setattr(FullPrompt, "prompts", shifted)
    assert verdict("lemma-1-scale", NOTHING) == "fails"


def test_a_trend_that_no_ridge_removes_is_not_due_to_a_small_one(paper, monkeypatch):
    claim = "fig-1-small-ridge"
    assert verdict(claim, paper) == "holds"
    monkeypatch.setattr(claims_samples_law, "with_ridge", lambda t, m, tau, *others: tau)
    assert verdict(claim, paper) == "fails"
