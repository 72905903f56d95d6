"""Every name that code uses is defined: linters skip this, since they take axis names for names."""

import functools
import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]


@functools.cache
def strings(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the strings of a file begin and end."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
    return [(token.start, token.end) for token in tokens if token.type == tokenize.STRING]


def within_a_string(file: Path, row: int, column: int) -> bool:
    """Whether a place of a file belongs to a string, such as the axes "d n" of a type."""
    return any(start <= (row, column - 1) < end for start, end in strings(file))


def test_no_name_is_undefined():
    command = [sys.executable, "-m", "ruff", "check", "--select", "F821", "--output-format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    places = [
        (Path(each["filename"]), each["location"]["row"], each["location"]["column"])
        for each in json.loads(done.stdout)
    ]
    assert places  # axis names at least: ruff has looked
    assert not [place for place in places if not within_a_string(*place)]
