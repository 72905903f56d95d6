"""`linear.read`: a network, weights or a file in, a reading in sentences, tables and pictures out.

The numbers come from `algorithm`, the sentences from `words`, the tables and pictures from `tables`
and `figures`.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.presentation import Picture, TextTable
from attnlab.linear.models.network import Network, load
from attnlab.linear.models.weights import Weights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading.algorithm import SAMPLES, LinearReading, read_linear
from attnlab.linear.reading.contexts import units_of
from attnlab.linear.reading.figures import pictures
from attnlab.linear.reading.tables import tables
from attnlab.linear.reading.words import sentences


@dataclass(frozen=True, repr=False)
class Reading:
    """A reading of a network: print it, show it in a notebook, or take its numbers.

    `numbers` has every number with its standard error, for example
    `reading.numbers.layers[0].levels[0].step`.
    """

    network: Network
    numbers: LinearReading

    @property
    def sentences(self) -> list[str]:
        """The reading in plain language: the network first, then every layer."""
        return sentences(self.numbers)

    @property
    def tables(self) -> list[TextTable]:
        """The reading as tables."""
        return tables(self.numbers)

    @property
    def pictures(self) -> list[Picture]:
        """The reading as pictures; `picture.draw(picture.rows)` is an Altair chart."""
        return pictures(self.numbers)

    def as_dict(self) -> dict[str, Any]:
        """The numbers in terms of JSON."""
        return self.numbers.as_dict()

    def __str__(self) -> str:
        parts = ["\n".join(self.sentences), *map(_text, self.tables)]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"Reading({self.network!r})"

    def _repr_html_(self) -> str:
        listed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences)
        return f"<ul>{listed}</ul>" + "".join(map(_html, self.tables))


def read(
    network: Network | Weights | Path | str,
    problem: NoisyRegression | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    sigmas: Sequence[float] | None = None,
) -> Reading:
    """Read the algorithm that a network implements from its weights.

    Parameters
    ----------
    network
        A network, weights, or the path of a file that `linear.save` wrote.
    problem
        The problem on which the network is run; the one it was trained on unless given.
    samples
        The number of contexts at each noise level.
    seed
        The seed of the contexts.
    sigmas
        The noise levels; those of the problem's noise law unless given.
    """
    if isinstance(network, Path | str):
        network = load(network)
    elif not isinstance(network, Network):
        network = Network(network)
    problem = network.problem if problem is None else problem
    if problem is None:
        raise UserError("problem must be given, because the network does not name its own.")
    key = jax.random.key(arguments.integer("seed", seed, 0))
    doubled = jax.tree.map(lambda part: np.asarray(part, np.float64), network.weights)
    units = units_of(network.about)
    numbers = read_linear(doubled, problem, key=key, samples=samples, sigmas=sigmas, units=units)
    return Reading(Network(doubled, problem, numbers.loss, network.about), numbers)


def _text(table: TextTable) -> str:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([table.title, *lines, *([table.note] if table.note else [])])


def _html(table: TextTable) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{html.escape(table.title)}</caption>"
    note = f"<p><small>{html.escape(table.note)}</small></p>" if table.note else ""
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>{note}"
