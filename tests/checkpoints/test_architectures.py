"""Architectures whose names, shapes or config.json could be read wrongly: read rightly, or refused.

`benchmarks/checkpoints.py` asks the models themselves, where `transformers` is installed.
"""

import json

import numpy as np
import pytest

from attnlab.checkpoints.reading import naming, read_checkpoint
from attnlab.checkpoints.tables import sentences, summary
from attnlab.errors import UserError
from tests.checkpoints.checkpoint_files import (
    Heads,
    bert,
    gpt2,
    in_groups,
    linear,
    llama,
    named,
    nano_gpt,
    opt,
    orthonormal,
    save,
)

D, R = 12, 3
PROJ = ("q_proj", "k_proj", "v_proj")


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def random_heads(rng, heads=4, shared=None, d=D, r=R) -> Heads:
    Q, O = rng.standard_normal((2, heads, d, r))  # noqa: E741
    K, V = rng.standard_normal((2, shared or heads, d, r))
    return Heads(Q, K, V, O)


def assert_heads(reading, layer: int, written: Heads) -> None:
    """Every head of a layer has the singular values of its d x d matrices."""
    assert len(reading.layer(layer)) == len(written.Q)
    for head in reading.layer(layer):
        for form, A in (
            (head.query_key, written.query_key(head.head)),
            (head.value_output, written.value_output(head.head)),
        ):
            sigma = np.linalg.svd(A, compute_uv=False)
            kept = len(form.singular_values)
            np.testing.assert_allclose(form.singular_values, sigma[:kept], atol=1e-11 * sigma[0])
            assert form.multiple == pytest.approx(np.trace(A) / len(A), abs=1e-12 * sigma.sum())


def config(folder, **settings):
    (folder / "config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize("shared", [1, 4])
def test_gpt_bigcode_is_stored_head_by_head(tmp_path, rng, shared):
    written = random_heads(rng, shared=shared)
    write = in_groups("attn.c_attn", "attn.c_proj")
    save(tmp_path / "model.safetensors", write(written, "transformer.h.0."), "F64")
    config(tmp_path, model_type="gpt_bigcode", n_embd=D, n_head=4, multi_query=shared == 1)
    reading = read_checkpoint(tmp_path)
    assert reading.naming.scheme == "GPT-BigCode"
    assert_heads(reading, 0, written)


def test_names_of_two_models_are_refused_until_somebody_says_which(tmp_path, rng):
    written = random_heads(rng)
    path = save(tmp_path / "model.safetensors", nano_gpt(written, "transformer.h.0."), "F64")
    with pytest.raises(UserError, match=r"fused must be given .*nanoGPT.*GPT-BigCode"):
        read_checkpoint(path, heads=4)
    assert_heads(read_checkpoint(path, heads=4, mapping={"fused": "blocks"}), 0, written)
    config(tmp_path, model_type="gpt2", n_embd=D, n_head=4)
    assert_heads(read_checkpoint(path), 0, written)
    with pytest.raises(UserError, match="fused of map must be one of"):
        read_checkpoint(path, heads=4, mapping={"fused": "somehow"})
    original = save(tmp_path / "o.safetensors", gpt2(written, "transformer.h.0."), "F64")
    assert_heads(read_checkpoint(original, heads=4), 0, written)  # Conv1D is GPT-2's alone


def test_an_encoder_and_a_decoder_have_their_own_heads(tmp_path, rng):
    encoder, decoder = random_heads(rng, 4), random_heads(rng, 2, r=6)
    arrays = opt(encoder, "model.encoder.layers.0.") | opt(decoder, "model.decoder.layers.0.")
    cross = opt(decoder, "model.decoder.layers.0.")
    arrays |= {name.replace("self_attn", "encoder_attn"): a for name, a in cross.items()}
    save(tmp_path / "model.safetensors", arrays, "F64")
    config(tmp_path, d_model=D, encoder_attention_heads=4, decoder_attention_heads=2)
    reading = read_checkpoint(tmp_path)
    places = {stack.split(" is ")[1]: int(stack.split()[1]) for stack in reading.naming.stacks}
    assert_heads(reading, places["model.encoder.layers.{layer}"], encoder)
    assert_heads(reading, places["model.decoder.layers.{layer}"], decoder)
    assert any("is model.encoder.layers.{layer}" in each for each in sentences(reading))
    assert_heads(read_checkpoint(tmp_path, stack="decoder"), 0, decoder)


def test_the_part_of_config_json_that_belongs_to_a_stack_is_heard(tmp_path, rng):
    speech, text = random_heads(rng, 2, r=6), random_heads(rng, 4)
    write = named(*(f"attention.{each}" for each in PROJ), "attention.out_proj")
    arrays = write(speech, "encoder.encoder.layers.0.")
    arrays |= opt(text, "decoder.model.decoder.layers.0.")
    save(tmp_path / "model.safetensors", arrays, "F64")
    config(
        tmp_path,
        encoder={"hidden_size": D, "num_attention_heads": 2},
        decoder={"d_model": D, "encoder_attention_heads": 2, "decoder_attention_heads": 4},
    )
    assert_heads(read_checkpoint(tmp_path, stack="encoder.encoder"), 0, speech)
    assert_heads(read_checkpoint(tmp_path, stack="decoder.model"), 0, text)
    config(
        tmp_path,
        text_config={"hidden_size": D, "num_attention_heads": 4},
        vision_config={"hidden_size": D, "num_attention_heads": 2},
    )
    arrays = opt(text, "text_model.layers.0.") | opt(speech, "visual.layers.0.")
    save(tmp_path / "model.safetensors", arrays, "F64")
    assert_heads(read_checkpoint(tmp_path, stack="text_model"), 0, text)
    assert_heads(read_checkpoint(tmp_path, stack="visual"), 0, speech)


def test_sides_of_an_encoder_decoder_that_no_name_tells_apart_are_not_guessed(tmp_path, rng):
    save(tmp_path / "model.safetensors", opt(random_heads(rng), "tower.layers.0."), "F64")
    config(tmp_path, d_model=D, encoder_attention_heads=4, decoder_attention_heads=2)
    with pytest.raises(UserError, match=r"heads must be given .*config\.json has several, 2, 4"):
        read_checkpoint(tmp_path)


def test_stages_of_swin_have_their_own_heads_and_widths(tmp_path, rng):
    stages = [random_heads(rng, 2, r=4, d=8), random_heads(rng, 4, r=4, d=16)]
    arrays = {}
    for number, heads in enumerate(stages):
        for block in range(2):
            arrays |= bert(heads, f"swin.encoder.layers.{number}.blocks.{block}.")
    save(tmp_path / "model.safetensors", arrays, "F64")
    config(tmp_path, model_type="swin", embed_dim=8, hidden_size=16, num_heads=[2, 4])
    reading = read_checkpoint(tmp_path)
    assert [reading.sizes[number].d for number in range(4)] == [8, 8, 16, 16]
    assert_heads(reading, 1, stages[0])
    assert_heads(reading, 2, stages[1])
    config(tmp_path, model_type="swin", embed_dim=9, hidden_size=18, num_heads=[2, 4])
    with pytest.raises(UserError, match="heads must be given"):
        read_checkpoint(tmp_path)


def test_the_differential_transformer_is_refused(tmp_path, rng):
    arrays = llama(random_heads(rng), "model.layers.0.")
    marked = arrays | {"model.layers.0.self_attn.lambda_q1": np.ones(R)}
    save(tmp_path / "model.safetensors", marked, "F64")
    with pytest.raises(UserError, match=r"DiffLlama, which is not read: .*two softmaxes"):
        read_checkpoint(tmp_path, heads=4)
    save(tmp_path / "model.safetensors", arrays, "F64")  # as a shard without the mark may be
    config(tmp_path, model_type="diffllama", hidden_size=D, num_attention_heads=4)
    with pytest.raises(UserError, match="DiffLlama, which is not read"):
        read_checkpoint(tmp_path)


def test_norms_of_queries_and_keys_are_named_wherever_they_are_kept(tmp_path, rng):
    arrays = llama(random_heads(rng), "model.layers.0.")
    path = save(tmp_path / "model.safetensors", arrays, "F64")
    assert not naming(path).norms
    config(tmp_path, hidden_size=D, num_attention_heads=4, use_qk_norm=True)  # Llama 4: no weights
    assert naming(path).norms
    assert any("form is without them" in each for each in summary(read_checkpoint(path)))
    config(tmp_path, hidden_size=D, num_attention_heads=4)
    for norm in ("q", "k"):  # StableLM: one per head
        arrays[f"model.layers.0.self_attn.{norm}_layernorm.norms.0.weight"] = np.ones(R)
    assert naming(save(tmp_path / "model.safetensors", arrays, "F64")).norms


def test_a_gate_of_the_output_is_named(tmp_path, rng):
    written = random_heads(rng, shared=2)
    both = np.stack([written.Q, np.ones_like(written.Q)], axis=1).reshape(-1, D, R)
    arrays = llama(written, "layers.0.") | {"layers.0.self_attn.q_proj.weight": linear(both)}
    reading = read_checkpoint(save(tmp_path / "m.safetensors", arrays, "F64"), heads=4)
    assert_heads(reading, 0, written)
    assert "the gate of the output" in summary(reading)[-1]


@pytest.mark.parametrize("compressed_queries", [True, False])
def test_latent_attention_is_a_product_whose_rank_the_compression_bounds(
    tmp_path, rng, compressed_queries
):
    heads, plain, rotated, v, c, c_q = 4, 5, 2, 6, 3, 4
    q_a, q_b = rng.standard_normal((c_q, D)), rng.standard_normal((heads, plain + rotated, c_q))
    kv_a = rng.standard_normal((c + rotated, D))
    kv_b = rng.standard_normal((heads, plain + v, c))
    o = rng.standard_normal((D, heads * v))
    q = q_b @ q_a if compressed_queries else rng.standard_normal((heads, plain + rotated, D))
    names = {"kv_a_proj_with_mqa": kv_a, "kv_b_proj": kv_b.reshape(-1, c), "o_proj": o}
    if compressed_queries:
        names |= {"q_a_proj": q_a, "q_b_proj": q_b.reshape(-1, c_q)}
    else:
        names["q_proj"] = q.reshape(-1, D)
    arrays = {f"model.layers.0.self_attn.{name}.weight": a for name, a in names.items()}
    save(tmp_path / "model.safetensors", arrays, "F64")
    config(tmp_path, hidden_size=D, num_attention_heads=heads, num_key_value_heads=99)
    reading = read_checkpoint(tmp_path)
    assert reading.sizes[0].rank == plain + rotated
    bound, value_bound = reading.bounds[0]
    assert bound.rank == (c_q if compressed_queries else c + rotated)
    assert value_bound.rank == c
    told = f"{bound.rank} by the compression of {'queries' if compressed_queries else 'keys'}"
    assert any(told in each for each in summary(reading))
    for head in reading.heads:
        keys = np.concatenate([kv_b[head.head, :plain] @ kv_a[:c], kv_a[c:]])
        forms = q[head.head].T @ keys, (kv_b[head.head, plain:] @ kv_a[:c]).T
        values = forms[1] @ o[:, head.head * v : (head.head + 1) * v].T
        for form, A, rank in (
            (head.query_key, forms[0], min(bound.rank, plain + rotated)),
            (head.value_output, values, c),
        ):
            sigma = np.linalg.svd(A, compute_uv=False)
            np.testing.assert_allclose(
                form.singular_values, sigma[: len(form.singular_values)], atol=1e-11 * sigma[0]
            )
            assert form.multiple == pytest.approx(np.trace(A) / D, abs=1e-12 * sigma.sum())
            assert form.rank == rank


def test_rounding_adds_nothing_to_the_rank_of_a_product(tmp_path, rng):
    heads, r, v, c = 2, 6, 6, 8
    rank = 2
    low = orthonormal(rng, heads * (r + v), rank) @ orthonormal(rng, c, rank).T
    names = {
        "q_proj": rng.standard_normal((heads * r, D)),
        "kv_a_proj_with_mqa": rng.standard_normal((c, D)),
        "kv_b_proj": low,
        "o_proj": rng.standard_normal((D, heads * v)),
    }
    arrays = {f"layers.0.self_attn.{name}.weight": a for name, a in names.items()}
    for dtype in ("BF16", "F16", "F32"):
        path = save(tmp_path / f"{dtype}.safetensors", arrays, dtype)
        for head in read_checkpoint(path, heads=heads).heads:
            assert head.query_key.rank <= rank
            assert head.value_output.rank <= rank


def test_a_layer_number_of_thousands_of_digits_is_one_sentence(tmp_path, rng):
    many = "9" * 5000
    arrays = llama(random_heads(rng), f"model.layers.{many}.")
    path = save(tmp_path / "m.safetensors", arrays)
    mapping = {role: f"model.layers.{{layer}}.self_attn.{role}_proj.weight" for role in "qkvo"}
    for given in (None, mapping):
        with pytest.raises(UserError, match="a layer number of 5000 digits") as refused:
            read_checkpoint(path, heads=4, mapping=given)
        assert len(str(refused.value)) < 400


def test_unknown_names_that_look_like_attention_come_first(tmp_path, rng):
    arrays = {f"model.layers.0.mlp.part_{n}.weight": np.ones((2, 2)) for n in range(20)}
    arrays |= {f"model.layers.0.mixer.{each}.weight": np.ones((2, 2)) for each in PROJ}
    path = save(tmp_path / "m.safetensors", arrays)
    with pytest.raises(UserError) as refused:
        read_checkpoint(path)
    for each in PROJ:
        assert f"mixer.{each}.weight (2, 2)" in str(refused.value)
    assert str(refused.value).index("mlp.part") > str(refused.value).index("mixer")
