"""The server: this machine only, the site's files only, one sentence for a mistake."""

from __future__ import annotations

import http.client
import io
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from attnlab.errors import UserError
from attnlab.report.server import UntilDeadline, make_server
from tests.lab.command_line import HEAR_INTERRUPTS


@pytest.fixture
def server(report):
    with make_server(report) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def fetch(server, path, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=600)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), body


def test_files_come_with_their_content_types(server):
    for path, kind in {
        "/": "text/html; charset=utf-8",
        "/garden.html": "text/html; charset=utf-8",
        "/assets/vega.js": "text/javascript; charset=utf-8",
        "/assets/style.css": "text/css; charset=utf-8",
        "/figures/garden-heights.svg": "image/svg+xml",
        "/figures/garden-heights.csv": "text/csv; charset=utf-8",
        "/figures/garden-heights.vl.json": "application/json",
    }.items():
        status, found, body = fetch(server, path)
        assert (status, found) == (200, kind), path
        assert body


def test_nothing_else_is_served(server, report):
    (report.parent / "secret.txt").write_text("secret")
    hidden = ("/figures/", "/../secret.txt", "/%2e%2e/secret.txt", "/absent.html", "/%00", "/a%00b")
    for path in hidden:
        status, _, body = fetch(server, path)
        assert status == 404, path
        assert b"secret" not in body


def test_a_page_from_elsewhere_cannot_reach_it_through_a_name_of_its_own(server):
    for host in ("127.0.0.1", f"localhost:{server.server_port}", "[::1]:8000"):
        assert fetch(server, "/", host)[0] == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:8000", " "):
        status, _, body = fetch(server, "/", host)
        assert status == 403, host
        assert b"garden" not in body


def test_half_open_requests_hold_few_threads_and_end(report, monkeypatch):
    monkeypatch.setattr("attnlab.report.server.CONNECTIONS", 4)
    monkeypatch.setattr("attnlab.report.server.Handler.timeout", 0.5)
    before = threading.active_count()
    with make_server(report) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        opened = [socket.create_connection(("127.0.0.1", found.server_port)) for _ in range(20)]
        for each in opened:
            each.sendall(b"GET / HT")
        time.sleep(0.2)
        assert threading.active_count() - before <= 1 + 4
        assert fetch(found, "/")[0] == 200  # after the others were given up
        for each in opened:
            each.close()
        found.shutdown()
        thread.join()


def test_a_request_has_one_deadline_however_often_its_client_says_something(monkeypatch):
    hours = iter(range(10**6))
    monkeypatch.setattr("attnlab.report.server.clock", lambda: next(hours))
    timeouts = []

    class Dripping:
        def settimeout(self, seconds):
            timeouts.append(seconds)

        def recv_into(self, buffer):
            buffer[:1] = b"a"
            return 1

    reader = io.BufferedReader(UntilDeadline(Dripping(), 10))  # type: ignore[arg-type]
    with pytest.raises(TimeoutError, match="did not arrive in time"):
        reader.readline(65537)
    assert timeouts == list(range(9, 0, -1))  # each read may take what is left, and no more


def test_a_client_that_drips_is_given_up(report, monkeypatch):
    monkeypatch.setattr("attnlab.report.server.Handler.timeout", 0.3)
    with make_server(report) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        with socket.create_connection(("127.0.0.1", found.server_port), timeout=0.02) as client:
            client.sendall(b"GET / HTTP/1.0\r\nX: ")
            ended = time.monotonic() + 600
            heard = None
            while heard is None and time.monotonic() < ended:
                try:
                    client.sendall(b"a")
                    heard = client.recv(1)  # waits a little for the end, then says more
                except TimeoutError:
                    continue
                except ConnectionError:
                    heard = b""
        assert heard == b""
        found.shutdown()
        thread.join()


def test_it_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_busy_port_and_a_missing_folder_get_a_sentence(server, report, tmp_path):
    with pytest.raises(UserError, match=rf"Port {server.server_port} is in use"):
        make_server(report, server.server_port)
    with pytest.raises(UserError, match="Port 70000 cannot be used"):
        make_server(report, 70000)
    with pytest.raises(UserError, match="There is no report at"):
        make_server(tmp_path / "absent")


def test_ctrl_c_ends_it_cleanly(report):
    code = "import sys; from attnlab.report.server import serve; serve(sys.argv[1], 0)"
    with subprocess.Popen(
        [sys.executable, "-c", HEAR_INTERRUPTS + code, str(report)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert b"http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0
    assert errors == b""
