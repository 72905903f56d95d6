import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from attnlab.checkpoints.figures import FEW, checkpoint_figures, pictures
from attnlab.checkpoints.reader import Options, reader
from attnlab.checkpoints.reading import CheckpointReading, read_checkpoint
from attnlab.checkpoints.tables import spread, summary, tables
from attnlab.drawing import theme
from attnlab.report.terminal import print_reading
from tests.checkpoints.checkpoint_files import Heads, arrays_of, planted, save

RANKS = [1, 2, 3, 3]


@pytest.fixture(scope="module")
def reading(tmp_path_factory, seed) -> CheckpointReading:
    rng = np.random.default_rng(seed)
    layers = [planted(rng, 12, 3, RANKS) for _ in range(3)]
    layers[1].Q[0] = 0
    layers[2].Q[1] = layers[2].K[1]  # the angle of this head is the least
    path = tmp_path_factory.mktemp("checkpoint") / "m.safetensors"
    return read_checkpoint(save(path, arrays_of("GPT-NeoX", layers)), heads=4)


def printed(reading: CheckpointReading, width: int, terminal: bool = True) -> str:
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, force_terminal=terminal, color_system=None)
    print_reading(reader.read(Path(reading.path), Options(heads=4)), reading.path, console)
    return buffer.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_tables_have_a_row_a_layer_and_fit(reading, width):
    told = printed(reading, width)
    lines = told.splitlines()[1:]  # the first is the path, which is never cut
    assert max(map(len, lines)) <= width
    assert "GPT-NeoX: gpt_neox.layers.{layer} (F32, out_in), 3 of 3 layers, 12 heads." in told
    assert "this file" in told
    assert "Qwen2.5-7B" in told
    first = next(line.split() for line in lines if line.split()[:1] == ["0"])
    assert first[:3] == ["0", "2", "(1–3)"]
    assert any(line.split()[-2:] == ["norm", "c"] for line in lines) == (width == 160)


def test_a_pipe_gets_every_column_and_whole_sentences(reading):
    lines = printed(reading, 40, terminal=False).splitlines()
    assert any(line.split()[-2:] == ["norm", "c"] for line in lines)
    assert all(sentence in lines for sentence in summary(reading))


def test_the_file_stands_before_the_models_it_is_compared_with(reading):
    sizes, *forms = tables(reading)
    assert sizes.own == 1
    assert sizes.rows[0] == ("this file", "12", "4", "3", "4", "1", "60.0")
    assert [len(table.rows) for table in forms] == [3 + 1, 3 + 1]


def test_a_random_head_of_the_shape_stands_below_the_layers(reading):
    for table, random in zip(tables(reading)[1:], reading.random(0), strict=True):
        row = dict(zip(table.columns, table.rows[-1], strict=True))
        assert row["layer"] == "random"
        assert row["rank"] == "3"
        assert row["entropy"].startswith(f"{random.entropy_rank.median:.1f} (")
    told = " ".join(summary(reading))
    assert "Outside the central 95% of random heads of the same shape" in told
    assert "of random heads it would be about 0.55 each" in told


def test_the_summary_of_random_heads_finds_about_as_many_as_chance(tmp_path, seed):
    rng = np.random.default_rng(seed)
    layers = [Heads(*rng.standard_normal((4, 8, 32, 4))) for _ in range(25)]
    path = save(tmp_path / "m.safetensors", arrays_of("timm", layers), "F64")
    reading = read_checkpoint(path, heads=8)
    (line,) = [each for each in summary(reading) if each.startswith("Outside")]
    outside = int(line.split("): ")[1].split()[0])
    # Binomial with 200 heads and a level of 5 % that is itself estimated from draws.
    assert outside < 10 + 4.5 * np.sqrt(2 * 200 * 0.05 * 0.95)


def test_the_summary_tells_the_nearest_head_and_what_was_left_out(reading):
    told = " ".join(summary(reading))
    assert "7 of 12 heads have a Q K^T of the largest rank that the architecture allows" in told
    assert "3 by the rank r of a head" in told
    assert "layer 2 head 1, 60.0 degrees" in told
    assert "1 form Q K^T of zero" in told
    assert "biases, rotary embedding (usual for GPT-NeoX" in told


def test_spread_is_the_median_with_the_ends_where_they_differ():
    assert spread([1, 1, 1], "d") == "1"
    assert spread([3, 1, 2], "d") == "2 (1–3)"
    assert spread([None, 2.0], ".1f") == "2.0"
    assert spread([None], ".1f") == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_charts_in_the_project_s_look(reading, scheme):
    charts = {named.name: named for named in checkpoint_figures(reading, scheme)}
    layers = [f"singular-values-layer-{n}" for n in range(3)]
    maps = ["entropy-rank", "stable-rank", "angle"]
    assert list(charts) == [*maps, "singular-values", *layers]
    for named in charts.values():
        spec = named.chart.to_dict()  # validated against the schema
        assert spec["config"]["font"] == theme.FONT
        assert spec["config"]["range"]["category"] == theme.PALETTE[scheme]
        assert named.title
        assert named.caption


def test_pictures_hold_every_head(reading):
    found = {picture.id: picture for picture in pictures(reading)}
    drawn = {(row["form"], row["layer"], row["head"]): row["value"] for row in found["angle"].rows}
    heads = {("Q K^T", h.layer, h.head): h.query_key.angle for h in reading.heads}
    assert drawn == heads | {("V O", h.layer, h.head): h.value_output.angle for h in reading.heads}
    assert drawn["Q K^T", 1, 0] is None
    spectra = found["singular-values-layer-0"].rows
    assert {(row["form"], row["head"]) for row in spectra} == {
        (form, head) for form in ("Q K^T", "V O") for head in range(4)
    }


def test_the_line_of_a_layer_is_the_median_of_its_heads(reading):
    (picture,) = [each for each in pictures(reading) if each.id == "singular-values"]
    values = np.array([head.query_key.singular_values for head in reading.layer(0)])
    drawn = [r["value"] for r in picture.rows if (r["form"], r["layer"]) == ("Q K^T", 0)]
    medians = np.median(values, 0)
    np.testing.assert_array_equal(drawn, medians[medians > 1e-12 * medians[0]])


def test_a_figure_can_be_drawn(reading):
    import vl_convert

    (angle,) = [named for named in checkpoint_figures(reading) if named.name == "angle"]
    svg = vl_convert.vegalite_to_svg(angle.chart.to_dict())
    # Each cell describes itself; the head of zero has no angle and no cell.
    assert svg.count("layer: ") == 2 * len(reading.heads) - 1


def test_many_heads_become_a_ramp_and_many_layers_one_figure(tmp_path, seed):
    rng = np.random.default_rng(seed)
    layers = [Heads(*rng.standard_normal((4, 10, 20, 2))) for _ in range(FEW + 1)]
    path = save(tmp_path / "m.safetensors", arrays_of("timm", layers))
    *_, last = checkpoint_figures(read_checkpoint(path, heads=10))
    assert last.name == "singular-values"
    assert "Read a few layers alone" in last.caption
    *_, spectra = checkpoint_figures(read_checkpoint(path, heads=10, layers=[2]))
    assert spectra.name == "singular-values-layer-2"
    assert spectra.chart.to_dict()["spec"]["encoding"]["color"]["type"] == "quantitative"


def test_reading_needs_neither_rich_nor_altair():
    code = (
        "import attnlab.checkpoints.reading, sys; "
        "print([m for m in ('rich', 'altair', 'attnlab.report') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
