"""What the list of a paper's statements must hold to; the tests of each study call these."""

from collections.abc import Collection, Iterable

import pytest

from attnlab.lab.compare import flips
from attnlab.lab.evidence import evidence_of
from attnlab.lab.ledger import NO_SCALE, Entry, ledger
from attnlab.lab.statement import STATEMENT_KINDS
from attnlab.lab.study import SCALES, Study, View

DECIDES = (*(f"--scale {scale}" for scale in SCALES), NO_SCALE)


def check_statements(study: Study) -> None:
    """Every claim belongs to a statement or is ours; every assertion has a claim or a reason."""
    claims = {claim.id: claim for claim in study.claims}
    ids = [each.id for each in study.statements]
    assert len(set(ids)) == len(ids)
    judging: set[str] = set()
    beside: set[str] = set()
    for each in study.statements:
        assert each.kind in STATEMENT_KINDS, each.id
        assert each.where, each.id
        assert each.statement.endswith((".", "?")), each.id
        assert bool(each.claims) != bool(each.reason), f"{each.id}: claims or a reason, not both"
        assert set(each.claims) | set(each.beside) <= set(claims), each.id
        judging |= set(each.claims)
        beside |= set(each.beside)
    ours = {name for name, claim in claims.items() if claim.ours}
    assert not judging & ours, "a claim of ours judges no sentence of the paper"
    assert beside <= ours, "what stands beside a statement is ours"
    assert judging == set(claims) - ours
    assert ours <= beside, "a claim of ours stands beside one that judges the paper's sentence"


def check_evidence(entries: Iterable[Entry]) -> None:
    """Decided claims have a grade, sampled ones a resolution; undecided ones say what decides."""
    for entry in entries:
        assert not entry.broken, entry.note
        if entry.decided:
            assert entry.grade is not None, f"{entry.id} has no grade"
            if entry.grade != "exact":
                assert entry.resolution is not None, f"{entry.id} has no resolution"
                assert entry.resolution.suffices, entry.id
        else:
            assert any(words in entry.note for words in DECIDES), f"{entry.id}: {entry.note!r}"


def check_no_flip(study: Study, seen: View, known: Collection[str] = ()) -> None:
    """No claim is decided one way on `seen` and another way by a shipped run, but the known."""
    evidence = evidence_of(study)
    if evidence is None:
        pytest.skip(f"no evidence ships with {study.name}")
    own = ledger(study, seen)
    found = [
        flip for run in evidence.runs for flip in flips(own, ledger(study, evidence.view(run)))
    ]
    assert {flip.first.id for flip in found} == set(known), [*map(str, found)]
