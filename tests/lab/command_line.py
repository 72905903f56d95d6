"""Running attnlab as a person would: a process of its own, on the toy study."""

import hashlib
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

STUDIES = Path(__file__).parent / "studies"


# A job in the background of a script starts with SIGINT ignored; a person's does not.
HEAR_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
MAIN = (
    HEAR_INTERRUPTS
    + "import sys; sys.argv[0] = 'attnlab'; from attnlab.cli.main import main; main()"
)


def snapshot(folder: Path) -> dict[Path, bytes | None]:
    """Everything below a folder, with the bytes of its files."""
    return {p: p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


class Attnlab:
    """`attnlab ...` in a folder of its own; `start` leaves it running."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.store = folder / "attnlab-store"

    def _arguments(self, arguments):
        return [sys.executable, "-m", "attnlab.cli", *map(str, arguments)]

    def _environment(self, extra):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("ATTNLAB_", "TOY_"))}
        return {**clean, "ATTNLAB_STUDIES": str(STUDIES), "COLUMNS": "100", **extra}

    def __call__(self, *arguments, **environment):
        return subprocess.run(
            self._arguments(arguments),
            cwd=self.folder,
            env=self._environment(environment),
            capture_output=True,
            text=True,
            timeout=600,
        )

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            cwd=self.folder,
            env=self._environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def forking(self, *arguments, **environment):
        """Start a command many times: `start()` gives a child's id and `ended()`, its exit code."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.forked_command", *map(str, arguments)],
            cwd=self.folder,
            env=self._environment({"PYTHONPATH": os.pathsep.join(sys.path)} | environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

        def said() -> int:
            return int(process.stdout.readline())

        def start():
            process.stdin.write("\n")
            process.stdin.flush()
            return said(), said

        with process:
            yield start
            process.stdin.close()

    def contents(self):
        """Every result file of the store with the digest of its bytes."""
        return {
            str(path.relative_to(self.store)): hashlib.sha256(path.read_bytes()).hexdigest()
            for section in ("parts", "weights")
            for path in sorted((self.store / section).rglob("*"))
            if path.is_file()
        }
