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

FOLDER = Path(__file__).parent / "gallery"
MARKER = "<!-- the examples -->"
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
        return cls(name, title, " ".join(about.split()), "\n".join(text.splitlines()[after:]))

    def run(self) -> dict[str, Any]:
        """What the script leaves; it runs in a folder that is removed, and prints nothing."""
        left: dict[str, Any] = {"__name__": f"gallery_{self.name}"}
        with _elsewhere(), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(self.code, f"{self.name}.py", "exec", dont_inherit=True), left)
        return left

    def picture(self) -> str:
        """The example's picture as SVG, in the look of our figures."""
        chart = self.run()["chart"]
        return pictures.svg_of(theme.themed(spec_of(lambda rows: chart, [])))


def examples() -> list[Example]:
    """All of them, in the order of the page."""
    return [Example.read(name) for name in ORDER]


def with_examples(page: str, images: Path) -> str:
    """The page with thumbnails and examples for its marker; pictures are written to `images`."""
    images.mkdir(parents=True, exist_ok=True)
    thumbnails, sections = [], []
    for each in examples():
        file = f"gallery-{each.name.replace('_', '-')}.svg"
        (images / file).write_text(each.picture(), encoding="utf-8")
        image = f'<img src="../_images/{file}" alt="{escape(each.title)}"'
        anchor = each.name.replace("_", "-")
        thumbnails.append(
            f'<a href="#{anchor}" style="display:inline-block;width:190px;margin:6px;'
            f'vertical-align:top;text-align:center">{image} style="background:white">'
            f"<br>{escape(each.title)}</a>"
        )
        sections.append(
            f"({anchor})=\n## {each.title}\n\n{each.about}\n\n{image} "
            f'style="background:white">\n\n```python\n{each.code}\n```\n'
        )
    return page.replace(MARKER, "\n".join(thumbnails) + "\n\n" + "\n".join(sections))


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
