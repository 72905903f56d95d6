"""`attnlab reproduce`: run studies, print what was found on one screen, write the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.claims import refuse_broken
from attnlab.cli.options import OfScale
from attnlab.errors import AttnlabError, UserError
from attnlab.report.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from attnlab.lab.evidence import JudgedLater
    from attnlab.lab.ledger import Judged
    from attnlab.lab.runner import Summary
    from attnlab.lab.store import Store

ENDING = 2  # lines after the digest: where the ledger and the report are


@dataclass(frozen=True)
class Reproduce(OfScale):
    """Run studies, print what was found on one screen and write the report.

    Results are kept in the store: a second run computes only what is missing, and Ctrl-C loses
    nothing that was finished. The report shows every study that the store has results of.

    For example:
      attnlab reproduce                           all studies, quick
      attnlab reproduce separation --scale paper  the paper's full grid
      attnlab reproduce --workers 2               on two processes of this machine
      attnlab reproduce --gpus all                on its GPUs, and a process beside them
      attnlab reproduce rank --stop-after 20      as much as 20 minutes allow
      attnlab reproduce rank --cells rank_encoder:layers=1,rank=8
      attnlab reproduce --scheduler tcp://127.0.0.1:8786
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to run; all of them if none is named."""
    workers: Annotated[int | None, arg(metavar="N")] = None
    """Run cells on N processes of this machine; by default in this one, beside --gpus on 1."""
    gpus: Annotated[str | None, arg(metavar="all|0,1")] = None
    """Run the cells that are fast on a GPU on these, one process for each."""
    scheduler: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Run cells on a running Dask cluster."""
    stop_after: Annotated[float | None, arg(metavar="MINUTES")] = None
    """End the run after so many minutes; long cells continue in the next one."""
    cells: Annotated[
        tuple[str, ...] | None,
        arg(metavar="KIND[:NAME=VALUE,...] ...", help_behavior_hint="(default: all)"),
    ] = None
    """Compute only these of the plan's cells, and leave the others for later."""
    report: Annotated[Path, arg(metavar="DIR")] = Path("attnlab-report")
    """Where to write the report."""
    no_report: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Do not write a report."""
    strict: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Exit with 1 if a claim fails."""

    def run(self, console: Console) -> int:
        """Compute what is missing, judge, report."""
        from attnlab.lab.engine import open_engine
        from attnlab.lab.evidence import judged_beside_shipped, prove_evidence
        from attnlab.lab.ledger import Ledger
        from attnlab.lab.runner import run_plans
        from attnlab.lab.slices import check_slices, read_slices
        from attnlab.report.digest import LINES, print_digest
        from attnlab.report.folder import check_folder
        from attnlab.report.terminal import print_summary, shown

        if self.cells == ():
            raise UserError("--cells needs at least one KIND[:NAME=VALUE,...].")
        if self.stop_after is not None and not self.stop_after > 0:
            raise UserError(f"--stop-after must be above 0 minutes, got {self.stop_after:g}.")
        studies = self.load(self.study)
        prove_evidence(studies)  # before anything is computed, and not after it
        chosen = self.cells or ()
        slices = read_slices(chosen, studies)
        plans = self.plans(studies)
        check_slices(chosen, slices, [cell for plan in plans for cell in plan.cells.values()])
        if not self.no_report:
            check_folder(self.report)
        with open_engine(self.workers, self.scheduler, self.studies_dir, self.gpus) as engine:
            store = self.open(create=True)
            summaries = run_plans(plans, store, engine, console, self.stop_after, slices)
        for summary in summaries:
            print_summary(summary, console)
        judged = [judged_beside_shipped(summary.plan, summary.view) for summary in summaries]
        entries = Ledger(entry for each in judged for entry in each.ledger)
        print_digest(judged, console, LINES - ENDING)
        again = self.spelled()
        line = f"The whole ledger: attnlab claims{again}; one claim: attnlab explain ID{again}"
        console.print(shown(line), soft_wrap=True)
        if not self.no_report:
            write_and_name(store, self._with_others(judged, store), self.report, console)
        refuse_failed(summaries)
        refuse_broken(entries)
        return 1 if self.strict and any(entry.verdict == "fails" for entry in entries) else 0

    def _with_others(self, judged: list[Judged], store: Store) -> list[Judged]:
        """The studies that ran, and every other one that the store has results of."""
        from attnlab.lab.catalog import study_names
        from attnlab.lab.evidence import judged_beside_shipped
        from attnlab.lab.runner import look_up

        found = {each.plan.study.name: each for each in judged}
        if not self.study:
            return judged
        names = study_names(self.studies_dir)
        others = tuple(name for name in names if name not in found)
        for plan in self.plans(self.load(others)) if others else ():
            summary = look_up(plan, store)
            if summary.from_store:
                found[plan.study.name] = judged_beside_shipped(plan, summary.view)
        return [found[name] for name in names if name in found]


def write_and_name(
    store: Store,
    judged: Sequence[Judged | JudgedLater],
    out: Path,
    console: Console,
    formats: tuple = (),
) -> None:
    """Write the report and say where it is."""
    from attnlab.report.site import write_report

    report = write_report(store, judged, out, console=console, formats=formats)
    name_report(report.index, console)
    if report.faults:
        raise AttnlabError(f"{'; '.join(report.faults)}. Everything else of the report is written.")


def name_report(index: Path, console: Console) -> None:
    """Say where a report is, as a link that a terminal opens."""
    from attnlab.report.terminal import shown

    console.print(shown(f"Report: {index.resolve().as_uri()}"), soft_wrap=True)


def refuse_failed(summaries: list[Summary]) -> None:
    """Raise if cells failed; they were named in the summary.

    Where every one of them was refused, for want of memory or for its configuration, no work went
    wrong: the user can ask for less, or ask another machine.
    """
    errors = [error for summary in summaries for _, error in summary.failed]
    if not errors:
        return
    refused = sum(isinstance(error, UserError) for error in errors)
    failed, rest = len(errors) - refused, "named above; all others are stored."
    were = f"{counted(refused, 'cell')} {'was' if refused == 1 else 'were'} refused"
    if not failed:
        raise UserError(f"{were}, {rest}")
    also = f" and {were}" if refused else ""
    raise AttnlabError(f"{counted(failed, 'cell')} failed{also}, {rest}")
