import json
import math
import tracemalloc

import numpy as np
import pytest

from attnlab.checkpoints.forms import Form
from attnlab.checkpoints.names import parse_mapping
from attnlab.checkpoints.reading import naming, read_checkpoint, rows
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from tests.checkpoints.checkpoint_files import (
    FAMILIES,
    Heads,
    arrays_of,
    linear,
    llama,
    opt,
    orthonormal,
    planted,
    rounded,
    save,
    save_shards,
)

D, R = 12, 3
RANKS = [1, 2, 3, 3]


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture
def layers(rng) -> list[Heads]:
    return [planted(rng, D, R, RANKS), planted(rng, D, R, RANKS[::-1])]


def random_heads(rng, heads=4, shared=4, d=D, r=R) -> Heads:
    Q, O = rng.standard_normal((2, heads, d, r))  # noqa: E741
    K, V = rng.standard_normal((2, shared, d, r))
    return Heads(Q, K, V, O)


def assert_reads(form: Form, A: np.ndarray) -> None:
    """A form's reading against the d x d matrix itself."""
    sigma = np.linalg.svd(A, compute_uv=False)
    kept = len(form.singular_values)
    # float64 throughout: the tolerance is for the order of operations alone
    np.testing.assert_allclose(form.singular_values, sigma[:kept], rtol=0, atol=1e-11 * sigma[0])
    np.testing.assert_allclose(sigma[kept:], 0, atol=1e-11 * sigma[0])
    assert form.norm == pytest.approx(np.linalg.norm(A))
    assert form.multiple == pytest.approx(np.trace(A) / len(A))
    cosine = np.trace(A) / np.linalg.norm(A) / math.sqrt(len(A))
    assert form.angle == pytest.approx(math.degrees(math.acos(cosine)))


@pytest.mark.parametrize("family", FAMILIES)
def test_each_head_of_each_family_is_read_as_its_d_by_d_matrices(tmp_path, rng, family):
    scheme, _, _, may_share = FAMILIES[family]
    written = [random_heads(rng, shared=2 if may_share else 4) for _ in range(2)]
    path = save(tmp_path / "m.safetensors", arrays_of(family, written), "F64")
    reading = read_checkpoint(path, heads=4)
    assert reading.naming.scheme == scheme
    assert set(reading.sizes.values()) == {Sizes(D, 4, R, 2 if may_share else 4)}
    assert [(h.layer, h.head) for h in reading.heads] == [(n, h) for n in (0, 1) for h in range(4)]
    for head in reading.heads:
        assert head.key_value_head == (head.head // 2 if may_share else head.head)
        assert_reads(head.query_key, written[head.layer].query_key(head.head))
        assert_reads(head.value_output, written[head.layer].value_output(head.head))


def test_one_key_and_value_head_for_all_is_read_in_groups(tmp_path, rng):
    written = random_heads(rng, shared=1)
    path = save(tmp_path / "m.safetensors", arrays_of("Falcon", [written]), "F64")
    for head in read_checkpoint(path, heads=4).heads:
        assert_reads(head.query_key, written.query_key(head.head))
        assert_reads(head.value_output, written.value_output(head.head))


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32", "F64"])
@pytest.mark.parametrize("family", ["GPT-2", "GPT-NeoX", "LLaMA"])
def test_planted_ranks_are_found_in_every_dtype(tmp_path, layers, family, dtype):
    path = save(tmp_path / "m.safetensors", arrays_of(family, layers), dtype)
    reading = read_checkpoint(path, heads=4)
    assert reading.naming.dtypes == (dtype,)
    assert [h.query_key.rank for h in reading.layer(0)] == RANKS
    assert [h.value_output.rank for h in reading.layer(0)] == RANKS[::-1]
    assert [h.query_key.rank for h in reading.layer(1)] == RANKS[::-1]


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F64"])
def test_stored_numbers_are_read_exactly(tmp_path, rng, dtype):
    written = random_heads(rng)
    path = save(tmp_path / "m.safetensors", arrays_of("LLaMA", [written]), dtype)
    stored = Heads(*(rounded(part, dtype) for part in (written.Q, written.K, written.V, written.O)))
    for head in read_checkpoint(path, heads=4).heads:
        assert_reads(head.query_key, stored.query_key(head.head))


@pytest.mark.parametrize("c", [4.0, -0.5])
def test_a_planted_multiple_of_the_identity_is_found(tmp_path, rng, c):
    U, W = orthonormal(rng, D, D), orthonormal(rng, D, D)
    written = Heads(*(part[None] for part in (c * U, U, W, rng.standard_normal((D, D)))))
    path = save(tmp_path / "m.safetensors", arrays_of("timm", [written]), "BF16")
    (head,) = read_checkpoint(path, heads=1).heads
    # bfloat16 changes A by at most `threshold`, in each of D singular directions
    error = head.query_key.threshold * math.sqrt(D) / head.query_key.norm
    assert error < 0.1
    assert head.query_key.distance == pytest.approx(0, abs=error)
    assert head.query_key.angle == pytest.approx(0 if c > 0 else 180, abs=math.degrees(2 * error))
    assert head.query_key.multiple == pytest.approx(c, rel=error)
    assert head.value_output.distance is not None
    assert head.value_output.distance > 0.5


def test_shards_are_read_like_one_file_and_one_shard_as_far_as_it_goes(tmp_path, layers):
    arrays = arrays_of("LLaMA", layers)
    whole = read_checkpoint(save(tmp_path / "whole.safetensors", arrays), heads=4)
    (tmp_path / "folder").mkdir()
    names = list(arrays)
    cut = [names[:6], names[6:]]  # in the middle of layer 1
    folder = save_shards(tmp_path / "folder", [{n: arrays[n] for n in part} for part in cut])
    for path in (folder, folder / "model.safetensors.index.json"):
        sharded = read_checkpoint(path, heads=4)
        assert sharded.heads == whole.heads
        assert sharded.sizes == whole.sizes
    alone = read_checkpoint(folder / "model-00001-of-00002.safetensors", heads=4)
    assert alone.heads == whole.layer(0)
    assert alone.naming.incomplete == (1,)
    with pytest.raises(UserError, match=r"one shard of several.*No attention projections"):
        read_checkpoint(folder / "model-00002-of-00002.safetensors", heads=4)


@pytest.mark.parametrize("layout", ["out_in", "in_out"])
def test_a_mapping_names_what_no_scheme_knows(tmp_path, rng, layout):
    written = [random_heads(rng, shared=2) for _ in range(3)]
    arrays = {}
    for number, heads in enumerate(written):
        parts = zip("qkv", (heads.Q, heads.K, heads.V), strict=True)
        weights = {f"w{name}": linear(part) for name, part in parts}
        weights["wo"] = linear(heads.O).T
        for name, weight in weights.items():
            arrays[f"block_{number}.{name}"] = weight if layout == "out_in" else weight.T
    path = save(tmp_path / "m.safetensors", arrays, "F64")
    words = [*(f"{role}=block_{{layer}}.w{role}" for role in "qkvo"), f"layout={layout}"]
    reading = read_checkpoint(path, heads=4, mapping=parse_mapping(words), layers=[2])
    assert {head.layer for head in reading.heads} == {2}
    for head in reading.heads:
        assert_reads(head.query_key, written[2].query_key(head.head))
        assert_reads(head.value_output, written[2].value_output(head.head))


def test_a_mapping_of_a_fused_matrix_cut_by_head(tmp_path, rng):
    written = random_heads(rng)
    arrays = arrays_of("GPT-NeoX", [written])
    renamed = {name.replace("query_key_value", "mixed"): array for name, array in arrays.items()}
    path = save(tmp_path / "m.safetensors", renamed, "F64")
    before = "gpt_neox.layers.{layer}.attention"
    mapping = {"qkv": f"{before}.mixed.weight", "o": f"{before}.dense.weight", "fused": "by_head"}
    for head in read_checkpoint(path, heads=4, mapping=mapping).heads:
        assert_reads(head.query_key, written.query_key(head.head))


def test_a_file_can_name_its_own_projections_stacked_over_layers(tmp_path, rng):
    written = [random_heads(rng) for _ in range(2)]
    arrays = {
        f"encoder.{name}": np.stack([getattr(heads, name) for heads in written]) for name in "QKVO"
    }
    own = {name.lower(): f"encoder.{name}" for name in "QKVO"} | {"layout": "heads_in_rank"}
    path = save(tmp_path / "m.safetensors", arrays, "F64", {"attnlab.attention": json.dumps(own)})
    reading = read_checkpoint(path)  # the shapes tell the heads
    assert reading.sizes == dict.fromkeys((0, 1), Sizes(D, 4, R, 4))
    for head in reading.heads:
        assert_reads(head.query_key, written[head.layer].query_key(head.head))
        assert_reads(head.value_output, written[head.layer].value_output(head.head))


def test_values_may_have_another_rank_than_queries(tmp_path, rng):
    Q, K = rng.standard_normal((2, 4, D, 3))
    V, O = rng.standard_normal((2, 4, D, 2))  # noqa: E741
    written = Heads(Q, K, V, O)
    path = save(tmp_path / "m.safetensors", llama(written, "layers.0."), "F64")
    for head in read_checkpoint(path, heads=4).heads:
        assert_reads(head.query_key, written.query_key(head.head))
        assert_reads(head.value_output, written.value_output(head.head))


def test_one_of_several_stacks_is_chosen_by_name_and_heads_are_given_to_one_only(tmp_path, rng):
    text, image = random_heads(rng), random_heads(rng, d=8)
    arrays = llama(text, "language.layers.0.") | opt(image, "vision.layers.0.")
    path = save(tmp_path / "m.safetensors", arrays, "F64")
    with pytest.raises(UserError, match=r"stack must be .*language.*LLaMA, 1.*vision.*none"):
        read_checkpoint(path, heads=4)
    with pytest.raises(UserError, match=r"stack must be .*got 'layers'"):
        read_checkpoint(path, heads=4, stack="layers")
    assert read_checkpoint(path, heads=4, stack="vision").sizes[0].d == 8
    assert naming(path, stack="language").scheme == "LLaMA"


def test_what_is_beside_the_projections_is_told(tmp_path, layers):
    arrays = arrays_of("LLaMA", layers)
    plain = naming(save(tmp_path / "plain.safetensors", arrays))
    assert (plain.biases, plain.norms, plain.rotary) == (False, False, "usual for LLaMA")
    arrays["model.layers.0.self_attn.q_proj.bias"] = np.ones(D)
    arrays["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(1)
    for norm in ("q_norm", "k_norm"):
        arrays[f"model.layers.0.self_attn.{norm}.weight"] = np.ones(R)
    told = naming(save(tmp_path / "told.safetensors", arrays))
    assert (told.biases, told.norms, told.rotary) == (True, True, "frequencies in the file")
    biased = naming(save(tmp_path / "gpt2.safetensors", arrays_of("GPT-2", layers)))
    assert (biased.biases, biased.rotary) == (True, "")
    (tmp_path / "config.json").write_text(json.dumps({"rope_theta": 1e4}))
    assert naming(tmp_path / "gpt2.safetensors").rotary == "config.json"


def test_nothing_is_written_beside_the_file(tmp_path, layers):
    path = save(tmp_path / "m.safetensors", arrays_of("BERT", layers))
    path.chmod(0o444)
    before = path.read_bytes()
    tmp_path.chmod(0o555)
    try:
        read_checkpoint(path, heads=4)
    finally:
        tmp_path.chmod(0o755)
    assert [item.name for item in tmp_path.iterdir()] == ["m.safetensors"]
    assert path.read_bytes() == before


def test_one_head_is_in_memory_at_a_time(tmp_path, rng):
    d, heads = 384, 24
    arrays = {"blocks.0.attn.qkv.weight": rng.standard_normal((3 * d, d))}
    arrays["blocks.0.attn.proj.weight"] = rng.standard_normal((d, d))
    path = save(tmp_path / "m.safetensors", arrays, "F32")
    read_checkpoint(path, heads=heads)  # what is imported on the way is not a head
    tracemalloc.start()
    read_checkpoint(path, heads=heads)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one_head = 4 * 8 * d * d // heads
    assert peak < 4 * one_head < 8 * 4 * d * d / 4


def test_rows_are_json_and_hold_every_number(tmp_path, layers):
    path = save(tmp_path / "m.safetensors", arrays_of("timm", layers))
    reading = read_checkpoint(path, heads=4)
    table = json.loads(json.dumps(rows(reading), allow_nan=False))
    assert len(table) == len(reading.heads)
    for row, head in zip(table, reading.heads, strict=True):
        assert (row["layer"], row["head"]) == (head.layer, head.head)
        assert (row["d"], row["heads"], row["r"], row["key_value_heads"]) == (D, 4, R, 4)
        assert tuple(row["query_key_singular_values"]) == head.query_key.singular_values
        assert row["value_output_entropy_rank"] == head.value_output.entropy_rank


def test_progress_counts_layers(tmp_path, layers):
    path = save(tmp_path / "m.safetensors", arrays_of("timm", layers))
    seen: list[tuple[int, int]] = []
    read_checkpoint(path, heads=4, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]
