"""The numbers of AXIS matrices: every bit is kept, and what is not AXIS stays whole."""

import numpy as np
import pytest

from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.weights.axis_numbers import matrices_of, numbers_of
from attnlab.linear.weights.shipped import shipped, write_shipped


@pytest.mark.parametrize("axes", [1, 2])
def test_matrices_of_the_family_are_kept_bit_by_bit_as_their_numbers(axes, seed):
    rng = np.random.default_rng(seed)
    blocks, rest = rng.standard_normal((2, 3, axes + 1, axes + 1)), rng.standard_normal((2, 3))
    network = AxisWeights(blocks[0], rest[0], blocks[1], rest[1]).full(10)
    for matrices in map(np.asarray, (network.P, network.Q)):
        numbers = numbers_of(matrices)
        assert numbers.shape == (3, (axes + 1) ** 2 + 1)
        assert matrices_of(numbers, 11).tobytes() == matrices.tobytes()


def test_other_matrices_stay_whole(seed):
    matrices = np.random.default_rng(seed).standard_normal((2, 1, 4, 4))
    assert numbers_of(matrices) is matrices
    assert matrices_of(matrices, 4) is matrices


def test_a_zero_keeps_its_sign():
    plain = np.zeros((1, 1, 11, 11))
    plain[0, 0, range(11), range(11)] = [3.0, *[-2.0] * 9, 1.0]
    signed = plain.copy()
    signed[0, 0, 1:10] = np.where(signed[0, 0, 1:10] == 0, -0.0, signed[0, 0, 1:10])
    for matrices in (plain, signed):
        numbers = numbers_of(matrices)
        assert matrices_of(numbers, 11).tobytes() == matrices.tobytes()
    assert numbers_of(signed).shape == (1, 5)
    assert numbers_of(plain).shape == (1, 1, 11, 11)


def test_a_file_keeps_networks_of_the_family(tmp_path, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.standard_normal((2, 3, 2, 2))
    network = AxisWeights(p, rng.standard_normal(3), q, rng.standard_normal(3)).full(10)
    given = {f"uniform:5/0/3/{name}": np.asarray(part) for name, part in vars(network).items()}
    write_shipped(tmp_path / "file", given, {"losses": {"uniform:5/0/3": [0.1, 0.01, 1.0]}})
    held = shipped(tmp_path / "file")
    assert {name: held.tensors[name].shape for name in held.tensors} == dict.fromkeys(given, (3, 5))
    for name, matrices in given.items():
        np.testing.assert_array_equal(held.matrices(name), matrices)
