"""A figure as files: its table as CSV, its Vega-Lite document, its SVG, and PNG and PDF on demand.

The document is drawn once, to SVG; the other pictures are that SVG. Pictures whose document has not
changed are taken from the report that was there before. A figure whose cells are missing becomes a
sentence instead.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from attnlab.drawing import pictures, theme
from attnlab.drawing.specs import plain, spec_of
from attnlab.errors import AttnlabError
from attnlab.lab.fault import describe
from attnlab.lab.study import Figure, Missing, Study, View
from attnlab.report import text

Format = Literal["png", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
FROM_SVG: dict[Format, tuple[str, Callable[[str], bytes]]] = {
    "png": ("PNG", pictures.png_of),
    "pdf": ("PDF", pictures.pdf_of),
}


@dataclass(frozen=True)
class Drawn:
    """What a page needs to know of a figure. `missing` is empty when the figure was drawn."""

    id: str
    anchor: str
    title: str
    caption: str
    spec: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # label -> path within the site
    rows: int = 0
    missing: str = ""


def write_figure(
    study: Study,
    figure: Figure,
    seen: View,
    site: Path,
    formats: Sequence[Format] = (),
    before: Path | None = None,
) -> Drawn:
    """Draw a figure and write its files.

    Parameters
    ----------
    study, figure, seen
        The figure, the study that it belongs to and the results that it shows.
    site
        Folder of the report that is being written.
    formats
        Pictures to write beside the SVG.
    before
        Folder of a report written earlier, whose pictures are reused where nothing changed.
    """
    about = (figure.id, f"figure-{text.slug(figure.id)}", figure.title, figure.caption)
    try:
        rows = [plain(row) for row in figure.data(seen)]
    except Missing as cell:
        return Drawn(*about, missing=str(cell))
    except Exception as reason:
        raise AttnlabError(
            f"The figure {figure.id!r} of study {study.name!r} has no data: {describe(reason)}."
        ) from reason
    spec = {"description": figure.caption, **document(study, figure, rows)}
    stem = f"figures/{text.slug(study.name)}-{text.slug(figure.id)}"
    themed = (json.dumps(theme.themed(spec)) + "\n").encode()
    (site / f"{stem}.csv").write_bytes(as_csv(rows).encode())
    (site / f"{stem}.vl.json").write_bytes(themed)
    files = {"data (CSV)": f"{stem}.csv", "SVG": f"{stem}.svg"}
    same = before is not None and _bytes(before / f"{stem}.vl.json") == themed
    if not (same and before and _copied(before, site, f"{stem}.svg")):
        (site / f"{stem}.svg").write_bytes(_svg(study, figure, theme.themed(spec)).encode())
    for kind in formats:
        label, convert = FROM_SVG[kind]
        if not (same and before and _copied(before, site, f"{stem}.{kind}")):
            svg = (site / f"{stem}.svg").read_text(encoding="utf-8")
            (site / f"{stem}.{kind}").write_bytes(convert(svg))
        files[label] = f"{stem}.{kind}"
    files["spec (JSON)"] = f"{stem}.vl.json"
    return Drawn(*about, spec=spec, files=files, rows=len(rows))


def document(study: Study, figure: Figure, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The Vega-Lite document of a figure, its data inside, without any theme."""
    try:
        return spec_of(figure.draw, rows)
    except Exception as reason:
        raise AttnlabError(
            f"Figure {figure.id!r} of study {study.name!r} could not be drawn: "
            f"{type(reason).__name__}: {reason}"
        ) from reason


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """A figure's table as CSV; a column is there if any row has it."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _svg(study: Study, figure: Figure, spec: dict[str, Any]) -> str:
    try:
        return pictures.svg_of(spec)
    except ValueError as reason:
        raise AttnlabError(
            f"Figure {figure.id!r} of study {study.name!r} is not a chart that Vega-Lite draws: "
            f"{str(reason).splitlines()[0]}"
        ) from reason


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _copied(before: Path, site: Path, name: str) -> bool:
    """Whether a file of the earlier report is there; it is copied if so."""
    if not (before / name).is_file():
        return False
    shutil.copyfile(before / name, site / name)
    return True
