"""A transformer's checkpoint read head by head: ranks of Q K^T and V O, and distance to c I.

Amsel, Yehudai, Bruna (arXiv:2407.16153) ask how much the rank of a head costs and find that full
rank heads learn K Q^T near a multiple of I; this reads the same quantities from real weights. One
head is in memory at a time. The form is that of the stored matrices alone: biases, rotary
embeddings, norms and the scale 1 / sqrt(r) are mentioned and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from attnlab.checkpoints.config import capped_in, norms_in, rotary_in, turned_values_in
from attnlab.checkpoints.forms import Form, copying, read_form
from attnlab.checkpoints.heads import Bound, norms_of
from attnlab.checkpoints.located import LayerFactors, Located, followed, layer_factors, locate
from attnlab.checkpoints.names import Stack, joined
from attnlab.checkpoints.reference import RandomHead, random_head
from attnlab.rank.theory.public_sizes import Sizes

FORMS = ("query_key", "value_output")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class HeadReading:
    """One head of one layer; `key_value_head` is the one it shares with its group.

    `copying` is the copying score of V O (`forms.copying`).
    """

    layer: int
    head: int
    key_value_head: int
    query_key: Form
    value_output: Form
    copying: float | None


@dataclass(frozen=True)
class Naming:
    """Which scheme the names follow, where the layers are, and what is beside the projections.

    `template` is the path of a layer; `dtypes` those of the projections; `incomplete` the layers
    of which some projections are not in the file. `biases` and `norms` tell whether any layer
    has a bias on q, k, v or o, or norms of queries and keys. `rotary` says what tells of a rotary
    embedding, or is empty. `beside` names what else the model does to scores or outputs. `stacks`
    says which layers are which, where several stacks were read and numbered through.
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
    beside: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckpointReading:
    """All heads that were read, layer by layer, with the sizes of each layer.

    `bounds` are the largest ranks of Q K^T and V O that each layer's architecture allows, and
    `value_ranks` the ranks of its values and outputs, mostly r.
    """

    path: str
    naming: Naming
    sizes: Mapping[int, Sizes]
    heads: tuple[HeadReading, ...]
    bounds: Mapping[int, tuple[Bound, Bound]]
    value_ranks: Mapping[int, int]

    def layer(self, number: int) -> tuple[HeadReading, ...]:
        return tuple(head for head in self.heads if head.layer == number)

    def random(self, number: int) -> tuple[RandomHead, RandomHead]:
        """What random heads of a layer's shape have as Q K^T and V O."""
        size = self.sizes[number]
        return random_head(size.d, size.rank), random_head(size.d, self.value_ranks[number])


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
    {layer}, and optionally layout (out_in, in_out, heads_in_rank) and fused (blocks, by_head);
    with these two alone it says how those of a known scheme are stored. `layers` picks some layers,
    `stack` those of several stacks whose template contains it; without it all are read, and their
    layers numbered through. `progress` is called with the number of layers done, from 0 on, and the
    number of all.
    """
    found = locate(path, mapping, stack)
    wanted = layer_factors(found, layers, heads, key_value_heads)
    read: list[HeadReading] = []
    with one_thread():
        for each in followed(wanted, progress):
            read += _read_layer(each)
        for cut in (each.cut for each in wanted):  # kept by its shape: drawn here, on one thread
            random_head(cut.sizes.d, cut.sizes.rank)
            random_head(cut.sizes.d, cut.value_rank)
    cuts = {each.layer.number: each.cut for each in wanted}
    layouts = sorted({cut.layout for cut in cuts.values()})
    gated = any(cut.widths.gated for cut in cuts.values())
    return CheckpointReading(
        str(path),
        _naming(found, ", ".join(layouts), gated),
        {number: cut.sizes for number, cut in cuts.items()},
        tuple(read),
        {n: (cut.query_key_bound, cut.value_output_bound) for n, cut in cuts.items()},
        {number: cut.value_rank for number, cut in cuts.items()},
    )


def naming(
    path: Path | str, *, mapping: Mapping[str, str] | None = None, stack: str | None = None
) -> Naming:
    """Which naming scheme a checkpoint follows, without reading its weights."""
    found = locate(path, mapping, stack)
    return _naming(found, ", ".join(dict.fromkeys(s.scheme.layout for s in found.stacks)))


def rows(reading: CheckpointReading) -> list[dict[str, Any]]:
    """One flat row per head: sizes, then every field of both forms under its form's name.

    What random heads of the shape have is three numbers: the ends of the central 95 % and between
    them the median.
    """
    table = []
    for head in reading.heads:
        sizes = reading.sizes[head.layer]
        query_key, value_output = reading.bounds[head.layer]
        row: dict[str, Any] = {
            "layer": head.layer,
            "head": head.head,
            "key_value_head": head.key_value_head,
            "d": sizes.d,
            "heads": sizes.heads,
            "key_value_heads": sizes.key_value_heads,
            "r": sizes.rank,
            "least_angle": sizes.least_angle,
            "query_key_bound": query_key.rank,
            "value_output_bound": value_output.rank,
        }
        for name in FORMS:
            form = getattr(head, name)
            row |= {f"{name}_{item.name}": getattr(form, item.name) for item in fields(Form)}
            row[f"{name}_singular_values"] = list(form.singular_values)
        row["value_output_copying"] = head.copying
        for name, random in zip(FORMS, reading.random(head.layer), strict=True):
            for quantity in ("stable_rank", "entropy_rank", "angle"):
                row[f"{name}_random_{quantity}"] = list(astuple(getattr(random, quantity)))
        table.append(row)
    return table


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra on one thread: a head is too small for several to help each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _naming(found: Located, layout: str, gated: bool = False) -> Naming:
    tensors, stacks, layers = found.tensors, found.stacks, joined(found.stacks)
    names = [name for layer in layers for name in layer.names.values()]
    schemes = list({stack.scheme.name: stack.scheme for stack in stacks}.values())
    rotary = ""
    if any("rotary" in name and name.endswith("inv_freq") for name in tensors.tensors):
        rotary = "frequencies in the file"
    elif rotary_in(found.config):
        rotary = "config.json"
    elif any(scheme.rotary for scheme in schemes):
        usual = ", ".join(scheme.name for scheme in schemes if scheme.rotary)
        rotary = f"usual for {usual}"
    beside = [text for scheme in schemes for text in scheme.beside]
    if any(capped_in(found.config, stack.template) for stack in stacks):
        beside.append("the cap of scores")
    if any(turned_values_in(found.config, stack.template) for stack in stacks):
        beside.append("rotary embedding of values (V O is the form at position 0)")
    norms = any(norms_of(layer, tensors.shapes) for layer in layers)
    return Naming(
        scheme=", ".join(scheme.name for scheme in schemes),
        template=", ".join(stack.template for stack in stacks),
        layout=layout,
        layers=tuple(layer.number for layer in layers),
        incomplete=tuple(number for stack in stacks for number in stack.incomplete),
        dtypes=tuple(sorted({tensors.tensors[name].dtype for name in names})),
        biases=any(_bias(name) in tensors.tensors for name in names),
        norms=norms or any(norms_in(found.config, stack.template) for stack in stacks),
        rotary=rotary,
        beside=tuple(dict.fromkeys([*beside, *(["the gate of the output"] if gated else [])])),
        stacks=_spans(stacks),
    )


def _bias(name: str) -> str:
    """The name of a projection's bias; DeBERTa has those of q and v beside its joint matrix."""
    if name.endswith("attention.self.in_proj.weight"):
        return name.replace("in_proj.weight", "q_bias")
    return f"{name.removesuffix('weight')}bias"


def _spans(stacks: tuple[Stack, ...]) -> tuple[str, ...]:
    """Which layers are which stack, where several are numbered through."""
    if len(stacks) == 1:
        return ()
    found, first = [], 0
    for stack in stacks:
        last = first + len(stack.layers) - 1
        numbers = f"layer {first} is" if last == first else f"layers {first}-{last} are"
        found.append(f"{numbers} {stack.template}")
        first = last + 1
    return tuple(found)


def _read_layer(factors: LayerFactors) -> list[HeadReading]:
    found = []
    cut = factors.cut
    for group in range(cut.key_value_heads):
        key, value = factors.of("k", group), factors.of("v", group)
        for head in cut.heads_of(group):
            query, output = factors.of("q", head), factors.of("o", head)
            forms = read_form(query, key), read_form(value, output)
            copied = copying(value, output)
            found.append(HeadReading(factors.layer.number, head, group, *forms, copied))
    factors.forget()
    return found
