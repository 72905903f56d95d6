"""`attnlab bench`: the benchmarks of a source checkout, exactly those that it declares."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from attnlab.cli.parsing import nearest
from attnlab.errors import AttnlabError, UserError

if TYPE_CHECKING:
    from rich.console import Console

FOLDER = Path(__file__).parents[3] / "benchmarks"
LIST = "benchmarks.toml"


@dataclass(frozen=True)
class Bench:
    """Run the benchmarks of a source checkout; each prints ratios measured in one run.

    benchmarks/benchmarks.toml declares them. One that needs what this machine lacks (a GPU,
    PyTorch) is passed over unless it is named.

    For example:
      attnlab bench
      attnlab bench separation lab
    """

    name: Annotated[Positional[tuple[str, ...]], arg(metavar="[NAME ...]")] = ()
    """Benchmarks to run; all that this machine can run if none is named."""

    def run(self, console: Console) -> int:
        """Run one after the other; the first that fails ends it."""
        from attnlab.report.terminal import shown

        known = {each["name"]: each for each in declared()}
        for name in self.name:
            if name not in known:
                raise UserError(nearest("benchmark", name, list(known)))
        for name in self.name or known:
            needs = [need for need in known[name].get("needs", ()) if not _has(need)]
            if needs and not self.name:
                console.print(shown(f"{name}: passed over, needs {', '.join(needs)}"))
                continue
            console.rule(name)
            script = FOLDER / f"{name}.py"
            done = subprocess.run([sys.executable, str(script)], check=False)
            if done.returncode:
                raise AttnlabError(f"The benchmark {name} ended with exit code {done.returncode}.")
        return 0


def declared() -> list[dict[str, Any]]:
    """Every benchmark of the checkout: its name, what it measures and what it needs."""
    try:
        return tomllib.loads((FOLDER / LIST).read_text(encoding="utf-8"))["benchmark"]
    except FileNotFoundError as reason:
        raise UserError(
            f"There are no benchmarks at {FOLDER}; 'attnlab bench' needs a source checkout."
        ) from reason


def _has(need: str) -> bool:
    if need == "gpu":
        import jax

        return jax.default_backend() == "gpu"
    return importlib.util.find_spec(need) is not None
