"""The census of a library: which architectures take H = d/r heads."""

import pytest

from attnlab.rank.theory.architectures import attention_shapes

# From the documentation of these architectures, not from the census: d, H and r.
KNOWN = {
    "bert": (768, 12, 64),
    "gpt2": (768, 12, 64),
    "llama": (4096, 32, 128),
    "falcon": (4544, 71, 64),
    "gemma": (3072, 16, 256),
    "mt5": (512, 6, 64),
    "reformer": (256, 12, 64),
}


def test_known_architectures_have_the_sizes_of_their_documentation():
    for name, sizes in KNOWN.items():
        found = {(s.d, s.heads, s.rank) for s in attention_shapes() if s.architecture == name}
        assert found == {sizes}


def test_every_shape_is_possible_and_stands_once():
    shapes = attention_shapes()
    assert len(set(shapes)) == len(shapes)
    assert [s.architecture for s in shapes] == sorted(s.architecture for s in shapes)
    for shape in shapes:
        assert min(shape.d, shape.heads, shape.keys, shape.layers) > 0
        assert shape.heads * shape.rank == pytest.approx(shape.keys)
        assert shape.share == pytest.approx(shape.keys / shape.d)
