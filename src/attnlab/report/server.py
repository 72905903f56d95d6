"""A web server for one report: this machine only, read only, nothing outside the folder.

The site needs no server; this is for browsers that are kept from local files, and for looking at
a report through a tunnel. Only requests that name this machine as their host are answered, so that
a page from elsewhere cannot reach the report through a name of its own. Only so many connections
are open at once: one whose request has not arrived whole after `SECONDS` ends, however often it
says something, and so does one that takes nothing of its answer for as long.
"""

from __future__ import annotations

import errno
import functools
import io
import re
import socket
import threading
import time
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from attnlab.errors import UserError

HOST = "127.0.0.1"
NAMES = {HOST, "localhost", "[::1]"}
SECONDS = 15.0  # for a whole request, and for a client to take the next piece of its answer
CONNECTIONS = 64
clock = time.monotonic


class UntilDeadline(io.RawIOBase):
    """What a connection says before a deadline; a read that goes beyond it is a TimeoutError.

    A timeout of the socket would begin anew with every byte, so that a client that says one now
    and then could hold its connection for ever.
    """

    def __init__(self, connection: socket.socket, seconds: float):
        self._connection = connection
        self._deadline = clock() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - clock()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


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

    timeout = SECONDS  # the base class sets it on the connection, where it is one for each write

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(UntilDeadline(self.connection, self.timeout or SECONDS))

    def parse_request(self) -> bool:
        arrived = super().parse_request()
        self.connection.settimeout(self.timeout)
        if not arrived:
            return False
        host = re.sub(r":\d+$", "", self.headers.get("Host", ""))
        if host.lower() not in NAMES:
            self.send_error(HTTPStatus.FORBIDDEN, "This server answers this machine only")
            return False
        return True

    def end_headers(self) -> None:
        # A report written anew must be seen at the next reload.
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def send_head(self):
        root = Path(self.directory).resolve()
        try:
            inside = Path(self.translate_path(self.path)).resolve().is_relative_to(root)
        except (ValueError, OSError):  # a path that no file can have, such as one with a null byte
            inside = False
        if not inside:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path):
        self.send_error(HTTPStatus.NOT_FOUND)
        return None

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Answers up to `CONNECTIONS` requests at a time; one more waits until another has ended."""

    daemon_threads = True

    def __init__(self, *arguments: Any):
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._places.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

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
