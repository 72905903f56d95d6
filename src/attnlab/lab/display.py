"""A figure in a notebook: drawn on this machine, with no network and no script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.drawing import theme
from attnlab.drawing.specs import plain, spec_of
from attnlab.errors import UserError


@dataclass(frozen=True, repr=False)
class DrawnFigure:
    """A figure and the table that it was drawn from; a notebook shows the picture.

    `rows` are the table, `chart()` is the Altair chart to change or restyle, `save` writes SVG,
    PNG or PDF.
    """

    title: str
    caption: str
    rows: list[dict[str, Any]]
    draw: Callable[[list[dict[str, Any]]], Any]

    def __repr__(self) -> str:
        return f"DrawnFigure({self.title!r}, {len(self.rows)} rows)"

    def chart(self) -> Any:
        """The figure as an Altair chart, without our look."""
        return self.draw(self.rows)

    def svg(self) -> str:
        """The picture."""
        from attnlab.drawing.pictures import svg_of

        rows = [plain(row) for row in self.rows]
        return svg_of(theme.themed(spec_of(self.draw, rows)))

    def save(self, path: Path | str) -> None:
        """Write the picture; the ending says which kind: .svg, .png or .pdf."""
        from attnlab.drawing.pictures import pdf_of, png_of

        path = Path(path)
        kinds: dict[str, Callable[[str], bytes]] = {
            ".svg": str.encode,
            ".png": png_of,
            ".pdf": pdf_of,
        }
        if path.suffix not in kinds:
            raise UserError(f"path must end in {', '.join(kinds)}, got {path}.")
        path.write_bytes(kinds[path.suffix](self.svg()))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        del include, exclude
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}
