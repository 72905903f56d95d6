"""The layers of a checkpoint and their heads' factors, found and not yet read.

What was asked for meets here what the file, its metadata and its config.json say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from attnlab import arguments
from attnlab.checkpoints.config import HeadCount, config_of, model_type
from attnlab.checkpoints.forms import Factor, beside, factor, product
from attnlab.checkpoints.heads import Cut, Piece, Role, cut_layer
from attnlab.checkpoints.names import (
    AttentionLayer,
    Stack,
    choose_stacks,
    find_stacks,
    joined,
    listed,
    shortened,
)
from attnlab.errors import UserError
from attnlab.tensor_files import Tensors, open_tensors

METADATA = "attnlab.attention"  # key of a file's metadata: a mapping, and heads, as a JSON object


Each = TypeVar("Each")


@dataclass(frozen=True)
class Located:
    """The stacks of a checkpoint, and what its metadata and its config.json say about them.

    `asked` is the part of a stack's name that was asked for.
    """

    tensors: Tensors
    stacks: tuple[Stack, ...]
    stated: HeadCount
    config: Mapping[str, Any]
    asked: str | None = None

    def factors(self, layers: Iterable[AttentionLayer], given: HeadCount) -> list[LayerFactors]:
        """Each of these layers, cut into heads."""
        stated, shapes = (given, self.stated), self.tensors.shapes
        return [
            LayerFactors(self.tensors, layer, cut_layer(layer, shapes, stated, self.config))
            for layer in layers
        ]


def locate(path: Path | str, mapping: Mapping[str, str] | None, stack: str | None) -> Located:
    """The tensors, the stacks to read, and the heads that the file's metadata tell."""
    tensors = open_tensors(path)
    config = config_of(tensors.folder)
    stated = _own_metadata(tensors)
    own = {key: value for key, value in stated.items() if isinstance(value, str)}
    count = HeadCount("the file's metadata", *counted(stated.get("heads"), None))
    try:
        stacks = find_stacks(
            tensors.shapes, mapping or own, lambda template: model_type(config, template)
        )
    except UserError as reason:
        shard = " (one shard of several; give its folder for all)" if tensors.partial else ""
        raise UserError(f"{path}{shard}: {reason}") from reason
    return Located(tensors, tuple(choose_stacks(stacks, stack)), count, config, stack)


def wanted_layers(
    found: Located, numbers: Iterable[int] | None, given: HeadCount
) -> tuple[AttentionLayer, ...]:
    """The layers to read, of all stacks unless heads are given, which are those of one."""
    if len(found.stacks) > 1 and (given.heads or given.key_value_heads):
        raise UserError(
            "stack must be a part of just one of these names of layers (with scheme and number) "
            f"where heads is given: {listed(found.stacks)}; "
            f"{'none was given' if found.asked is None else f'got {found.asked!r}'}."
        )
    layers = joined(found.stacks)
    if numbers is None:
        return layers
    known = {layer.number: layer for layer in layers}
    wanted = sorted({arguments.integer("layers", number, 0) for number in numbers})
    missing = [number for number in wanted if number not in known]
    if missing or not wanted:
        raise UserError(
            f"layers must be among {', '.join(map(str, known))}, got {missing or 'none'}."
        )
    return tuple(known[number] for number in wanted)


def layer_factors(
    found: Located,
    layers: Iterable[int] | None,
    heads: int | None,
    key_value_heads: int | None,
) -> Sequence[LayerFactors]:
    """The factors of the layers that a caller wants, with the numbers of heads that it gives."""
    given = HeadCount("given", *counted(heads, key_value_heads))
    return found.factors(wanted_layers(found, layers, given), given)


def followed(wanted: Sequence[Each], progress: Callable[[int, int], None] | None) -> Iterator[Each]:
    """Each in turn; `progress` is told how many are done, from 0 on, and how many there are."""
    for done, each in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted))
        yield each
    if progress is not None:
        progress(len(wanted), len(wanted))


def counted(heads: Any, key_value_heads: Any) -> tuple[int | None, int | None]:
    return (
        None if heads is None else arguments.integer("heads", heads, 1),
        None
        if key_value_heads is None
        else arguments.integer("key_value_heads", key_value_heads, 1),
    )


def _own_metadata(tensors: Tensors) -> dict[str, Any]:
    """What the file says of itself about its attention, in its metadata."""
    if METADATA not in tensors.metadata:
        return {}
    try:
        stated = json.loads(tensors.metadata[METADATA])
    except (ValueError, RecursionError):
        stated = None
    if not isinstance(stated, dict):
        raise UserError(
            f"The metadata {METADATA!r} of {tensors.path} must be a JSON object that names q, k, v "
            f"and o, got {shortened(tensors.metadata[METADATA])!r}."
        )
    return stated


class LayerFactors:
    """The heads' factors of one layer, read when asked for; what all heads share is read once."""

    def __init__(self, tensors: Tensors, layer: AttentionLayer, cut: Cut):
        self.layer = layer
        self.cut = cut
        self._tensors = tensors
        self._shared: dict[str, Factor] = {}

    def of(self, role: Role, head: int) -> Factor:
        """One head's d x r factor of q, k, v or o (of a key and value head for k and v)."""
        return beside([self._columns(piece) for piece in self.cut.pieces(role, head)])

    def forget(self) -> None:
        """Free what the heads share."""
        self._shared.clear()

    def _columns(self, piece: Piece) -> Factor:
        if piece.through is None:
            return self._block(piece)
        role = piece.through.role
        if role not in self._shared:
            self._shared[role] = self._block(piece.through)
        return product(self._shared[role], self._block(piece))

    def _block(self, piece: Piece) -> Factor:
        tensor = self._tensors.tensors[self.layer.names[piece.role]]
        index = piece.index if self.layer.index is None else (self.layer.index, *piece.index)
        block = tensor.block(index)
        try:
            return factor(block.T if piece.turned else block, tensor.dtype)
        except UserError as reason:
            raise UserError(
                f"The tensor {tensor.name!r} in {tensor.path} has entries that are not finite."
            ) from reason
