"""`attnlab`: finds the command, runs it, and turns what goes wrong into a sentence and a code."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Annotated, Any, Union

from tyro.conf import subcommand

from attnlab import __version__
from attnlab.cli import interrupts, read, run
from attnlab.cli.bench import Bench
from attnlab.cli.claims import Claims
from attnlab.cli.completion import Completion
from attnlab.cli.diff import Diff
from attnlab.cli.explain import Explain
from attnlab.cli.explore import Explore
from attnlab.cli.parsing import nearest, parse_as
from attnlab.cli.query import Query
from attnlab.cli.report import Report
from attnlab.cli.reproduce import Reproduce
from attnlab.cli.serve import Serve
from attnlab.cli.statements import Statements
from attnlab.cli.store import StoreCommand
from attnlab.cli.verify import Verify
from attnlab.cli.weights import Weights
from attnlab.errors import AttnlabError, UserError
from attnlab.report.text import printable

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS: dict[str, Any] = {
    "reproduce": Reproduce,
    "claims": Claims,
    "explain": Explain,
    "statements": Statements,
    "diff": Diff,
    "report": Report,
    "serve": Serve,
    "explore": Explore,
    "query": Query,
    "run": run.Run,
    "weights": Weights,
    "read": read.Read,
    "store": StoreCommand,
    "verify": Verify,
    "bench": Bench,
    "completion": Completion,
}

DESCRIPTION = """A laboratory for the theory of attention: every claim of a paper is an experiment
that runs, is checked with an honest error bar, is cached and plotted.

Start with 'attnlab reproduce', then open the report it names. 'attnlab COMMAND --help' has
examples; 'attnlab --version' prints the version."""


def parse(arguments: list[str]) -> Any:
    """The command that the arguments describe, ready to run."""
    if not arguments or arguments[0].startswith("-"):
        return parse_as(_every_command(), arguments, "attnlab", DESCRIPTION)
    name, *rest = arguments
    if name == "run":
        return run.parse(rest)
    if name == "read":
        return parse_as(read.with_options_of_readers(), rest, "attnlab read")
    if name not in COMMANDS:
        raise UserError(nearest("command", name, list(COMMANDS)))
    return parse_as(COMMANDS[name], rest, f"attnlab {name}")


def _every_command() -> Any:
    """All commands as one type, for the overview and for shell completion."""
    types = {**COMMANDS, "read": read.with_options_of_readers()}
    return Union[tuple(Annotated[kind, subcommand(name)] for name, kind in types.items())]  # noqa: UP007


def main() -> None:
    """The entry point of the program."""
    interrupts.watch()
    code = run_line(sys.argv[1:])
    if code in interrupts.CODES.values() or _still_computing():
        # Programs that JAX still runs in its own threads would meet a torn-down interpreter and
        # end the process with a fault. Nothing is left to be saved: the store writes whole files.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _still_computing() -> bool:
    """Whether a thread that nobody waits for is at work, such as a request to `explore`."""
    idle = (threading.main_thread().name, interrupts.THREAD)
    return any(each.daemon and each.name not in idle for each in threading.enumerate())


def run_line(arguments: list[str]) -> int:
    """Run one command line; the exit code."""
    if arguments == ["--version"]:
        print(f"attnlab {__version__}")
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our signs is no error
    signal.signal(signal.SIGTERM, interrupts.interrupt)
    warnings.showwarning = _show_warning
    try:
        command = parse(arguments)
        if isinstance(command, Completion):
            command = parse(["--tyro-print-completion", command.shell])  # prints and exits
        return command.run(_console())
    except AttnlabError as error:
        print(f"attnlab: {printable(' '.join(str(error).splitlines()))}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if not package or package == "attnlab":
            raise
        print(
            f"attnlab: this needs the package {package!r}, which is not installed here; "
            "'pip install attnlab' brings it, and what was computed is stored.",
            file=sys.stderr,
        )
        return UserError.exit_code
    except KeyboardInterrupt as stop:
        print(interrupts.sentence(), file=sys.stderr)
        return interrupts.code_of(stop)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _console() -> Console:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # a reader that stops early is no error; rich would exit with 1

    # '!attnlab ...' in a notebook gets a terminal, but what it prints is never drawn over.
    return Piped(force_terminal=False if "JPY_PARENT_PID" in os.environ else None)


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """A warning is for a person: its sentence, not the place in our source."""
    print(f"attnlab: note: {printable(str(message))}", file=sys.stderr)
