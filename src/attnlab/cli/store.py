"""`attnlab store`: the results of a store as one file, for another machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from attnlab.cli.options import Common

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class StoreCommand(Common):
    """Take results to another machine: export the store to a file, import it there.

    Every part is checked on its way in, and results that the store has already are left alone, also
    where the bundle has others. What was computed on a machine with a GPU is so judged and reported
    at home. An export never overwrites a file.

    For example:
      attnlab store export results.tar.gz
      attnlab store import results.tar.gz
      attnlab store import results.tar.gz --store another-store
    """

    action: Annotated[Positional[Literal["export", "import"]], arg(metavar="ACTION")]
    """export or import."""
    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The file to write or read."""

    def run(self, console: Console) -> int:
        """Export or import, and say how much."""
        from attnlab.lab.bundle import export_bundle, import_bundle, read_bundle
        from attnlab.report.terminal import shown
        from attnlab.report.text import counted

        if self.action == "export":
            moved = export_bundle(self.open(create=False), self.file)
            line = f"{counted(moved.parts, 'part')} exported to {self.file}"
        else:
            found = read_bundle(self.file)  # before a store is made
            moved = import_bundle(self.open(create=True), found)
            line = f"{counted(moved.parts, 'part')} in {self.file}, {moved.known} known before"
            if moved.kept:
                line += f", {moved.kept} with another result here, which is kept"
        console.print(shown(line), soft_wrap=True)
        return 0
