"""Which tensors of a checkpoint are the attention projections: stacks of layers, and mappings.

A scheme (`attnlab.checkpoints.schemes`) knows how the names of a layer's projections end. What
stands before those ends is the module's path, with the layer's number in it; paths that differ only
there are one stack of layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attnlab import arguments
from attnlab.checkpoints.schemes import (
    FUSED,
    FUSED_ROLES,
    LAYOUTS,
    SCHEMES,
    SPLIT_ROLES,
    Scheme,
)
from attnlab.errors import UserError

Shapes = Mapping[str, tuple[int, ...]]
ModelType = Callable[[str], str]  # of the layers of a path, where config.json states one

LAYER = "{layer}"
PATTERNS_SHOWN = 12
DIGITS = 9  # of the longest number of a layer
ATTENTION = re.compile(
    r"att|qkv|query|(?<![a-z])(key|value|[qkvo])(?![a-z])|(?<![a-z])[qkvo]_|w[qkvo](?![a-z])|wqkv",
    re.I,
)


@dataclass(frozen=True)
class AttentionLayer:
    """One layer's projections by role.

    `template` is the path of its stack, and `stage` the number before the layer's in it, if there
    is one. `index` is the layer's place in tensors stacked over layers.
    """

    number: int
    names: Mapping[str, str]
    scheme: Scheme
    template: str
    stage: int | None = None
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


def find_stacks(
    shapes: Shapes,
    mapping: Mapping[str, str] | None = None,
    model_type: ModelType = lambda path: "",
) -> list[Stack]:
    """Every stack of attention layers, by the user's mapping or by the schemes known here.

    A mapping that names no projection changes how those of a known scheme are cut.
    """
    given = mapping or {}
    changes = {key: value for key, value in given.items() if key in ("layout", "fused")}
    if len(changes) < len(given):
        return [_mapped(shapes, given)]
    found = _known(shapes, model_type)
    if not found:
        raise UserError(
            "No attention projections have names that are known here; found are "
            f"{', '.join(name_patterns(shapes)) or 'no tensors'}; name them with map, e.g. "
            "--map q=blocks.{layer}.wq.weight k=... v=... o=... (or qkv=... o=...) layout=out_in."
        )
    for stack in found:
        if stack.scheme.refused:
            raise UserError(
                f"The layers {stack.template} are those of {stack.scheme.name}, which is not read: "
                f"{stack.scheme.refused}."
            )
    return [_changed(stack, changes) for stack in found] if changes else found


def _known(shapes: Shapes, model_type: ModelType) -> list[Stack]:
    """The stacks of the schemes known here; a tensor belongs to the first scheme that takes it."""
    found: list[Stack] = []
    taken: set[str] = set()
    ends = tuple(end for scheme in SCHEMES for end in scheme.ends.values())
    candidates = [name for name in shapes if name.endswith(ends)]
    for scheme in SCHEMES:
        for stack in _stacks([name for name in candidates if name not in taken], scheme):
            if scheme.models and model_type(stack.template) not in scheme.models:
                continue
            taken.update(name for layer in stack.layers for name in layer.names.values())
            found.append(stack)
    order = {name: place for place, name in enumerate(shapes)}
    return sorted(found, key=lambda s: min(order[n] for n in s.layers[0].names.values()))


def choose_stacks(stacks: list[Stack], wanted: str | None = None) -> list[Stack]:
    """All stacks, or those whose template contains `wanted`, or the one that is it."""
    matching = [s for s in stacks if wanted is None or wanted in s.template]
    exact = [s for s in matching if s.template == wanted]
    if exact or matching:
        return exact or matching
    raise UserError(
        f"stack must be a part of one of these names of layers (with scheme and number): "
        f"{listed(stacks)}; got {wanted!r}."
    )


def listed(stacks: Sequence[Stack]) -> str:
    """The stacks in words."""
    return ", ".join(f"{s.template!r} ({s.scheme.name}, {len(s.layers)})" for s in stacks)


def joined(stacks: Sequence[Stack]) -> tuple[AttentionLayer, ...]:
    """The layers of all stacks: numbered as in their names, or through where stacks are several."""
    layers = [layer for stack in stacks for layer in stack.layers]
    if len(stacks) == 1:
        return tuple(layers)
    return tuple(replace(layer, number=number) for number, layer in enumerate(layers))


def name_patterns(shapes: Shapes) -> list[str]:
    """A dozen kinds of names, those like attention first, with the shape of the first of each.

    Numbers are written as *.
    """
    kinds: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        kinds.setdefault(re.sub(r"(?<![^.])\d+(?![^.])", "*", name), shape)

    def place(kind: str) -> int:
        matrix = len(kinds[kind]) > 1
        return (0 if matrix else 1) if ATTENTION.search(kind) else 2

    ordered = sorted(kinds, key=place)  # in the file's order where they are alike
    shown = [f"{shortened(kind)} {kinds[kind]}" for kind in ordered[:PATTERNS_SHOWN]]
    rest = len(kinds) - len(shown)
    return [*shown, f"and {rest} more"] if rest else shown


def shortened(name: str, longest: int = 120) -> str:
    """A name that fits a sentence."""
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[-longest // 2 :]}"


def _stacks(candidates: Iterable[str], scheme: Scheme) -> list[Stack]:
    modules: dict[str, dict[str, str]] = {}
    for name in candidates:
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
    stage = _stage(template)
    return Stack(
        scheme,
        template,
        tuple(AttentionLayer(n, whole[n], scheme, template, stage) for n in sorted(whole)),
        tuple(sorted(set(layers) - set(whole))),
    )


def _changed(stack: Stack, changes: Mapping[str, str]) -> Stack:
    """A stack whose scheme has another layout or cut, as the caller says."""
    scheme = stack.scheme
    if "layout" in changes:
        layout = arguments.one_of("layout of map", changes["layout"], LAYOUTS)
        scheme = replace(scheme, layout=layout)
    if "fused" in changes:
        scheme = replace(scheme, fused=arguments.one_of("fused of map", changes["fused"], FUSED))
    layers = tuple(replace(layer, scheme=scheme) for layer in stack.layers)
    return replace(stack, scheme=scheme, layers=layers)


def _numbered(path: str) -> tuple[str, int]:
    """The path with its last number as {layer}, and that number; 0 where there is none."""
    parts = path.rstrip(".").split(".")
    for place in reversed(range(len(parts))):
        if parts[place].isdecimal():
            number = _number(parts[place], path)
            return ".".join([*parts[:place], LAYER, *parts[place + 1 :]]), number
    return path.rstrip("."), 0


def _stage(template: str) -> int | None:
    """The last number before the layer's own."""
    numbers = [part for part in template.partition(LAYER)[0].split(".") if part.isdecimal()]
    return _number(numbers[-1], template) if numbers else None


def _number(digits: str, name: str) -> int:
    if len(digits) > DIGITS:
        raise UserError(
            f"The name {shortened(name)!r} has a layer number of {len(digits)} digits; at most "
            f"{DIGITS} are read."
        )
    return int(digits)


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
                layers.setdefault(_number(found[1], name), {})[role] = name
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
    layers = tuple(replace(layer, number=n, index=n) for n in range(found[0][0]))
    return replace(stack, layers=layers)
