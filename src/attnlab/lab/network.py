"""Networks with names: what a study ships, and what its training cells left in a store.

A study offers a `Networks`; `attnlab.lab.network_names` finds them. A network writes itself to a
file that a reader opens (`attnlab.lab.reader`), so the lab need not know what a network is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from attnlab.tensor_files import Tensor


@dataclass(frozen=True)
class NamedNetwork:
    """A network that `attnlab read` opens by its name.

    Parameters
    ----------
    name
        Its name; of a stored network the part after the cell's key.
    about
        What it is, in a few words.
    save
        Writes it to a file that a reader recognises.
    main
        Whether `attnlab weights` lists it without being asked for it.
    """

    name: str
    about: str
    save: Callable[[Path], None]
    main: bool = True


class Networks(Protocol):
    """The networks of a study."""

    def shipped(self) -> Sequence[NamedNetwork]:
        """Those that come with the package; their names begin with the name of the study."""
        ...

    def stored(
        self, kind: str, config: Mapping[str, Any], weights: Mapping[str, Tensor]
    ) -> Sequence[NamedNetwork]:
        """Those in the weights of one cell, the main one last; none of another kind of cell."""
        ...
