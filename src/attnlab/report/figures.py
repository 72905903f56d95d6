"""A figure as files: its table as CSV, its Vega-Lite document, its SVG, and PNG and PDF on demand.

The document is drawn once, to SVG; the other pictures are that SVG. Pictures whose document has not
changed are taken from the report that was there before. A figure whose cells are missing, or that
cannot be drawn, becomes a sentence instead.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from attnlab.drawing import pictures, theme
from attnlab.drawing.specs import plain, spec_of
from attnlab.drawing.thumbnail import thumbnail
from attnlab.lab.fault import describe
from attnlab.lab.study import Figure, Grid, Missing, Study, View
from attnlab.report import text
from attnlab.report.picture_process import Drawer, open_drawer

Format = Literal["png", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
FROM_SVG: dict[Format, tuple[str, Callable[[str], bytes]]] = {
    "png": ("PNG", pictures.png_of),
    "pdf": ("PDF", pictures.pdf_of),
}
WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)"')
WIDE = 700.0  # a single plot is 600 wide, with its axes below this


@dataclass(frozen=True)
class Drawn:
    """What a page needs to know of a figure.

    `missing` names a cell that was not computed, `fault` says why the figure could not be drawn;
    both are empty when it was. One without rows has neither, and no files.
    """

    id: str
    anchor: str
    title: str
    caption: str
    spec: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # label -> path within the site
    rows: int = 0
    missing: str = ""
    fault: str = ""
    width: float = 0.0  # of the picture, in its own units
    grid: Grid | None = None  # of a figure that is a table
    small: str = ""  # path of its thumbnail, of the figure that stands for its study

    @property
    def wide(self) -> bool:
        """Whether it needs more than half of the page."""
        return self.width >= WIDE or self.grid is not None


def start_figure(
    study: Study,
    figure: Figure,
    seen: View,
    site: Path,
    drawer: Drawer,
    formats: Sequence[Format] = (),
    before: Path | None = None,
) -> Callable[[], Drawn]:
    """Make the document of a figure, and let its files be written by another thread.

    The function that is returned waits for them.

    Parameters
    ----------
    study, figure, seen
        The figure, the study that it belongs to and the results that it shows.
    site
        Folder of the report that is being written.
    drawer
        What draws the pictures and writes the files.
    formats
        Pictures to write beside the SVG.
    before
        Folder of a report written earlier, whose pictures are reused where nothing changed.
    """
    about = (figure.id, f"figure-{text.slug(figure.id)}", figure.title, figure.caption)
    try:
        rows = [plain(row) for row in figure.data(seen)]
        if not rows:
            return functools.partial(Drawn, *about)
        spec = {"description": figure.caption, **spec_of(figure.draw, rows)}
        tabled = study.article.tables.get(figure.id)
        grid = tabled(rows) if tabled else None
    except Missing as cell:
        return functools.partial(Drawn, *about, missing=str(cell))
    except OSError:
        raise  # the disk's fault, not the figure's
    except Exception as reason:  # one figure that cannot be drawn stops no other
        return functools.partial(Drawn, *about, fault=describe(reason))
    stem = f"figures/{text.slug(study.name)}-{text.slug(figure.id)}"
    job = drawer.jobs.submit(_write, rows, theme.themed(spec), site, stem, drawer, formats, before)
    small = f"{stem}-small.svg" if study.article.picture == figure.id else ""
    stamp = drawer.jobs.submit(_write_small, spec, site / small, drawer) if small else None

    def finish() -> Drawn:
        try:
            files, width = job.result()
            if stamp:
                stamp.result()
        except OSError:
            raise
        except Exception as reason:
            return Drawn(*about, fault=describe(reason))
        return Drawn(
            *about, spec=spec, files=files, rows=len(rows), width=width, grid=grid, small=small
        )

    return finish


def write_figure(study: Study, figure: Figure, seen: View, site: Path) -> Drawn:
    """Draw one figure and write its files."""
    with open_drawer() as drawer:
        return start_figure(study, figure, seen, site, drawer)()


def _write(
    rows: Sequence[dict[str, Any]],
    spec: dict[str, Any],
    site: Path,
    stem: str,
    drawer: Drawer,
    formats: Sequence[Format],
    before: Path | None,
) -> tuple[dict[str, str], float]:
    """Write the files of a figure: label -> path within the site; and the picture's width."""
    document = (json.dumps(spec) + "\n").encode()
    same = before if before and _bytes(before / f"{stem}.vl.json") == document else None
    svg = site / f"{stem}.svg"
    if not _copied(same, svg, site):
        svg.write_bytes(drawer.svg(spec).encode())
    found = WIDTH.search(svg.read_text(encoding="utf-8"))
    (site / f"{stem}.csv").write_bytes(as_csv(rows).encode())
    (site / f"{stem}.vl.json").write_bytes(document)
    files = {"data (CSV)": f"{stem}.csv", "SVG": f"{stem}.svg"}
    for kind in formats:
        label, convert = FROM_SVG[kind]
        path = site / f"{stem}.{kind}"
        if not _copied(same, path, site):
            path.write_bytes(convert(svg.read_text(encoding="utf-8")))
        files[label] = f"{stem}.{kind}"
    width = float(found[1]) if found else 0.0
    return {**files, "spec (JSON)": f"{stem}.vl.json"}, width


def _write_small(spec: dict[str, Any], path: Path, drawer: Drawer) -> None:
    path.write_bytes(drawer.svg(theme.themed(thumbnail(spec))).encode())


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """A figure's table as CSV; a column is there if any row has it."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _copied(before: Path | None, path: Path, site: Path) -> bool:
    """Whether an earlier report has this file; it is copied if so."""
    if before is None or not (before / path.relative_to(site)).is_file():
        return False
    shutil.copyfile(before / path.relative_to(site), path)
    return True
