"""Composition scores against the d x d matrices, and planted links found."""

import numpy as np
import pytest

from attnlab.checkpoints.composition import KINDS, composition, strongest
from tests.checkpoints.checkpoint_files import Heads, arrays_of, orthonormal, save

D, R = 12, 3


def random_layers(rng, number=3, heads=4, shared=2) -> list[Heads]:
    return [
        Heads(
            *rng.standard_normal((1, heads, D, R)),
            *rng.standard_normal((2, shared, D, R)),
            *rng.standard_normal((1, heads, D, R)),
        )
        for _ in range(number)
    ]


def test_scores_are_those_of_the_d_by_d_matrices(tmp_path, seed):
    layers = random_layers(np.random.default_rng(seed))
    path = save(tmp_path / "m.safetensors", arrays_of("LLaMA", layers), "F64")
    pairs = composition(path, heads=4)
    assert [(pair.earlier, pair.later) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    for pair in pairs:
        for later in range(4):
            A, W = layers[pair.later].query_key(later), layers[pair.later].value_output(later).T
            for earlier in range(4):
                B = layers[pair.earlier].value_output(earlier).T  # x -> O V^T x
                products = {"Q": (A, B.T @ A), "K": (A, A @ B), "V": (W, W @ B)}
                for kind, (own, product) in products.items():
                    expected = np.linalg.norm(product) / np.linalg.norm(own) / np.linalg.norm(B)
                    # The products are in float32.
                    assert pair.scores[kind][later, earlier] == pytest.approx(expected, rel=1e-4)


def test_a_planted_link_is_the_strongest_and_a_random_pair_scores_one_over_sqrt_d(tmp_path, seed):
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, 2, heads=4, shared=4)
    U = orthonormal(rng, D, R)
    layers[0].O[2] = U
    layers[1].K[1] = U  # head 1 of layer 1 reads as its key what head 2 of layer 0 writes
    path = save(tmp_path / "m.safetensors", arrays_of("LLaMA", layers), "F64")
    pairs = composition(path, heads=4)
    best = {link.kind: link for link in reversed(strongest(pairs))}
    assert (best["K"].earlier, best["K"].later) == ((0, 2), (1, 1))
    assert best["K"].times_random == pytest.approx(best["K"].score * np.sqrt(D))
    (pair,) = pairs
    squares = np.concatenate([pair.scores[kind].ravel() ** 2 for kind in ("Q", "V")])
    # 32 scores whose squares have mean 1 / d and vary by less than their mean.
    assert squares.mean() == pytest.approx(1 / D, rel=4.5 / np.sqrt(len(squares)))


def test_the_strongest_are_sorted_within_each_kind(tmp_path, seed):
    layers = random_layers(np.random.default_rng(seed))
    path = save(tmp_path / "m.safetensors", arrays_of("LLaMA", layers), "F64")
    links = strongest(composition(path, heads=4), 5)
    assert [link.kind for link in links] == [kind for kind in KINDS for _ in range(5)]
    for kind in KINDS:
        scores = [link.score for link in links if link.kind == kind]
        assert scores == sorted(scores, reverse=True)
