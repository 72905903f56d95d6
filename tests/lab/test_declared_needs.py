"""What kinds declare of their memory, against the memory that one of their cells takes.

NumPy tells `tracemalloc` of its arrays, so that a peak is the same on every machine. A declaration
has to cover the peak but for a quarter, and to be no more than a few times as large: one that is
far too large would refuse cells that fit.
"""

import gc
import tracemalloc

import pytest

from attnlab.lab.catalog import load_study
from attnlab.lab.part import compute
from attnlab.random.study import cells as random_cells
from attnlab.random.study import cells_checks, cells_conditional, cells_curves
from attnlab.random.theory import law
from attnlab.separation.study import (
    cells_attention,
    cells_hypothesis,
    cells_lemmas,
    cells_map,
    cells_regression,
    cells_rows,
    cells_theorem,
    cells_widths,
    cells_work,
)
from attnlab.separation.theory import one_neuron, regression_bounds

COVERED, GENEROUS = 1.25, 8.0
SMALL = ("random_law_numbers", "separation_published", "separation_worst_entries")
BOUNDED = ("separation_tensor_form",)  # refused above 2^24 entries, see `require_small`

CELLS = {
    "run": random_cells.run(random_cells.Run("size", d=32, length=32, tasks=16)),
    "run, m > n": random_cells.run(random_cells.Run("width", d=20, length=20, tasks=10)),
    "law": random_cells.laws(random_cells.Laws("size", d=40, length=40, tasks=20, prompts=200_000)),
    "gaussianity": cells_checks.distance(cells_checks.Distance(d=60, length=60, tasks=30)),
    "attention": cells_checks.reduction(cells_checks.Reduction(d=100, length=200, prompts=100)),
    "conditional": cells_conditional.conditional(cells_conditional.Conditional(directions=20_000)),
    "curve": cells_curves.curve(cells_curves.LawCurve(along="ridge", points=400)),
    "attention point": cells_attention.attention(
        cells_attention.AttentionPoint(n=8000, d=4002, trials=0)
    ),
    "attention trials": cells_attention.attention(
        cells_attention.AttentionPoint(n=1600, d=802, m=600, trials=2)
    ),
    "regression": cells_regression.regression(
        cells_regression.RegressionPoint(n=50_000, trials=10)
    ),
    "regression, wide": cells_regression.regression(
        cells_regression.RegressionPoint(n=20_000, m=2000, trials=2)
    ),
    "regression, two levels": cells_regression.regression(
        cells_regression.RegressionPoint(n=20_000, data="two-level", trials=0)
    ),
    "sums of signs": cells_lemmas.sign_sums(cells_lemmas.SignSums(n=2, samples=500_000)),
    "tail of signs": cells_lemmas.sign_tail(cells_lemmas.SignTail(n=20_000)),
    "theorem": cells_theorem.theorem(cells_theorem.TheoremPoint(d=8002)),
    "least spike": cells_theorem.least_spike(cells_theorem.LeastSpike(d=4002)),
    "largest spike": cells_theorem.largest_spike(cells_theorem.LargestSpike(d=4002)),
    "least dimension": cells_theorem.least_dimension(cells_theorem.LeastDimension(b=0.5)),
    "spike rows": cells_rows.spike_rows(cells_rows.SpikeRows(n=8000, d=4002)),
    "map": cells_map.success_map(cells_map.SuccessMap("d-m", n=5040, steps=200)),
    "widths": cells_widths.widths(cells_widths.Widths(widest=20_000)),
    "equal moments, long": cells_hypothesis.equal_moments(cells_hypothesis.EqualMoments(n=1500)),
    "equal moments, wide": cells_hypothesis.equal_moments(cells_hypothesis.EqualMoments(d=300)),
    "linear on spikes": cells_hypothesis.linear_on_spikes(
        cells_hypothesis.LinearOnSpikes(n=2000, d=1002)
    ),
    "work": cells_work.work(cells_work.AttentionWork(n=1200)),
}


def peak_of(cell):
    """Bytes that a cell takes at its worst moment, without what was there before."""
    compute(cell)  # what it imports and compiles is not part of the peak
    for kept in (one_neuron.binomial_weights, regression_bounds._exceed, law._statistics):
        kept.cache_clear()
    gc.collect()
    tracemalloc.start()
    try:
        compute(cell)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", CELLS)
def test_a_declaration_is_near_the_memory_that_its_cell_takes(name):
    cell = CELLS[name]
    declared, peak = cell.kind.needs(cell.config).host_bytes, peak_of(cell)
    assert peak <= COVERED * declared, (peak, declared)
    assert declared <= GENEROUS * peak, (peak, declared)


@pytest.mark.parametrize("study", ["random", "separation"])
def test_every_kind_that_can_be_large_declares_its_needs(study):
    silent = {kind.name for kind in load_study(study).kinds if kind.needs is None}
    assert silent <= {*SMALL, *BOUNDED}
    assert {cell.kind.name for cell in CELLS.values()} >= {
        kind.name for kind in load_study(study).kinds if kind.needs is not None
    }
