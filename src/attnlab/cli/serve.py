"""`attnlab serve`: a written report on a local port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Serve:
    """Serve a written report on this machine only (127.0.0.1), until Ctrl-C.

    For example:
      attnlab serve
      attnlab serve paper-report --port 8080
    """

    folder: Annotated[Positional[Path], arg(metavar="[DIR]")] = Path("attnlab-report")
    """The report to serve."""
    port: int = 8000
    """Port; 0 takes any free one."""

    def run(self, console: Console) -> int:
        """Serve until interrupted."""
        from attnlab.report.server import serve

        del console
        serve(self.folder, self.port)
        return 0
