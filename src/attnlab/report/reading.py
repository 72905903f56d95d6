"""A reading of weights as a page: its sentences and tables, then its figures with their files.

The figures are written by the same stack as those of a study (SVG, PNG, PDF, CSV and the spec); the
page opens from the disk and is replaced as a whole, like a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.errors import AttnlabError
from attnlab.lab.study import Figure, Study, View
from attnlab.report import figures, pages
from attnlab.report.folder import replacing
from attnlab.report.site import write_assets

if TYPE_CHECKING:
    from attnlab.lab.presentation import Picture, TextTable

NO_RESULTS = View("quick", 0, {})


def write_reading(
    out: Path,
    title: str,
    sentences: Sequence[str],
    tables: Sequence[TextTable],
    pictures: Sequence[Picture],
) -> Path:
    """Write the page of a reading into the folder `out`; returns the path of its index.html."""
    shown = [_figure(picture) for picture in pictures]
    study = Study("reading", title, "", "", (), lambda scale, seed: (), tuple(shown), ())
    with replacing(out) as folder:
        (folder / "figures").mkdir()
        write_assets(folder / "assets")
        drawn = [figures.write_figure(study, figure, NO_RESULTS, folder) for figure in shown]
        for figure in drawn:
            if figure.fault:
                raise AttnlabError(f"Figure {figure.id!r} could not be drawn: {figure.fault}.")
        html = pages.environment().get_template("reading.html")
        text = html.render(title=title, sentences=sentences, tables=tables, figures=drawn)
        (folder / "index.html").write_text(text, encoding="utf-8")
    return out / "index.html"


def _figure(picture: Picture) -> Figure:
    return Figure(picture.id, picture.title, picture.caption, lambda _: picture.rows, picture.draw)
