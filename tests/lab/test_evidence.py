"""Evidence is what a store held, with where it came from; damaged or foreign files are refused."""

import dataclasses
import json
import random

import pytest

from attnlab.errors import UserError
from attnlab.lab import provenance
from attnlab.lab.evidence import (
    FILE,
    companions,
    evidence_of,
    outdated,
    shipped_verdicts,
    with_shipped,
)
from attnlab.lab.ledger import ledger
from attnlab.lab.packing import Unrecorded, companion_plan, pack
from attnlab.lab.provenance import instructions, machine
from attnlab.lab.runner import look_up
from attnlab.lab.study import Missing, Plan, View
from attnlab.lab.verify import candidates, draw, verify
from tests.lab import tally

KNOWN = Unrecorded({"": "0" * 40})


@pytest.fixture
def folder(tmp_path):
    return tally.written(tmp_path)


@pytest.fixture
def study(folder):
    return tally.loaded(folder)


@pytest.fixture(autouse=True)
def committed(monkeypatch):
    """The tree of a developer may have changes; what is packed then is another test's matter."""
    monkeypatch.setattr(provenance, "commit", lambda: None)


@pytest.fixture
def packed(study, tmp_path):
    """The study with its quick run and the short cells of that."""
    plans = study.plan("quick", 0), companion_plan(study, "quick")
    return pack(tally.computed(tmp_path / "store", *plans), study, "quick", 0, KNOWN)


def test_a_claim_is_judged_on_shipped_rows_as_on_the_store_they_came_from(study, packed, tmp_path):
    plan = study.plan("quick", 0)
    held = look_up(plan, tally.computed(tmp_path / "store")).view
    evidence = evidence_of(study)
    seen = evidence.view(evidence.runs[0])
    for cell in plan.cells.values():
        for point in cell.points:
            assert seen.rows(point) == held.rows(point)
    assert ledger(study, seen) == ledger(study, held)


def test_a_run_says_where_it_comes_from(study, packed):
    (run,) = evidence_of(study).runs
    assert run == packed
    assert (run.scale, run.seed, run.cells, run.planned) == ("quick", 0, 2, 2)
    assert run.device == machine()["processor"]
    assert run.companions == tuple(cell.key for cell in companions(study.plan("quick", 0)))
    (source,) = run.sources
    assert (source.commit, source.started[:10]) == ("0" * 40, run.date)
    assert {"python", "numpy", "attnlab"} <= set(source.versions)
    assert set(source.seconds) == {*study.plan("quick", 0).cells, *run.companions}


def test_no_folder_of_the_machine_is_packed(study, tmp_path):
    store = tally.computed(tmp_path / "store", study.plan("quick", 0))
    (log,) = (store.root / "runs").iterdir()
    header, *lines = log.read_text().splitlines()
    command = "attnlab reproduce tally --store /home/me/x --report=/home/me/y --scale quick"
    log.write_text("\n".join([json.dumps({**json.loads(header), "command": command}), *lines]))
    (source,) = pack(store, study, "quick", 0, KNOWN).sources
    assert source.command == "attnlab reproduce tally --scale quick"
    assert "/home" not in (study.evidence / FILE).read_text()


@pytest.mark.parametrize(
    ("header", "line", "known", "sentence"),
    [
        ({}, {}, Unrecorded(), "do not name the commit"),
        ({"commit": "abc-dirty"}, {}, KNOWN, "changes that no commit has"),
        ({}, {"device": ""}, KNOWN, "do not name the device"),
        ({}, {"key": "another"}, KNOWN, "does not say which run made 2 of 2 cells"),
    ],
)
def test_results_of_unknown_origin_are_not_packed(study, tmp_path, header, line, known, sentence):
    store = tally.computed(tmp_path / "store", study.plan("quick", 0))
    (log,) = (store.root / "runs").iterdir()
    first, *rest = (json.loads(text) for text in log.read_text().splitlines())
    changed = [{**first, **header}, *({**each, **line} for each in rest)]
    log.write_text("\n".join(json.dumps(each) for each in changed))
    with pytest.raises(UserError, match=sentence):
        pack(store, study, "quick", 0, known)
    assert not (study.evidence / FILE).exists()


def test_the_commit_of_a_copy_beside_another_history_can_be_given(study, tmp_path):
    store = tally.computed(tmp_path / "store", study.plan("quick", 0))
    (log,) = (store.root / "runs").iterdir()
    first, *rest = log.read_text().splitlines()
    named = {**json.loads(first), "commit": "abc-dirty"}
    log.write_text("\n".join([json.dumps(named), *rest]))
    (source,) = pack(store, study, "quick", 0, Unrecorded({"abc-dirty": "1" * 40})).sources
    assert source.commit == "1" * 40


def test_kinds_that_ran_on_the_processor_are_told_apart(study, tmp_path):
    store = tally.computed(tmp_path / "store", study.plan("quick", 0))
    (log,) = (store.root / "runs").iterdir()
    log.write_text(log.read_text().replace('"device": "cpu"', '"device": ""'))
    known = Unrecorded({"": "0" * 40}, "Abacus", ("tally_sum",))
    run = pack(store, study, "quick", 0, known)
    assert {source.device for source in run.sources} == {"Abacus", machine()["processor"]}
    assert len(run.sources) == 2
    elsewhere = Unrecorded({"": "0" * 40}, "Abacus", beside="another processor")
    assert pack(store, study, "quick", 0, elsewhere).device == machine()["processor"]


def test_a_scale_that_the_store_lacks_is_not_packed(study, packed, tmp_path):
    before = (study.evidence / FILE).read_bytes()
    store = tally.computed(tmp_path / "other", companion_plan(study, "quick"))
    with pytest.raises(UserError, match="no results of tally at the scale 'quick'"):
        pack(store, study, "quick", 0, KNOWN)
    assert (study.evidence / FILE).read_bytes() == before


def test_a_part_of_a_scale_ships_and_decides_what_it_has(study, packed, tmp_path):
    """At paper without the cell of 39, tally-large is left to the standard run."""
    store = tally.computed(tmp_path / "store", study.plan("standard", 0))
    pack(store, study, "standard", 0, KNOWN)
    whole = study.plan("paper", 0)
    few = dict(list(whole.cells.items())[:20])
    part = pack(
        tally.computed(tmp_path / "part", Plan(study, "paper", 0, few)), study, "paper", 0, KNOWN
    )
    assert (part.cells, part.planned) == (20, 39)
    assert [run.scale for run in evidence_of(study).runs] == ["paper", "standard", "quick"]
    found = shipped_verdicts(study, study.claims)
    assert found["tally-large"].as_dict() == {
        "verdict": "holds",
        "scale": "standard",
        "device": machine()["processor"],
        "date": part.date,
        "measured": 190.0,
        "grade": "exact",
        "differs": "",
        "resolution": None,
    }
    assert found["tally-total"].entry.scale == "standard"  # paper lacks cells of it
    seen = evidence_of(study).view(evidence_of(study).runs[0])
    with pytest.raises(Missing):
        seen.rows(list(whole.cells.values())[25])


def test_the_verdict_of_ones_own_run_and_the_shipped_one_stand_side_by_side(
    study, packed, tmp_path
):
    store = tally.computed(tmp_path / "store", study.plan("standard", 0))
    pack(store, study, "standard", 0, KNOWN)
    own = ledger(study, look_up(study.plan("quick", 0), store).view)
    first, second = with_shipped(study, own)
    assert (second.verdict, second.shipped.entry.verdict) == ("undecided at this scale", "holds")
    assert (second.best.scale, first.best.scale) == ("standard", "quick")
    assert second.shipped.run.startswith("standard, ")
    assert own[0].as_dict()["shipped"] is None


def test_packing_again_replaces_the_run_and_keeps_the_others(study, packed, tmp_path):
    store = tally.computed(tmp_path / "store", study.plan("standard", 0))
    pack(store, study, "standard", 0, KNOWN)
    first = evidence_of(study)
    pack(store, study, "quick", 0, KNOWN)
    again = evidence_of(study)
    assert [run.name for run in again.runs] == ["standard-0", "quick-0"]
    assert again.table("tally_sum").num_rows == first.table("tally_sum").num_rows == 3 + 20


def test_a_scale_is_packed_in_several_sittings(study, packed, tmp_path):
    whole = study.plan("paper", 0)
    sittings = dict(list(whole.cells.items())[:20]), dict(list(whole.cells.items())[15:])
    for number, cells in enumerate(sittings):
        store = tally.computed(tmp_path / f"sitting-{number}", Plan(study, "paper", 0, cells))
        run = pack(store, study, "paper", 0, KNOWN)
    assert (run.cells, run.planned, len(run.sources)) == (39, 39, 2)
    evidence = evidence_of(study)
    assert [each.cells for each in evidence.runs] == [39, packed.cells]
    seen = evidence.view(evidence.runs[0])
    every = tally.computed(tmp_path / "whole", whole)
    held = look_up(whole, every).view
    assert all(seen.rows(p) == held.rows(p) for cell in whole.cells.values() for p in cell.points)
    # Packed anew, only what this store has is there.
    part = Plan(study, "paper", 0, sittings[0])
    fresh = pack(tally.computed(tmp_path / "new", part), study, "paper", 0, KNOWN, fresh=True)
    assert fresh.cells == 20
    assert [each.name for each in evidence_of(study).runs] == ["paper-0"]


def test_rows_of_an_older_version_are_not_found(folder, study, packed, monkeypatch):
    monkeypatch.setenv("TALLY_VERSION", "2")
    newer = tally.loaded(folder)
    (run,) = evidence_of(newer).runs
    assert outdated(newer, run) == 1  # the sweep; the training is as it was
    assert outdated(study, run) == 0
    assert "tally-total" not in shipped_verdicts(newer, newer.claims)
    assert set(candidates(newer, evidence_of(newer))) == {"tally_trained"}


def test_a_study_without_evidence_has_none(toy, study):
    assert evidence_of(toy) is None
    assert evidence_of(study) is None  # nothing is packed yet
    assert shipped_verdicts(toy, toy.claims) == {}
    own = ledger(toy, View("quick", 0, {}))
    assert with_shipped(toy, own) == own


def spoil(path, how):
    data = path.read_bytes()
    known = json.loads(data) if path.name == FILE else {}
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "changed":
        path.write_bytes(bytes([*data[:100], data[100] ^ 1, *data[101:]]))
    elif how == "format":
        path.write_text(json.dumps({**known, "format": 99}))
    elif how == "scale":
        path.write_text(json.dumps({**known, "runs": [{**known["runs"][0], "scale": "huge"}]}))
    elif how == "elsewhere":
        path.write_text(json.dumps({**known, "files": {"../x.parquet": {"sha256": ""}}}))
    else:
        path.write_text(how)


@pytest.mark.parametrize(
    ("name", "how", "sentence"),
    [
        ("tally_sum.parquet", "gone", "damaged: tally_sum.parquet cannot be read"),
        ("tally_sum.parquet", "cut", "damaged: the bytes of tally_sum.parquet are not those"),
        ("tally_trained.parquet", "changed", "damaged: the bytes of tally_trained.parquet are not"),
        (FILE, "cut", "damaged: evidence.json cannot be understood"),
        (FILE, "[]", "damaged: evidence.json cannot be understood"),
        (FILE, '{"format": 1}', "damaged: evidence.json cannot be understood"),
        (FILE, "scale", "damaged: evidence.json cannot be understood"),
        (FILE, "elsewhere", "damaged: evidence.json names files elsewhere"),
        (FILE, "format", "has format 99; this version of attnlab reads format 1"),
    ],
)
def test_damaged_evidence_is_one_sentence(study, packed, name, how, sentence):
    spoil(study.evidence / name, how)
    with pytest.raises(UserError, match=sentence) as refusal:
        shipped_verdicts(study, study.claims)
    assert "\n" not in str(refusal.value)


def test_damaged_evidence_is_packed_anew_only_when_asked(study, packed, tmp_path):
    (study.evidence / "tally_sum.parquet").write_bytes(b"PAR1")
    store = tally.computed(tmp_path / "store")
    with pytest.raises(UserError, match="damaged"):
        pack(store, study, "quick", 0, KNOWN)
    again = pack(store, study, "quick", 0, KNOWN, fresh=True)
    assert again == packed
    assert set(shipped_verdicts(study, study.claims)) == {"tally-total", "tally-large"}


def test_every_kind_is_drawn_and_a_kind_that_trains_by_its_short_cells(study, packed):
    evidence = evidence_of(study)
    groups = candidates(study, evidence)
    assert {name: len(group) for name, group in groups.items()} == {
        "tally_sum": 3,
        "tally_trained": 1,
    }
    assert groups["tally_trained"][0].cell.config.steps == 2
    for cells, total in ((1, 2), (3, 3), (99, 4)):
        picked = draw(groups, cells, 60.0, random.Random(0))
        assert len(picked) == total
        assert {each.cell.kind.name for each in picked} == set(groups)
    assert draw(groups, 5, 0.0, random.Random(0)) == []


def test_a_cell_that_finds_something_else_disagrees(study, packed, monkeypatch):
    evidence = evidence_of(study)
    drawn = candidates(study, evidence)["tally_sum"][2]
    for exact in (True, False):
        assert verify(evidence, drawn, exact=exact).differences == []
    monkeypatch.setenv("TALLY_SHIFT", "0.001")  # within the tolerance that the kind declares
    assert verify(evidence, drawn, exact=False).differences == []
    (found,) = verify(evidence, drawn, exact=True).differences
    assert str(found) == "total of row 0: shipped 3.0, found 3.001"
    monkeypatch.setenv("TALLY_SHIFT", "0.1")
    (found,) = verify(evidence, drawn, exact=False).differences
    assert (found.column, found.shipped, found.found) == ("total", 3.0, 3.1)


def test_equal_bits_are_asked_for_on_the_same_device_and_libraries_only(study, packed, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    evidence = evidence_of(study)
    drawn = candidates(study, evidence)["tally_sum"][2]
    here = {**drawn.source.machine, "instructions": "Abacus 1, 0123456789abcdef"}
    monkeypatch.setattr("attnlab.lab.verify.machine", lambda: here)
    source = dataclasses.replace(drawn.source, machine=here)
    assert verify(evidence, drawn._replace(source=source)).exact
    for changes in (
        {"device": "another"},
        {"versions": {**source.versions, "numpy": "0.1"}},
        {"machine": {**here, "instructions": "Abacus 2, 0123456789abcdef"}},
        {"machine": {**here, "cores": -1}},
        {"machine": {name: here[name] for name in ("system", "processor", "cores")}},
    ):
        other = dataclasses.replace(source, **changes)
        assert not verify(evidence, drawn._replace(source=other)).exact, changes
    compiled = dataclasses.replace(drawn.cell.kind, compiled_here=True)
    own = dataclasses.replace(drawn.cell, kind=compiled)
    assert not verify(evidence, drawn._replace(source=source, cell=own)).exact


@pytest.mark.parametrize(("trains", "exact"), [(True, False), (False, True)])
def test_on_a_card_a_training_is_compared_within_its_tolerance(
    study, packed, monkeypatch, trains, exact
):
    """Its kernels were chosen by timing them; cells that train nothing have equal bits there."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setattr("attnlab.lab.verify.device_name", lambda: "a card")
    evidence = evidence_of(study)
    drawn = candidates(study, evidence)["tally_sum"][2]
    kind = dataclasses.replace(drawn.cell.kind, shortened=(lambda c: c) if trains else None)
    own = dataclasses.replace(drawn.cell, kind=kind)
    source = dataclasses.replace(drawn.source, device="a card")
    assert verify(evidence, drawn._replace(source=source, cell=own)).exact is exact


def test_processors_of_one_name_have_other_instructions():
    old = {"model name": "AMD EPYC", "vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17"}
    flags = {"flags": "fpu avx2 avx512f"}
    assert instructions(old | flags) == instructions(old | {"flags": "avx512f avx2 fpu"})
    different = [old | flags, old | {"cpu family": "26"} | flags, old | {"flags": "fpu avx2"}]
    assert len({instructions(each) for each in different}) == 3
    assert instructions(old) is None
    assert instructions({}) is None
