"""Several checkpoints of one model: ranks over training."""

from pathlib import Path

import numpy as np
import pytest

from attnlab.checkpoints.reader import Options, reader
from attnlab.checkpoints.series import order
from attnlab.errors import UserError
from tests.checkpoints.checkpoint_files import arrays_of, planted, save

RANKS = {1000: 3, 200: 2, 30: 1}  # what the heads have at each step


@pytest.fixture
def folders(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for step, rank in RANKS.items():
        folder = tmp_path / f"step-{step}"
        folder.mkdir()
        layers = [planted(rng, 12, 3, [rank] * 4) for _ in range(2)]
        save(folder / "model.safetensors", arrays_of("LLaMA", layers), "F64")
    return [tmp_path / f"step-{step}" for step in RANKS]


def test_checkpoints_are_in_the_order_of_their_numbers_as_numbers():
    paths = [Path(name) for name in ("step-1000", "step-200", "step-30")]
    steps, ordered, named = order(paths)
    assert (steps, named) == ([30, 200, 1000], True)
    assert [path.name for path in ordered] == ["step-30", "step-200", "step-1000"]
    for names in (("a", "b"), ("v2-a", "v2-b"), ("step-1", "last")):
        given = [Path(name) for name in names]
        assert order(given) == ([0, 1], given, False)


def test_ranks_over_training_are_rows_a_table_and_figures(folders):
    seen = []
    reading = reader.read_series(folders, Options(heads=4), lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert reading.document["steps"] == [30, 200, 1000]
    found = {
        row["step"]: row["rank"]
        for row in reading.document["layers"]
        if (row["layer"], row["form"]) == (1, "Q K^T")
    }
    assert found == RANKS
    (table,) = reading.tables(True)
    assert [row[:2] for row in table.rows] == [("30", "1"), ("200", "2"), ("1000", "3")]
    assert any(
        "entropy rank of Q K^T is 1.00 at 30 and 3.00 at 1000" in s for s in reading.sentences
    )
    pictures = {picture.id: picture for picture in reading.pictures()}
    assert set(pictures) == {"training-entropy-rank", "training-stable-rank", "training-angle"}
    for picture in pictures.values():
        picture.draw(picture.rows).to_dict()  # validated against the schema
    drawn = pictures["training-entropy-rank"].rows
    assert len(drawn) == 3 * 2 * 2


def test_checkpoints_of_two_models_are_no_series(folders, tmp_path, seed):
    other = tmp_path / "step-5"
    other.mkdir()
    heads = planted(np.random.default_rng(seed), 12, 3, [3] * 4)
    save(other / "model.safetensors", arrays_of("OPT", [heads]), "F64")
    with pytest.raises(UserError, match="checkpoints of one model"):
        reader.read_series([*folders, other], Options(heads=4))
    with pytest.raises(UserError, match="--composition is of one checkpoint"):
        reader.read_series(folders, Options(heads=4, composition=True))
