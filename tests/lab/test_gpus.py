"""GPUs as workers: which there are, what each worker sees, and which cells it takes."""

import dataclasses
import os

import pytest

from attnlab.errors import UserError
from attnlab.lab import gpus
from attnlab.lab.catalog import load_study
from attnlab.lab.gpus import chosen_gpus, visible_gpus
from attnlab.lab.processes import Processes, Waiting
from attnlab.lab.programs import PROGRAMS
from attnlab.lab.provenance import read_runs
from attnlab.lab.seats import EXPECTED, FRACTION, THREADS, beside_gpus, on_gpu, seats
from attnlab.lab.task import Task

# Cells of each device that answer with what their worker sees. Those of one group wait for each
# other, so that each of them has a worker of its own.
STUDY = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from attnlab.lab.cell import CellKind
from attnlab.lab.study import Study

@dataclass(frozen=True)
class Where:
    number: int
    group: int = 1

@dataclass(frozen=True)
class Seen:
    visible: str
    platforms: str
    preallocate: str

def look(config):
    folder = Path(os.environ["MEETING"])
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < config.group:
        time.sleep(0.005)
    names = "CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "XLA_PYTHON_CLIENT_PREALLOCATE"
    return Seen(*(os.environ.get(name, "unset") for name in names))

kinds = tuple(CellKind(f"on_{d}", Where, Seen, look, device=d) for d in ("cpu", "gpu", "any"))
study = Study("places", "Places", "", "", kinds, lambda scale, seed: [], (), ())
"""


@pytest.fixture
def studies(tmp_path, monkeypatch):
    folder, meeting = tmp_path / "studies", tmp_path / "meeting"
    (folder / "places").mkdir(parents=True)
    meeting.mkdir()
    (folder / "places" / "__init__.py").write_text(STUDY)
    monkeypatch.setenv("MEETING", str(meeting))
    return folder


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A machine on which nvidia-smi lists three GPUs."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    lines = [f"GPU {i}: NVIDIA H200 (UUID: GPU-{i})\\n  MIG 1g Device 0:" for i in range(3)]
    program.write_text(f"#!/bin/sh\nprintf '{chr(92)}n'\nprintf '%b' '" + "\\n".join(lines) + "'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def tasks(studies, **numbers):
    study = load_study("places", studies)
    return [
        Task("places", kind(kind.config(number, numbers.get("group", 1))))
        for kind in study.kinds
        for number in range(numbers.get(kind.name, 0))
    ]


def unchecked(seat):
    """A seat whose worker is not asked whether JAX finds the GPU."""
    return dataclasses.replace(seat, environment={**seat.environment, EXPECTED: None})


def answers(found, given):
    from attnlab.lab.part import decode

    cells = {task.cell.key: task.cell for task in given}
    assert not [finished.error for finished in found if finished.error]
    rows = [(cells[f.key], decode(cells[f.key], f.part)[f.key][0]) for f in found]
    return [(cell.kind.name, dataclasses.astuple(row)) for cell, row in rows]


def test_every_worker_sees_its_own_device_and_takes_the_cells_of_it(studies, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    given = tasks(studies, on_gpu=2, on_cpu=1, group=3)
    places = [unchecked(on_gpu("0")), unchecked(on_gpu("GPU-b")), beside_gpus(0, 1)]
    with Processes(places, studies) as engine:
        found = answers(list(engine.run(given)), given)
    assert sorted(found) == [
        ("on_cpu", ("", "cpu", "true")),
        ("on_gpu", ("0", "unset", "false")),
        ("on_gpu", ("GPU-b", "unset", "false")),
    ]


def test_without_gpus_every_worker_takes_every_cell(studies):
    given = tasks(studies, on_gpu=1, on_cpu=1, on_any=1)
    with Processes(1, studies) as engine:
        found = answers(list(engine.run(given)), given)
    assert {name for name, _ in found} == {"on_cpu", "on_gpu", "on_any"}
    assert engine.name == "1 processes"


def test_a_worker_begins_with_the_cells_that_only_it_can_take(studies):
    given = tasks(studies, on_gpu=2, on_cpu=2, on_any=1)
    gpu, cpu = on_gpu("0"), beside_gpus(0, 1)
    waiting = Waiting(given)
    for seat, kinds in ((gpu, ["on_gpu", "on_gpu", "on_any"]), (cpu, ["on_cpu", "on_cpu"])):
        taken = iter(lambda seat=seat: waiting.take(seat.takes), None)
        assert [task.cell.kind.name for task in taken] == kinds


def test_a_long_cell_begins_first(toy):
    kind = toy.kind("toy_square")
    given = [Task("toy", kind(kind.config(x), cost=cost)) for x, cost in ((0, 1.0), (1, 5.0))]
    first = Waiting(given).take(("cpu",))
    assert first is not None
    assert first.cell.config.x == 1


def test_a_worker_whose_gpu_is_not_there_says_so_in_one_sentence(studies):
    given = tasks(studies, on_gpu=2)
    with Processes([on_gpu("99"), beside_gpus(0, 1)], studies) as engine:
        assert engine.name == "1 GPU and 1 process"
        with pytest.raises(UserError, match=r"^GPU 99 cannot be used: JAX .*\.$") as refused:
            list(engine.run(given))
    assert "\n" not in str(refused.value)
    assert not engine._processes


def test_a_gpu_that_is_named_twice_has_two_processes():
    assert chosen_gpus("0,0,1", ("a", "b")) == ("a", "a", "b")
    assert Processes(seats(1, ("a", "a", "b")), None).name == "3 processes on 2 GPUs and 1 process"


def test_processes_that_share_a_gpu_share_its_memory(monkeypatch):
    monkeypatch.delenv(FRACTION, raising=False)
    shares = [seat.environment.get(FRACTION) for seat in seats(1, ("a", "a", "b", "a"))]
    assert shares == ["0.3000", "0.3000", None, "0.3000", None]
    monkeypatch.setenv(FRACTION, "0.2")
    assert on_gpu("a", 2).surroundings()[FRACTION] == "0.2"


def test_programs_that_a_gpu_compiled_are_kept_where_the_user_wants_them(monkeypatch, tmp_path):
    monkeypatch.delenv(PROGRAMS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert on_gpu("0").surroundings()[PROGRAMS] == str(tmp_path / "attnlab" / "programs")
    monkeypatch.setenv(PROGRAMS, "elsewhere")
    assert on_gpu("0").surroundings()[PROGRAMS] == "elsewhere"
    assert PROGRAMS not in beside_gpus(0, 1).environment


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("limited", "names"),
    [
        (None, ("0", "1", "2")),
        ("", ()),
        ("2", ("2",)),
        ("2, 0", ("2", "0")),
        ("GPU-ab12,MIG-7/1/0", ("GPU-ab12", "MIG-7/1/0")),
        ("1,-1,0", ("1",)),
        ("NoDevFiles", ()),
    ],
)
def test_the_gpus_are_those_of_the_driver_or_of_the_user(monkeypatch, limited, names):
    if limited is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", limited)
    assert visible_gpus() == names


def test_without_its_program_the_driver_is_asked_in_proc(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "nvidia")
    assert visible_gpus() == ()
    for bus in ("0000:00:04.0", "0000:00:05.0"):
        (tmp_path / "nvidia" / bus).mkdir(parents=True)
    assert visible_gpus() == ("0", "1")


def test_gpus_are_numbered_as_every_program_numbers_the_visible_ones():
    assert chosen_gpus("all", ("2", "GPU-b")) == ("2", "GPU-b")
    assert chosen_gpus("1", ("2", "GPU-b")) == ("GPU-b",)
    assert chosen_gpus("1,0", ("2", "GPU-b")) == ("GPU-b", "2")
    assert [seat.name for seat in seats(2, ("1",))] == ["GPU 1", "process 0", "process 1"]


@pytest.mark.parametrize(
    ("cores", "workers", "gpus", "threads"), [(16, 4, (), 4), (16, 5, ("0",), 3), (2, 4, (), 1)]
)
def test_worker_processes_share_the_cores(cores, workers, gpus, threads, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.delenv(THREADS, raising=False)
    own = [seat for seat in seats(workers, gpus) if not seat.has_gpu]
    assert [seat.surroundings()[THREADS] for seat in own] == [str(threads)] * workers
    monkeypatch.setenv(THREADS, "7")  # what a user chose stays
    assert {seat.surroundings()[THREADS] for seat in seats(workers, gpus)} == {"7"}


@pytest.mark.parametrize(
    ("given", "visible", "sentence"),
    [
        ("all", (), "--gpus needs an NVIDIA GPU"),
        ("0", (), "--gpus needs an NVIDIA GPU"),
        ("1", ("0",), "--gpus names GPU 1, but there is only GPU 0."),
        ("0,5", ("0", "1"), "--gpus names GPU 5, but there are GPUs 0 to 1."),
        ("first", ("0",), "--gpus must be all or the numbers of GPUs"),
        ("-1", ("0",), "--gpus must be all or the numbers of GPUs"),
        ("0,", ("0",), "--gpus must be all or the numbers of GPUs"),
        ("", ("0",), "--gpus must be all or the numbers of GPUs"),
    ],
)
def test_gpus_that_do_not_exist_are_refused(given, visible, sentence):
    with pytest.raises(UserError) as refused:
        chosen_gpus(given, visible)
    assert str(refused.value).startswith(sentence)


@pytest.mark.usefixtures("driver")
def test_cells_that_belong_on_a_processor_run_beside_the_gpus(attnlab):
    run = attnlab("reproduce", "toy", "--no-report", "--gpus", "0,2")
    assert run.returncode == 0, run.stderr
    assert "32 computed" in run.stdout
    ((header, cells),) = read_runs(attnlab.store / "runs")
    assert header["engine"] == "2 GPUs and 1 process"
    assert {cell["device"] for cell in cells} == {"cpu"}


@pytest.mark.usefixtures("driver")
def test_a_gpu_that_this_machine_has_not_is_refused_before_there_is_a_store(attnlab):
    run = attnlab("reproduce", "toy", "--no-report", "--gpus", "3")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "--gpus names GPU 3, but there are GPUs 0 to 2." in run.stderr
    assert not attnlab.store.exists()
