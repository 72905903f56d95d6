"""What the paper says of its experiments is refuted, or confirmed, by other counts."""

import pytest

from attnlab.separation.study.claims_robust import USUAL
from attnlab.separation.study.panels import PANELS, blocks, frequency, panel_cells, within
from tests.separation.study.counts import share

BREAKS = ("4b", "4c", "4d", "5b")
ROBUST = sorted(set(PANELS) - set(BREAKS))


def covered(view, panel):
    """The kind of a panel's cells, and its points that meet the conditions of the theory."""
    swept, cells = panel_cells(panel, view)
    inside = within(cells, swept, PANELS[panel].theory)
    return cells[0].kind.name.removeprefix("separation_"), inside


@pytest.mark.parametrize("panel", ROBUST)
def test_a_block_below_one_half_refutes_robustness(view, entry, altered, panel):
    """Its last block, lower than one half by twice the resolution."""
    seen = entry(f"figure-{panel}", view)
    assert seen.verdict == "holds"
    low = USUAL - 2 * seen.resolution.value
    kind, inside = covered(view, panel)
    last = {cell.config for cell in blocks(inside)[-1]}
    broken = altered(view, kind, lambda config: config in last, **share(low))
    assert entry(f"figure-{panel}", broken).verdict == "fails"
    assert entry("experiments-robust", broken).verdict == "fails"


def beyond_one_half(seen):
    """Counts that pass the line by twice the resolution."""
    return share(USUAL + 2 * seen.resolution.value)


@pytest.mark.parametrize("panel", BREAKS)
def test_a_panel_that_breaks_could_have_been_robust(view, entry, altered, panel):
    seen = entry(f"figure-{panel}", view)
    assert seen.verdict == "fails"
    kind, inside = covered(view, panel)
    configs = {cell.config for cell in inside}
    mended = altered(view, kind, lambda config: config in configs, **beyond_one_half(seen))
    assert entry(f"figure-{panel}", mended).verdict == "holds"


@pytest.mark.parametrize("panel", BREAKS)
def test_a_panel_is_refuted_by_its_lowest_points_alone(view, entry, altered, panel):
    """With the points that refute it past the line by twice the resolution nothing refutes it."""
    seen = entry(f"figure-{panel}", view)
    kind, inside = covered(view, panel)
    groups = blocks(inside) if PANELS[panel].pooled else [[cell] for cell in inside]
    low = {c.config for group in groups if frequency(view, group).value < USUAL for c in group}
    mended = altered(view, kind, lambda config: config in low, **beyond_one_half(seen))
    assert entry(f"figure-{panel}", mended).verdict != "fails"


def test_the_experiments_could_have_been_robust(view, entry, altered):
    """Every panel that breaks, past the line by twice its own resolution."""
    mended = view
    for panel in BREAKS:
        kind, inside = covered(view, panel)
        configs = {cell.config for cell in inside}
        counts = beyond_one_half(entry(f"figure-{panel}", view))
        mended = altered(mended, kind, lambda config, kept=configs: config in kept, **counts)
    found = entry("experiments-robust", mended)
    assert found.verdict == "holds"
    assert found.grade == "smaller setting"


def test_what_the_theory_does_not_ask_for_refutes_nothing(view, entry, altered):
    """No success at spikes a1 below 0.7, spikes a0 from 0.1 on, and few neurons."""
    for panel in ("3b", "4e", "5c", "5d", "5e"):
        swept, cells = panel_cells(panel, view)
        kind, inside = covered(view, panel)
        outside = {cell.config for cell in cells if cell not in inside}
        broken = altered(view, kind, lambda config, kept=outside: config in kept, **share(0.0))
        assert entry(f"figure-{panel}", broken).verdict == "holds", swept


def test_points_far_apart_are_not_pooled(view, entry, altered):
    """Six dimensions of 100 trials each: one that is close to one half decides nothing."""
    kind, inside = covered(view, "5b")
    configs = {cell.config for cell in inside}
    near = altered(view, kind, lambda config: config in configs, **share(0.6))
    found = entry("figure-5b", near)
    assert found.verdict == "undecided at this scale"
    assert "No scale of the study decides it." in found.note
