"""What the lab itself costs, measured in one run: everything but the mathematics.

    python benchmarks/lab.py

prints (1) the seconds to run, store and query 10,000 trivial cells in this process and to find them
all again, beside a bare loop over the same function, and for cells of 20 ms the time through the
lab over that of the loop; (2) what a cell costs, step by step; (3) the peak memory after 1,000,
5,000 and 10,000 cells, each in a process of its own; (4) `attnlab --help` against an interpreter
that does nothing; (5) two workers against this process on cells of 20 ms. The files live in a
temporary folder.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attnlab.lab import part
from attnlab.lab.cell import Cell, CellKind
from attnlab.lab.engine import Engine, InProcess, open_engine
from attnlab.lab.query import query
from attnlab.lab.runner import Summary, run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Plan, Study
from attnlab.lab.task import attempt

QUIET = Console(quiet=True)
CELLS = 10_000
SAMPLE = 1_000  # cells of the costs by step
SLOW, SECONDS = 200, 0.02  # cells of the comparison of engines, and what each takes


@dataclass(frozen=True)
class Question:
    x: int
    wait: float = 0.0


@dataclass(frozen=True)
class Answer:
    square: float
    parity: str


def answer(question: Question) -> Answer:
    end = time.perf_counter() + question.wait
    while time.perf_counter() < end:
        pass
    return Answer(float(question.x) ** 2, "odd" if question.x % 2 else "even")


trivial = CellKind("trivial", Question, Answer, answer)

STUDY = """
import importlib.util
import sys
spec = importlib.util.spec_from_file_location("lab_benchmark", {file!r})
lab = sys.modules["lab_benchmark"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lab)
from attnlab.lab.study import Study
study = Study("benchmark", "Benchmark", "", "", (lab.trivial,), lambda scale, seed: [], (), ())
"""


def questions(number: int, wait: float = 0.0) -> list[Cell]:
    return [trivial(Question(x, wait)) for x in range(number)]


def run(cells: list[Cell], store: Store, engine: Engine) -> Summary:
    """Run cells as `attnlab reproduce` does."""
    study = Study("benchmark", "Benchmark", "", "", (trivial,), lambda scale, seed: [], (), ())
    plan = Plan(study, "quick", 0, {cell.key: cell for cell in cells})
    return run_plans([plan], store, engine, QUIET)[0]


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def fill(root: Path, number: int) -> None:
    """Run the cells and ask for them, as `attnlab reproduce` and `attnlab query` do."""
    summary = run(questions(number), Store(root), InProcess())
    assert (summary.computed, len(summary.failed)) == (number, 0)


def ask(root: Path, number: int) -> None:
    rows = query(Store(root, create=False), "SELECT count(*), sum(square) FROM trivial").rows
    assert rows == [(number, float(sum(x * x for x in range(number))))]


def find(root: Path, number: int) -> None:
    summary = run(questions(number), Store(root), InProcess())
    assert (summary.from_store, summary.computed) == (number, 0)


def read(root: Path, number: int) -> None:
    store = Store(root, create=False)
    assert all(store.rows(cell) for cell in questions(number))


def whole_run(folder: Path) -> None:
    root = folder / "whole"
    first = timed(lambda: fill(root, CELLS))
    query = timed(lambda: ask(root, CELLS))
    again = timed(lambda: find(root, CELLS))
    judged = timed(lambda: read(root, CELLS))
    print(f"1. {CELLS} trivial cells in this process")
    print(f"  run and stored {first:.1f} s, queried {query:.1f} s, together {first + query:.1f} s")
    print(f"  run again, all found in the store {again:.2f} s; every row read back {judged:.1f} s")
    overhead(folder)


def overhead(folder: Path) -> None:
    """The time through the lab over that of a loop that calls the function and keeps nothing."""
    cells = questions(CELLS)
    loop = timed(lambda: [trivial.run(cell.config) for cell in cells])
    print(f"  a loop over the function alone {1000 * loop:.1f} ms")
    ratios = []
    for number in range(3):
        cells = [trivial(Question(x, SECONDS)) for x in range(number * SLOW, (number + 1) * SLOW)]
        bare = timed(lambda cells=cells: [trivial.run(cell.config) for cell in cells])
        store = Store(folder / "overhead")
        ratios.append(timed(lambda c=cells, s=store: run(c, s, InProcess())) / bare)
    found = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"  {SLOW} cells of {1000 * SECONDS:.0f} ms: through the lab over the loop {found}")


def costs(folder: Path) -> None:
    """Microseconds a cell of each step, the median of the sampled cells."""
    store = Store(folder / "costs")
    cells = questions(SAMPLE)
    finished = {}

    def each(step: Callable[[Cell], object]) -> float:
        return 1e6 * statistics.median(timed(lambda cell=cell: step(cell)) for cell in cells)

    def compute(cell: Cell) -> None:
        finished[cell.key] = attempt(cell)

    steps = {
        "key of the question": each(lambda cell: cell.key),
        "compute and encode": each(compute),
        "write, fsync, rename": each(lambda cell: store.add(cell, finished[cell.key])),
    }
    fresh = Store(store.root)
    looked = timed(lambda: fresh._found("trivial"))
    steps["look-up, one scan for all"] = 1e6 * looked / SAMPLE
    paths = [path for found in fresh._found("trivial").values() for path in found]
    checked = timed(lambda: [fresh._whole(path) for path in paths])
    steps["verify, hash of its bytes"] = 1e6 * checked / SAMPLE
    steps["decode its rows"] = each(lambda cell: part.decode(cell, finished[cell.key].part))
    print(f"2. microseconds a cell, {SAMPLE} cells")
    for name, cost in steps.items():
        print(f"  {name:26}{cost:8.1f}")


def peak() -> int:
    """Peak resident KiB of this program; getrusage would count what its parent held at the fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def memory(folder: Path) -> None:
    """Each size in a process of its own, as a process never gives its peak back."""
    print("3. peak memory of a process that runs and stores so many trivial cells")
    base = None
    for number in (1_000, 5_000, CELLS):
        command = [sys.executable, __file__, "--fill", str(folder / f"memory-{number}"), number]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        found = int(done.stdout)
        base = base or found
        print(f"  {number:6} cells {found / 1024:7.1f} MiB ({(found - base) / 1024:+.1f})")


def help_time() -> None:
    def best(*arguments: str) -> float:
        command = [sys.executable, *arguments]
        return min(
            timed(lambda: subprocess.run(command, check=True, capture_output=True))
            for _ in range(5)
        )

    ours, bare = best("-m", "attnlab.cli", "--help"), best("-c", "pass")
    print("4. attnlab --help, best of 5")
    print(f"  {ours:.3f} s, an interpreter that does nothing {bare:.3f} s ({ours / bare:.1f}x)")


def engines(folder: Path) -> None:
    studies = folder / "studies" / "benchmark"
    studies.mkdir(parents=True)
    (studies / "__init__.py").write_text(STUDY.format(file=str(Path(__file__).resolve())))

    def measure(name: str, workers: int) -> tuple[float, float]:
        start = time.perf_counter()
        with open_engine(workers, extra=studies.parent) as engine:
            opened = time.perf_counter() - start
            cells = questions(SLOW, SECONDS)
            working = timed(lambda: run(cells, Store(folder / name), engine))
        return opened, working

    _, alone = measure("alone", 0)
    opened, together = measure("together", 2)
    print(f"5. {SLOW} cells of {1000 * SECONDS:.0f} ms")
    print(f"  in this process {alone:.1f} s")
    print(
        f"  --workers 2 {together:.1f} s ({alone / together:.2f}x), "
        f"after {opened:.1f} s to start the workers"
    )


def main() -> None:
    if sys.argv[1:2] == ["--fill"]:
        fill(Path(sys.argv[2]), int(sys.argv[3]))
        print(peak())
        return
    with tempfile.TemporaryDirectory(prefix="attnlab-benchmark-") as name:
        folder = Path(name)
        whole_run(folder)
        costs(folder)
        memory(folder)
        help_time()
        engines(folder)


if __name__ == "__main__":
    main()
