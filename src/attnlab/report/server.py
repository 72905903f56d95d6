"""A web server for one report: this machine only, read only, nothing outside the folder.

The site needs no server; this is for browsers that are kept from local files, and for looking at
a report through a tunnel.
"""

from __future__ import annotations

import errno
import functools
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from attnlab.errors import UserError

HOST = "127.0.0.1"


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of the folder with their content types and logs nothing."""

    extensions_map = {  # noqa: RUF012 - the base class's own form
        **SimpleHTTPRequestHandler.extensions_map,
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".csv": "text/csv; charset=utf-8",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".pdf": "application/pdf",
    }

    def end_headers(self) -> None:
        # A report written anew must be seen at the next reload.
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def send_head(self):
        root = Path(self.directory).resolve()
        if not Path(self.translate_path(self.path)).resolve().is_relative_to(root):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path):
        self.send_error(HTTPStatus.NOT_FOUND)
        return None

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        pass  # a browser that closes a connection early is no news

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


def make_server(folder: Path | str, port: int = 0) -> Server:
    """A server that listens but does not answer yet; port 0 takes a free one."""
    root = Path(folder)
    if not (root / "index.html").is_file():
        raise UserError(
            f"There is no report at {root}; run 'attnlab report' first or give its folder."
        )
    try:
        return Server((HOST, port), functools.partial(Handler, directory=str(root.resolve())))
    except (OSError, OverflowError) as reason:
        busy = getattr(reason, "errno", None) == errno.EADDRINUSE
        why = "is in use" if busy else "cannot be used"
        raise UserError(
            f"Port {port} {why}; give another with --port, or 0 for any free one."
        ) from reason


def serve(folder: Path | str, port: int = 0) -> None:
    """Serve a report until Ctrl-C."""
    try:
        with make_server(folder, port) as server:
            print(f"The report is at {server.address} (Ctrl-C ends)", flush=True)
            server.serve_forever()
    except KeyboardInterrupt:
        print()
