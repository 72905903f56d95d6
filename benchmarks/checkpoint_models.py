"""Small models of each architecture for `benchmarks/checkpoints.py`, built by `transformers`."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    SpeechEncoderDecoderModel,
    VisionEncoderDecoderModel,
)

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50, "bos_token_id": 1,
       "eos_token_id": 2}  # fmt: skip
SIDES = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 8, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 50,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
IMAGE = {**SMALL, "image_size": 16, "patch_size": 8}
LATENT = {
    **SMALL, "kv_lora_rank": 9, "q_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4,
    "v_head_dim": 5, "n_routed_experts": 8, "num_experts_per_tok": 1, "moe_intermediate_size": 8,
    "first_k_dense_replace": 2, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1,
}  # fmt: skip
EXPERTS = {"num_experts_per_tok": 1, "moe_intermediate_size": 8}
T5 = {"d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 50}
SPEECH = {**SMALL, "conv_dim": (8, 8), "conv_stride": (4, 4), "conv_kernel": (8, 8),
          "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}  # fmt: skip
COMPOSITE = {
    "speech-encoder-decoder": SpeechEncoderDecoderModel,
    "vision-encoder-decoder": VisionEncoderDecoderModel,
}


@dataclass(frozen=True)
class Model:
    """One architecture: its model type, its settings, and parts of a composite model."""

    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "Model"] = field(default_factory=dict)

    def config(self) -> Any:
        parts = {name: part.config().to_dict() for name, part in self.parts.items()}
        return AutoConfig.for_model(self.type, **self.settings, **parts)

    def build(self) -> nn.Module:
        if self.parts:
            config = self.config()
            config._attn_implementation = "eager"
            return COMPOSITE[self.type](config)
        return AutoModel.from_config(
            self.config(), attn_implementation="eager", experts_implementation="eager"
        )

    def inputs(self, model: nn.Module) -> dict[str, torch.Tensor]:
        """Any input that the model takes: its tokens are replaced within the layer at hand."""
        takes = inspect.signature(model.forward).parameters
        ids = torch.arange(3, 9)[None]
        found: dict[str, torch.Tensor] = {}
        config = model.config
        name = model.main_input_name
        if name in ("pixel_values",) or "pixel_values" in takes:
            vision = getattr(config, "vision_config", getattr(config, "encoder", config))
            size = vision.image_size
            found["pixel_values"] = torch.randn(1, 3, size, size, dtype=torch.float64)
        if name == "input_values" or "input_values" in takes:
            found["input_values"] = torch.randn(1, 400, dtype=torch.float64)
        if name == "input_features":
            length = 2 * config.max_source_positions
            shape = (1, config.num_mel_bins, length)
            found["input_features"] = torch.randn(shape, dtype=torch.float64)
        if name == "input_ids" or ("input_ids" in takes and "pixel_values" in takes):
            found["input_ids"] = ids
            if "position_ids" in takes:
                found["position_ids"] = torch.zeros_like(ids)
        if "decoder_input_ids" in takes:
            found["decoder_input_ids"] = ids
        return found


MODELS: dict[str, Model] = {
    "GPT-2": Model("gpt2", GPT),
    "GPT-BigCode, one key and value head": Model("gpt_bigcode", {**GPT, "multi_query": True}),
    "GPT-BigCode, multi_query=false": Model("gpt_bigcode", {**GPT, "multi_query": False}),
    "LLaMA": Model("llama", GROUPED),
    "Mistral": Model("mistral", GROUPED),
    "Mixtral": Model("mixtral", {**GROUPED, "num_local_experts": 2}),
    "Qwen2": Model("qwen2", GROUPED),
    "Qwen3": Model("qwen3", GROUPED),
    "Qwen3-Next": Model(
        "qwen3_next",
        {
            **GROUPED,
            **EXPERTS,
            "layer_types": ["full_attention", "linear_attention"],
            "num_experts": 2,
            "shared_expert_intermediate_size": 8,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
        },
    ),
    "Gemma": Model("gemma", GROUPED),
    "Gemma 2": Model("gemma2", GROUPED),
    "Gemma 3 (text)": Model("gemma3_text", GROUPED),
    "OLMo 2": Model("olmo2", GROUPED),
    "Granite": Model("granite", GROUPED),
    "Nemotron": Model("nemotron", GROUPED),
    "StarCoder 2": Model("starcoder2", GROUPED),
    "StableLM, norms of queries and keys": Model("stablelm", {**GROUPED, "qk_layernorm": True}),
    "Cohere, norms of queries and keys": Model("cohere", {**GROUPED, "use_qk_norm": True}),
    "Llama 4 (text)": Model(
        "llama4_text", {**GROUPED, "num_local_experts": 2, "intermediate_size_mlp": 32}
    ),
    "GPT-OSS": Model("gpt_oss", {**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "DiffLlama": Model("diffllama", GROUPED),
    "Phi-2": Model("phi", SMALL),
    "Phi-3": Model("phi3", {**SMALL, "num_key_value_heads": 2}),
    "Persimmon": Model("persimmon", SMALL),
    "DeepSeek-V2": Model("deepseek_v2", LATENT),
    "DeepSeek-V2, queries not compressed": Model("deepseek_v2", {**LATENT, "q_lora_rank": None}),
    "DeepSeek-V3": Model("deepseek_v3", LATENT),
    "GPT-NeoX": Model("gpt_neox", SMALL),
    "GPT-J": Model("gptj", {**GPT, "rotary_dim": 4}),
    "GPT-Neo": Model(
        "gpt_neo",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 50,
            "attention_types": [[["global", "local"], 1]],
        },
    ),
    "CodeGen": Model("codegen", {**GPT, "n_head": 8, "rotary_dim": 4}),
    "BLOOM": Model("bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50}),
    "Falcon, one key and value head": Model("falcon", SMALL),
    "Falcon-RW": Model("falcon", {**SMALL, "multi_query": False, "alibi": True}),
    "Falcon, new decoder": Model(
        "falcon", {**SMALL, "new_decoder_architecture": True, "num_kv_heads": 2}
    ),
    "MPT": Model("mpt", {"d_model": 32, "n_heads": 4, "n_layers": 2, "vocab_size": 50}),
    "DBRX": Model(
        "dbrx",
        {
            "d_model": 32,
            "n_heads": 4,
            "n_layers": 2,
            "vocab_size": 50,
            "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4},
            "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 2, "moe_top_k": 1},
        },
    ),
    "XGLM": Model(
        "xglm",
        {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 48, "vocab_size": 50},
    ),
    "OPT": Model("opt", {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    "BERT": Model("bert", SMALL),
    "RoBERTa": Model("roberta", SMALL),
    "ELECTRA": Model("electra", {**SMALL, "embedding_size": 16}),
    "RoFormer": Model("roformer", {**SMALL, "embedding_size": 16}),
    "RoFormer, values turned too": Model(
        "roformer", {**SMALL, "embedding_size": 16, "rotary_value": True}
    ),
    "ESM": Model("esm", {**SMALL, "position_embedding_type": "rotary", "mask_token_id": 4}),
    "DistilBERT": Model(
        "distilbert", {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4, "vocab_size": 50}
    ),
    "ALBERT": Model("albert", {**SMALL, "embedding_size": 16}),
    "DeBERTa": Model(
        "deberta", {**SMALL, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    ),
    "DeBERTa-v2": Model(
        "deberta-v2", {**SMALL, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    ),
    "ModernBERT": Model("modernbert", SMALL),
    "T5": Model("t5", T5),
    "mT5": Model("mt5", T5),
    "BART, 4 and 8 heads": Model("bart", SIDES),
    "Pegasus, 4 and 8 heads": Model("pegasus", SIDES),
    "M2M-100, 4 and 8 heads": Model("m2m_100", SIDES),
    "Whisper, 4 and 8 heads": Model("whisper", {**SIDES, "max_source_positions": 16}),
    "Speech encoder, BART decoder": Model(
        "speech-encoder-decoder",
        parts={"encoder": Model("wav2vec2", SPEECH), "decoder": Model("bart", SIDES)},
    ),
    "Vision encoder, GPT-2 decoder": Model(
        "vision-encoder-decoder",
        parts={
            "encoder": Model("vit", IMAGE),
            "decoder": Model("gpt2", {**GPT, "n_head": 8, "add_cross_attention": True}),
        },
    ),
    "ViT": Model("vit", IMAGE),
    "DeiT": Model("deit", IMAGE),
    "DINOv2": Model("dinov2", IMAGE),
    "DINOv3": Model("dinov3_vit", {**IMAGE, "num_register_tokens": 2}),
    "BEiT": Model("beit", IMAGE),
    "Swin": Model(
        "swin",
        {
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "CLIP, 4 and 8 heads": Model(
        "clip",
        {
            "text_config": SMALL,
            "vision_config": {**IMAGE, "num_attention_heads": 8},
            "projection_dim": 8,
        },
    ),
    "SigLIP, 4 and 8 heads": Model(
        "siglip", {"text_config": SMALL, "vision_config": {**IMAGE, "num_attention_heads": 8}}
    ),
    "Wav2Vec2": Model("wav2vec2", SPEECH),
    "HuBERT": Model("hubert", SPEECH),
    "SegFormer": Model("segformer"),
    "XLNet": Model("xlnet", {"d_model": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50}),
}
