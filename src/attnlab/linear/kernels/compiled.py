"""Compiles C++ and CUDA sources on the machine that runs them, and keeps the result.

Compiled libraries are kept in the user's cache folder, under a hash of everything that they depend
on: the sources, the command, the version of jaxlib, and what the caller adds.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

import jax
import jaxlib.version

from attnlab.errors import UserError
from attnlab.files import cache_folder


def library(folder: Path, source: str, command: tuple[str, ...], depends_on: str = "") -> Path:
    """The shared library of a source, compiled unless it was before.

    Parameters
    ----------
    folder, source
        The folder of the sources, and the one that is compiled.
    command
        The compiler with its options.
    depends_on
        What else the library depends on, such as the instruction sets of the processor.
    """
    texts = [path.read_bytes() for path in sorted(folder.glob("*.[ch]*"))]
    options = "\0".join([source, *command, jaxlib.version.__version__, depends_on]).encode()
    digest = hashlib.sha256(b"\0".join([options, *texts])).hexdigest()[:32]
    cache = cache_folder()
    found = cache / f"{digest}.so"
    if found.exists():
        return found
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        new = Path(temporary) / "new.so"
        run([*command, "-I", jax.ffi.include_dir(), str(folder / source), "-o", str(new)], source)
        new.replace(found)
    return found


def run(command: list[str], source: str) -> str:
    """What a compiler printed; its last line of complaint is the error."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise UserError(f"The kernels need the compiler {command[0]}: {error}.") from None
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise UserError(f"{command[0]} could not compile {source}: {last}")
    return done.stdout
