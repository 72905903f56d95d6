"""How a layer's projections are cut into heads: their number, and the block that each head has.

The widths of q, k, v and o leave the number of heads open. It comes from the caller, from the
file's metadata, from a config.json beside it, or from a norm of queries and keys whose length is
the rank; from nothing else, since a wrong guess would give a reading that looks right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from attnlab.checkpoints.config import HeadCount, count_of_config, model_type
from attnlab.checkpoints.names import AttentionLayer, Shapes
from attnlab.checkpoints.schemes import LATENT, Fused, Layout, Scheme
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from attnlab.tensor_files import Index

Role = Literal["q", "k", "v", "o"]
QUERY_KEY_NORMS = (
    ("q_norm", "k_norm"),
    ("q_layernorm", "k_layernorm"),
    ("query_norm", "key_norm"),
    ("q_layernorm.norms.0", "k_layernorm.norms.0"),
    ("kv_a_layernorm", "kv_a_layernorm"),
)
ALL = slice(None)
PARTS = 4  # of CodeGen's fused matrix


@dataclass(frozen=True)
class Widths:
    """A layer's input width d, and how many numbers q, k, v and o carry over all heads.

    `gated`: q carries a gate of the output too, head by head. `compressed` are the widths between
    the factors of latent attention, and `rotated` what all heads' keys share there.
    """

    d: int
    q: int
    k: int
    v: int
    o: int
    heads: int | None = None  # where the shapes tell
    gated: bool = False
    compressed_query: int | None = None
    compressed: int | None = None
    rotated: int = 0

    def __str__(self) -> str:
        return f"q {self.q}, k {self.k}, v {self.v} and o {self.o} wide"


@dataclass(frozen=True)
class Piece:
    """Columns of a head's factor: a block of a tensor, (r, d) if `turned` and (d, r) otherwise.

    `through` is the block that compresses a token first: the columns are then the product of both.
    """

    role: str
    index: Index
    turned: bool
    through: Piece | None = None


@dataclass(frozen=True)
class Bound:
    """The largest rank that a form can have, and what bounds it."""

    rank: int
    why: str


@dataclass(frozen=True)
class Cut:
    """Where each head's d x r block is. `value_rank` is the rank of V and O, mostly that of Q."""

    scheme: Scheme
    layout: Layout
    fused: Fused
    sizes: Sizes
    key_value_heads: int
    value_rank: int
    widths: Widths

    def heads_of(self, group: int) -> range:
        """The heads that use this key and value head."""
        size = self.sizes.heads // self.key_value_heads
        return range(group * size, (group + 1) * size)

    def pieces(self, role: Role, head: int) -> tuple[Piece, ...]:
        """The columns of one head's factor (of a key and value head for k and v)."""
        if LATENT in self.scheme.ends and role != "o":
            return self._latent(role, head)
        fused = "qkv" in self.scheme.ends and role != "o"
        tensor = "qkv" if fused else role
        if self.layout == "heads_in_rank":
            return (Piece(tensor, (head,), False),)
        r = self.sizes.rank if role in "qk" else self.value_rank
        step = 2 * r if role == "q" and self.widths.gated else r
        start = self._fused_start(role, head) if fused else head * step
        cut = slice(start, start + r)
        # The heads are cut along the output of q, k, v and along the input of o.
        first = (self.layout == "out_in") != (role == "o")
        return (Piece(tensor, (cut, ALL) if first else (ALL, cut), first),)

    @property
    def query_key_bound(self) -> Bound:
        """The largest rank of Q K^T in this architecture."""
        bounds = [Bound(self.sizes.rank, "the rank r of a head")]
        if self.widths.compressed_query is not None:
            bounds.append(Bound(self.widths.compressed_query, "the compression of queries"))
        if self.widths.compressed is not None:
            shared = self.widths.compressed + self.widths.rotated
            bounds.append(Bound(shared, "the compression of keys"))
        bounds.append(Bound(self.sizes.d, "the width d"))
        return min(bounds, key=lambda bound: bound.rank)

    @property
    def value_output_bound(self) -> Bound:
        """The largest rank of V O in this architecture."""
        bounds = [Bound(self.value_rank, "the rank r of a head")]
        if self.widths.compressed is not None:
            bounds.append(Bound(self.widths.compressed, "the compression of values"))
        bounds.append(Bound(self.sizes.d, "the width d"))
        return min(bounds, key=lambda bound: bound.rank)

    def _fused_start(self, role: str, head: int) -> int:
        r, place = self.sizes.rank, "qkv".index(role)
        heads, shared = self.sizes.heads, self.key_value_heads
        if self.fused == "by_head":
            group = heads // shared  # the queries of a key and value head, its key, its value
            at, within = divmod(head, group) if role == "q" else (head, group + place - 1)
            return (at * (group + 2) + within) * r
        if self.fused == "four_parts":
            part, within = divmod(head, heads // PARTS)
            return (part * 3 + "qvk".index(role)) * (heads // PARTS) * r + within * r
        before = (0, heads, heads + shared)[place]
        return (before + head) * r

    def _latent(self, role: str, head: int) -> tuple[Piece, ...]:
        """Queries, keys and values of latent attention, at offset 0 of its rotated part."""
        r, v = self.sizes.rank, self.value_rank
        if role == "q":
            rows = (slice(head * r, (head + 1) * r), ALL)
            if "q" in self.scheme.ends:
                return (Piece("q", rows, True),)
            return (Piece("q_b", rows, True, Piece("q_a", (ALL, ALL), True)),)
        plain, c = r - self.widths.rotated, self.widths.compressed
        compressed = Piece("kv_a", (slice(0, c), ALL), True)
        first = head * (plain + v)
        if role == "v":
            rows = slice(first + plain, first + plain + v)
            return (Piece("kv_b", (rows, ALL), True, compressed),)
        own = Piece("kv_b", (slice(first, first + plain), ALL), True, compressed)
        rotated = (Piece("kv_a", (slice(c, None), ALL), True),) if self.widths.rotated else ()
        return (own, *rotated)


def cut_layer(
    layer: AttentionLayer,
    shapes: Shapes,
    stated: Sequence[HeadCount],
    config: Mapping[str, Any],
) -> Cut:
    """The cut of one layer, by the first that says how: `stated`, shapes, config.json, norms."""
    scheme = layer.scheme
    own = {role: shapes[name] for role, name in layer.names.items()}
    if layer.index is not None:
        own = {role: shape[1:] for role, shape in own.items()}
    layout = _layout(scheme, own)
    widths = _widths(layer, layout, own)
    for count in _counts(layer, shapes, widths, stated, config):
        heads = _heads(count, widths)
        if heads is not None:
            sizes, value_rank = _sizes(heads, count, widths, layer)
            shared = sizes.key_value_heads or heads
            fused = _fused(layer, layout, shared, heads, model_type(config, layer.template))
            return Cut(scheme, layout, fused, sizes, shared, value_rank, widths)
    raise UserError(
        f"heads must be given (--heads N): neither the file nor a config.json beside it tells how "
        f"layer {layer.number} with {widths} is cut into heads."
    )


def norms_of(layer: AttentionLayer, shapes: Shapes) -> tuple[str, ...]:
    """The names of norms of queries and keys beside the projections."""
    name = next(iter(layer.names.values()))
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
    yield count_of_config(config, widths.d, layer.template, layer.stage)
    if LATENT not in layer.scheme.ends:
        rank = _rank_of_norms(layer, shapes, widths)
        yield HeadCount("norms of queries and keys", rank=rank)


def _layout(scheme: Scheme, own: Shapes) -> Layout:
    if scheme.layout != "wide_out":
        return scheme.layout
    shape = own["qkv"]
    return "out_in" if len(shape) == 2 and shape[0] > shape[1] else "in_out"


def _fused(layer: AttentionLayer, layout: Layout, shared: int, heads: int, model: str) -> Fused:
    """How a fused matrix is cut; where names and shapes leave it open, only a model type tells."""
    fused = layer.scheme.fused
    if fused == "four_parts" and heads % PARTS:
        raise UserError(
            f"heads must be a multiple of {PARTS} in a checkpoint of {layer.scheme.name}, got "
            f"{heads}."
        )
    if fused != "unknown":
        return fused
    if layout == "in_out" or shared == 1 or model:
        return "blocks"
    raise UserError(
        f"fused must be given (--map fused=blocks or --map fused=by_head): the names of layer "
        f"{layer.number} are those of nanoGPT, which has all queries, keys and values after one "
        "another, and of GPT-BigCode, which has them head by head, and no config.json has a "
        "model_type."
    )


def _widths(layer: AttentionLayer, layout: Layout, own: Shapes) -> Widths:
    shown = ", ".join(f"{role} {shape}" for role, shape in own.items())
    wrong = UserError(
        f"The projections of layer {layer.number} do not fit together as {layer.scheme.name} with "
        f"layout {layout}: {shown}."
    )
    axes = 3 if layout == "heads_in_rank" else 2
    if any(len(shape) != axes or not all(shape) for shape in own.values()):
        raise wrong
    if layout == "heads_in_rank":
        return _stored_by_head(own, wrong)
    if LATENT in own:
        return _latent_widths(own, wrong)
    out = {role: shape[0 if layout == "out_in" else 1] for role, shape in own.items()}
    into = {role: shape[1 if layout == "out_in" else 0] for role, shape in own.items()}
    if len({*(into[role] for role in own if role != "o"), out["o"]}) != 1:
        raise wrong
    if "qkv" not in own:
        plain = Widths(out["o"], out["q"], out["k"], out["v"], into["o"])
        # Qwen3-Next: a head of q is its query and a gate. No other cut fits these widths.
        gated = plain.q == 2 * plain.o and plain.k == plain.v
        return replace(plain, q=plain.o, gated=True) if gated else plain
    # Queries are as wide as what o reads; keys and values share the rest.
    rest, odd = divmod(out["qkv"] - into["o"], 2)
    if odd or rest <= 0 or (layer.scheme.fused == "four_parts" and rest != into["o"]):
        raise wrong
    return Widths(out["o"], into["o"], rest, rest, into["o"])


def _stored_by_head(own: Shapes, wrong: UserError) -> Widths:
    inner = {shape[1] for shape in own.values()}
    q, k, v, o = (own[role][0] * own[role][2] for role in "qkvo")
    ranks_fit = own["q"][2] == own["k"][2] and own["v"][2] == own["o"][2]
    if len(inner) != 1 or not ranks_fit or own["q"][0] != own["o"][0]:
        raise wrong
    return Widths(inner.pop(), q, k, v, o, own["q"][0])


def _latent_widths(own: Shapes, wrong: UserError) -> Widths:
    """kv_b has per head the part of a key that is not rotated and a value; o tells the values."""
    (d, o), (kv_b, compressed), (kv_a, into) = own["o"], own[LATENT], own["kv_a"]
    rotated = kv_a - compressed
    q, query_into = own["q"] if "q" in own else (own["q_b"][0], own["q_a"][1])
    compressed_query = None if "q" in own else own["q_a"][0]
    fits = into == d and query_into == d and rotated >= 0 and kv_b > o
    if not fits or (compressed_query is not None and own["q_b"][1] != compressed_query):
        raise wrong
    return Widths(
        d, q, kv_b - o, o, o,
        compressed_query=compressed_query, compressed=compressed, rotated=rotated,
    )  # fmt: skip


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
    if widths.compressed is None:
        shared = widths.k // r if r else 0
        keys_fit = shared * r == widths.k
    else:
        shared = heads
        keys_fit = (r - widths.rotated) * heads == widths.k
    fits = (
        r * heads == widths.q
        and value_rank * heads == widths.o
        and keys_fit
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
