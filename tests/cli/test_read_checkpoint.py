"""`attnlab read` on the checkpoints of other transformers: what it prints, writes and refuses."""

import json
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

D, HEADS, SHARED, R, LAYERS = 16, 4, 2, 4, 2


def llama(rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
    """A layer with key and value heads shared by two; head 3 of layer 1 has a Q K^T of rank 1."""
    sizes = {"q": HEADS, "k": SHARED, "v": SHARED, "o": HEADS}
    made = {role: rng.standard_normal((n * R, D)) for role, n in sizes.items()}
    if number == 1:
        rows = rng.integers(1, 8, R)[:, None] * rng.integers(1, 8, D)
        made["q"][3 * R :] = rows  # products of small integers are exact in bfloat16
    made["o"] = made["o"].T
    path = f"model.layers.{number}.self_attn"
    return {f"{path}.{role}_proj.weight": array for role, array in made.items()}


@pytest.fixture
def folder(tmp_path, seed):
    rng = np.random.default_rng(seed)
    stored = {
        name: np.ascontiguousarray(array.astype(ml_dtypes.bfloat16))
        for number in range(LAYERS)
        for name, array in llama(rng, number).items()
    }
    save_file(stored, tmp_path / "llama.safetensors", {"format": "pt"})
    whole = (tmp_path / "llama.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[:-9])

    sharded = tmp_path / "sharded"
    sharded.mkdir()
    index = {}
    for number in range(LAYERS):
        part = {name: array for name, array in stored.items() if f".{number}." in name}
        file = f"model-{number + 1:05}-of-{LAYERS:05}.safetensors"
        save_file(part, sharded / file)
        index |= dict.fromkeys(part, file)
    (sharded / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (sharded / "config.json").write_text(
        json.dumps({"hidden_size": D, "num_attention_heads": HEADS})
    )

    mine = {f"blocks.{n}.w{role}": rng.standard_normal((8, 8)) for n in (0, 1) for role in "qkvo"}
    save_file(mine, tmp_path / "mine.safetensors")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_the_command_reads_shared_heads_in_bfloat16_and_writes_a_page(attnlab, folder):
    ended = attnlab("read", "llama.safetensors", "--heads", HEADS, "--figures", "page")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[:2] == [
        "llama.safetensors",
        "LLaMA: model.layers.{layer} (BF16, out_in), 2 of 2 layers, 8 heads.",
    ]
    assert any(line.split()[:6] == ["this", "file", "16", "4", "4", "2"] for line in lines)
    assert any("rotary embedding (usual for LLaMA" in line for line in lines)
    assert lines[-1] == "Figures: page/index.html"
    page = (folder / "page" / "index.html").read_text()
    names = ("entropy-rank", "stable-rank", "angle", "singular-values", "singular-values-layer-1")
    for name in names:
        assert f'src="figures/reading-{name}.svg"' in page
        assert (folder / "page/figures" / f"reading-{name}.svg").read_text().startswith("<svg")
    assert "Q K^T, how a key is scored against a query" in page
    assert "http" not in page.split("<script type")[0]


def test_a_folder_of_shards_is_json_of_every_head(main, folder):
    ended = main("read", "sharded", "--json")
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    assert document["file"] == "sharded"
    assert document["naming"]["scheme"] == "LLaMA"
    assert [(row["layer"], row["head"]) for row in document["heads"]] == [
        (layer, head) for layer in range(LAYERS) for head in range(HEADS)
    ]
    assert [row["key_value_head"] for row in document["heads"]] == [0, 0, 1, 1] * 2
    ranks = [row["query_key_rank"] for row in document["heads"]]
    assert ranks[-1] == 1
    assert min(ranks[:-1]) > 1
    one = json.loads(main("read", "llama.safetensors", "--kv-heads", "2", "--json").out)
    assert one["heads"] == document["heads"]


def test_names_can_be_mapped_and_layers_picked(main, folder):
    roles = [f"{role}=blocks.{{layer}}.w{role}" for role in "qkvo"]
    options = ("--map", *roles, "layout=in_out", "--layers", "1", "--heads", "2", "--json")
    ended = main("read", "mine.safetensors", *options)
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    assert document["naming"]["layout"] == "in_out"
    assert [(row["layer"], row["r"]) for row in document["heads"]] == [(1, 4), (1, 4)]


def test_several_checkpoints_are_a_series_with_figures(main, folder):
    for step in (10, 9):
        (folder / f"step-{step}.safetensors").write_bytes(
            (folder / "llama.safetensors").read_bytes()
        )
    options = ("--heads", str(HEADS), "--figures", "training", "--json")
    ended = main("read", "step-10.safetensors", "step-9.safetensors", *options)
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["files"] == ["step-9.safetensors", "step-10.safetensors"]
    page = (folder / "training" / "index.html").read_text()
    assert 'src="figures/reading-training-entropy-rank.svg"' in page


def test_composition_between_layers_is_read_where_it_is_asked_for(main, folder):
    ended = main("read", "llama.safetensors", "--heads", str(HEADS), "--composition", "--json")
    assert (ended.code, ended.err) == (0, "")
    (pair,) = json.loads(ended.out)["composition"]
    assert (pair["earlier"], pair["later"], pair["random"]) == (0, 1, D**-0.5)
    assert all(np.shape(pair[kind]) == (HEADS, HEADS) for kind in "QKV")
    ended = main("read", "llama.safetensors", "--heads", str(HEADS), "--composition")
    assert "Composition, the strongest links" in ended.out
    assert "composition" not in json.loads(
        main("read", "llama.safetensors", "--heads", str(HEADS), "--json").out
    )


MISTAKES = {
    "read llama.safetensors": ("heads must be given (--heads N)",),
    "read llama.safetensors --heads 3": ("heads must cut layer 0", "got 3 (given)"),
    "read llama.safetensors --heads 0": ("heads must be an integer of at least 1, got 0",),
    "read llama.safetensors --heads many": ("--heads must be an integer, got 'many'",),
    "read llama.safetensors --heads 4 --kv-heads 4": ("--kv-heads) must be 2 in layer 0",),
    "read llama.safetensors --heads 4 --layers 7": ("layers must be among 0, 1, got [7]",),
    "read llama.safetensors --heads 4 --stack vision": ("'model.layers.{layer}'", "'vision'"),
    "read llama.safetensors --noise fixed:1": ("--noise says nothing about", "a checkpoint"),
    "read llama.safetensors --samples 7": ("--samples says nothing about llama.safetensors",),
    "read llama.safetensors --heads 4 --figures sharded": ("something other than a report",),
    "read mine.safetensors --heads 2": ("blocks.*.wq (8, 8)", "--map q=blocks.{layer}.wq.weight"),
    "read mine.safetensors --heads 2 --map q": ("ROLE=NAME", "'q'"),
    "read cut.safetensors --heads 4": ("cut.safetensors is not a whole", "truncated"),
    "read empty": ("The folder empty holds no .safetensors file.",),
    "read nowhere": ("There is no file: nowhere",),
}


@pytest.mark.parametrize("typed", MISTAKES)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence_and_changes_nothing(refused, typed):
    refused(typed, MISTAKES[typed])


def test_reading_a_checkpoint_needs_no_jax(folder):
    program = (
        "import sys\nfrom attnlab.cli.main import main\n"
        "sys.argv = ['attnlab', 'read', 'llama.safetensors', '--heads', '4', '--json']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print([m for m in ('jax', 'equinox', 'altair', 'duckdb') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=True
    )
    assert run.stdout.splitlines()[-1] == "[]"
