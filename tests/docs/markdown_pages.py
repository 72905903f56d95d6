"""What the pages promise: their shell sessions, their Python with its output, their files."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r"^\*\*`(?P<name>[^`]+)`\*\*\n\n```python\n(?P<body>.*?)^```$", re.M | re.S)
ANSWERED = re.compile(
    r"^```python\n(?P<code>.*?)^```\n\n```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Command:
    """One line after a `$` and what the page shows below it, if anything."""

    page: str
    line: str
    shown: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)

    def __str__(self) -> str:
        return f"{self.page}: {self.line[:60]}"


def commands(page: Path) -> list[Command]:
    found = []
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["info"].strip() == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                found.append(Command(page.name, line, shown))
    return found


def files(page: Path) -> dict[str, str]:
    """The files a page tells the reader to write: a bold name, then the code."""
    return {f["name"]: f["body"] for f in NAMED_FILE.finditer(page.read_text(encoding="utf-8"))}


def answered(page: Path) -> list[tuple[str, str]]:
    """Python with the output that the page shows right below it."""
    return [
        (found["code"], found["shown"])
        for found in ANSWERED.finditer(page.read_text(encoding="utf-8"))
    ]


def execute(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a page as its reader would, with the interpreter of this test."""
    program, *rest = words
    own = {"attnlab": [sys.executable, "-m", "attnlab.cli"], "python": [sys.executable]}
    private = ("ATTNLAB_", "TOY_", "PYTEST_", "PYTHONWARNINGS")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(private)}
    return subprocess.run(
        [*own[program], *rest],
        cwd=folder,
        env={**clean, "COLUMNS": "80", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )


def same(text: str) -> list[str]:
    """The lines of a text without what differs from run to run (times, folders, progress)."""
    timeless = re.sub(r"\bin \d+(\.\d+)? ?(s|min)\b", "in some time", text)
    placeless = re.sub(r"file:///\S*/(?=attnlab-report/)", "file:///", timeless)
    lines = [line.rstrip() for line in placeless.splitlines()]
    return [line for line in lines if line and not re.match(r"\S+: \d+/\d+ done,", line)]
