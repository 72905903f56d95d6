"""Checkpoints with planted heads, in the names and layouts of each family of models."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import safetensors.numpy

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Heads:
    """Q and O of shape (heads, d, r), K and V of shape (key_value_heads, d, r)."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    O: np.ndarray  # noqa: E741

    def query_key(self, head: int) -> np.ndarray:
        """The d x d matrix Q K^T of a head, keys shared by consecutive heads."""
        return self.Q[head] @ np.repeat(self.K, len(self.Q) // len(self.K), axis=0)[head].T

    def value_output(self, head: int) -> np.ndarray:
        return np.repeat(self.V, len(self.Q) // len(self.V), axis=0)[head] @ self.O[head].T


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(DTYPES[dtype]).astype(np.float64)


def orthonormal(rng: np.random.Generator, d: int, r: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, r)))[0]


def planted(
    rng: np.random.Generator, d: int, r: int, ranks: list[int], shared: int | None = None
) -> Heads:
    """Heads whose Q K^T has these ranks, and V O the same in reverse, all singular values 1."""

    def deficient(rank: int) -> np.ndarray:
        return orthonormal(rng, d, rank) @ orthonormal(rng, r, rank).T

    kv = shared or len(ranks)
    return Heads(
        Q=np.stack([deficient(rank) for rank in ranks]),
        K=np.stack([orthonormal(rng, d, r) for _ in range(kv)]),
        V=np.stack([orthonormal(rng, d, r) for _ in range(kv)]),
        O=np.stack([deficient(rank) for rank in reversed(ranks)]),
    )


def linear(heads: np.ndarray) -> np.ndarray:
    """The weight (out, in) of a Linear whose output is one head after another."""
    return heads.transpose(0, 2, 1).reshape(-1, heads.shape[1])


def llama(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    return {
        f"{prefix}self_attn.q_proj.weight": linear(heads.Q),
        f"{prefix}self_attn.k_proj.weight": linear(heads.K),
        f"{prefix}self_attn.v_proj.weight": linear(heads.V),
        f"{prefix}self_attn.o_proj.weight": linear(heads.O).T,
    }


def opt(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    return {name.replace("o_proj", "out_proj"): w for name, w in llama(heads, prefix).items()}


def gpt2(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    fused = [linear(part).T for part in (heads.Q, heads.K, heads.V)]
    return {
        f"{prefix}attn.c_attn.weight": np.concatenate(fused, axis=1),
        f"{prefix}attn.c_attn.bias": np.ones(3 * heads.Q.shape[1]),
        f"{prefix}attn.c_proj.weight": linear(heads.O),
        f"{prefix}mlp.c_proj.weight": np.ones((4 * heads.Q.shape[1], heads.Q.shape[1])),
    }


def nano_gpt(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    return {name: w.T for name, w in gpt2(heads, prefix).items()}


def phi3(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    fused = [linear(part) for part in (heads.Q, heads.K, heads.V)]
    return {
        f"{prefix}self_attn.qkv_proj.weight": np.concatenate(fused),
        f"{prefix}self_attn.o_proj.weight": linear(heads.O).T,
    }


def bert(heads: Heads, prefix: str, module: str = "self") -> dict[str, np.ndarray]:
    return {
        f"{prefix}attention.{module}.query.weight": linear(heads.Q),
        f"{prefix}attention.{module}.key.weight": linear(heads.K),
        f"{prefix}attention.{module}.value.weight": linear(heads.V),
        f"{prefix}attention.output.dense.weight": linear(heads.O).T,
        f"{prefix}output.dense.weight": np.ones((2, 3)),
    }


def vit(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    return bert(heads, prefix, "attention")


def timm(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    fused = np.concatenate([linear(part) for part in (heads.Q, heads.K, heads.V)])
    return {f"{prefix}attn.qkv.weight": fused, f"{prefix}attn.proj.weight": linear(heads.O).T}


def neox(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    by_head = np.stack([heads.Q, heads.K, heads.V], axis=1)  # (heads, 3, d, r)
    fused = by_head.transpose(0, 1, 3, 2).reshape(-1, heads.Q.shape[1])
    return {
        f"{prefix}attention.query_key_value.weight": fused,
        f"{prefix}attention.query_key_value.bias": np.ones(len(fused)),
        f"{prefix}attention.dense.weight": linear(heads.O).T,
    }


def pytorch(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    fused = np.concatenate([linear(part) for part in (heads.Q, heads.K, heads.V)])
    return {
        f"{prefix}self_attn.in_proj_weight": fused,
        f"{prefix}self_attn.in_proj_bias": np.ones(len(fused)),
        f"{prefix}self_attn.out_proj.weight": linear(heads.O).T,
    }


def named(*names: str) -> "Writer":
    """A writer of q, k, v and o under these names."""

    def write(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
        parts = (linear(heads.Q), linear(heads.K), linear(heads.V), linear(heads.O).T)
        return dict(zip((f"{prefix}{name}.weight" for name in names), parts, strict=True))

    return write


def in_blocks(qkv: str, o: str) -> "Writer":
    """A writer of one matrix with all queries, all keys, all values, and one of outputs."""

    def write(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
        fused = np.concatenate([linear(part) for part in (heads.Q, heads.K, heads.V)])
        return {f"{prefix}{qkv}.weight": fused, f"{prefix}{o}.weight": linear(heads.O).T}

    return write


def in_groups(qkv: str, o: str) -> "Writer":
    """A writer of one matrix with a group's queries, its key and its value, group after group."""

    def write(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
        size = len(heads.Q) // len(heads.K)
        rows = []
        for group, (key, value) in enumerate(zip(heads.K, heads.V, strict=True)):
            rows += [*heads.Q[group * size : (group + 1) * size], key, value]
        fused = linear(np.stack(rows))
        return {f"{prefix}{qkv}.weight": fused, f"{prefix}{o}.weight": linear(heads.O).T}

    return write


def codegen(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    """Four times queries, values, keys of a quarter of the heads."""
    quarters = [np.split(part, 4) for part in (heads.Q, heads.V, heads.K)]
    fused = linear(
        np.concatenate([part for quarter in zip(*quarters, strict=True) for part in quarter])
    )
    return {
        f"{prefix}attn.qkv_proj.weight": fused,
        f"{prefix}attn.out_proj.weight": linear(heads.O).T,
    }


def gated(heads: Heads, prefix: str) -> dict[str, np.ndarray]:
    """Qwen3-Next: each head of q is its query and a gate."""
    both = np.stack([heads.Q, np.ones_like(heads.Q)], axis=1)
    return llama(heads, prefix) | {
        f"{prefix}self_attn.q_proj.weight": linear(both.reshape(-1, *heads.Q.shape[1:]))
    }


Writer = Callable[[Heads, str], dict[str, np.ndarray]]
PROJ = ("q_proj", "k_proj", "v_proj")


def _projections(module: str, o: str) -> Writer:
    return named(*(f"{module}.{each}" for each in PROJ), f"{module}.{o}")


# scheme -> how a layer is written, what stands before a layer, whether heads may share keys
FAMILIES: dict[str, tuple[str, Writer, str, bool]] = {
    "GPT-2": ("GPT-2", gpt2, "transformer.h.{}.", False),
    "LLaMA": ("LLaMA", llama, "model.layers.{}.", True),
    "Qwen3-Next": ("LLaMA", gated, "model.layers.{}.", True),
    "Phi-3": ("LLaMA, fused (Phi-3)", phi3, "model.layers.{}.", True),
    "Phi-2": ("Phi-2", _projections("self_attn", "dense"), "model.layers.{}.", True),
    "OPT": ("OPT and CLIP", opt, "model.decoder.layers.{}.", False),
    "BERT": ("BERT", bert, "bert.encoder.layer.{}.", False),
    "ViT": ("ViT", vit, "vit.encoder.layer.{}.", False),
    "ALBERT": (
        "ALBERT",
        named("attention.query", "attention.key", "attention.value", "attention.dense"),
        "albert.encoder.albert_layer_groups.0.albert_layers.{}.",
        False,
    ),
    "DistilBERT": (
        "DistilBERT",
        named("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
        "distilbert.transformer.layer.{}.",
        False,
    ),
    "DeBERTa": (
        "DeBERTa",
        in_groups("attention.self.in_proj", "attention.output.dense"),
        "deberta.encoder.layer.{}.",
        False,
    ),
    "DeBERTa-v2": (
        "DeBERTa-v2",
        named(
            *(f"attention.self.{each}_proj" for each in ("query", "key", "value")),
            "attention.output.dense",
        ),
        "deberta.encoder.layer.{}.",
        False,
    ),
    "ModernBERT": ("ModernBERT", in_blocks("attn.Wqkv", "attn.Wo"), "model.layers.{}.", False),
    "MPT": ("MPT and DBRX", in_blocks("attn.Wqkv", "attn.out_proj"), "blocks.{}.", True),
    "T5": (
        "T5",
        named(*(f"layer.0.SelfAttention.{role}" for role in "qkvo")),
        "encoder.block.{}.",
        False,
    ),
    "GPT-J": ("GPT-J", _projections("attn", "out_proj"), "transformer.h.{}.", False),
    "GPT-Neo": ("GPT-Neo", _projections("attn.attention", "out_proj"), "transformer.h.{}.", False),
    "CodeGen": ("CodeGen", codegen, "transformer.h.{}.", False),
    "Wav2Vec2": ("Wav2Vec2", _projections("attention", "out_proj"), "encoder.layers.{}.", False),
    "DINOv3": ("DINOv3", _projections("attention", "o_proj"), "layer.{}.", False),
    "timm": ("timm", timm, "blocks.{}.", False),
    "GPT-NeoX": ("GPT-NeoX", neox, "gpt_neox.layers.{}.", False),
    "BLOOM": (
        "BLOOM and Falcon",
        in_groups("self_attention.query_key_value", "self_attention.dense"),
        "transformer.h.{}.",
        False,
    ),
    "Falcon": (
        "BLOOM and Falcon",
        in_groups("self_attention.query_key_value", "self_attention.dense"),
        "transformer.h.{}.",
        True,
    ),
    "Persimmon": (
        "Persimmon",
        in_groups("self_attn.query_key_value", "self_attn.dense"),
        "model.layers.{}.",
        False,
    ),
    "PyTorch": ("PyTorch MultiheadAttention", pytorch, "encoder.layers.{}.", False),
}


def arrays_of(family: str, layers: list[Heads]) -> dict[str, np.ndarray]:
    _, write, prefix, _ = FAMILIES[family]
    return {
        name: array
        for number, heads in enumerate(layers)
        for name, array in write(heads, prefix.format(number)).items()
    }


def save(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    dtype: str = "F32",
    metadata: dict[str, str] | None = None,
) -> Path:
    """Written by the safetensors package, which is no part of the reader."""
    stored = {
        key: np.ascontiguousarray(array.astype(DTYPES[dtype])) for key, array in arrays.items()
    }
    safetensors.numpy.save_file(stored, str(path), metadata)
    return path


def save_shards(folder: Path, shards: list[dict[str, np.ndarray]]) -> Path:
    names = {}
    for number, arrays in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save(folder / file, arrays)
        names |= dict.fromkeys(arrays, file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    return folder
