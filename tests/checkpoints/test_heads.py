import json

import numpy as np
import pytest

from attnlab.checkpoints.names import find_stacks, parse_mapping
from attnlab.checkpoints.reading import read_checkpoint
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from tests.checkpoints.checkpoint_files import Heads, arrays_of, planted, save

SHARED = Sizes(12, 4, 3, 2)


@pytest.fixture
def heads(seed) -> Heads:
    return planted(np.random.default_rng(seed), 12, 3, [3, 3, 3, 3], shared=2)


@pytest.fixture
def path(tmp_path, heads):
    return save(tmp_path / "m.safetensors", arrays_of("LLaMA", [heads]))


def test_heads_come_from_the_caller_by_either_number(path):
    assert read_checkpoint(path, heads=4).sizes[0] == SHARED
    assert read_checkpoint(path, key_value_heads=2).sizes[0] == SHARED
    assert read_checkpoint(path, heads=4, key_value_heads=2).sizes[0] == SHARED


@pytest.mark.parametrize(
    "config",
    [
        {"num_attention_heads": 4},
        {"n_head": 4, "n_embd": 12},
        {"head_dim": 3},
        {"text_config": {"hidden_size": 12, "num_attention_heads": 4}},
        {
            "num_attention_heads": 9,
            "hidden_size": 99,
            "text_config": {"d_model": 12, "num_heads": 4},
            "vision_config": {"hidden_size": 8, "num_attention_heads": 2},
            "head": {"num_heads": 6},
        },
    ],
)
def test_heads_come_from_config_json_where_it_speaks_of_this_width(path, config):
    (path.parent / "config.json").write_text(json.dumps(config))
    assert read_checkpoint(path).sizes[0] == SHARED
    assert read_checkpoint(path, heads=2).sizes[0].heads == 2  # the caller is heard first


def test_heads_come_from_the_metadata(tmp_path, heads):
    named = {"attnlab.attention": json.dumps({"heads": 4})}
    path = save(tmp_path / "m.safetensors", arrays_of("LLaMA", [heads]), metadata=named)
    assert read_checkpoint(path).sizes[0] == SHARED


def test_norms_of_queries_and_keys_tell_the_rank_unless_they_span_all_heads(tmp_path, heads):
    arrays = arrays_of("LLaMA", [heads])
    for length, decides in ((3, True), (12, False)):
        for norm in ("q_norm", "k_norm"):
            arrays[f"model.layers.0.self_attn.{norm}.weight"] = np.ones(length)
        path = save(tmp_path / f"{length}.safetensors", arrays)
        if decides:
            assert read_checkpoint(path).sizes[0] == SHARED
        else:
            with pytest.raises(UserError, match="heads must be given"):
                read_checkpoint(path)


def test_heads_are_never_guessed(path):
    with pytest.raises(UserError, match=r"^heads must be given \(--heads N\): .*q 12, k 6, v 6"):
        read_checkpoint(path)
    (path.parent / "config.json").write_text('{"hidden_size": 99, "num_attention_heads": 4}')
    with pytest.raises(UserError, match=r"heads must be given \(--heads N\)"):
        read_checkpoint(path)
    twice = {"a": {"hidden_size": 12, "n_head": 4}, "b": {"hidden_size": 12, "n_head": 2}}
    (path.parent / "config.json").write_text(json.dumps(twice))
    with pytest.raises(UserError, match=r"config\.json has several, 2, 4"):
        read_checkpoint(path)
    (path.parent / "config.json").write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"heads": 5}, r"heads must cut layer 0 .* got 5 \(given\)"),
        ({"heads": 1}, "heads must cut"),  # keys would be half a head
        ({"heads": 0}, "heads must be an integer of at least 1, got 0"),
        ({"heads": 4, "key_value_heads": 4}, r"key_value_heads \(--kv-heads\) must be 2"),
        ({"key_value_heads": 4}, r"key_value_heads \(--kv-heads\) must divide 6"),
        ({"heads": 4, "layers": [3]}, r"layers must be among 0, got \[3\]"),
        ({"heads": 4, "layers": []}, "layers must be among 0, got none"),
        ({"heads": 4, "stack": "vision"}, "stack must be .* got 'vision'"),
        ({"heads": 4, "mapping": {"q": "a"}}, "map must name q, k, v and o, or qkv and o, got q"),
        ({"mapping": dict.fromkeys("qkvo", "a.{layer}")}, "map names no layer"),
        ({"mapping": dict.fromkeys("qkvo", "a") | {"layout": "x"}}, "layout of map must be one of"),
        ({"mapping": dict.fromkeys("qkv", "a") | {"o": "{layer}"}}, "in every name or in none"),
        ({"mapping": {"qkv": "a", "o": "b", "layout": "heads_in_rank"}}, "got qkv"),
    ],
)
def test_a_wrong_argument_is_told_in_one_sentence(path, given, told):
    with pytest.raises(UserError, match=told) as refused:
        read_checkpoint(path, **given)
    assert "\n" not in str(refused.value)


def test_projections_that_do_not_fit_are_told_with_their_shapes(tmp_path, heads):
    arrays = arrays_of("LLaMA", [heads])
    arrays["model.layers.0.self_attn.k_proj.weight"] = np.ones((6, 13))
    path = save(tmp_path / "m.safetensors", arrays)
    with pytest.raises(UserError, match=r"layer 0 do not fit together as LLaMA.*k \(6, 13\)"):
        read_checkpoint(path, heads=4)
    mapping = dict.fromkeys("qkvo", "model.layers.0.self_attn.q_proj.weight")
    with pytest.raises(UserError, match=r"map without {layer} must name tensors of 3 axes"):
        read_checkpoint(path, mapping=mapping | {"layout": "heads_in_rank"})


def test_unknown_names_are_listed_with_their_shapes_and_how_to_map_them(tmp_path):
    arrays = {f"tower.{n}.mixer.w{k}": np.ones((2, k + 1)) for n in range(3) for k in range(15)}
    path = save(tmp_path / "m.safetensors", arrays)
    with pytest.raises(UserError) as refused:
        read_checkpoint(path)
    told = str(refused.value)
    assert "m.safetensors" in told
    assert "tower.*.mixer.w0 (2, 1), " in told
    assert "and 3 more" in told
    assert "q=blocks.{layer}.wq.weight" in told
    assert "\n" not in told


def test_words_of_a_mapping_are_checked():
    assert parse_mapping(["q=a.{layer}", "layout=in_out"]) == {"q": "a.{layer}", "layout": "in_out"}
    for word in ("q", "q="):
        with pytest.raises(UserError, match="ROLE=NAME"):
            parse_mapping([word])
    with pytest.raises(UserError, match="each ROLE once"):
        parse_mapping(["q=a", "q=b"])


def test_metadata_that_name_nothing_are_refused(tmp_path):
    path = save(tmp_path / "m.safetensors", {"a": np.ones(1)}, metadata={"attnlab.attention": "[]"})
    with pytest.raises(UserError, match="must be a JSON object"):
        read_checkpoint(path)


def test_layers_are_in_the_order_of_their_numbers():
    ends = ("q_proj", "k_proj", "v_proj", "o_proj")
    numbers = [10, 2, 0]
    shapes = {f"m.layers.{n}.self_attn.{end}.weight": (2, 2) for n in numbers for end in ends}
    (stack,) = find_stacks(shapes)
    assert [layer.number for layer in stack.layers] == [0, 2, 10]
    assert stack.template == "m.layers.{layer}"


def test_cross_attention_is_not_taken_for_self_attention():
    ends = ("self.query", "self.key", "self.value", "output.dense")
    shapes = {
        f"decoder.layer.0.{module}.{end}.weight": (2, 2)
        for module in ("attention", "crossattention")
        for end in ends
    }
    (stack,) = find_stacks(shapes)
    assert all("crossattention" not in name for name in stack.layers[0].names.values())
