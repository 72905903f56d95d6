"""What a config.json beside the weights says about a stack of layers.

A config.json may have parts (of an encoder and a decoder, of text and images). A stack is spoken
for by the part whose name is in its path; only where no name tells do widths decide, and two parts
of one width that disagree are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.errors import UserError

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
WIDTH = ("hidden_size", "n_embd", "d_model", "embed_dim", "dim", "n_embed")
ROTARY = ("rope_theta", "rope_scaling", "rope_parameters", "rotary_pct", "rotary_dim")
NORMS = ("use_qk_norm", "qk_layernorm", "use_qk_layernorm", "qk_norm")
SIDES = ("encoder", "decoder")
# Words of a path that mean a part of config.json whose name has none of them.
MEANINGS = {"text": ("language", "llm"), "vision": ("visual", "image"), "audio": ("speech",)}


@dataclass(frozen=True)
class HeadCount:
    """The number of heads, or of key and value heads, or the rank of one, and who said so."""

    source: str
    heads: int | None = None
    key_value_heads: int | None = None
    rank: int | None = None


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


def part_of(config: Mapping[str, Any], template: str) -> Mapping[str, Any]:
    """The part of config.json that belongs to the layers of this path; itself if none does."""
    for word in re.split(r"[._]", template):
        for key, part in config.items():
            if isinstance(part, dict) and _means(key.removesuffix("_config"), word):
                return part_of(part, template)
    return config


def count_of_config(
    config: Mapping[str, Any], d: int, template: str = "", stage: int | None = None
) -> HeadCount:
    """The heads that config.json gives the layers of this path, of width d.

    `stage` is the place in a list of head counts, one per stage of a model such as Swin.
    """
    part = part_of(config, template)
    if part is not config or set(_stacks(part)) & set(SIDES):
        found = _count(part, d, template, stage)
        if found is not None:
            return found
    return _by_width(config, d, template, stage)


def model_type(config: Mapping[str, Any], template: str = "") -> str:
    """The model type that config.json states for the layers of this path, or an empty text."""
    stated = part_of(config, template).get("model_type", config.get("model_type"))
    return stated if isinstance(stated, str) else ""


def rotary_in(config: Mapping[str, Any]) -> bool:
    """Whether config.json tells of a rotary embedding."""
    return any(
        any(part.get(key) is not None for key in ROTARY)
        or part.get("position_embedding_type") == "rotary"
        for part in _parts(config)
    )


def norms_in(config: Mapping[str, Any], template: str) -> bool:
    """Whether config.json tells of norms of queries and keys, which may have no weights."""
    return any(part_of(config, template).get(key) is True for key in NORMS)


def capped_in(config: Mapping[str, Any], template: str) -> bool:
    """Whether config.json tells of scores that are capped by a tanh, as in Gemma 2."""
    return part_of(config, template).get("attn_logit_softcapping") is not None


def turned_values_in(config: Mapping[str, Any], template: str) -> bool:
    """Whether config.json tells of values that are turned by their positions, as in RoFormer."""
    return part_of(config, template).get("rotary_value") is True


def _means(name: str, word: str) -> bool:
    return word in (name, *MEANINGS.get(name, ()))


def _stacks(part: Mapping[str, Any]) -> Iterator[str]:
    return (side for side in SIDES if _integer(part, (f"{side}_attention_heads",)))


def _count(part: Mapping[str, Any], d: int, template: str, stage: int | None) -> HeadCount | None:
    """What one part says: of the encoder or decoder that the path names, or of all its layers."""
    width = _integer(part, WIDTH)
    listed = next((part[key] for key in HEADS if isinstance(part.get(key), list)), None)
    if listed is not None:
        return _count_of_stage(part, listed, d, stage)
    words = template.split(".")
    named = [side for side in SIDES if side in words]
    sides = {_integer(part, (f"{side}_attention_heads",)) for side in named or SIDES} - {None}
    heads, rank = _integer(part, HEADS), _integer(part, ("head_dim",))
    if len(sides) == 1:
        heads = sides.pop()
    elif len(sides) > 1:
        several = ", ".join(map(str, sorted(filter(None, sides))))
        raise UserError(f"heads must be given (--heads N): config.json has several, {several}.")
    if not (heads or rank) or width not in (None, d):
        return None
    return HeadCount("config.json", heads, rank=None if heads else rank)


def _count_of_stage(
    part: Mapping[str, Any], listed: list[Any], d: int, stage: int | None
) -> HeadCount | None:
    """Heads of one stage: each stage is twice as wide as the one before, from embed_dim on."""
    first = _integer(part, ("embed_dim",))
    if stage is None or stage >= len(listed) or first is None or first * 2**stage != d:
        return None
    heads = listed[stage]
    return HeadCount("config.json", heads) if type(heads) is int and heads > 0 else None


def _by_width(config: Mapping[str, Any], d: int, template: str, stage: int | None) -> HeadCount:
    """Of all parts that speak of this width, if they agree; one without a width comes last."""
    found: set[tuple[bool, HeadCount]] = set()
    for part in _parts(config):
        count = _count(part, d, template, stage)
        width = _integer(part, WIDTH)
        if count is not None and (width is not None or part is config):
            found.add((width is not None, count))
    certain = {count for sure, count in found if sure} or {count for _, count in found}
    if len(certain) > 1:
        several = ", ".join(sorted(str(each.heads or f"d/{each.rank}") for each in certain))
        raise UserError(f"heads must be given (--heads N): config.json has several, {several}.")
    return certain.pop() if certain else HeadCount("config.json")


def _parts(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield config
    yield from (part for part in config.values() if isinstance(part, dict))


def _integer(part: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    found = [part.get(key) for key in keys]
    return next((n for n in found if type(n) is int and n > 0), None)
