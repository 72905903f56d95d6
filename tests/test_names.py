"""Every name that code uses is defined: linters skip this, since they take axis names for names."""

import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]


def within_a_string(file: Path, row: int, column: int) -> bool:
    """Whether a place of a file belongs to a string, such as the axes "d n" of a type."""
    for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline):
        if token.type == tokenize.STRING and token.start <= (row, column - 1) < token.end:
            return True
    return False


def test_no_name_is_undefined():
    command = [sys.executable, "-m", "ruff", "check", "--select", "F821", "--output-format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    places = [
        (Path(each["filename"]), each["location"]["row"], each["location"]["column"])
        for each in json.loads(done.stdout)
    ]
    assert places  # axis names at least: ruff has looked
    assert not [place for place in places if not within_a_string(*place)]
