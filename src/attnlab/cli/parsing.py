"""Arguments parsed by tyro, once; what is wrong with them becomes one sentence.

tyro calls a hook with the structure of a mistake before it prints its own explanation and exits.
The hook here raises the sentence instead. The hook's module is not public: a tyro without it still
parses, and its own explanation is then what the user sees.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import typing
from collections.abc import Callable, Sequence
from typing import Any

import tyro

from attnlab.errors import UserError, did_you_mean


def parse_as(
    command: Any, arguments: Sequence[str], program: str, description: str | None = None
) -> Any:
    """The command that the arguments describe; a UserError for a mistake in them.

    Parameters
    ----------
    command
        A dataclass, or a union of them for subcommands.
    arguments
        What the user typed after the program's name.
    program
        The program's name with its subcommands, for sentences and help.
    description
        The beginning of the help; the dataclass's docstring unless given.
    """
    try:
        from tyro._errors import on_parse_error
    except ImportError:
        hook: Any = contextlib.nullcontext()
    else:
        hook = on_parse_error(_refuse(program, _flags(command)))
    with hook:
        return tyro.cli(command, prog=program, description=description, args=list(arguments))


def _flags(command: Any) -> list[str]:
    """The options of a command as they are typed, those of nested dataclasses too."""
    found = []
    for option in dataclasses.fields(command) if dataclasses.is_dataclass(command) else ():
        kind = typing.get_type_hints(command).get(option.name)
        inner = _flags(kind)
        found += inner or [f"--{option.name.replace('_', '-')}"]
    return found


def _refuse(program: str, flags: Sequence[str]) -> Callable[[Any], None]:
    def hook(event: Any) -> None:
        sentence = _sentence(event, program, flags)
        if sentence:
            raise UserError(sentence)

    return hook


def _sentence(event: Any, program: str, flags: Sequence[str]) -> str:
    """One sentence for a mistake, by its kind; "" for a kind that this version does not know."""
    helped = f"; '{program} --help' lists what is accepted"
    match type(event).__name__:
        case "MissingArgs":
            if event.unrecognized_tokens:
                return _unrecognised(event.unrecognized_tokens, program, flags)
            names = ", ".join(_name(each.arg) for each in event.missing_arguments)
            return f"Missing {names}{helped}."
        case "MissingSubcommand":
            known = list(event.subcommand_spec.parser_from_name)
            found = event.found_token
            return nearest("command", found, known) if found else f"Missing a command{helped}."
        case "BadValue":
            return f"{_name(event.argument)} needs a value{helped}."
        case "InvalidChoice":
            choices = ", ".join(event.choices)
            return f"{_name(event.argument)} must be one of {choices}, got {event.value!r}."
        case "UnrecognizedArgs":
            return _unrecognised(event.tokens, program, flags)
        case "InstantiationFailure":
            return _failure(event, helped)
        case _:
            return ""


def nearest(what: str, found: str, known: Sequence[str]) -> str:
    """A sentence for an unknown name: the nearest one, or all of them."""
    hint = did_you_mean(found, known)
    return f"Unknown {what} {found!r}; {hint}Accepted are {', '.join(known)}.".replace(
        "; Accepted", "; accepted"
    )


def _failure(event: Any, helped: str) -> str:
    """A value that does not convert: what the argument takes and what was given."""
    message = " ".join(str(event.message).split()).rstrip(".")
    if event.argument is None:
        return f"{message}{helped}."
    name = _name(event.argument)
    given = re.search(r"(?:base 10|to float): ('.*')$|instantiated from \[(.*?)\]", message)
    kind = "an integer" if re.search(r"int\(\)|\bINT\b", message) else "a number"
    if given and re.search(r"int\(\)|float|\bINT\b|\bFLOAT\b", message):
        return f"{name} must be {kind}, got {given[1] or given[2]}."
    return f"{name}: {message}{helped}."


def _unrecognised(tokens: Sequence[str], program: str, flags: Sequence[str]) -> str:
    hint = did_you_mean(tokens[0], flags)
    return f"Unknown argument {tokens[0]}; {hint}'{program} --help' lists what is accepted."


def _name(argument: Any) -> str:
    """An argument as the user types it."""
    if argument.is_positional():
        return str(argument.lowered.metavar or argument.lowered.name_or_flags[0]).strip("[]")
    return argument.lowered.name_or_flags[-1]
