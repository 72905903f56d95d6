"""The command line: one typed dataclass a command, parsed by tyro.

Commands import what they need when they run, so that `--help` answers at once. A user's mistake
ends in one sentence and exit code 2; work that could not be done in one sentence and exit code 1.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TypeVar

import tyro
from tyro.conf import Positional, arg, subcommand

from attnlab import __version__
from attnlab.errors import AttnlabError, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.store import Store
    from attnlab.lab.study import Study


@dataclass(frozen=True)
class Common:
    """What every command that looks at results takes."""

    store: Annotated[Path, arg(metavar="DIR")] = field(
        default_factory=lambda: Path(os.environ.get("ATTNLAB_STORE", "attnlab-store"))
    )
    """Where results are kept (or set ATTNLAB_STORE)."""
    studies_dir: Annotated[Path | None, arg(metavar="DIR")] = field(
        default_factory=lambda: (
            Path(os.environ["ATTNLAB_STUDIES"]) if "ATTNLAB_STUDIES" in os.environ else None
        )
    )
    """A folder with studies of your own (or set ATTNLAB_STUDIES)."""

    def open(self, *, create: bool) -> Store:
        from attnlab.lab.store import Store

        return Store(self.store, create=create)

    def load(self, names: tuple[str, ...]) -> list[Study]:
        from attnlab.lab.catalog import load_studies

        return load_studies(names, self.studies_dir)


@dataclass(frozen=True)
class OfScale(Common):
    """Which of a study's plans: its size and its seed."""

    scale: Annotated[str, arg(metavar="{quick,standard,paper}")] = "quick"
    """quick: minutes on a laptop; standard: an hour there; paper: the paper's full grid."""
    seed: int = 0
    """Seed of every random draw."""


@dataclass(frozen=True)
class Reproduce(OfScale):
    """Run studies, print the ledger of claims and write the report.

    Results are kept in the store: a second run computes only what is missing, and Ctrl-C loses
    nothing that was finished.

    For example:
      attnlab reproduce                           all studies, quick
      attnlab reproduce separation --scale paper  the paper's full grid
      attnlab reproduce --workers 2               on two processes of this machine
      attnlab reproduce --scheduler tcp://127.0.0.1:8786
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to run; all of them if none is named."""
    workers: Annotated[int, arg(metavar="N")] = 0
    """Run cells on N processes of this machine; 0 stays in this one."""
    scheduler: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Run cells on a running Dask cluster."""
    report: Annotated[Path, arg(metavar="DIR")] = Path("attnlab-report")
    """Where to write the report."""
    no_report: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Do not write a report."""
    strict: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Exit with 1 if a claim fails."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        return commands.reproduce(self, console)


@dataclass(frozen=True)
class Claims(OfScale):
    """Judge the claims on what the store holds and print the ledger.

    For example:
      attnlab claims
      attnlab claims separation --only theorem-6.2-zero
      attnlab claims --json > ledger.json
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to judge; all of them if none is named."""
    only: Annotated[tuple[str, ...], arg(metavar="ID ...")] = ()
    """Only the claims with these ids."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of objects instead of a table."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        return commands.claims(self, console)


@dataclass(frozen=True)
class Report(OfScale):
    """Write the report: a static site that opens from the disk.

    For example:
      attnlab report
      attnlab report separation --scale paper --out paper-report
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to report; all of them if none is named."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("attnlab-report")
    """Where to write the report."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        return commands.report(self, console)


@dataclass(frozen=True)
class Serve:
    """Serve a written report on this machine only (127.0.0.1), until Ctrl-C.

    For example:
      attnlab serve
      attnlab serve paper-report --port 8080
    """

    folder: Annotated[Positional[Path], arg(metavar="[DIR]")] = Path("attnlab-report")
    """The report to serve."""
    port: int = 8000
    """Port; 0 takes any free one."""

    def run(self, console: Console) -> int:
        from attnlab.report.server import serve

        del console
        serve(self.folder, self.port)
        return 0


@dataclass(frozen=True)
class Query(Common):
    """Ask the stored results with SQL: one table a kind of cell. Without SQL, list the tables.

    For example:
      attnlab query
      attnlab query "SELECT m, exact, sampled FROM separation_attention WHERE n = 200 AND d = 22"
      attnlab query "SELECT * FROM separation_attention" --format csv > points.csv
    """

    sql: Annotated[Positional[str | None], arg(metavar="[SQL]")] = None
    """One SQL statement, in DuckDB's dialect."""
    format: Annotated[str, arg(metavar="{table,json,csv}")] = "table"
    """How to print the answer."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        return commands.query(self, console)


@dataclass(frozen=True)
class Run(Common):
    """Run one cell with a configuration of your own and print its row.

    Without KIND, list the kinds; with KIND --help, list its parameters. The result is kept in the
    store like any other.

    For example:
      attnlab run
      attnlab run separation_attention --n 400 --d 22 --m 30 --x ones
    """

    kind: Annotated[Positional[str | None], arg(metavar="[KIND]")] = None
    """A kind of cell, then its parameters."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        if self.kind is not None:
            raise UserError(
                f"KIND comes first, then its parameters: attnlab run {self.kind} --store DIR ..."
            )
        return commands.list_kinds(self, console)


@dataclass(frozen=True)
class Read:
    """Read weights: a linear transformer as an algorithm, any other checkpoint head by head.

    A linear transformer of attnlab: what every layer does (gradient step, preconditioning,
    rescaling, momentum) and how far the network is from ridge that knows the noise, and from
    Bayes, on the problem that it was trained on unless --noise, --n and --d say otherwise.

    Any other safetensors file (a shard, or a folder with all of them): how many directions the
    forms Q K^T and V O of every head use, and how far they are from a multiple of the identity.
    GPT-2, LLaMA, BERT, ViT, GPT-NeoX and others are known by their names.

    For example:
      attnlab read network.safetensors
      attnlab read network.safetensors --noise uniform:7 --n 40 --export network.py
      attnlab read gpt2/ --figures reading
      attnlab read model.safetensors --heads 32 --layers 0 15 31 --json > heads.json
      attnlab read mine.safetensors --heads 8 --map qkv=h.{layer}.qkv o=h.{layer}.out layout=in_out
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A safetensors file, an index of shards, or a folder with either."""
    figures: Annotated[Path | None, arg(metavar="DIR")] = None
    """Write a page with figures into this folder."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the whole reading as one JSON object instead of tables."""
    noise: Annotated[str | None, arg(metavar="LAW")] = None
    """Linear: uniform:HIGH, categorical:LEVEL,... or fixed:SIGMA; the file's own unless given."""
    n: Annotated[int | None, arg(metavar="N")] = None
    """Linear: context tokens; the file's own unless given."""
    d: Annotated[int | None, arg(metavar="D")] = None
    """Linear: inputs; the file's own unless given."""
    samples: Annotated[int, arg(metavar="N")] = 4096
    """Linear: sequences at every noise level."""
    seed: int = 0
    """Linear: seed of every random draw."""
    export: Annotated[Path | None, arg(metavar="FILE.py")] = None
    """Linear: write the network as a Python file that needs NumPy only."""
    heads: Annotated[int | None, arg(metavar="N")] = None
    """Checkpoint: heads of a layer, where neither the file nor a config.json beside it tells."""
    kv_heads: Annotated[int | None, arg(metavar="N")] = None
    """Checkpoint: key and value heads, where groups of heads share them; follows from --heads."""
    layers: Annotated[
        tuple[int, ...], arg(metavar="N ...", help_behavior_hint="(default: all)")
    ] = ()
    """Checkpoint: only these layers, counted as in the names of the file."""
    stack: Annotated[str | None, arg(metavar="PART")] = None
    """Checkpoint: which stack of layers, by a part of its name, where the file has several."""
    map: Annotated[
        tuple[str, ...], arg(metavar="ROLE=NAME ...", help_behavior_hint="(default: known names)")
    ] = ()
    """Checkpoint: names of q, k, v, o (or qkv, o), {layer} for the number; layout=, fused=."""

    def run(self, console: Console) -> int:
        from attnlab import read_command

        return read_command.read(self, console)


@dataclass(frozen=True)
class Bench:
    """Run the benchmarks of a source checkout; each prints ratios measured in one run.

    Those that want an accelerator (…_gpu) run only when they are named.

    For example:
      attnlab bench
      attnlab bench separation
    """

    name: Annotated[Positional[tuple[str, ...]], arg(metavar="[NAME ...]")] = ()
    """Benchmarks to run; all of them if none is named."""

    def run(self, console: Console) -> int:
        from attnlab import commands

        return commands.bench(self, console)


@dataclass(frozen=True)
class Completion:
    """Print a shell completion script.

    For example:
      attnlab completion bash > ~/.local/share/bash-completion/completions/attnlab
      attnlab completion zsh > ~/.zfunc/_attnlab
    """

    shell: Annotated[Positional[str], arg(metavar="{bash,zsh,fish}")]
    """Your shell."""

    def run(self, console: Console) -> int:
        del console
        if self.shell not in ("bash", "zsh", "fish"):
            raise UserError(f"Unknown shell {self.shell!r}; accepted are bash, zsh, fish.")
        parse(["--tyro-print-completion", self.shell])
        return 0


Command = (
    Annotated[Reproduce, subcommand("reproduce")]
    | Annotated[Claims, subcommand("claims")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Serve, subcommand("serve")]
    | Annotated[Query, subcommand("query")]
    | Annotated[Run, subcommand("run")]
    | Annotated[Read, subcommand("read")]
    | Annotated[Bench, subcommand("bench")]
    | Annotated[Completion, subcommand("completion")]
)

DESCRIPTION = """A laboratory for the theory of attention: every claim of a paper is an experiment
that runs, is checked with an honest error bar, is cached and plotted.

Start with 'attnlab reproduce', then open the report it names. 'attnlab COMMAND --help' has
examples; 'attnlab --version' tells the version."""


Parsed = TypeVar("Parsed")


def parse(arguments: list[str]) -> Command:
    known = arguments and not arguments[0].startswith("-")
    return or_one_sentence(
        lambda: tyro.cli(
            Command,  # pyright: ignore[reportArgumentType]
            prog="attnlab",
            description=DESCRIPTION,
            args=arguments,
        ),
        f"attnlab {arguments[0]}" if known else "attnlab",
    )


def or_one_sentence(parser: Callable[[], Parsed], program: str) -> Parsed:
    """What the parser gives; its boxed explanation of a wrong argument becomes one sentence."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parser()
    except SystemExit as stop:
        if stop.code != 2:
            raise
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit), _wide():
        parser()
    raise UserError(_sentence(said.getvalue(), program))


@contextlib.contextmanager
def _wide() -> Generator[None]:
    """As wide as it takes, so that no value is broken by a line's end."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


WORDS = {
    r"Error parsing (\S+): invalid literal for int\(\) with base 10: (.*)": (
        r"\1 must be an integer, got \2"
    ),
    r"Error parsing (\S+): no type matching \{None\}\|INT could be instantiated from \[(.*)\]": (
        r"\1 must be an integer, got \2"
    ),
    r"Error parsing (\S+): could not convert string to float: (.*)": (
        r"\1 must be a number, got \2"
    ),
    r"invalid choice (.*) for argument '(.*)'\. Expected one of \((.*)\)": (
        r"\2 must be one of \3, got \1"
    ),
}


def _sentence(box: str, program: str) -> str:
    """The first section of the parser's box says what is wrong, the others what is known of it."""
    lines = [line.strip("│| ") for line in box.splitlines()[1:-1]]
    lines = ["" if set(line) <= set("─-") else line for line in lines]
    sections = [list(group) for text, group in itertools.groupby(lines, bool) if text]
    first, *others = sections
    wrong = " ".join(first).rstrip(".")
    for pattern, better in WORDS.items():
        if re.fullmatch(pattern, wrong):
            return re.sub(pattern, better, wrong) + "."
    for section in others:
        if section[0].startswith(("Arguments similar", "Perhaps you meant")):
            wrong += f"; {section[0][0].lower()}{section[0][1:]} {section[1]}"
        elif section[0].startswith("Available subcommands"):
            return f"{wrong}; accepted are {section[0].removeprefix('Available subcommands: ')}."
    return f"{wrong}; '{program} --help' lists what is accepted."


class Terminated(KeyboardInterrupt):
    """SIGTERM: leave as carefully as on Ctrl-C."""


def main() -> None:
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(f"attnlab {__version__}")
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our signs is no error
    signal.signal(signal.SIGTERM, _terminate)
    warnings.showwarning = _show_warning
    try:
        return _dispatch(arguments)
    except AttnlabError as error:
        print(f"attnlab: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as stop:
        print(
            "attnlab: interrupted; finished cells are in the store; the same command continues.",
            file=sys.stderr,
        )
        return 143 if isinstance(stop, Terminated) else 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(arguments: list[str]) -> int:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # a reader that stops early is no error; rich would exit with 1

    console = Piped()
    if len(arguments) > 1 and arguments[0] == "run" and not arguments[1].startswith("-"):
        from attnlab import commands

        return commands.run_one(arguments[1], arguments[2:], console)
    return parse(arguments).run(console)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """A warning is for a person: its sentence, not the place in our source."""
    print(f"attnlab: note: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
