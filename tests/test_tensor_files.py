import json
import shutil

import numpy as np
import pytest

from attnlab.checkpoints.reading import read_checkpoint
from attnlab.errors import UserError
from attnlab.tensor_files import open_tensors, read_header
from tests.checkpoints.checkpoint_files import (
    DTYPES,
    arrays_of,
    planted,
    rounded,
    save,
    save_shards,
)


@pytest.fixture
def arrays(seed) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return arrays_of("LLaMA", [planted(rng, 8, 2, [1, 2]) for _ in range(2)])


def write(path, header, data: bytes = b""):
    """A safetensors file by hand: any header, true or not."""
    document = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(document).to_bytes(8, "little") + document + data)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_blocks_are_the_stored_numbers_as_float64(tmp_path, seed, dtype):
    array = np.random.default_rng(seed).standard_normal((5, 7))
    array[0, :4] = [0.0, -0.0, np.inf, 6e-8]
    tensor = open_tensors(save(tmp_path / "m.safetensors", {"a": array}, dtype)).tensors["a"]
    assert (tensor.dtype, tensor.shape) == (dtype, (5, 7))
    stored = rounded(array, dtype)
    for index in [(), (slice(1, 3),), (slice(None), slice(2, 5)), (4,)]:
        block = tensor.block(index)
        assert block.dtype == np.float64
        np.testing.assert_array_equal(block, stored[index])


@pytest.mark.parametrize("dtype", ["F64", "BF16"])
def test_numbers_at_an_odd_byte_are_read(tmp_path, dtype):
    values = np.arange(3).astype(DTYPES[dtype])
    header = json.dumps({"a": entry(dtype, (3,), (0, values.nbytes))}).encode()
    for padding in range(3):  # blanks move the numbers off every alignment
        path = write(tmp_path / "m.safetensors", header + b" " * padding, values.tobytes())
        np.testing.assert_array_equal(open_tensors(path).tensors["a"].block(), [0, 1, 2])


def test_a_tensor_without_entries_is_read(tmp_path):
    path = write(tmp_path / "m.safetensors", {"a": entry("F32", (0, 4), (0, 0))})
    assert open_tensors(path).tensors["a"].block().shape == (0, 4)


def test_metadata_are_told(tmp_path):
    path = save(tmp_path / "m.safetensors", {"a": np.ones(2)}, metadata={"format": "pt"})
    assert open_tensors(path).metadata == {"format": "pt"}


def test_a_file_cut_anywhere_is_refused_in_one_sentence(tmp_path, arrays):
    whole = save(tmp_path / "whole.safetensors", arrays).read_bytes()
    path = tmp_path / "cut.safetensors"
    for size in [*range(0, 40), *range(40, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(UserError, match=r"is not a whole safetensors file: [^\n]*\.$"):
            read_header(path)


def test_a_damaged_header_is_refused_or_read_but_never_crashes(tmp_path, arrays, seed):
    whole = save(tmp_path / "whole.safetensors", arrays).read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(seed)
    refused = 0
    for place, byte in zip(rng.integers(end, size=300), rng.integers(256, size=300), strict=True):
        damaged = bytearray(whole)
        damaged[place] = byte
        (tmp_path / "damaged.safetensors").write_bytes(damaged)
        try:
            read_checkpoint(tmp_path / "damaged.safetensors", heads=2)
        except UserError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("header", "data", "told"),
    [
        (b"GIF89a", b"", "not JSON"),
        ([], b"", "not a JSON object"),
        (b"[" * 100_000, b"", "not JSON"),
        (b'{"a": 1, "a": 2}', b"", "not JSON"),
        (b'{"__metadata__": ' + b'{"a": ' * 100_000, b"", "not JSON"),
        (b'{"a": {"shape": [' + b"9" * 5000 + b"]}}", b"", "not JSON"),
        ({"__metadata__": {"a": 1}}, b"", "metadata are not text"),
        ({"__metadata__": ["a"]}, b"", "metadata are not text"),
        ({"a": 7}, b"", "no dtype, shape and data_offsets for 'a'"),
        ({"a": entry(shape=[-2, -1])}, b"0" * 8, "the shape"),
        ({"a": entry(offsets=(0, 4))}, b"0" * 4, "4 bytes, but F32 of shape \\(2,\\) takes 8"),
        ({"a": entry(offsets=(-8, 0))}, b"", "at bytes -8 to 0"),
        ({"a": entry(), "b": entry(offsets=(4, 12))}, b"0" * 12, "'b' overlaps"),
        ({"a": entry(offsets=(8, 16))}, b"0" * 16, "leaves a gap"),
        ({"a": entry()}, b"0" * 7, "may be truncated"),
        ({"a": entry()}, b"0" * 9, "promises"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, header, data, told):
    path = write(tmp_path / "m.safetensors", header, data)
    with pytest.raises(UserError, match=told):
        read_header(path)


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)))
    with pytest.raises(UserError, match="not a whole safetensors file: its first 8 bytes"):
        open_tensors(path)
    with pytest.raises(UserError, match="There is no file or folder"):
        open_tensors(tmp_path / "missing")


@pytest.mark.parametrize("dtype", ["I8", "F8_E4M3", "F4"])
def test_weights_in_another_dtype_are_refused_by_name(tmp_path, dtype):
    header = {
        f"layers.0.self_attn.{name}_proj.weight": entry(dtype, (2, 2), (4 * n, 4 * n + 4))
        for n, name in enumerate("qkvo")
    }
    path = write(tmp_path / "m.safetensors", header, bytes(16))
    with pytest.raises(UserError, match=rf"k_proj.*dtype {dtype}; accepted are F64, F32, F16"):
        read_checkpoint(path, heads=1)


def test_weights_that_are_not_finite_are_refused_by_name(tmp_path, arrays):
    arrays["model.layers.1.self_attn.o_proj.weight"][0, 0] = np.nan
    path = save(tmp_path / "m.safetensors", arrays)
    with pytest.raises(UserError, match=r"layers\.1\.self_attn\.o_proj.*not finite"):
        read_checkpoint(path, heads=2)
    assert len(read_checkpoint(path, heads=2, layers=[0]).heads) == 2


def test_a_folder_is_read_by_its_index_or_its_only_file(tmp_path, arrays):
    with pytest.raises(UserError, match=r"holds no \.safetensors file"):
        open_tensors(tmp_path)
    save(tmp_path / "some.safetensors", arrays)
    assert set(open_tensors(tmp_path).tensors) == set(arrays)
    save(tmp_path / "other.safetensors", {"a": np.ones(1)})
    with pytest.raises(UserError, match=r"2 \.safetensors files and no model"):
        open_tensors(tmp_path)
    save(tmp_path / "model.safetensors", {"b": np.ones(1)})
    assert set(open_tensors(tmp_path).tensors) == {"b"}


def test_an_index_that_lies_is_refused(tmp_path, arrays):
    names = list(arrays)
    shards = [{n: arrays[n] for n in part} for part in (names[:4], names[4:])]
    folder = save_shards(tmp_path, shards)
    index = folder / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    second = "model-00002-of-00002.safetensors"

    def says(weight_map) -> None:
        index.write_text(json.dumps({"weight_map": weight_map}))

    says(told["weight_map"] | {names[0]: second})
    with pytest.raises(UserError, match=r"looks for .* which has none"):
        open_tensors(folder)
    says(told["weight_map"] | {names[0]: "../model.safetensors"})
    with pytest.raises(UserError, match="not a file beside it"):
        open_tensors(folder)
    says({names[0]: 3})
    with pytest.raises(UserError, match="no weight_map"):
        open_tensors(folder)
    says(told["weight_map"])
    assert set(open_tensors(folder).tensors) == set(arrays)
    assert open_tensors(folder / second).partial
    shutil.move(folder / second, folder / "elsewhere")
    with pytest.raises(UserError, match=f"names '{second}', which is not there"):
        open_tensors(folder)
