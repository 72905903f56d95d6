"""Finding networks by name, among those that studies ship and those that a store holds.

A name such as "linear/axis/uniform-5/7" is a shipped network; the key of a cell, or its beginning,
is what that cell stored, with a part of it after a slash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import UserError, did_you_mean
from attnlab.lab.network import NamedNetwork
from attnlab.lab.store import Store
from attnlab.lab.study import Study

KEY = re.compile(r"(?P<key>[0-9a-f]{4,32})(/(?P<part>.+))?")


@dataclass(frozen=True)
class StoredWeights:
    """The weights that a cell left in a store, and the networks that its study sees in them."""

    key: str
    kind: str
    path: Path
    networks: Sequence[NamedNetwork]


def shipped_networks(studies: Sequence[Study]) -> dict[str, NamedNetwork]:
    """Every shipped network by its name."""
    offers = [study.networks for study in studies if study.networks is not None]
    return {each.name: each for offer in offers for each in offer.shipped()}


def stored_weights(store: Store, studies: Sequence[Study]) -> list[StoredWeights]:
    """What every cell with weights left in a store."""
    from attnlab.tensor_files import read_header

    found = []
    for path in sorted((store.root / "weights").glob("*/*.safetensors")):
        try:
            tensors, metadata = read_header(path)
            question = json.loads(metadata["attnlab"])
            config = question["config"]
        except (OSError, UserError, KeyError, TypeError, ValueError):
            continue  # the store sets damaged files aside when it reads the part
        kind = path.parent.name
        networks: list[NamedNetwork] = []
        for study in studies:
            if study.networks is not None and any(each.name == kind for each in study.kinds):
                networks.extend(study.networks.stored(kind, config, tensors))
        found.append(StoredWeights(path.name.partition("-")[0], kind, path, networks))
    return found


def weights_of(store: Store, kind: str, key: str) -> Path | None:
    """The file with the weights of a cell, if it has any."""
    return next(iter(sorted((store.root / "weights" / kind).glob(f"{key}-*.safetensors"))), None)


def find_network(name: str, studies: Sequence[Study], store: Store | None) -> NamedNetwork:
    """The network of this name; an unknown name is the user's mistake."""
    known = shipped_networks(studies)
    if name in known:
        return known[name]
    asked = KEY.fullmatch(name)
    if asked and store is not None:
        fits = [
            each for each in stored_weights(store, studies) if each.key.startswith(asked["key"])
        ]
        if len(fits) > 1:
            raise UserError(
                f"{asked['key']!r} begins the keys of {len(fits)} cells with weights; give more "
                "of it. 'attnlab weights' lists them."
            )
        if fits:
            return _part(name, fits[0], asked["part"])
    where = f" or in the store {store.root}" if store is not None else ""
    raise UserError(
        f"There is no file: {name}; and no network of this name ships with the studies{where}; "
        f"{did_you_mean(name, known, 3)}'attnlab weights' lists them."
    )


def _part(name: str, found: StoredWeights, part: str | None) -> NamedNetwork:
    if not found.networks:
        raise UserError(
            f"The weights of {found.key} are those of a cell of kind {found.kind}, whose study "
            f"does not say how to read them; the file is {found.path}."
        )
    parts = {each.name: each for each in found.networks}
    if part is None:
        return found.networks[-1]
    if part not in parts:
        raise UserError(
            f"The cell {found.key} has no network {part!r}, asked for as {name!r}; "
            f"it has {', '.join(parts)}."
        )
    return parts[part]
