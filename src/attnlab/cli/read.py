"""`attnlab read FILE`: which reader a file or a named network is for, and what the reading prints.

The options of every reader are options of the command; an option that says nothing about the file
at hand is refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.options import Common
from attnlab.errors import UserError
from attnlab.lab.reader import SeriesReader

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.progress import Meter
    from attnlab.lab.reader import Progress, Reader, Reading


@dataclasses.dataclass(frozen=True, kw_only=True)
class Read(Common):
    """Read weights: a linear transformer as an algorithm, any other checkpoint head by head.

    A linear transformer of attnlab: what every layer does (gradient step, preconditioning,
    rescaling, momentum) and how far the network is from ridge regression that knows the noise,
    and from Bayes, on the problem that it was trained on unless --noise, --n and --d say otherwise.

    Any other safetensors file (a shard, or a folder with all of them): how many directions the
    forms Q K^T and V O of every head use, and how far they are from a multiple of the identity.
    GPT-2, LLaMA, BERT, T5, ViT, DeepSeek and others are known by their names. Several checkpoints
    of one model are read as a series over its training.

    For example:
      attnlab read linear/axis/uniform-5/7
      attnlab read network.safetensors
      attnlab read network.safetensors --noise uniform:7 --n 40 --export network.py
      attnlab read gpt2/ --figures reading
      attnlab read step-1000/ step-2000/ step-4000/ --figures training
      attnlab read model.safetensors --heads 32 --layers 0 15 31 --json > heads.json
      attnlab read mine.safetensors --heads 8 --map qkv=h.{layer}.qkv o=h.{layer}.out layout=in_out
    """

    file: Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE [FILE ...]")]
    """A safetensors file, an index of shards, a folder with either; or the name of a network or the
    key of a cell, as 'attnlab weights' lists them. Several are a series."""
    figures: Annotated[Path | None, arg(metavar="DIR")] = None
    """Write a page with figures into this folder."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the whole reading as one JSON object instead of tables."""

    def run(self, console: Console) -> int:
        """Read the file and show what was found."""
        from attnlab.report.folder import check_folder

        if not self.file:
            raise UserError(
                "Missing FILE: give a safetensors file or a folder with one; "
                "'attnlab read --help' has examples."
            )
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(self._opened(path)) for path in self.file]
            found = [reader_of(path) for path in files]
            for (name, reader, _), path in zip(found, self.file, strict=True):
                _refuse_others(self, name, reader, path)
            if self.figures is not None:
                check_folder(self.figures)
            with _bar("layers" if len(found) == 1 else "checkpoints") as progress:
                reading = self._read(found, progress)
            if len(files) == 1 and files[0] != self.file[0]:
                named = str(self.file[0])
                document = {**reading.document, "file": named}
                reading = dataclasses.replace(reading, title=named, document=document)
            return self._show(reading, console)

    @contextlib.contextmanager
    def _opened(self, file: Path) -> Generator[Path]:
        """The file to read; a network with a name is written to one that goes away again."""
        import tempfile

        from attnlab.lab.network_names import find_network

        if file.exists() or file.suffix in (".safetensors", ".json"):
            yield file
            return
        store = self.open(create=False) if self.store.exists() else None
        network = find_network(str(file), self.load(()), store)
        with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
            path = Path(folder) / f"{'-'.join(file.parts)}.safetensors"
            network.save(path)
            yield path

    def _show(self, reading: Reading, console: Console) -> int:
        from attnlab.report.terminal import print_reading, shown

        if self.json:
            _print_document(reading)
        else:
            print_reading(reading, ", ".join(map(str, self.file)), console)
        written = list(reading.written)
        if self.figures is not None:
            written.append(f"Figures: {_write_page(self.figures, reading)}")
        for line in () if self.json else written:
            console.print(shown(line), soft_wrap=True)
        return 0

    def _read(
        self, found: Sequence[tuple[str, Reader, Path]], progress: Progress | None
    ) -> Reading:
        """One file, or several of a kind that can be read as a series."""
        name, reader, path = found[0]
        options = getattr(self, name)
        if len(found) == 1:
            return reader.read(path, options, progress)
        for _, each, at in found:
            if not isinstance(each, SeriesReader):
                raise UserError(f"{at} is {each.kind}, of which no series is read; give one file.")
        assert isinstance(reader, SeriesReader)
        return reader.read_series([path for _, _, path in found], options, progress)


def with_options_of_readers() -> Any:
    """The command's type: the options of every reader beside its own."""
    from attnlab.lab.catalog import load_readers

    options = [
        (
            name,
            Annotated[reader.options, arg(name="")],
            dataclasses.field(default_factory=reader.options),
        )
        for name, reader in load_readers().items()
    ]
    extended = dataclasses.make_dataclass("Read", options, bases=(Read,), frozen=True, kw_only=True)
    extended.__doc__ = Read.__doc__
    return extended


def reader_of(path: Path) -> tuple[str, Reader, Path]:
    """The first reader that knows a file or folder, and the file that it will read."""
    from attnlab.lab.catalog import load_readers

    for name, reader in load_readers().items():
        found = reader.recognise(path)
        if found is not None:
            return name, reader, found
    raise UserError(f"No reader knows what {path} is.")


def _refuse_others(command: Read, own: str, reader: Reader, path: Path) -> None:
    """Raise for an option of another reader: it says nothing about this file."""
    from attnlab.lab.catalog import load_readers

    for name in load_readers():
        if name == own:
            continue
        given = getattr(command, name)
        for option in dataclasses.fields(given):
            if getattr(given, option.name) != option.default:
                raise UserError(
                    f"--{option.name.replace('_', '-')} says nothing about {path}, which "
                    f"is {reader.kind}; 'attnlab read --help' lists the options of each kind of "
                    "file."
                )


def _print_document(reading: Reading) -> None:
    from attnlab.drawing.specs import plain

    document = plain(dict(reading.document))
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def _write_page(out: Path, reading: Reading) -> Path:
    from attnlab.report.reading import write_reading

    return write_reading(
        out, reading.title, reading.sentences, reading.tables(True), reading.pictures()
    )


@contextlib.contextmanager
def _bar(what: str) -> Generator[Progress | None]:
    """A bar on a terminal's standard error; the answer stays alone on standard output."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    from attnlab.lab.progress import meter

    with contextlib.ExitStack() as stack:
        opened: list[Meter] = []

        def progress(done: int, total: int) -> None:
            if not opened:
                errors = Console(stderr=True)
                opened.append(stack.enter_context(meter(errors, what, total, total)))
            if done:
                opened[0].advance(f"{done} read")

        yield progress
