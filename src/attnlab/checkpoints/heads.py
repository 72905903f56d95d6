"""How a layer's projections are cut into heads: their number, and the block that each head has.

The widths of q, k, v and o leave the number of heads open. It comes from the caller, from the
file's metadata, from a config.json beside it, or from a norm of queries and keys whose length is
the rank; from nothing else, since a wrong guess would give a reading that looks right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.checkpoints.names import AttentionLayer, Layout, Scheme, Shapes
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from attnlab.tensor_files import Index

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
WIDTH = ("hidden_size", "n_embd", "d_model", "embed_dim")
ROTARY = ("rope_theta", "rope_scaling", "rope_parameters", "rotary_pct", "rotary_dim")
QUERY_KEY_NORMS = (("q_norm", "k_norm"), ("q_layernorm", "k_layernorm"))


@dataclass(frozen=True)
class HeadCount:
    """The number of heads, or of key and value heads, or the rank of one, and who said so."""

    source: str
    heads: int | None = None
    key_value_heads: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Widths:
    """A layer's input width d, and how many numbers q, k, v and o carry over all heads."""

    d: int
    q: int
    k: int
    v: int
    o: int
    heads: int | None = None  # where the shapes tell

    def __str__(self) -> str:
        return f"q {self.q}, k {self.k}, v {self.v} and o {self.o} wide"


@dataclass(frozen=True)
class Cut:
    """Where each head's d x r block is. `value_rank` is the rank of V and O, mostly that of Q."""

    scheme: Scheme
    layout: Layout
    sizes: Sizes
    key_value_heads: int
    value_rank: int

    def heads_of(self, group: int) -> range:
        """The heads that use this key and value head."""
        size = self.sizes.heads // self.key_value_heads
        return range(group * size, (group + 1) * size)

    def block(self, role: str, head: int) -> tuple[str, Index, bool]:
        """Of a head (of a key and value head for k and v): tensor, index, and whether (r, d)."""
        fused = "qkv" in self.scheme.ends and role != "o"
        tensor = "qkv" if fused else role
        if self.layout == "heads_in_rank":
            return tensor, (head,), False
        r = self.sizes.rank if role in "qk" else self.value_rank
        start = self._fused_start(role, head) if fused else head * r
        cut, everything = slice(start, start + r), slice(None)
        # The heads are cut along the output of q, k, v and along the input of o.
        first = (self.layout == "out_in") != (role == "o")
        return tensor, (cut, everything) if first else (everything, cut), first

    def _fused_start(self, role: str, head: int) -> int:
        r, place = self.sizes.rank, "qkv".index(role)
        if self.scheme.fused == "by_head":
            return (3 * head + place) * r
        before = (0, self.sizes.heads, self.sizes.heads + self.key_value_heads)[place]
        return (before + head) * r


def cut_layer(
    layer: AttentionLayer,
    scheme: Scheme,
    shapes: Shapes,
    stated: Sequence[HeadCount],
    config: Mapping[str, Any],
) -> Cut:
    """The cut of one layer, by the first that says how: `stated`, shapes, config.json, norms."""
    own = {role: shapes[name] for role, name in layer.names.items()}
    if layer.index is not None:
        own = {role: shape[1:] for role, shape in own.items()}
    layout = _layout(scheme, own)
    widths = _widths(layer, scheme, layout, own)
    for count in _counts(layer, shapes, widths, stated, config):
        heads = _heads(count, widths)
        if heads is not None:
            sizes, value_rank = _sizes(heads, count, widths, layer)
            return Cut(scheme, layout, sizes, sizes.key_value_heads or heads, value_rank)
    raise UserError(
        f"heads must be given (--heads N): neither the file nor a config.json beside it tells how "
        f"layer {layer.number} with {widths} is cut into heads."
    )


def config_of(folder: Path) -> dict[str, Any]:
    """The settings in the config.json beside the weights; empty where there is none."""
    path = folder / "config.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as reason:
        raise UserError(f"{path} is not JSON; correct it or move it away.") from reason
    return found if isinstance(found, dict) else {}


def count_of_config(config: Mapping[str, Any], d: int) -> HeadCount:
    """The heads that config.json gives a model of width d, in itself or in a part of it."""
    found = set()
    for part in _parts(config):
        width = _integer(part, WIDTH)
        heads, rank = _integer(part, HEADS), _integer(part, ("head_dim",))
        if (heads or rank) and (width == d or (width is None and part is config)):
            found.add((width is not None, heads, None if heads else rank))
    certain = [item for item in found if item[0]] or list(found)
    if len(certain) > 1:
        several = ", ".join(sorted(str(heads or f"d/{rank}") for _, heads, rank in certain))
        raise UserError(f"heads must be given (--heads N): config.json has several, {several}.")
    _, heads, rank = certain[0] if certain else (False, None, None)
    return HeadCount("config.json", heads, rank=rank)


def rotary_in(config: Mapping[str, Any]) -> bool:
    return any(part.get(key) is not None for part in _parts(config) for key in ROTARY)


def norms_of(layer: AttentionLayer, shapes: Shapes) -> tuple[str, ...]:
    """The names of norms of queries and keys beside the projections."""
    name = layer.names.get("q", layer.names.get("qkv", ""))
    module = name.rpartition(".weight")[0].rpartition(".")[0]
    for pair in QUERY_KEY_NORMS:
        names = tuple(f"{module}.{norm}.weight" for norm in pair)
        if all(known in shapes for known in names):
            return names
    return ()


def _counts(
    layer: AttentionLayer,
    shapes: Shapes,
    widths: Widths,
    stated: Sequence[HeadCount],
    config: Mapping[str, Any],
) -> Iterator[HeadCount]:
    yield from stated
    yield HeadCount("the shapes", widths.heads)
    yield count_of_config(config, widths.d)
    yield HeadCount("norms of queries and keys", rank=_rank_of_norms(layer, shapes, widths))


def _layout(scheme: Scheme, own: Shapes) -> Layout:
    if scheme.layout != "wide_out":
        return scheme.layout
    shape = own["qkv"]
    return "out_in" if len(shape) == 2 and shape[0] > shape[1] else "in_out"


def _widths(layer: AttentionLayer, scheme: Scheme, layout: Layout, own: Shapes) -> Widths:
    shown = ", ".join(f"{role} {shape}" for role, shape in own.items())
    wrong = UserError(
        f"The projections of layer {layer.number} do not fit together as {scheme.name} with layout "
        f"{layout}: {shown}."
    )
    axes = 3 if layout == "heads_in_rank" else 2
    if any(len(shape) != axes or not all(shape) for shape in own.values()):
        raise wrong
    if layout == "heads_in_rank":
        inner = {shape[1] for shape in own.values()}
        q, k, v, o = (own[role][0] * own[role][2] for role in "qkvo")
        ranks_fit = own["q"][2] == own["k"][2] and own["v"][2] == own["o"][2]
        if len(inner) != 1 or not ranks_fit or own["q"][0] != own["o"][0]:
            raise wrong
        return Widths(inner.pop(), q, k, v, o, own["q"][0])
    out = {role: shape[0 if layout == "out_in" else 1] for role, shape in own.items()}
    into = {role: shape[1 if layout == "out_in" else 0] for role, shape in own.items()}
    if len({*(into[role] for role in own if role != "o"), out["o"]}) != 1:
        raise wrong
    if "qkv" not in own:
        return Widths(out["o"], out["q"], out["k"], out["v"], into["o"])
    # Queries are as wide as what o reads; keys and values share the rest.
    rest, odd = divmod(out["qkv"] - into["o"], 2)
    if odd or rest <= 0 or (scheme.fused == "by_head" and rest != into["o"]):
        raise wrong
    return Widths(out["o"], into["o"], rest, rest, into["o"])


def _heads(count: HeadCount, widths: Widths) -> int | None:
    if count.heads:
        return count.heads
    if count.key_value_heads:
        if widths.k % count.key_value_heads:
            raise UserError(
                f"key_value_heads (--kv-heads) must divide {widths.k}, the width of k, "
                f"got {count.key_value_heads}."
            )
        return widths.q * count.key_value_heads // widths.k
    if count.rank and not widths.q % count.rank:
        return widths.q // count.rank
    return None


def _sizes(
    heads: int, count: HeadCount, widths: Widths, layer: AttentionLayer
) -> tuple[Sizes, int]:
    """The sizes of a layer and the rank of its values, if this number of heads fits its widths."""
    r, value_rank = widths.q // heads, widths.o // heads
    shared = widths.k // r if r else 0
    fits = (
        r * heads == widths.q
        and value_rank * heads == widths.o
        and shared * r == widths.k
        and shared * value_rank == widths.v
        and shared > 0
        and heads % shared == 0
    )
    if not fits:
        raise UserError(
            f"heads must cut layer {layer.number} with {widths} into equal parts, "
            f"got {heads} ({count.source})."
        )
    if count.key_value_heads not in (None, shared):
        raise UserError(
            f"key_value_heads (--kv-heads) must be {shared} in layer {layer.number} with {widths} "
            f"and {heads} heads, got {count.key_value_heads}."
        )
    return Sizes(widths.d, heads, r, shared), value_rank


def _rank_of_norms(layer: AttentionLayer, shapes: Shapes, widths: Widths) -> int | None:
    """The common length of the two norms; one as wide as q is over all heads and tells nothing."""
    lengths = {shapes[name] for name in norms_of(layer, shapes)}
    if len(lengths) != 1:
        return None
    (shape,) = lengths
    decides = len(shape) == 1 and 0 < shape[0] < widths.q and not widths.q % shape[0]
    return shape[0] if decides else None


def _parts(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield config
    yield from (part for part in config.values() if isinstance(part, dict))


def _integer(part: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    found = [part.get(key) for key in keys]
    return next((n for n in found if type(n) is int and n > 0), None)
