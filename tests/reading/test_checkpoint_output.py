import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from checkpoint_files import Heads, arrays_of, planted, save
from rich.console import Console

from attnlab.reading.checkpoint import CheckpointReading, read_checkpoint
from attnlab.reading.checkpoint_figures import NamedChart, checkpoint_figures
from attnlab.reading.checkpoint_tables import print_checkpoint, spread, summary
from attnlab.report import theme

RANKS = [1, 2, 3, 3]


@pytest.fixture(scope="module")
def reading(tmp_path_factory, seed) -> CheckpointReading:
    rng = np.random.default_rng(seed)
    layers = [planted(rng, 12, 3, RANKS) for _ in range(3)]
    layers[1].Q[0] = 0
    layers[2].Q[1] = layers[2].K[1]  # the angle of this head is the least
    path = tmp_path_factory.mktemp("checkpoint") / "m.safetensors"
    return read_checkpoint(save(path, arrays_of("GPT-NeoX", layers)), heads=4)


def printed(reading: CheckpointReading, width: int) -> str:
    buffer = io.StringIO()
    print_checkpoint(reading, Console(file=buffer, width=width))
    return buffer.getvalue()


def data_of(named: NamedChart) -> list[dict[str, Any]]:
    """What the first panel draws, wherever Altair puts it."""
    spec = named.chart.to_dict()
    data = spec["hconcat"][0]["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.mark.parametrize("width", [80, 160])
def test_the_tables_have_a_row_a_layer_and_fit(reading, width):
    told = printed(reading, width)
    lines = told.splitlines()[1:]  # the first is the path, which is never cut
    assert max(map(len, lines)) <= width
    assert "GPT-NeoX: gpt_neox.layers.{layer} (F32, out_in), 3 of 3 layers, 12 heads" in told
    assert "this file" in told
    assert "Qwen2.5-7B" in told
    first = next(line.split() for line in lines if line.split()[:1] == ["0"])
    assert first[:3] == ["0", "2", "(1–3)"]
    assert ("norm" in told.split("V O")[0].split("Q K^T")[1].splitlines()[1]) == (width == 160)


def test_the_summary_tells_the_nearest_head_and_what_was_left_out(reading):
    told = " ".join(summary(reading))
    assert "7 of 12 heads have a Q K^T of the full rank" in told
    assert "layer 2 head 1, 60.0 degrees" in told
    assert "1 form Q K^T of zero" in told
    assert "biases, rotary embedding (usual for GPT-NeoX" in told


def test_spread_is_the_median_with_the_ends_where_they_differ():
    assert spread([1, 1, 1], "d") == "1"
    assert spread([3, 1, 2], "d") == "2 (1–3)"
    assert spread([None, 2.0], ".1f") == "2.0"
    assert spread([None], ".1f") == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_hold_every_head_in_the_project_s_look(reading, scheme):
    charts = {named.name: named for named in checkpoint_figures(reading, scheme)}
    layers = [f"singular-values-layer-{n}" for n in range(3)]
    assert list(charts) == ["entropy-rank", "stable-rank", "angle", *layers]
    for named in charts.values():
        spec = named.chart.to_dict()  # validated against the schema
        assert spec["config"]["font"] == theme.FONT
        assert spec["config"]["range"]["category"] == theme.PALETTE[scheme]
        assert named.title
        assert named.caption
    drawn = {(row["layer"], row["head"]): row["value"] for row in data_of(charts["angle"])}
    assert drawn == {(h.layer, h.head): h.query_key.angle for h in reading.heads}
    assert drawn[1, 0] is None
    spectra = data_of(charts["singular-values-layer-0"])
    assert {row["head"] for row in spectra} == {0, 1, 2, 3}


def test_a_figure_can_be_drawn(reading):
    import vl_convert

    (angle,) = [named for named in checkpoint_figures(reading) if named.name == "angle"]
    svg = vl_convert.vegalite_to_svg(angle.chart.to_dict())
    # Each cell describes itself; the head of zero has no angle and no cell.
    assert svg.count("layer: ") == 2 * len(reading.heads) - 1


def test_many_heads_become_a_ramp_of_colours(tmp_path, seed):
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((4, 10, 20, 2))
    path = save(tmp_path / "m.safetensors", arrays_of("timm", [Heads(*parts)]))
    *_, spectra = checkpoint_figures(read_checkpoint(path, heads=10))
    assert spectra.chart.to_dict()["hconcat"][0]["encoding"]["color"]["type"] == "quantitative"


def test_reading_needs_neither_rich_nor_altair():
    code = (
        "import attnlab.reading.checkpoint, sys; "
        "print([m for m in ('rich', 'altair', 'attnlab.report') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
