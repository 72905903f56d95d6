"""Bundles: results move between machines as one file, and only whole ones get in."""

import gzip
import io
import json
import shutil
import tarfile

import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.bundle import HEADER, Moved, export_bundle, import_bundle
from attnlab.lab.engine import InProcess
from attnlab.lab.runner import look_up, run_plans
from attnlab.lab.store import Store


@pytest.fixture(scope="module")
def toy_plan():
    from attnlab.lab.catalog import load_study
    from tests.lab.command_line import STUDIES

    return load_study("toy", STUDIES).plan("quick", 0)


@pytest.fixture(scope="module")
def filled(toy_plan, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("bundle") / "store")
    run_plans([toy_plan], store, InProcess(), Console(quiet=True))
    return store


@pytest.fixture(scope="module")
def bundle(filled):
    file = filled.root.parent / "results.tar.gz"
    assert export_bundle(filled, file) == Moved(32)
    return file


def files(store):
    sections = ("parts", "weights", "runs")
    return {
        str(path.relative_to(store.root)): path.read_bytes()
        for section in sections
        for path in (store.root / section).rglob("*")
        if path.is_file()
    }


def test_what_was_exported_is_imported_byte_for_byte(filled, bundle, toy_plan, tmp_path):
    other = Store(tmp_path / "other")
    assert import_bundle(other, bundle) == Moved(32, 0)
    assert files(other) == files(filled)
    assert import_bundle(other, bundle) == Moved(32, 32)
    assert look_up(toy_plan, Store(other.root)).from_store == 32


def test_the_same_store_gives_the_same_bundle(filled, bundle, tmp_path):
    export_bundle(filled, tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == bundle.read_bytes()


def test_results_of_two_machines_come_together(filled, bundle, toy_plan, tmp_path):
    half = Store(shutil.copytree(filled.root, tmp_path / "half"))
    for path in half.parts("toy_square")[:20]:
        path.unlink()
    half = Store(half.root)
    assert import_bundle(half, bundle) == Moved(32, 12)
    assert files(half) == files(filled)


def members(bundle):
    with tarfile.open(bundle) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}


def pack(path, found):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in found.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    path.write_bytes(gzip.compress(buffer.getvalue()))
    return path


def changed(bundle, kind):
    found = members(bundle)
    part = next(name for name in found if name.startswith("parts/toy_square"))
    weights = next(name for name in found if name.startswith("weights/"))
    match kind:
        case "a flipped bit":
            found[part] = found[part][:50] + b"?" + found[part][51:]
        case "a missing part":
            del found[part]
        case "missing weights":
            del found[weights]
        case "no header":
            del found[HEADER]
        case "another format":
            found[HEADER] = json.dumps({"format": 99, "parts": 32}).encode()
        case "a foreign file":
            found["notes.txt"] = b"mine"
        case "a way out":
            found["parts/../../../evil.parquet"] = b"evil"
        case "an absolute path":
            found["/tmp/evil.parquet"] = b"evil"
    return found


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("a flipped bit", "the bytes of .* are not those its name promises"),
        ("a missing part", "truncated: it should hold 32 parts and has 31"),
        ("missing weights", "the weights of .* are missing"),
        ("no header", "is not a bundle of attnlab"),
        ("another format", "format 99; this version of attnlab reads format 1"),
        ("a foreign file", "it holds 'notes.txt'"),
        ("a way out", "it holds 'parts/"),
        ("an absolute path", "it holds '/tmp/evil.parquet'"),
    ],
)
def test_a_foreign_or_damaged_bundle_is_refused_and_changes_nothing(bundle, tmp_path, kind, said):
    store = Store(tmp_path / "store")
    with pytest.raises(UserError, match=said):
        import_bundle(store, pack(tmp_path / "bad.tar.gz", changed(bundle, kind)))
    assert files(store) == {}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_bundle_is_refused_and_changes_nothing(bundle, tmp_path, share):
    data = bundle.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(data[: int(share * len(data))])
    store = Store(tmp_path / "store")
    with pytest.raises(UserError, match=r"truncated|not a bundle"):
        import_bundle(store, tmp_path / "cut.tar.gz")
    assert files(store) == {}


def test_an_empty_store_has_nothing_to_export(tmp_path):
    with pytest.raises(UserError, match="has no results to export"):
        export_bundle(Store(tmp_path / "store"), tmp_path / "out.tar.gz")
    assert not (tmp_path / "out.tar.gz").exists()
