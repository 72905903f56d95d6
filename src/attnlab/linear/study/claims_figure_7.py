"""The claim about FULL in Figure 7: what its layers do at low and at high noise.

Source: Vladymyrov et al. (arXiv 2402.14180), Appendix B: FULL first improves low noise, which is
followed by a decline of the accuracy at higher noise, especially in the last layer. The three parts
are judged on their own, on U(0,5) and for every depth from three layers on: with two layers nothing
lies between the first and the last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_untrained import CHANCE
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import PAPER
from attnlab.stats import Estimate

LOW, HIGH = (0.0, 1.0), (4.0, 5.0)  # noise levels of U(0,5) that are low and high
FEWEST = 3  # depths on which a statement about every depth is judged
PICTURE = 0.1  # of the log loss: a change that a picture shows
PARTS = ("first", "decline", "last")


@dataclass(frozen=True)
class Layers:
    """What the layers of one network do at low and at high noise, in logarithms of the loss.

    Parameters
    ----------
    first
        How much more low noise has gained than high noise, on average over the layers before the
        last.
    decline
        The largest rise at high noise from a layer that had gained to a later one.
    last
        The rise at high noise by the last layer, or what it is more than that of every layer
        between the first and the last, whichever is less; None where a heavy tail hides it.
    """

    first: Estimate
    decline: Estimate
    last: Estimate | None

    @property
    def shown(self) -> str:
        """The three numbers as text."""
        last = "open" if self.last is None else f"{self.last.value:+.2f}"
        return f"{self.first.value:+.2f}, {self.decline.value:+.2f}, {last}"


def _rise(after: Estimate, before: Estimate) -> Estimate | None:
    """The logarithm of after / before, where `before` has no heavy tail.

    If `after` has one, its expectation is at least CHANCE times its mean (Markov): a rise that this
    leaves is one, and else nothing is known.
    """
    if results.steady(after):
        return results.log_ratio(after, before)
    least = Estimate(CHANCE * after.value)
    found = results.log_ratio(least, before)
    return found if found.value > 0 else None


def _layers(rows: list[FullLossRow], depth: int) -> Layers | None:
    """None where a layer before the last has a heavy tail at some level, or the last diverged."""
    low = full_results.read_profile(rows, depth, *LOW)
    high = full_results.read_profile(rows, depth, *HIGH)
    before = [part[read] for part in (low, high) for read in range(depth) if part]
    if not before or not all(map(results.steady, before)) or not math.isfinite(high[depth].value):
        return None
    gains = [
        Estimate(
            *results.difference(
                results.log_ratio(low[0], low[read]), results.log_ratio(high[0], high[read])
            )
        )
        for read in range(1, depth)
    ]
    first = Estimate(
        float(np.mean([gain.value for gain in gains])),
        float(np.mean([gain.standard_error for gain in gains])),
    )
    return Layers(first, _decline(high, depth), _last(high, depth))


def _decline(high: dict[int, Estimate], depth: int) -> Estimate:
    """The largest rise after a gain; where no layer gains, the gain of the best one, about 0."""
    reads = [read for read in range(1, depth + 1) if results.steady(high[read])]
    gained = [
        read for read in reads if results.clearly_positive(results.log_ratio(high[0], high[read]))
    ]
    found = [
        _rise(high[later], high[read]) for read in gained for later in range(read + 1, depth + 1)
    ]
    rises = [rise for rise in found if rise is not None]
    if not rises:
        best = min(reads, key=lambda read: high[read].value)
        return results.log_ratio(high[0], high[best])
    return max(rises, key=lambda rise: rise.value)


def _last(high: dict[int, Estimate], depth: int) -> Estimate | None:
    last = _rise(high[depth], high[depth - 1])
    if last is None:
        return None
    earlier = [results.log_ratio(high[read], high[read - 1]) for read in range(2, depth)]
    most = max(earlier, key=lambda rise: rise.value)
    return min(last, Estimate(*results.difference(last, most)), key=lambda part: part.value)


@dataclass(frozen=True)
class Figure7:
    """The layers of the networks by depth, the depths that are left out, and the grade.

    Only the `refuting` depths, of which the paper prints a loss, count against the statement.
    """

    found: dict[int, Layers]
    refuting: set[int]
    left_out: list[str]
    evidence: results.Evidence

    def part(self, name: str) -> tuple[Verdict, Resolution]:
        """The verdict on one part: at every depth, or clearly not at one."""
        values = {depth: getattr(layers, name) for depth, layers in self.found.items()}
        known = [value for value in values.values() if value is not None]
        against = [
            value
            for depth, value in values.items()
            if depth in self.refuting and value is not None and results.clearly_negative(value)
        ]
        everywhere = not self.left_out and len(known) == len(values)
        verdict: Verdict = UNDECIDED
        if against:
            verdict = "fails"
        elif everywhere and all(map(results.clearly_positive, known)):
            verdict = "holds"
        seen = max((MARGIN * value.standard_error for value in against or known), default=math.inf)
        return verdict, Resolution(seen, PICTURE, "of the log loss")

    def depths(self, name: str) -> str:
        """At how many depths a part is so."""
        values = [getattr(layers, name) for layers in self.found.values()]
        so = [value for value in values if value is not None and results.clearly_positive(value)]
        return f"{len(so)} of {len(values)}"


def _figure_7(view: View) -> Figure7 | None:
    """Networks that had the paper's steps, or come within a quarter of its loss.

    A heavy tail of the last layer counts for the statement, so that it excludes no network here.
    The paper has no loss for eight layers, which count if the recorded loss has no heavy tail.
    """
    law = grids.U5
    rows = results.rows_of(view, "FULL", law)
    chosen = {row.layers: row for row in rows if row.sigma is None and row.read == row.layers}
    profiles = [row for row in rows if row.sigma is not None]
    found: dict[int, Layers] = {}
    left_out = []
    for depth in sorted({row.layers for row in profiles if row.layers >= 3}):
        row = chosen[depth]
        ready = full_results.enough([row]) or (
            full_results.as_good(row, law) if ("FULL", depth, law) in PAPER else row.steady
        )
        layers = _layers(profiles, depth) if ready else None
        if layers is None:
            left_out.append(f"L = {depth}")
        else:
            found[depth] = layers
    if len(found) < FEWEST:
        return None
    refuting = {depth for depth in found if ("FULL", depth, law) in PAPER}
    return Figure7(
        found, refuting, left_out, full_results.setting([chosen[depth] for depth in found])
    )


def _judged(view: View, names: tuple[str, ...], reference: str) -> Judgement:
    figure = _figure_7(view)
    if figure is None:
        return full_results.no_full_network()
    parts = {name: figure.part(name) for name in names}
    verdict, resolution = all_of(list(parts.values()))
    numbers = [f"L = {depth}: {layers.shown}" for depth, layers in figure.found.items()]
    note = (
        f"Low noise improves first at {figure.depths('first')} depths; high noise declines after "
        f"an earlier gain at {figure.depths('decline')}; the last layer makes high noise worse, "
        f"and more so than every layer before, at {figure.depths('last')}. Left out (heavy tail "
        f"before the last layer, or far above the paper's loss): {results.listed(figure.left_out)}."
    )
    return Judgement(
        verdict,
        "log gain at low noise (σ ≤ 1) minus that at high noise (4 ≤ σ ≤ 5), mean over the layers "
        "before the last; largest rise of the log loss at high noise after an earlier gain; rise "
        "by the last layer, or its excess over the largest rise before, whichever is less: "
        f"{'; '.join(numbers)}",
        reference,
        f"at every depth from 3 on, by {MARGIN:g} standard errors, with networks that had the "
        "paper's steps or come within a quarter of its loss; a depth of which the paper prints no "
        "loss refutes nothing",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **figure.evidence,
        resolution=resolution,
    )


CLAIMS = (
    Claim(
        "figure-7-full",
        "Vladymyrov et al., Appendix B, Figure 7",
        "Read layer by layer on U(0,5), FULL first improves low noise; the accuracy at higher "
        "noise declines after an earlier gain, especially in the last layer.",
        lambda view: _judged(view, PARTS, "all three above 0 at every depth"),
        ("fig-7",),
    ),
    Claim(
        "figure-7-full-decline",
        "Ours, beside Figure 7",
        "Read layer by layer on U(0,5), FULL loses accuracy at high noise after an earlier gain.",
        lambda view: _judged(view, ("decline",), "the second number above 0 at every depth"),
        ("fig-7",),
        ours=True,
    ),
)
