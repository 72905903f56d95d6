"""The server: this machine only, the site's files only, one sentence for a mistake."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading

import pytest

from attnlab.errors import UserError
from attnlab.report.server import make_server
from tests.lab.command_line import HEAR_INTERRUPTS


@pytest.fixture
def server(report):
    with make_server(report) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def fetch(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.request("GET", path)
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
    for path in ("/figures/", "/../secret.txt", "/%2e%2e/secret.txt", "/absent.html"):
        status, _, body = fetch(server, path)
        assert status == 404, path
        assert b"secret" not in body


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
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert errors == b""
