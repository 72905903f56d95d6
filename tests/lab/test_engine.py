"""The same bytes from every engine, and no cell lost with a worker."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.lab.command_line import Attnlab

RUN = ("reproduce", "toy", "--no-report")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler with two workers, each a process of its own."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    environment = {**os.environ, "TOY_DELAY": "0.05"}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    scheduler = subprocess.Popen([*command, *options], **quiet)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60"]
    workers = [subprocess.Popen([*command, *options], env=environment, **quiet) for _ in range(2)]
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    yield address, workers
    for process in [*workers, scheduler]:
        process.kill()  # a worker asked politely waits for its scheduler
        process.wait(timeout=600)


def test_three_engines_give_the_same_bytes(attnlab, another, cluster, tmp_path_factory):
    address, _ = cluster
    third = Attnlab(tmp_path_factory.mktemp("third"))
    runs = [
        attnlab(*RUN),
        another(*RUN, "--workers", "2"),
        third(*RUN, "--scheduler", address),
    ]
    for run in runs:
        assert run.returncode == 0, run.stderr
        assert "32 computed" in run.stdout
    assert attnlab.contents() == another.contents() == third.contents()
    assert len(attnlab.contents()) == 34


def test_a_killed_worker_loses_nothing(attnlab, another, cluster):
    address, workers = cluster
    process = attnlab.start(*RUN, "--scale", "standard", "--scheduler", address)
    deadline = time.monotonic() + 600
    while len(attnlab.contents()) < 10 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers[0].send_signal(signal.SIGKILL)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert "122 cells" in output
    assert "122 computed" in output
    another(*RUN, "--scale", "standard")
    assert attnlab.contents() == another.contents()


def test_a_cluster_without_workers_is_given_up_with_what_to_do(attnlab, cluster):
    address, workers = cluster
    process = attnlab.start(*RUN, "--scale", "standard", "--scheduler", address)
    deadline = time.monotonic() + 600
    while len(attnlab.contents()) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 1
    assert errors.count("\n") == 1
    assert "The Dask cluster has no workers left" in errors
    assert "dask worker" in errors


def test_a_failed_cell_is_named_and_the_others_are_kept(attnlab):
    run = attnlab(*RUN, TOY_FAIL="3")
    assert run.returncode == 1
    assert "toy_square(x=3, shift=0.0): RuntimeError: asked to fail" in run.stdout
    assert "1 cell failed" in run.stderr
    assert "Traceback" not in run.stderr
    assert "31 computed" in run.stdout
    assert "undecided at this scale" in " ".join(run.stdout.split())
    again = attnlab(*RUN)
    assert again.returncode == 0
    assert "31 from the store, 1 computed" in again.stdout


def test_a_scheduler_that_is_not_there_is_one_sentence(attnlab):
    address = f"tcp://127.0.0.1:{free_port()}"
    run = attnlab(*RUN, "--scheduler", address)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert f"No Dask scheduler answers at '{address}'" in run.stderr


@pytest.mark.parametrize("address", ["nonsense://x y", "nonsense", "tcp://nosuchhost:1", "tcp://"])
def test_an_address_that_is_none_is_one_sentence(attnlab, address):
    run = attnlab(*RUN, "--scheduler", address)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert repr(address) in run.stderr


def test_workers_and_scheduler_exclude_each_other(attnlab):
    run = attnlab(*RUN, "--scheduler", "tcp://127.0.0.1:1", "--workers", "2")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert attnlab(*RUN, "--workers", "-1").returncode == 2
