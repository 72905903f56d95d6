"""What runs on an accelerator while a function does, by JAX's profiler; the benchmarks share it."""

import glob
import tempfile
from collections.abc import Callable

import jax


def profile(function: Callable[[], object]) -> list[tuple[str, float]]:
    """(name, seconds) of what ran on the accelerator, in order."""
    folder, found = tempfile.mkdtemp(), []
    with jax.profiler.trace(folder):
        function()
    for file in glob.glob(f"{folder}/**/*.xplane.pb", recursive=True):
        for plane in jax.profiler.ProfileData.from_file(file).planes:
            if plane.name.startswith("/device:GPU"):
                for stream in plane.lines:
                    if "Stream" in stream.name:
                        found += [(e.start_ns, e.name, e.duration_ns) for e in stream.events]
    return [(name, spent * 1e-9) for _, name, spent in sorted(found)]
