"""The report as a static site: an index with the whole ledger, and a page for each study.

It opens from disk with no network and no server: scripts are local and classic, the figures'
specs are inside the pages, and every page reads without JavaScript.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.ledger import ledger, view
from attnlab.lab.progress import meter
from attnlab.lab.store import Store
from attnlab.lab.study import Scale, Study
from attnlab.report import figures, pages, theme
from attnlab.report.folder import replacing
from attnlab.report.made import made

ASSETS = Path(__file__).parent / "assets"
RESERVED = {"index", "assets", "figures"}


def write_report(
    store: Store,
    studies: Sequence[Study],
    scale: Scale,
    seed: int,
    out: Path | str,
    extra_notes: Sequence[str] = (),
    console: Console | None = None,
) -> Path:
    """Write the report of these studies into the folder `out`; returns the path of its index.html.

    `out` is replaced as a whole and only if it is new, empty or a report of ours. The same store
    gives the same bytes. `extra_notes` are sentences shown on the first page. Progress goes to
    `console`.
    """
    _check(studies)
    total = sum(len(study.figures) for study in studies)
    with (
        replacing(Path(out)) as folder,
        meter(console or Console(quiet=True), "report", total, total) as progress,
    ):
        (folder / "figures").mkdir()
        write_assets(folder / "assets")
        chapters = []
        for study in studies:
            seen = view(store, study, scale, seed)
            pictures = []
            for figure in study.figures:
                pictures.append(figures.write_figure(study, figure, seen, folder))
                progress.advance(figure.id)
            provenance = made(store, study, seen)
            chapters.append(pages.Chapter(study, ledger(study, seen), pictures, provenance))
        edition = pages.Edition(scale, seed, chapters, tuple(extra_notes))
        for name, html in pages.render(edition).items():
            (folder / name).write_text(html, encoding="utf-8")
    return Path(out) / "index.html"


def _check(studies: Sequence[Study]) -> None:
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


def write_assets(folder: Path) -> None:
    """The style and the scripts that every page loads, as one folder."""
    folder.mkdir()
    for path in sorted(ASSETS.iterdir()):
        if path.suffix in (".css", ".js"):
            shutil.copyfile(path, folder / path.name)
    looks = {scheme: theme.config(scheme) for scheme in ("light", "dark")}
    (folder / "theme.js").write_text(f"window.attnlabTheme = {json.dumps(looks)};\n")
    (folder / "vega.js").write_text(figures.vega_bundle(), encoding="utf-8")
