"""How families of transformers name and store their attention projections: one table of schemes.

Reading another family is adding a row here: the ends of its names, the layout of a matrix, how a
fused matrix is cut, and what the model does beside the projections. Rows are tried in order and a
tensor belongs to the first row that takes it, so a row for one model stands before the family
whose names it shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Layout = Literal["out_in", "in_out", "heads_in_rank", "wide_out"]
Fused = Literal["blocks", "by_head", "four_parts", "unknown"]

LAYOUTS: tuple[Layout, ...] = ("out_in", "in_out", "heads_in_rank")
FUSED: tuple[Fused, ...] = ("blocks", "by_head")
SPLIT_ROLES, FUSED_ROLES = frozenset("qkvo"), frozenset(("qkv", "o"))
LATENT = "kv_b"  # the role that only latent attention has


@dataclass(frozen=True)
class Scheme:
    """How one family of models names its projections.

    `ends` gives the end of the name of each role: q, k, v and o, or qkv and o, or those of latent
    attention (DeepSeek's MLA), whose keys and values are products: kv_a compresses a token, kv_b
    makes the heads' keys and values of that, and q_a and q_b (or q alone) the queries.

    `layout` is out_in for y = W x (PyTorch's Linear), in_out for y = x W (GPT-2's Conv1D), or
    heads_in_rank for Q, K, V, O in R^(heads x d x r); wide_out is in_out or out_in, whichever makes
    the fused matrix wider than its input (GPT-2 and its copies with Linear).

    `fused` cuts a joint q, k, v matrix: `blocks` has all queries, all keys, all values; `by_head`
    has for each key and value head the queries that use it, its key and its value; `four_parts` is
    CodeGen's, four times queries, values, keys of a quarter of the heads; `unknown` is blocks where
    GPT-2's layout or a model type says so, and must be given otherwise.

    `models` are the model types of config.json that the row is for; without them it is for all.
    `rotary`: the family turns queries and keys by their positions. `beside` names other things that
    the forms leave out. `refused`, if not empty, says why such a checkpoint is not read.
    """

    name: str
    ends: Mapping[str, str]
    layout: Layout = "out_in"
    fused: Fused = "blocks"
    models: tuple[str, ...] = ()
    rotary: bool = False
    beside: tuple[str, ...] = field(default=())
    refused: str = ""


def _split(before: str, q: str, k: str, v: str, o: str) -> dict[str, str]:
    """The ends of four projections; `before` is the module of q, k and v, and o is whole."""
    names = (*(f"{before}.{each}" for each in (q, k, v)), o)
    return {role: f"{name}.weight" for role, name in zip("qkvo", names, strict=True)}


def _fused(qkv: str, o: str) -> dict[str, str]:
    return {"qkv": f"{qkv}.weight", "o": f"{o}.weight"}


_PROJ = ("q_proj", "k_proj", "v_proj")
_WORDS = ("query", "key", "value")
_DENSE = "attention.output.dense"
_LLAMA = _split("self_attn", *_PROJ, "self_attn.o_proj")
_BERT = _split("attention.self", *_WORDS, _DENSE)
_GPT_2 = _fused("attn.c_attn", "attn.c_proj")
_LATENT = {
    "kv_a": "self_attn.kv_a_proj_with_mqa.weight",
    "kv_b": "self_attn.kv_b_proj.weight",
    "o": "self_attn.o_proj.weight",
}
_ALIBI = "ALiBi"
_RELATIVE = "relative position bias"
_DIFFERENCE = (
    "its output is the difference of two softmaxes over shared pairs of values, so that no head "
    "has a V O of its own"
)

SCHEMES = (
    Scheme("GPT-BigCode", _GPT_2, fused="by_head", models=("gpt_bigcode",)),
    Scheme("GPT-2", _GPT_2, "wide_out", "unknown"),
    Scheme("DiffLlama", {**_LLAMA, "lambda": "self_attn.lambda_q1"}, refused=_DIFFERENCE),
    Scheme("DiffLlama", _LLAMA, models=("diffllama",), refused=_DIFFERENCE),
    Scheme("LLaMA", _LLAMA, rotary=True),
    Scheme("LLaMA, fused (Phi-3)", _fused("self_attn.qkv_proj", "self_attn.o_proj"), rotary=True),
    Scheme(
        "DeepSeek (MLA)",
        {"q_a": "self_attn.q_a_proj.weight", "q_b": "self_attn.q_b_proj.weight", **_LATENT},
        rotary=True,
    ),
    Scheme(
        "DeepSeek (MLA, queries not compressed)",
        {"q": "self_attn.q_proj.weight", **_LATENT},
        rotary=True,
    ),
    Scheme("Phi-2", _split("self_attn", *_PROJ, "self_attn.dense"), rotary=True),
    Scheme("OPT and CLIP", _split("self_attn", *_PROJ, "self_attn.out_proj")),
    Scheme("RoFormer", _BERT, models=("roformer",), rotary=True),
    Scheme("BERT", _BERT),
    Scheme("ViT", _split("attention.attention", *_WORDS, _DENSE)),
    Scheme("ALBERT", _split("attention", *_WORDS, "attention.dense")),
    Scheme("DistilBERT", _split("attention", "q_lin", "k_lin", "v_lin", "attention.out_lin")),
    Scheme(
        "DeBERTa",
        _fused("attention.self.in_proj", _DENSE),
        fused="by_head",
        beside=("content to position and position to content",),
    ),
    Scheme(
        "DeBERTa-v2",
        _split("attention.self", "query_proj", "key_proj", "value_proj", _DENSE),
        beside=("content to position and position to content",),
    ),
    Scheme("ModernBERT", _fused("attn.Wqkv", "attn.Wo"), rotary=True),
    Scheme("MPT", _fused("attn.Wqkv", "attn.out_proj"), models=("mpt",), beside=(_ALIBI,)),
    Scheme("MPT and DBRX", _fused("attn.Wqkv", "attn.out_proj")),
    Scheme(
        "T5",
        _split("layer.0.SelfAttention", "q", "k", "v", "layer.0.SelfAttention.o"),
        beside=(_RELATIVE,),
    ),
    Scheme("GPT-J", _split("attn", *_PROJ, "attn.out_proj"), rotary=True),
    Scheme("GPT-Neo", _split("attn.attention", *_PROJ, "attn.attention.out_proj")),
    Scheme("CodeGen", _fused("attn.qkv_proj", "attn.out_proj"), fused="four_parts", rotary=True),
    Scheme("Wav2Vec2", _split("attention", *_PROJ, "attention.out_proj")),
    Scheme("DINOv3", _split("attention", *_PROJ, "attention.o_proj"), rotary=True),
    Scheme("timm", _fused("attn.qkv", "attn.proj")),
    Scheme(
        "GPT-NeoX",
        _fused("attention.query_key_value", "attention.dense"),
        fused="by_head",
        rotary=True,
    ),
    Scheme(
        "BLOOM",
        _fused("self_attention.query_key_value", "self_attention.dense"),
        fused="by_head",
        models=("bloom",),
        beside=(_ALIBI,),
    ),
    Scheme(
        "BLOOM and Falcon",
        _fused("self_attention.query_key_value", "self_attention.dense"),
        fused="by_head",
        beside=("rotary embedding or ALiBi",),
    ),
    Scheme(
        "Persimmon",
        _fused("self_attn.query_key_value", "self_attn.dense"),
        fused="by_head",
        rotary=True,
    ),
    Scheme("PyTorch MultiheadAttention", {"qkv": "in_proj_weight", "o": "out_proj.weight"}),
)
