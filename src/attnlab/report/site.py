"""The report as a static site: a front page, the ledger, and an article for each study.

It opens from disk with no network and no server: scripts are local and classic, the figures'
documents are inside the pages, and every page reads without JavaScript. Where nothing has changed
since it was written, it is left as it is.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attnlab.drawing import pictures, theme
from attnlab.errors import UserError
from attnlab.lab.evidence import JudgedLater
from attnlab.lab.ledger import Judged
from attnlab.lab.progress import meter
from attnlab.lab.store import Store
from attnlab.report import figures, pages, state
from attnlab.report.article import Chapter
from attnlab.report.folder import check_folder, replacing
from attnlab.report.picture_process import open_drawer
from attnlab.report.provenance import provenance_of

ASSETS = Path(__file__).parent / "assets"
RESERVED = {"index", "ledger", "assets", "figures"}
ASSET_KINDS = (".css", ".js", ".ttf", ".txt")
AHEAD = 8  # figures whose documents are made before they are drawn


@dataclass(frozen=True)
class Report:
    """Where a report is, and one sentence for each figure that could not be drawn."""

    index: Path
    faults: Sequence[str] = ()


def write_report(
    store: Store,
    judged: Sequence[Judged | JudgedLater],
    out: Path | str,
    notes: Sequence[str] = (),
    console: Console | None = None,
    formats: Sequence[figures.Format] = (),
) -> Report:
    """Write the report of judged studies into a folder.

    `out` is replaced as a whole and only if it is new, empty or a report of ours. The same store
    gives the same bytes, PDFs apart.

    Parameters
    ----------
    store
        Where the results are: its provenance is shown.
    judged
        The studies with their results and ledgers.
    out
        Folder of the report.
    notes
        Sentences for the first page.
    console
        Where progress is shown.
    formats
        Pictures to write beside the SVG of each figure.
    """
    _check([each.plan.study for each in judged])
    out = Path(out)
    target = out.expanduser().resolve()
    known = state.state_of(store, [each.plan for each in judged], notes, formats)
    if state.up_to_date(target, known):
        check_folder(out)
        return Report(out / "index.html")
    before = target if target.is_dir() else None
    total = sum(len(each.plan.study.figures) for each in judged)
    with (
        replacing(out) as folder,
        meter(console or Console(quiet=True), "report", total, total) as progress,
        open_drawer(total) as drawer,  # draws while this thread makes the next documents
    ):
        (folder / "figures").mkdir()
        assets = drawer.jobs.submit(write_assets, folder / "assets", before, drawer.bundle)
        ledgers = [each.ledger for each in judged]  # while the script of the figures is made
        started = (
            figures.start_figure(
                each.plan.study, figure, each.view, folder, drawer, formats, before
            )
            for each in judged
            for figure in each.plan.study.figures
        )
        finished = _a_few_ahead(started)
        chapters = []
        for each, ledger in zip(judged, ledgers, strict=True):
            drawn = []
            for figure in each.plan.study.figures:
                drawn.append(next(finished))
                progress.advance(figure.id)
            origin = provenance_of(store, each.plan, each.view)
            chapters.append(Chapter(each.plan.study, ledger, drawn, origin))
        assets.result()
        scale, seed = (judged[0].plan.scale, judged[0].plan.seed) if judged else ("quick", 0)
        edition = pages.Edition(scale, seed, chapters, tuple(notes))
        for name, html in pages.render(edition).items():
            (folder / name).write_text(html, encoding="utf-8")
        faults = [
            f"Figure {figure.id!r} of study {chapter.study.name!r} could not be drawn: "
            f"{figure.fault}"
            for chapter in chapters
            for figure in chapter.figures
            if figure.fault
        ]
        if not faults:
            state.remember(folder, known)
    return Report(out / "index.html", faults)


def _a_few_ahead(started: Iterable[Callable[[], figures.Drawn]]) -> Iterator[figures.Drawn]:
    """Figures in their order, while the documents of the next ones are made.

    Were all documents made first, progress would show nothing until half of the work is done.
    """
    waiting: deque[Callable[[], figures.Drawn]] = deque()
    for finish in started:
        waiting.append(finish)
        if len(waiting) > AHEAD:
            yield waiting.popleft()()
    for finish in waiting:
        yield finish()


def _check(studies: Sequence) -> None:
    names = [study.name for study in studies]
    for study in studies:
        if study.name in RESERVED or not study.name.isidentifier():
            raise UserError(
                f"A study cannot be named {study.name!r} in a report; rename it to an identifier "
                f"other than {', '.join(sorted(RESERVED))}."
            )
        for what, ids in (
            ("figures", [figure.id for figure in study.figures]),
            ("claims", [claim.id for claim in study.claims]),
        ):
            if len(set(ids)) < len(ids):
                raise UserError(
                    f"Study {study.name!r} has two {what} with the same id; rename one."
                )
    if len(set(names)) < len(names):
        raise UserError(f"A study is given twice: {', '.join(names)}.")


def write_assets(
    folder: Path, before: Path | None = None, bundle: Callable[[], str] = pictures.vega_bundle
) -> None:
    """The style and the scripts that every page loads, as one folder.

    The script that draws is large and slow to put together, which `bundle` does: that of an earlier
    report is taken where it is of the same version.
    """
    folder.mkdir()
    for path in sorted(ASSETS.iterdir()):
        if path.suffix in ASSET_KINDS:
            shutil.copyfile(path, folder / path.name)
    looks = {scheme: theme.config(scheme) for scheme in ("light", "dark")}
    (folder / "theme.js").write_text(f"window.attnlabTheme = {json.dumps(looks)};\n")
    version = f"// {pictures.bundle_version()}\n"
    old = before / "assets" / "vega.js" if before else None
    if old and old.is_file() and old.read_text(encoding="utf-8").startswith(version):
        shutil.copyfile(old, folder / "vega.js")
    else:
        script = f"{version}{bundle()}"
        (folder / "vega.js").write_text(script, encoding="utf-8")
