"""The reader of linear transformers for `attnlab read`: options in, a reading for people out.

The network is read on the problem that it was trained on, which its file names, unless the options
say otherwise. JAX is imported when a file is read, not when the command line is set up.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.lab.reader import Progress, Reading
from attnlab.lab.study import check_seed

if TYPE_CHECKING:
    from attnlab.linear.noise import NoiseLaw
    from attnlab.linear.problem import NoisyRegression


class ReadingWarning(UserWarning):
    """A network is read outside of what it was trained on."""


@dataclass(frozen=True)
class Options:
    """What can be said about reading a linear transformer."""

    noise: Annotated[str | None, arg(metavar="LAW")] = None
    """Law of the noise level: uniform:HIGH, categorical:LEVEL,... or fixed:SIGMA."""
    n: Annotated[int | None, arg(metavar="N")] = None
    """Number of context tokens."""
    d: Annotated[int | None, arg(metavar="D")] = None
    """Number of inputs."""
    samples: Annotated[int, arg(metavar="N")] = 4096
    """Sequences at every noise level."""
    seed: int = 0
    """Seed of every random draw."""
    export: Annotated[Path | None, arg(metavar="FILE.py")] = None
    """Write the network as a Python file that needs NumPy only."""


class LinearReader:
    """Reads what every layer of a linear transformer does, and how good the network is."""

    kind = "a linear transformer of attnlab"
    options = Options

    def recognise(self, path: Path) -> Path | None:
        """The file, if it or the folder's only one holds a linear transformer."""
        from attnlab.linear.models.file_headers import FORMAT, is_linear, read_header
        from attnlab.tensor_files import open_tensors

        if path.name.endswith(".index.json"):
            return None
        if path.is_dir():
            opened = open_tensors(path)
            if opened.metadata.get("format") != FORMAT:
                return None
            path = opened.path
        return path if is_linear(read_header(path)) else None

    def read(self, path: Path, options: Options, progress: Progress | None = None) -> Reading:
        """Read a network on its problem; with `export`, also write it as a Python file."""
        import jax

        from attnlab.linear.models import files
        from attnlab.linear.reading import export
        from attnlab.linear.reading.algorithm import read_linear
        from attnlab.linear.reading.contexts import units_of
        from attnlab.linear.reading.figures import pictures
        from attnlab.linear.reading.tables import tables
        from attnlab.linear.reading.words import sentences

        del progress
        with jax.enable_x64(True):
            samples = arguments.integer("--samples", options.samples, 2)
            seed = check_seed(options.seed)
            weights, about = files.load_linear(path, float)
            problem = problem_of(path, options, files.size_of(weights), about)
            written = []
            if options.export is not None:
                export.export_numpy(weights, options.export, about)
                written.append(f"Export: {options.export}")
            units = units_of(about)
            key = jax.random.key(seed)
            found = read_linear(weights, problem, key=key, samples=samples, units=units)
            lines = list(sentences(found))
            if units is not None:
                lines.append(
                    "Contexts are scaled to the network's units before it sees them: the largest "
                    f"eigenvalue of Sigma is {units.largest_eigenvalue:.4g}, the labels' sum of "
                    f"squares {units.label_square_sum:.4g}; its answers are scaled back."
                )
            if (loss := about.get("loss")) is not None:
                loss = f"{loss:.4g}" if isinstance(loss, float) else loss
                lines.append(f"The file says that it was trained to the loss {loss}.")
            document = {"file": str(path), "about": about, **found.as_dict()}
            shown = list(tables(found))
        return Reading(
            title=path.name,
            sentences=lines,
            tables=lambda wide: shown,
            pictures=lambda: pictures(found),
            document=document,
            written=written,
        )


reader = LinearReader()


def problem_of(
    path: Path, options: Options, own: int | None, about: dict[str, Any]
) -> NoisyRegression:
    """d, n and the noise law from the options, or else from the file.

    `own` is the d of the weights, None where they fit every d.
    """
    from attnlab.linear.problem import NoisyRegression

    if own is not None and options.d is not None and options.d != own:
        raise UserError(f"--d must be that of the weights of {path}, {own}, got {options.d}.")
    sizes: dict[str, int] = {}
    for name, given in (("d", options.d), ("n", options.n)):
        trained = about.get(name) if name == "n" or own is None else own
        wanted = trained if given is None else arguments.integer(f"--{name}", given, 1)
        if wanted is None:
            raise UserError(f"{path} does not say its {name}; give --{name} N.")
        if trained is not None and wanted != trained:
            warnings.warn(
                f"{name} = {wanted} is not what the network was trained on, {trained}.",
                ReadingWarning,
                stacklevel=2,
            )
        sizes[name] = wanted
    return NoisyRegression(sizes["d"], sizes["n"], _noise(path, options, about))


def _noise(path: Path, options: Options, about: dict[str, Any]) -> NoiseLaw:
    from attnlab.linear.noise import parse_noise
    from attnlab.linear.reading.contexts import noise_range

    trained = about.get("noise")
    if options.noise is None:
        if trained is None:
            raise UserError(f"{path} does not say its noise law; give --noise LAW.")
        try:
            return parse_noise(str(trained))
        except UserError as reason:
            raise UserError(
                f"{path} names the noise law {trained!r}, which is none of ours; give --noise LAW."
            ) from reason
    try:
        wanted = parse_noise(options.noise)
    except UserError as reason:
        raise UserError(f"--{reason}") from reason
    known = _trained_range(trained)
    low, high = noise_range(wanted)
    if known is not None and not known[0] <= low <= high <= known[1]:
        warnings.warn(
            f"noise {wanted.name} reaches outside of {trained}, which the network was trained on.",
            ReadingWarning,
            stacklevel=2,
        )
    return wanted


def _trained_range(trained: Any) -> tuple[float, float] | None:
    from attnlab.linear.noise import parse_noise
    from attnlab.linear.reading.contexts import noise_range

    if not isinstance(trained, str):
        return None
    try:
        return noise_range(parse_noise(trained))
    except UserError:
        return None
