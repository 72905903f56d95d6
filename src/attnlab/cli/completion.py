"""`attnlab completion`: a script that completes commands and options in a shell.

The script lists every command, so it is `attnlab.cli.main`, which knows them, that prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import Positional, arg


@dataclass(frozen=True)
class Completion:
    """Print a shell completion script.

    For example:
      attnlab completion bash > ~/.local/share/bash-completion/completions/attnlab
      attnlab completion zsh > ~/.zfunc/_attnlab
    """

    shell: Annotated[Positional[Literal["bash", "zsh", "fish"]], arg(metavar="SHELL")]
    """Your shell: bash, zsh or fish."""
