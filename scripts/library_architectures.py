"""Measure width, heads and rank of every attention layer of Hugging Face Transformers 4.42.4.

    python scripts/library_architectures.py src/attnlab/rank/theory/architectures.csv

needs transformers 4.42.4 (27 June 2024, the last release before the paper), PyTorch, torchvision
and timm; the lab needs none of them. Every architecture is built from its default settings, without
memory for its weights, and the shapes of its query matrices are read: d is the number of inputs,
H r the number of outputs. What cannot be built or has no such layer is printed with its reason.
"""

import csv
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

VERSION = "4.42.4"
ALONE = [
    *("q_proj", "query", "q", "q_lin", "Wq", "query_proj", "project_q", "q_head", "query_layer"),
    *("linear_q", "projection_query"),
]
WITH_KEYS_AND_VALUES = [
    *("qkv", "query_key_value", "Wqkv", "c_attn", "qkv_proj", "att_proj", "in_proj", "qkv_net"),
    "queries_keys_values",
]
HEADS = ["num_heads", "num_attention_heads", "n_heads", "n_head", "num_attn_heads", "attn_heads"]
RANK = ["head_dim", "attention_head_size", "dim_head", "d_head", "key_dim"]
# Settings without which these cannot be built; none enters the attention.
NEEDED = {
    "autoformer": {"prediction_length": 24},
    "informer": {"prediction_length": 24},
    "time_series_transformer": {"prediction_length": 24},
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "conditional_detr": {"use_pretrained_backbone": False},
    "detr": {"use_pretrained_backbone": False},
    "deformable_detr": {"use_pretrained_backbone": False},
    "table-transformer": {"use_pretrained_backbone": False},
}
# Blocks with one of the names above that are no attention.
OTHER = ("Mamba", "MLP")

linspace = torch.linspace


def on_processor(*given: Any, **options: Any) -> torch.Tensor:
    """`torch.linspace` with values, which architectures read while they are built."""
    return linspace(*given, **{**options, "device": "cpu"})


def build(name: str) -> nn.Module:
    """The architecture with its default settings, without memory for its weights."""
    config = transformers.CONFIG_MAPPING[name](**NEEDED.get(name, {}))
    cls = transformers.MODEL_MAPPING[type(config)]
    with torch.device("meta"):
        return (cls[0] if isinstance(cls, tuple) else cls)(config)


def named(module: object, names: list[str]) -> int | None:
    """The first of these attributes that is a number."""
    values = (getattr(module, name, None) for name in names)
    return next((value for value in values if isinstance(value, int)), None)


def shape(layer: nn.Module) -> tuple[int, int] | None:
    """Inputs and outputs of a linear layer, or of a convolution as one."""
    weight = getattr(layer, "weight", None)
    inner = getattr(layer, "linear", None)
    if weight is None and inner is not None:
        return shape(inner)
    if weight is None or weight.ndim < 2:
        return None
    first, second = weight.shape[:2]
    if type(layer).__name__.endswith("Conv1D"):  # as in GPT-2: a transposed linear layer
        return first, second
    return second * getattr(layer, "groups", 1), first


def layers(model: nn.Module) -> Iterator[tuple[str, int, int, int]]:
    """Name, d, H and H r of every attention layer."""
    for module in model.modules():
        name = type(module).__name__
        if isinstance(module, nn.MultiheadAttention):
            yield name, module.embed_dim, module.num_heads, module.embed_dim
        if (shared := getattr(module, "qk_weight", None)) is not None:
            # Mega: one head, whose queries and keys share a projection.
            yield name, module.v_proj.in_features, 1, shared.shape[1]
        heads = named(module, HEADS) or named(getattr(module, "config", None), HEADS)
        if heads is None or any(part in name for part in OTHER):
            continue
        for child, layer in module.named_children():
            found = shape(layer) if child in ALONE + WITH_KEYS_AND_VALUES else None
            if found:
                d, outputs = found
                if child in WITH_KEYS_AND_VALUES:
                    rank = named(module, RANK)
                    outputs = heads * rank if rank else outputs // 3
                yield name, d, heads, outputs
        matrix = getattr(module, "q", None)  # XLNet: d x H x r
        if isinstance(matrix, nn.Parameter) and matrix.ndim == 3:
            yield name, matrix.shape[0], heads, matrix.shape[1] * matrix.shape[2]
        # JetMoe: the queries are made by a mixture of experts.
        if (experts := getattr(module, "experts", None)) is not None and name.startswith("JetMoe"):
            width = experts.input_linear.weight
            yield name, width.shape[2], heads, heads * module.head_dim


def census(say: Callable[[str], None]) -> list[tuple[str, str, int, int, int, int]]:
    """One row per architecture and shape: name, layer, d, H, H r, how many such layers."""
    rows = []
    for name in sorted(transformers.CONFIG_MAPPING.keys()):
        try:
            found = Counter(layers(build(name)))
        except Exception as reason:
            lines = str(reason).split("\n")
            say(f"{name}: {type(reason).__name__}: {' '.join(lines)[:90]}")
            continue
        if not found:
            say(f"{name}: no attention layer found")
        rows += [(name, *shape, count) for shape, count in found.items()]
    return rows


def main() -> int:
    if len(sys.argv) != 2 or transformers.__version__ != VERSION:
        print(__doc__, file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.linspace = on_processor
    rows = census(print)
    with Path(sys.argv[1]).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("architecture", "layer", "d", "heads", "keys", "layers"))
        writer.writerows(rows)
    print(f"{len({row[0] for row in rows})} architectures in {sys.argv[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
