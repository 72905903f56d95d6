"""`attnlab read FILE`: which reader a file is for, and what the reading prints and writes."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.study import check_seed
from attnlab.linear.models import files
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading.contexts import noise_range

if TYPE_CHECKING:
    from attnlab import cli

Reader = Callable[["cli.Read", Console], int]
LINEAR_OPTIONS = ("noise", "n", "d", "export", "samples", "seed")
CHECKPOINT_OPTIONS = ("heads", "kv_heads", "map", "layers", "stack")


class ReadingWarning(UserWarning):
    """A network is read outside of what it was trained on."""


def read(command: cli.Read, console: Console) -> int:
    reader, path = reader_of(command.file)
    return reader(dataclasses.replace(command, file=path), console)


def reader_of(path: Path) -> tuple[Reader, Path]:
    """The reader for a file or folder, chosen by its metadata, and the file that it will read."""
    from attnlab.read_checkpoint_command import read_checkpoint_file
    from attnlab.tensor_files import open_tensors

    if path.is_dir():
        opened = open_tensors(path)
        if opened.metadata.get("format") != files.FORMAT:
            return read_checkpoint_file, path
        path = opened.path
    elif path.name.endswith(".index.json"):
        return read_checkpoint_file, path
    linear = files.is_linear(files.read_header(path))
    return read_linear_file if linear else read_checkpoint_file, path


def refuse_others(command: cli.Read, others: Sequence[str], kind: str) -> None:
    """Raise for an option that says nothing about files of this kind."""
    for option in dataclasses.fields(command):
        if option.name in others and getattr(command, option.name) != option.default:
            raise UserError(
                f"--{option.name.replace('_', '-')} says nothing about {command.file}, which is "
                f"{kind}; 'attnlab read --help' lists the options of each kind of file."
            )


def read_linear_file(command: cli.Read, console: Console) -> int:
    import jax

    from attnlab.linear.reading import export
    from attnlab.linear.reading.algorithm import read_linear
    from attnlab.report.folder import refuse_foreign

    refuse_others(command, CHECKPOINT_OPTIONS, "a linear transformer of attnlab")
    with jax.enable_x64(True):
        samples, seed = arguments.integer("--samples", command.samples, 2), check_seed(command.seed)
        weights, about = files.load_linear(command.file, float)
        problem = asked_problem(command, files.size_of(weights), about)
        if command.figures is not None:
            refuse_foreign(command.figures)
        if command.export is not None:
            export.export_numpy(weights, command.export, about)
        reading = read_linear(weights, problem, key=jax.random.key(seed), samples=samples)
        if command.json:
            document = {"file": str(command.file), "about": about, **reading.as_dict()}
            print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
        else:
            _print_reading(reading, about, console)
        if command.figures is not None:
            say(command, console, f"Figures: {_write_page(command, reading)}")
    if command.export is not None:
        say(command, console, f"Export: {command.export}")
    return 0


def asked_problem(command: cli.Read, own: int | None, about: dict[str, Any]) -> NoisyRegression:
    """d, n and the noise law from the options, else from the file."""
    if own is not None and command.d is not None and command.d != own:
        raise UserError(
            f"--d must be that of the weights of {command.file}, {own}, got {command.d}."
        )
    sizes: dict[str, int] = {}
    for name, given in (("d", command.d), ("n", command.n)):
        trained = about.get(name) if name == "n" or own is None else own
        asked = trained if given is None else arguments.integer(f"--{name}", given, 1)
        if asked is None:
            raise UserError(f"{command.file} does not say its {name}; give --{name} N.")
        if trained is not None and asked != trained:
            warnings.warn(
                f"{name} = {asked} is not what the network was trained on, {trained}.",
                ReadingWarning,
                stacklevel=2,
            )
        sizes[name] = asked
    return NoisyRegression(sizes["d"], sizes["n"], _asked_noise(command, about))


def _asked_noise(command: cli.Read, about: dict[str, Any]) -> NoiseLaw:
    told = about.get("noise")
    if command.noise is None:
        if told is None:
            raise UserError(f"{command.file} does not say its noise law; give --noise LAW.")
        try:
            return parse_noise(str(told))
        except UserError as reason:
            raise UserError(
                f"{command.file} names the noise law {told!r}, which is none of ours; give "
                "--noise LAW."
            ) from reason
    try:
        asked = parse_noise(command.noise)
    except UserError as reason:
        raise UserError(f"--{reason}") from reason
    trained = _trained_range(told)
    low, high = noise_range(asked)
    if trained is not None and not trained[0] <= low <= high <= trained[1]:
        warnings.warn(
            f"noise {asked.name} reaches outside of {told}, which the network was trained on.",
            ReadingWarning,
            stacklevel=2,
        )
    return asked


def _trained_range(told: Any) -> tuple[float, float] | None:
    if not isinstance(told, str):
        return None
    try:
        return noise_range(parse_noise(told))
    except UserError:
        return None


def _print_reading(reading: Any, about: dict[str, Any], console: Console) -> None:
    from attnlab.linear.reading.tables import tables
    from attnlab.linear.reading.words import sentences
    from attnlab.report.terminal import print_sentence, print_text_table

    told = sentences(reading)
    if about.get("loss") is not None:
        told = [*told, f"The file says that it was trained to the loss {about['loss']}."]
    for sentence in told:
        print_sentence(sentence, console)
    for table in tables(reading):
        print_text_table(table, console)


def _write_page(command: cli.Read, reading: Any) -> Path:
    from attnlab.linear.reading.figures import pictures
    from attnlab.linear.reading.tables import tables
    from attnlab.linear.reading.words import sentences
    from attnlab.report.reading import write_reading

    assert command.figures is not None
    shown = (sentences(reading), tables(reading), pictures(reading))
    return write_reading(command.figures, command.file.name, *shown)


def say(command: cli.Read, console: Console, sentence: str) -> None:
    """Where things were written; beside the answer, not within it, when that is JSON."""
    if not command.json:
        console.print(Text(sentence), soft_wrap=True)
