"""`attnlab explore`: the laws under your fingers, on a local port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from attnlab.cli.options import Common

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Explore(Common):
    """Serve the explorers of studies on this machine only (127.0.0.1), until Ctrl-C.

    Sliders and menus, and the figure follows: the cells are computed by this machine, at most a
    few hundred for one request. A report that was written is shown beside them.

    For example:
      attnlab explore
      attnlab explore separation --port 8080
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies whose explorers are shown; all of them if none is named."""
    report: Annotated[Path, arg(metavar="DIR")] = Path("attnlab-report")
    """A report to show as well, where there is one."""
    port: int = 8001
    """Port; 0 takes any free one."""

    def run(self, console: Console) -> int:
        """Serve until interrupted."""
        import tempfile

        from attnlab.report.explore import PAGE, make_explore_server

        del console
        studies = self.load(self.study)
        report = self.report if (self.report / "index.html").is_file() else None
        with tempfile.TemporaryDirectory(prefix="attnlab-") as own:
            try:
                with make_explore_server(studies, report, Path(own), self.port) as server:
                    print(f"Explore at {server.address}{PAGE} (Ctrl-C ends)", flush=True)
                    server.serve_forever()
            except KeyboardInterrupt:
                print()
        return 0
