"""The verdict of one claim on some evidence, and the rows that the tests change."""

from attnlab.lab.ledger import judge
from attnlab.random.study import study

UNDECIDED = "undecided at this scale"
MLP = "relu|tanh"
EQUIVALENT = "relu r=1|tanh r=1|relu r=2|tanh r=2|relu r=4|tanh r=4"


def entry_of(claim_id, view):
    (claim,) = [claim for claim in study.claims if claim.id == claim_id]
    entry = judge(study, claim, view)
    assert not entry.broken, entry.note
    return entry


def verdict(claim_id, view):
    return entry_of(claim_id, view).verdict


def rescaled(config, row):
    return config.panel == "size" and config.rescale and row.model in ("relu", "tanh")


def drawn(config, row):
    return config.panel == "size" and not config.rescale and row.model in ("relu", "tanh")


def at_psi(*psis):
    return lambda config, row: row.width and round(row.width / row.n, 2) in psis


def at_tau(*taus):
    return lambda config, row: round(row.n / (config.d * (config.d + 1)), 1) in taus
