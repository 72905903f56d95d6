"""A study's page as an article: its statements in order, each with its figures and verdicts.

A figure, and the record of a claim, stand with the statement that they are most about: one about a
figure or table first, then the one with the fewest claims. Other statements link there. A study
without statements is told claim by claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from attnlab.lab.article import Finding
from attnlab.lab.coverage import Coverage, JudgedStatement, judged_statements
from attnlab.lab.ledger import Entry, Ledger
from attnlab.lab.study import SCALES, Scale, Study
from attnlab.report import text
from attnlab.report.figures import Drawn
from attnlab.report.provenance import Provenance
from attnlab.report.verdicts import Mark, counts

SENTENCES = 2  # of findings on a card
LONG = 110  # weight of a page whose appendices are folded away
TOGETHER = 16  # of the weight of blocks that two columns share, read one after the other


@dataclass(frozen=True)
class Block:
    """One statement with what belongs to it.

    `entries` are told here, `again` elsewhere; `figures` are shown here, `seen` elsewhere.
    """

    anchor: str
    where: str
    kind: str
    statement: str
    reason: str
    entries: Sequence[Entry]
    again: Sequence[Entry]
    figures: Sequence[Drawn]
    seen: Sequence[Drawn]
    own: bool  # the statement is the claim's own

    @property
    def wide(self) -> bool:
        """Whether it takes the whole width of the page."""
        return any(figure.wide for figure in self.figures) or len(self.figures) > 1


@dataclass(frozen=True)
class Chapter:
    """One study, ready to be shown."""

    study: Study
    entries: Sequence[Entry]
    figures: Sequence[Drawn]
    provenance: Provenance

    @property
    def page(self) -> str:
        """The file of its page."""
        return f"{self.study.name}.html"

    @cached_property
    def statements(self) -> list[JudgedStatement]:
        """The statements of the paper with the claims about them."""
        return judged_statements(self.study, Ledger(self.entries))

    @property
    def coverage(self) -> Coverage:
        """How much of the paper is judged."""
        return Coverage.of(self.statements)

    @property
    def counts(self) -> list[tuple[Mark, int]]:
        """How many claims have each verdict."""
        return counts(self.entries)

    def with_verdict(self, verdict: str) -> list[Entry]:
        """The claims with one verdict."""
        return [entry for entry in self.entries if entry.verdict == verdict]

    @property
    def shipped(self) -> list[tuple[str, str]]:
        """The scales of shipped runs and what these found of the claims, the largest first."""
        runs: dict[Scale, list[Entry]] = {}
        for found in (entry.shipped for entry in self.entries if entry.shipped):
            runs.setdefault(found.entry.scale, []).append(found.entry)
        return [
            (scale, ", ".join(f"{number} {mark.plural}" for mark, number in counts(runs[scale])))
            for scale in reversed(SCALES)
            if scale in runs
        ]

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings with which the ledger agrees."""
        verdicts = {entry.id: entry.verdict for entry in self.entries}
        return [
            each
            for each in self.study.article.findings
            if all(verdicts.get(name) == each.verdict for name in each.claims)
        ]

    @property
    def headline(self) -> list[str]:
        """Two sentences for the front page."""
        found = [each.text for each in self.findings[:SENTENCES]]
        return found or text.sentences(self.study.summary)[:SENTENCES]

    @property
    def picture(self) -> Drawn | None:
        """The figure that stands for the study."""
        drawn = [figure for figure in self.figures if "SVG" in figure.files]
        chosen = [figure for figure in drawn if figure.id == self.study.article.picture]
        return next(iter([*chosen, *drawn]), None)

    @cached_property
    def blocks(self) -> list[Block]:
        """The page from front to back."""
        return [*self._stated(), *self._beyond()]

    @property
    def parts(self) -> list[tuple[str, list[list[Block]]]]:
        """The page in segments, under a title where they are folded away.

        A long page folds its end: from the paper's first appendix on, or the figures that no
        statement names.
        """
        blocks, end = self.blocks, len(self.blocks)
        if _weight(blocks) > LONG:
            kept = [not (b.where.startswith("Appendix") or not b.where) for b in blocks]
            end = kept.index(False) if False in kept else end
        figures = sum(len(block.figures) for block in blocks[end:])
        said = sum(bool(block.statement) for block in blocks[end:])
        words = f"{text.counted(said, 'statement')}, {text.counted(figures, 'figure')}"
        folded = [(f"Appendices and further figures ({words})", _segments(blocks[end:]))]
        return [("", _segments(blocks[:end])), *(folded if blocks[end:] else [])]

    def anchor_of(self, claim: str) -> str:
        """Where a claim is judged on the page."""
        return f"claim-{text.slug(claim)}"

    def _stated(self) -> list[Block]:
        claims = self._homes({e.id for each in self.statements for e in _about(each)})
        figures = {
            figure.id: min(found, key=lambda each, figure=figure: _fitness(figure, each))
            for figure in self.figures
            if (found := [s for s in self.statements if figure in self._figures_of(_about(s))])
        }
        blocks = []
        for each in self.statements:
            entries, shown = _about(each), self._figures_of(_about(each))
            given = each.statement
            blocks.append(
                Block(
                    f"statement-{text.slug(given.id)}",
                    given.where,
                    given.kind,
                    given.statement,
                    given.reason,
                    [e for e in entries if claims[e.id] is each],
                    [e for e in entries if claims[e.id] is not each],
                    [f for f in shown if figures[f.id] is each],
                    [f for f in shown if figures[f.id] is not each],
                    own=False,
                )
            )
        return blocks

    def _homes(self, names: Iterable[str]) -> dict[str, JudgedStatement]:
        """The statement with which each claim stands; it judges that one if it judges any."""
        homes = {}
        for name in names:
            judging = [s for s in self.statements if name in s.statement.claims]
            beside = [s for s in self.statements if name in s.statement.beside]
            homes[name] = min(judging or beside, key=_generality)
        return homes

    def _beyond(self) -> list[Block]:
        """Claims that no statement names, each by itself; then figures that nothing names."""
        judged = {e.id for each in self.statements for e in (*each.entries, *each.beside)}
        shown = {f.id for e in self.entries if e.id in judged for f in self._figures_of([e])}
        found = []
        for entry in self.entries:
            if entry.id in judged:
                continue
            figures = self._figures_of([entry])
            found.append(
                Block(
                    f"statement-{text.slug(entry.id)}",
                    entry.source,
                    "ours" if entry.ours else "",
                    entry.statement,
                    "",
                    [entry],
                    [],
                    [f for f in figures if f.id not in shown],
                    [f for f in figures if f.id in shown],
                    own=True,
                )
            )
            shown |= {f.id for f in figures}
        for figure in self.figures:
            if figure.id not in shown:
                found.append(
                    Block(f"{figure.anchor}-block", "", "", "", "", [], [], [figure], [], own=True)
                )
        return found

    def _figures_of(self, entries: Sequence[Entry]) -> list[Drawn]:
        """The figures that claims name as their evidence, in the study's order."""
        claims = {claim.id: claim for claim in self.study.claims}
        names = {name for entry in entries for name in claims[entry.id].figures}
        return [figure for figure in self.figures if figure.id in names]


def _segments(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks in pieces of one wide block, or of a few that two columns share."""
    found: list[list[Block]] = []
    for block in blocks:
        full = not found or found[-1][0].wide or _weight([*found[-1], block]) > TOGETHER
        if block.wide or full:
            found.append([block])
        else:
            found[-1].append(block)
    return found


def _weight(blocks: Sequence[Block]) -> int:
    """How much room blocks take: a figure as much as three statements."""
    return sum(1 + 3 * len(block.figures) for block in blocks)


def _about(judged: JudgedStatement) -> list[Entry]:
    return [*judged.entries, *judged.beside]


def _fitness(figure: Drawn, judged: JudgedStatement) -> tuple[bool, bool, int]:
    """Small for the statement that a figure is most about: a table stands with a table."""
    tabled = figure.grid is not None
    return tabled != (judged.statement.kind == "table"), *_generality(judged)


def _generality(judged: JudgedStatement) -> tuple[bool, int]:
    """Small for a statement that is about few things."""
    return judged.statement.kind not in ("figure", "table"), len(judged.entries)
