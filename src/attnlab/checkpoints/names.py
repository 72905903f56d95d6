"""Which tensors of a checkpoint are the attention projections: naming schemes and mappings.

A scheme knows how the names of a layer's projections end, whether a matrix is stored as (out, in)
or (in, out), and how a fused one is cut. What stands before those ends is the module's path, with
the layer's number in it; paths that differ only there are one stack of layers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from attnlab import arguments
from attnlab.errors import UserError

Shapes = Mapping[str, tuple[int, ...]]
Layout = Literal["out_in", "in_out", "heads_in_rank", "wide_out"]
Fused = Literal["blocks", "by_head"]

LAYOUTS: tuple[Layout, ...] = ("out_in", "in_out", "heads_in_rank")
FUSED: tuple[Fused, ...] = ("blocks", "by_head")
SPLIT_ROLES, FUSED_ROLES = frozenset("qkvo"), frozenset(("qkv", "o"))
LAYER = "{layer}"
PATTERNS_SHOWN = 12


@dataclass(frozen=True)
class Scheme:
    """How one family of models names its projections.

    `layout` is out_in for y = W x (PyTorch's Linear), in_out for y = x W (GPT-2's Conv1D), or
    heads_in_rank for Q, K, V, O in R^(heads x d x r); wide_out is in_out or out_in, whichever makes
    the fused matrix wider than its input (GPT-2 and its copies with Linear). `fused` cuts a joint
    q, k, v matrix into three blocks, or head by head into q, k, v of that head. `rotary`: the
    family turns queries and keys by their positions.
    """

    name: str
    ends: Mapping[str, str]
    layout: Layout = "out_in"
    fused: Fused = "blocks"
    rotary: bool = False


def _split(before: str, q: str, k: str, v: str, o: str) -> dict[str, str]:
    return dict(zip("qkvo", (f"{before}{q}", f"{before}{k}", f"{before}{v}", o), strict=True))


_PROJ = ("q_proj.weight", "k_proj.weight", "v_proj.weight")
_WORDS = ("query.weight", "key.weight", "value.weight")
_DENSE = "attention.output.dense.weight"

SCHEMES = (
    Scheme("GPT-2", {"qkv": "attn.c_attn.weight", "o": "attn.c_proj.weight"}, "wide_out"),
    Scheme("LLaMA", _split("self_attn.", *_PROJ, "self_attn.o_proj.weight"), rotary=True),
    Scheme(
        "LLaMA, fused (Phi-3)",
        {"qkv": "self_attn.qkv_proj.weight", "o": "self_attn.o_proj.weight"},
        rotary=True,
    ),
    Scheme("OPT and CLIP", _split("self_attn.", *_PROJ, "self_attn.out_proj.weight")),
    Scheme("BERT", _split("attention.self.", *_WORDS, _DENSE)),
    Scheme("ViT", _split("attention.attention.", *_WORDS, _DENSE)),
    Scheme("timm", {"qkv": "attn.qkv.weight", "o": "attn.proj.weight"}),
    Scheme(
        "GPT-NeoX",
        {"qkv": "attention.query_key_value.weight", "o": "attention.dense.weight"},
        fused="by_head",
        rotary=True,
    ),
    Scheme("PyTorch MultiheadAttention", {"qkv": "in_proj_weight", "o": "out_proj.weight"}),
)


@dataclass(frozen=True)
class AttentionLayer:
    """One layer's projections by role. `index` is its place in tensors stacked over layers."""

    number: int
    names: Mapping[str, str]
    index: int | None = None


@dataclass(frozen=True)
class Stack:
    """Layers whose names differ only in the layer's number, in its order.

    `incomplete` are the layers of which this file holds some projections and not all.
    """

    scheme: Scheme
    template: str
    layers: tuple[AttentionLayer, ...]
    incomplete: tuple[int, ...] = field(default=())


def parse_mapping(given: Iterable[str]) -> dict[str, str]:
    """A mapping from words like `q=blocks.{layer}.wq.weight` or `layout=in_out`."""
    mapping: dict[str, str] = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not value or key in mapping:
            raise UserError(
                f"map must be words of the form ROLE=NAME, each ROLE once, got {word!r}."
            )
        mapping[key] = value
    return mapping


def find_stacks(shapes: Shapes, mapping: Mapping[str, str] | None = None) -> list[Stack]:
    """Every stack of attention layers, by the user's mapping or by the schemes known here."""
    if mapping:
        return [_mapped(shapes, mapping)]
    found = [stack for scheme in SCHEMES for stack in _stacks(shapes, scheme)]
    if not found:
        raise UserError(
            "No attention projections have names that are known here; found are "
            f"{', '.join(name_patterns(shapes)) or 'no tensors'}; name them with map, e.g. "
            "--map q=blocks.{layer}.wq.weight k=... v=... o=... (or qkv=... o=...) layout=out_in."
        )
    return found


def choose_stack(stacks: list[Stack], wanted: str | None = None) -> Stack:
    """The only stack, or the one whose template contains `wanted`."""
    matching = [s for s in stacks if wanted is None or wanted in s.template]
    exact = [s for s in matching if s.template == wanted]
    if len(exact or matching) == 1:
        return (exact or matching)[0]
    listed = ", ".join(f"{s.template!r} ({s.scheme.name}, {len(s.layers)})" for s in stacks)
    given = "none was given" if wanted is None else f"got {wanted!r}"
    raise UserError(
        f"stack must be a part of just one of these names of layers (with scheme and number): "
        f"{listed}; {given}."
    )


def name_patterns(shapes: Shapes) -> list[str]:
    """The first dozen kinds of names, numbers as *, with the shape of the first of each kind."""
    kinds: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        kinds.setdefault(re.sub(r"(?<![^.])\d+(?![^.])", "*", name), shape)
    shown = [f"{kind} {shape}" for kind, shape in list(kinds.items())[:PATTERNS_SHOWN]]
    rest = len(kinds) - len(shown)
    return [*shown, f"and {rest} more"] if rest else shown


def _stacks(shapes: Shapes, scheme: Scheme) -> list[Stack]:
    modules: dict[str, dict[str, str]] = {}
    for name in shapes:
        for role, end in scheme.ends.items():
            if name == end or name.endswith(f".{end}"):
                modules.setdefault(name.removesuffix(end), {})[role] = name
    stacks: dict[str, dict[int, dict[str, str]]] = {}
    for path, names in modules.items():
        template, number = _numbered(path)
        stacks.setdefault(template, {})[number] = names
    built = [_stack(scheme, template, layers) for template, layers in stacks.items()]
    return [stack for stack in built if stack.layers]


def _stack(scheme: Scheme, template: str, layers: Mapping[int, Mapping[str, str]]) -> Stack:
    whole = {n: names for n, names in layers.items() if set(names) == set(scheme.ends)}
    return Stack(
        scheme,
        template,
        tuple(AttentionLayer(n, whole[n]) for n in sorted(whole)),
        tuple(sorted(set(layers) - set(whole))),
    )


def _numbered(path: str) -> tuple[str, int]:
    """The path with its last number as {layer}, and that number; 0 where there is none."""
    parts = path.rstrip(".").split(".")
    for place in reversed(range(len(parts))):
        if parts[place].isdecimal():
            return ".".join([*parts[:place], LAYER, *parts[place + 1 :]]), int(parts[place])
    return path.rstrip("."), 0


def _mapped(shapes: Shapes, mapping: Mapping[str, str]) -> Stack:
    ends = {role: name for role, name in mapping.items() if role not in ("layout", "fused")}
    if set(ends) not in (SPLIT_ROLES, FUSED_ROLES):
        raise UserError(
            f"map must name q, k, v and o, or qkv and o, got {', '.join(sorted(ends)) or 'none'}."
        )
    layout = arguments.one_of("layout of map", mapping.get("layout", "out_in"), LAYOUTS)
    fused = arguments.one_of("fused of map", mapping.get("fused", "blocks"), FUSED)
    if layout == "heads_in_rank" and "qkv" in ends:
        raise UserError("map with layout heads_in_rank must name q, k, v and o, got qkv.")
    scheme = Scheme("mapping", ends, layout, fused)
    numbered = [LAYER in name for name in ends.values()]
    if any(numbered) and not all(numbered):
        raise UserError(f"map must have {LAYER} in every name or in none, got {ends}.")
    layers = _by_template(shapes, ends) if any(numbered) else {0: _present(shapes, ends)}
    template = ends.get("q", ends.get("qkv", ""))
    stack = _stack(scheme, template, layers)
    if not stack.layers:
        raise UserError(
            f"map names no layer that has all of {ends}; found are "
            f"{', '.join(name_patterns(shapes)) or 'no tensors'}."
        )
    return stack if any(numbered) else _unstacked(stack, shapes)


def _present(shapes: Shapes, ends: Mapping[str, str]) -> dict[str, str]:
    return {role: name for role, name in ends.items() if name in shapes}


def _by_template(shapes: Shapes, ends: Mapping[str, str]) -> dict[int, dict[str, str]]:
    layers: dict[int, dict[str, str]] = {}
    for role, template in ends.items():
        pattern = re.compile(r"(\d+)".join(map(re.escape, template.split(LAYER, 1))))
        for name in shapes:
            found = pattern.fullmatch(name)
            if found:
                layers.setdefault(int(found[1]), {})[role] = name
    return layers


def _unstacked(stack: Stack, shapes: Shapes) -> Stack:
    """One tensor a role for all layers: with one axis more than a layer has, the first counts."""
    (layer,) = stack.layers
    axes = 3 if stack.scheme.layout == "heads_in_rank" else 2
    found = [shapes[name] for name in layer.names.values()]
    if all(len(shape) == axes for shape in found):
        return stack
    if any(len(shape) != axes + 1 for shape in found) or len({shape[0] for shape in found}) != 1:
        raise UserError(
            f"map without {LAYER} must name tensors of {axes} axes, or of {axes + 1} with the "
            f"layers first, got shapes {', '.join(map(str, found))}."
        )
    layers = tuple(AttentionLayer(n, layer.names, n) for n in range(found[0][0]))
    return Stack(stack.scheme, stack.template, layers)
