"""The gallery: each file of `docs/gallery` is an example that ends with a picture.

An example is a script. Its docstring is the title and what it shows; the Altair chart that it
leaves as `chart` is its picture. They run when the pages are built, all in one process, each in a
folder of its own.
"""

import ast
import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from attnlab.drawing import pictures, theme
from attnlab.drawing.specs import spec_of
from attnlab.drawing.thumbnail import thumbnail

FOLDER = Path(__file__).parent / "gallery"
MARKER = "<!-- the examples -->"
SHELF = "display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:14px"
STAMP = "text-align:center;font-size:0.9em;line-height:1.3"
PAPER = "background:white;border-radius:4px;padding:4px"  # also on a dark page
ORDER = (
    "separation_law", "double_descent", "network_reading", "checkpoint_ranks", "own_claim",
    "rank_bounds", "majority_vote", "noise_profile", "linear_depth", "random_simulation",
    "separation_width", "least_angle",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One script of the gallery."""

    name: str
    title: str
    about: str
    code: str

    @classmethod
    def read(cls, name: str) -> "Example":
        """The script of this name, its docstring apart."""
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        module = ast.parse(text)
        title, _, about = (ast.get_docstring(module) or "").partition("\n\n")
        after = module.body[1].lineno - 1
        code = "\n".join(text.splitlines()[after:]).replace("  # fmt: skip", "")
        return cls(name, title, " ".join(about.split()), code)

    def run(self) -> dict[str, Any]:
        """What the script leaves; it runs in a folder that is removed, and prints nothing."""
        left: dict[str, Any] = {"__name__": f"gallery_{self.name}"}
        with _elsewhere(), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(self.code, f"{self.name}.py", "exec", dont_inherit=True), left)
        return left

    def drawn(self) -> tuple[str, str]:
        """The example's picture as SVG, in the look of our figures; and its thumbnail."""
        chart = self.run()["chart"]
        spec = spec_of(lambda rows: chart, [])
        whole, small = (pictures.svg_of(theme.themed(each)) for each in (spec, thumbnail(spec)))
        return whole, small


def examples() -> list[Example]:
    """All of them, in the order of the page."""
    return [Example.read(name) for name in ORDER]


def with_examples(page: str, images: Path) -> str:
    """The page with thumbnails and examples for its marker; pictures are written to `images`."""
    images.mkdir(parents=True, exist_ok=True)
    thumbnails, sections = [], []
    for each in examples():
        anchor = each.name.replace("_", "-")
        for file, svg in zip((f"{anchor}.svg", f"{anchor}-small.svg"), each.drawn(), strict=True):
            (images / f"gallery-{file}").write_text(svg, encoding="utf-8")
        title = escape(each.title)
        thumbnails.append(
            f'<a href="#{anchor}" style="{STAMP}">'
            f'<img src="../_images/gallery-{anchor}-small.svg" alt="" style="{PAPER};height:110px">'
            f"<br>{title}</a>"
        )
        sections.append(
            f"({anchor})=\n## {each.title}\n\n{each.about}\n\n"
            f'<img src="../_images/gallery-{anchor}.svg" alt="{title}" style="{PAPER}">\n\n'
            f"```python\n{each.code}\n```\n"
        )
    shelf = f'<div style="{SHELF}">\n' + "\n".join(thumbnails) + "\n</div>"
    return page.replace(MARKER, shelf + "\n\n" + "\n".join(sections))


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
