"""Architectures by their own names and their own config.json, read without any other word.

The keys of each config.json are those that the `transformers` library writes for the model type.
"""

import json

import numpy as np
import pytest

from attnlab.checkpoints.reading import read_checkpoint
from attnlab.checkpoints.tables import summary
from attnlab.rank.theory.public_sizes import Sizes
from tests.checkpoints.checkpoint_files import FAMILIES, Heads, in_groups, save

D, HEADS, R = 16, 4, 3  # heads * rank is not d, so that no width tells the number of heads
WIDE = {"hidden_size": D, "num_attention_heads": HEADS}
GPT = {"n_embd": D, "n_head": HEADS}
BIGCODE = ("", in_groups("attn.c_attn", "attn.c_proj"), "transformer.h.{}.", True)
NORMS = "norms of queries and keys"

# model type -> family that it is written as, key and value heads, config.json, what is left out
MODELS: dict[str, tuple[str, int, dict, str]] = {
    "bloom": ("BLOOM", 4, {"hidden_size": D, "n_head": HEADS}, "ALiBi"),
    "falcon": ("Falcon", 1, {**WIDE, "multi_query": True, "num_kv_heads": 4}, "rotary"),
    "falcon, RW": ("Falcon", 4, {**WIDE, "multi_query": False, "alibi": True}, "ALiBi"),
    "falcon, new decoder": (
        "Falcon",
        2,
        {**WIDE, "new_decoder_architecture": True, "num_kv_heads": 2},
        "rotary",
    ),
    "t5": ("T5", 4, {"d_model": D, "d_kv": R, "num_heads": HEADS}, "relative position bias"),
    "distilbert": ("DistilBERT", 4, {"dim": D, "n_heads": HEADS}, ""),
    "albert": ("ALBERT", 4, WIDE, ""),
    "deberta": ("DeBERTa", 4, WIDE, "content to position"),
    "deberta-v2": ("DeBERTa-v2", 4, WIDE, "content to position"),
    "modernbert": ("ModernBERT", 4, WIDE, "rotary"),
    "mpt": ("MPT", 4, {"d_model": D, "n_heads": HEADS}, "ALiBi"),
    "gptj": ("GPT-J", 4, {**GPT, "rotary_dim": 2}, "rotary"),
    "gpt_neo": ("GPT-Neo", 4, {"hidden_size": D, "num_heads": HEADS}, ""),
    "codegen": ("CodeGen", 4, {**GPT, "rotary_dim": 2}, "rotary"),
    "phi": ("Phi-2", 4, {**WIDE, "partial_rotary_factor": 0.5}, "rotary"),
    "dinov3_vit": ("DINOv3", 4, WIDE, "rotary"),
    "wav2vec2": ("Wav2Vec2", 4, WIDE, ""),
    "qwen3_next": ("Qwen3-Next", 2, {**WIDE, "num_key_value_heads": 2, "head_dim": R}, "the gate"),
    "stablelm": ("LLaMA", 2, {**WIDE, "num_key_value_heads": 2, "qk_layernorm": True}, NORMS),
    "llama4_text": ("LLaMA", 2, {**WIDE, "num_key_value_heads": 2, "use_qk_norm": True}, NORMS),
    "cohere": ("LLaMA", 2, {**WIDE, "num_key_value_heads": 2, "use_qk_norm": True}, NORMS),
    "gpt_bigcode": ("GPT-BigCode", 1, {**GPT, "multi_query": True}, ""),
    "gpt_bigcode, all heads": ("GPT-BigCode", 4, {**GPT, "multi_query": False}, ""),
    "bart": ("OPT", 4, {"d_model": D, "decoder_attention_heads": HEADS}, ""),
    "whisper": ("OPT", 4, {"d_model": D, "decoder_attention_heads": HEADS}, ""),
    "xglm": ("OPT", 4, {"d_model": D, "attention_heads": HEADS}, ""),
    "siglip_text_model": ("OPT", 4, WIDE, ""),
    "roformer": ("BERT", 4, {**WIDE, "rotary_value": True}, "rotary embedding of values"),
}


@pytest.mark.parametrize("model", MODELS)
def test_config_json_is_all_that_is_needed(tmp_path, seed, model):
    rng = np.random.default_rng(seed)
    family, shared, settings, left_out = MODELS[model]
    _, write, prefix, _ = {**FAMILIES, "GPT-BigCode": BIGCODE}[family]
    Q, O = rng.standard_normal((2, HEADS, D, R))  # noqa: E741
    K, V = rng.standard_normal((2, shared, D, R))
    written = Heads(Q, K, V, O)
    save(tmp_path / "model.safetensors", write(written, prefix.format(0)), "F64")
    stated = {"model_type": model.partition(",")[0], **settings}
    (tmp_path / "config.json").write_text(json.dumps(stated))
    reading = read_checkpoint(tmp_path)
    assert reading.sizes == {0: Sizes(D, HEADS, R, shared)}
    assert left_out in summary(reading)[-1]
    for head in reading.heads:
        for form, A in (
            (head.query_key, written.query_key(head.head)),
            (head.value_output, written.value_output(head.head)),
        ):
            sigma = np.linalg.svd(A, compute_uv=False)[:R]
            np.testing.assert_allclose(form.singular_values, sigma, atol=1e-11 * sigma[0])
            assert form.multiple == pytest.approx(np.trace(A) / D, abs=1e-12 * sigma.sum())
