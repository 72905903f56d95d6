"""A transformer's checkpoint read head by head: ranks of Q K^T and V O, and distance to c I.

Amsel, Yehudai, Bruna (arXiv:2407.16153) ask how much the rank of a head costs and find that full
rank heads learn K Q^T near a multiple of I; this reads the same quantities from real weights. One
head is in memory at a time. The form is that of the stored matrices alone: biases, rotary
embeddings, norms and the scale 1 / sqrt(r) are mentioned and left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attnlab import arguments
from attnlab.checkpoints.forms import Factor, Form, factor, read_form
from attnlab.checkpoints.heads import Cut, HeadCount, config_of, cut_layer, norms_of, rotary_in
from attnlab.checkpoints.names import AttentionLayer, Stack, choose_stack, find_stacks
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from attnlab.tensor_files import Tensors, open_tensors

METADATA = "attnlab.attention"  # key of a file's metadata: a mapping, and heads, as a JSON object
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class HeadReading:
    """One head of one layer; `key_value_head` is the one it shares with its group."""

    layer: int
    head: int
    key_value_head: int
    query_key: Form
    value_output: Form


@dataclass(frozen=True)
class Naming:
    """Which scheme the names follow, where the layers are, and what is beside the projections.

    `template` is the path of a layer; `dtypes` those of the projections; `incomplete` the layers
    of which some projections are not in the file. `biases` and `norms` tell whether any layer
    has a bias on q, k, v or o, or norms of queries and keys. `rotary` says what tells of a rotary
    embedding, or is empty.
    """

    scheme: str
    template: str
    layout: str
    layers: tuple[int, ...]
    incomplete: tuple[int, ...]
    dtypes: tuple[str, ...]
    biases: bool
    norms: bool
    rotary: str


@dataclass(frozen=True)
class CheckpointReading:
    """All heads that were read, layer by layer, with the sizes of each layer."""

    path: str
    naming: Naming
    sizes: Mapping[int, Sizes]
    heads: tuple[HeadReading, ...]

    def layer(self, number: int) -> tuple[HeadReading, ...]:
        return tuple(head for head in self.heads if head.layer == number)


def read_checkpoint(
    path: Path | str,
    *,
    heads: int | None = None,
    key_value_heads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    layers: Iterable[int] | None = None,
    stack: str | None = None,
    progress: Progress | None = None,
) -> CheckpointReading:
    """Read every head of a safetensors file, a shard, or a folder with either.

    `heads` and `key_value_heads` are needed where neither the file nor config.json tells them.
    `mapping` names the projections of an unknown scheme: q, k, v, o (or qkv, o) to names with
    {layer}, and optionally layout (out_in, in_out, heads_in_rank) and fused (blocks, by_head).
    `layers` picks some layers, `stack` one of several stacks by a part of its template, and
    `progress` is called with the number of layers done, from 0 on, and the number of all.
    """
    tensors, chosen, stated = _located(path, mapping, stack)
    given = HeadCount("given", *_counted(heads, key_value_heads))
    config = config_of(tensors.folder)
    wanted = _wanted(chosen, layers)
    cuts = {
        layer.number: cut_layer(layer, chosen.scheme, tensors.shapes, (given, stated), config)
        for layer in wanted
    }
    found: list[HeadReading] = []
    with _one_thread():
        for done, layer in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted))
            found += _read_layer(tensors, layer, cuts[layer.number])
    if progress is not None:
        progress(len(wanted), len(wanted))
    layouts = sorted({cut.layout for cut in cuts.values()})
    return CheckpointReading(
        str(path),
        _naming(tensors, chosen, ", ".join(layouts), config),
        {number: cut.sizes for number, cut in cuts.items()},
        tuple(found),
    )


def naming(
    path: Path | str, *, mapping: Mapping[str, str] | None = None, stack: str | None = None
) -> Naming:
    """Which naming scheme a checkpoint follows, without reading its weights."""
    tensors, chosen, _ = _located(path, mapping, stack)
    return _naming(tensors, chosen, chosen.scheme.layout, config_of(tensors.folder))


def rows(reading: CheckpointReading) -> list[dict[str, Any]]:
    """One flat row a head: sizes, then every field of both forms under its form's name."""
    table = []
    for head in reading.heads:
        sizes = reading.sizes[head.layer]
        row: dict[str, Any] = {
            "layer": head.layer,
            "head": head.head,
            "key_value_head": head.key_value_head,
            "d": sizes.d,
            "heads": sizes.heads,
            "key_value_heads": sizes.key_value_heads,
            "r": sizes.rank,
            "least_angle": sizes.least_angle,
        }
        for name in ("query_key", "value_output"):
            form = getattr(head, name)
            row |= {f"{name}_{item.name}": getattr(form, item.name) for item in fields(Form)}
            row[f"{name}_singular_values"] = list(form.singular_values)
        table.append(row)
    return table


def _located(
    path: Path | str, mapping: Mapping[str, str] | None, stack: str | None
) -> tuple[Tensors, Stack, HeadCount]:
    """The tensors, the stack to read, and the heads that the file's metadata tell."""
    tensors = open_tensors(path)
    stated = _own_metadata(tensors)
    own = {key: value for key, value in stated.items() if isinstance(value, str)}
    count = HeadCount("the file's metadata", *_counted(stated.get("heads"), None))
    try:
        stacks = find_stacks(tensors.shapes, mapping or own)
    except UserError as reason:
        shard = " (one shard of several; give its folder for all)" if tensors.partial else ""
        raise UserError(f"{path}{shard}: {reason}") from reason
    return tensors, choose_stack(stacks, stack), count


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
            f"and o, got {tensors.metadata[METADATA]!r}."
        )
    return stated


def _counted(heads: Any, key_value_heads: Any) -> tuple[int | None, int | None]:
    return (
        None if heads is None else arguments.integer("heads", heads, 1),
        None
        if key_value_heads is None
        else arguments.integer("key_value_heads", key_value_heads, 1),
    )


def _one_thread() -> AbstractContextManager[Any]:
    """Linear algebra on one thread: a head is too small for several to help each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _wanted(stack: Stack, numbers: Iterable[int] | None) -> tuple[AttentionLayer, ...]:
    if numbers is None:
        return stack.layers
    known = {layer.number: layer for layer in stack.layers}
    wanted = sorted({arguments.integer("layers", number, 0) for number in numbers})
    missing = [number for number in wanted if number not in known]
    if missing or not wanted:
        raise UserError(
            f"layers must be among {', '.join(map(str, known))}, got {missing or 'none'}."
        )
    return tuple(known[number] for number in wanted)


def _naming(tensors: Tensors, stack: Stack, layout: str, config: Mapping[str, Any]) -> Naming:
    names = [name for layer in stack.layers for name in layer.names.values()]
    rotary = ""
    if any("rotary" in name and name.endswith("inv_freq") for name in tensors.tensors):
        rotary = "frequencies in the file"
    elif rotary_in(config):
        rotary = "config.json"
    elif stack.scheme.rotary:
        rotary = f"usual for {stack.scheme.name}"
    return Naming(
        scheme=stack.scheme.name,
        template=stack.template,
        layout=layout,
        layers=tuple(layer.number for layer in stack.layers),
        incomplete=stack.incomplete,
        dtypes=tuple(sorted({tensors.tensors[name].dtype for name in names})),
        biases=any(f"{name.removesuffix('weight')}bias" in tensors.tensors for name in names),
        norms=any(norms_of(layer, tensors.shapes) for layer in stack.layers),
        rotary=rotary,
    )


def _read_layer(tensors: Tensors, layer: AttentionLayer, cut: Cut) -> list[HeadReading]:
    found = []
    for group in range(cut.key_value_heads):
        key, value = (_factor(tensors, layer, cut, role, group) for role in "kv")
        for head in cut.heads_of(group):
            query, output = (_factor(tensors, layer, cut, role, head) for role in "qo")
            forms = read_form(query, key), read_form(value, output)
            found.append(HeadReading(layer.number, head, group, *forms))
    return found


def _factor(tensors: Tensors, layer: AttentionLayer, cut: Cut, role: str, head: int) -> Factor:
    """One head's d x r block of q, k, v or o."""
    role, index, turned = cut.block(role, head)
    tensor = tensors.tensors[layer.names[role]]
    if layer.index is not None:
        index = (layer.index, *index)
    block = tensor.block(index)
    try:
        return factor(block.T if turned else block, tensor.dtype)
    except UserError as reason:
        raise UserError(
            f"The tensor {tensor.name!r} in {tensor.path} has entries that are not finite."
        ) from reason
