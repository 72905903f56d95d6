"""Bundles: results move between machines as one file, and only whole ones get in."""

import gzip
import io
import json
import shutil
import tarfile

import pytest
from rich.console import Console

from attnlab.errors import UserError
from attnlab.lab.bundle import HEADER, Moved, export_bundle, import_bundle, read_bundle
from attnlab.lab.engine import InProcess
from attnlab.lab.part import digest
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
    assert import_bundle(other, read_bundle(bundle)) == Moved(32, 0)
    assert files(other) == files(filled)
    assert import_bundle(other, read_bundle(bundle)) == Moved(32, 32)
    assert look_up(toy_plan, Store(other.root)).from_store == 32


def test_the_same_store_gives_the_same_bundle(filled, bundle, tmp_path):
    export_bundle(filled, tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == bundle.read_bytes()


def test_results_of_two_machines_come_together(filled, bundle, toy_plan, tmp_path):
    half = Store(shutil.copytree(filled.root, tmp_path / "half"))
    for path in half.parts("toy_square")[:20]:
        path.unlink()
    half = Store(half.root)
    assert import_bundle(half, read_bundle(bundle)) == Moved(32, 12)
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
        case "no Parquet file":
            del found[part]
            data = b"this is no part"
            found[f"parts/toy_square/{'0' * 32}-{digest(data)}.parquet"] = data
        case "the part of another cell":
            folder, _, name = part.rpartition("/")
            found[f"{folder}/{'0' * 32}-{name.partition('-')[2]}"] = found.pop(part)
        case "no run log":
            found[next(name for name in found if name.startswith("runs/"))] = b"garbage\n"
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
        ("no Parquet file", "is no part, or answers another question"),
        ("the part of another cell", "is no part, or answers another question"),
        ("no run log", "is no run log"),
        ("no header", "is not a bundle of attnlab"),
        ("another format", "format 99; this version of attnlab reads format 1"),
        ("a foreign file", "it holds 'notes.txt'"),
        ("a way out", "it holds 'parts/"),
        ("an absolute path", "it holds '/tmp/evil.parquet'"),
    ],
)
def test_a_foreign_or_damaged_bundle_is_refused(bundle, tmp_path, kind, said):
    with pytest.raises(UserError, match=said):
        read_bundle(pack(tmp_path / "bad.tar.gz", changed(bundle, kind)))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_bundle_is_refused(bundle, tmp_path, share):
    data = bundle.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(data[: int(share * len(data))])
    with pytest.raises(UserError, match=r"truncated|not a bundle"):
        read_bundle(tmp_path / "cut.tar.gz")


def test_results_of_ones_own_are_kept_where_a_bundle_has_others(filled, bundle, tmp_path):
    own = Store(shutil.copytree(filled.root, tmp_path / "own"))
    path = own.parts("toy_square")[0]
    key = path.name.partition("-")[0]
    data = path.read_bytes()
    other = data.replace(b"toy_square", b"toy_squarE")  # bytes that another machine might have
    path.unlink()
    kept = path.with_name(f"{key}-{digest(other)}.parquet")
    kept.write_bytes(other)
    before = files(own)
    assert import_bundle(Store(own.root), read_bundle(bundle)) == Moved(32, 31, 1)
    assert files(own) == before


def test_an_export_overwrites_nothing(filled, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UserError, match=r"precious.txt exists already"):
        export_bundle(filled, tmp_path / "precious.txt")
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_an_empty_store_has_nothing_to_export(tmp_path):
    with pytest.raises(UserError, match="has no results to export"):
        export_bundle(Store(tmp_path / "store"), tmp_path / "out.tar.gz")
    assert not (tmp_path / "out.tar.gz").exists()
