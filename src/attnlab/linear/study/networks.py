"""The names of the networks of this study, for `attnlab weights` and `attnlab read`.

Shipped are "linear/axis/<law>/<depth>", the best run, "linear/axis/<law>/<depth>/<run>", the same
for "linear/full" with the seeds of its starts, "linear/diag/<law>/<depth>", "linear/gd++/...", and
the regressor's "linear/regressor/d<d>-n<n>". A law is written with a dash: uniform-5. A training
cell stores one network per depth, one of FULL those of every start: "uniform-5/<start>", or
"uniform-5/<depth>/<start>" where they were grown.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.lab.study import NamedNetwork
from attnlab.linear.study.questions_networks import FAMILIES

if TYPE_CHECKING:
    from attnlab.linear.models import network as networks
    from attnlab.tensor_files import Tensor


class LinearNetworks:
    """Shipped and stored linear transformers."""

    def shipped(self) -> Sequence[NamedNetwork]:
        """The AXIS, FULL, DIAG and GD++ networks and those of the regressor."""
        return [*_axis(), *_full(), *_diagonal(), *_regressors()]

    def stored(
        self, kind: str, config: Mapping[str, Any], weights: Mapping[str, Tensor]
    ) -> Sequence[NamedNetwork]:
        """The networks of a training cell, by depth and start, the deepest last."""
        if kind in ("linear_full", "linear_full_growth"):
            return _stored_full(kind, config, weights)
        axis = kind == "linear_axis_training"
        family = "AXIS" if axis else FAMILIES.get(str(config.get("family")))
        depths = sorted({int(n.split("/")[0]) for n in weights if n.split("/")[0].isdigit()})
        if family is None or not depths:
            return ()
        about = {name: config[name] for name in ("noise", "d", "n")}
        about |= {"trained_as": "AXIS"} if axis else {}
        where = f"noise {about['noise']}, d = {about['d']}, n = {about['n']}"

        def saved(depth: int, path: Path) -> None:
            from attnlab.linear.models import weights as models
            from attnlab.linear.models.files import save_linear

            parts = {
                name.partition("/")[2]: tensor.block()
                for name, tensor in weights.items()
                if name.startswith(f"{depth}/")
            }
            # P and Q of AXIS are stored as those of FULL.
            kinds = {**models.FAMILIES, "AXIS": models.FullWeights}
            kind_of_weights = kinds.get(family, models.Omegas)
            save_linear(path, kind_of_weights(**parts), cell=kind, **about)

        return [
            NamedNetwork(
                str(depth),
                f"{family}, {_layers(depth)}, {where}",
                lambda path, depth=depth: saved(depth, path),
            )
            for depth in depths
        ]


def _stored_full(
    kind: str, config: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> list[NamedNetwork]:
    """The networks of a cell that trains FULL, whose P is stored as "<place>/P"."""

    def saved(place: str, law: str, path: Path) -> None:
        from attnlab.linear.models.files import save_linear
        from attnlab.linear.models.weights import FullWeights

        matrices = FullWeights(*(weights[f"{place}/{part}"].block() for part in "PQ"))
        about = {"noise": law, "d": config["d"], "n": config["n"], "trained_as": "FULL"}
        save_linear(path, matrices, cell=kind, **about)

    found = []
    for place in sorted({name.rpartition("/")[0] for name in weights}):
        law, *depth, start = place.split("/")
        layers = _layers(int(depth[0]) if depth else config["depth"])
        found.append(
            NamedNetwork(
                place.replace(":", "-"),
                f"FULL, {layers}, noise {law}, d = {config['d']}, n = {config['n']}, start {start}",
                lambda path, place=place, law=law: saved(place, law, path),
            )
        )
    return found


def _axis() -> list[NamedNetwork]:
    from attnlab.linear.weights.shipped import shipped

    held = shipped()

    def one(law: str, depth: int, run: int) -> tuple[str, Callable[[], networks.Network]]:
        loss = held.recorded_loss(law, run, depth)[0]
        return f"run {run}, recorded loss {loss:.3g}", lambda: held.network(law, depth, run)

    found = []
    for law in held.laws:
        runs = {run: held.depths(law, run) for run in held.runs(law)}
        for depth in sorted({depth for depths in runs.values() for depth in depths}):
            own = [run for run, depths in runs.items() if depth in depths]
            found += _starts("AXIS", law, depth, own, held.best_run(law, depth), one)
    return found


def _full() -> list[NamedNetwork]:
    from attnlab.linear.weights.full import full_networks

    held = full_networks()

    def one(law: str, depth: int, seed: int) -> tuple[str, Callable[[], networks.Network]]:
        record = held.record(law, depth, seed)
        loss = "diverged" if record["diverged"] else f"recorded loss {record['loss']:.3g}"
        tail = "" if held.steady(law, depth, seed) or record["diverged"] else ", heavy tail"
        return f"seed {seed}, {loss}{tail}", lambda: held.network(law, depth, seed)

    return [
        each
        for law in held.laws()
        for depth in held.depths(law)
        for each in _starts("FULL", law, depth, held.seeds(law, depth), held.best(law, depth), one)
    ]


def _starts(
    family: str,
    law: str,
    depth: int,
    starts: Sequence[int],
    best: int,
    one: Callable[[str, int, int], tuple[str, Callable[[], networks.Network]]],
) -> list[NamedNetwork]:
    """The networks of one law and depth: the best under the short name, then all of them."""

    def named(name: str, start: int, main: bool) -> NamedNetwork:
        words, network = one(law, depth, start)

        def saved(path: Path) -> None:
            from attnlab.linear.models.network import save

            save(path, network())

        about = f"{family}, {_layers(depth)}, noise {law}, {words}"
        return NamedNetwork(name, about, saved, main)

    short = f"linear/{family.lower()}/{law.replace(':', '-')}/{depth}"
    return [
        named(short, best, True),
        *(named(f"{short}/{start}", start, False) for start in starts),
    ]


def _diagonal() -> list[NamedNetwork]:
    from attnlab.linear.models.network import save
    from attnlab.linear.weights.diagonal import DEEP_FILE, diagonal_networks

    found = {}
    for held in (diagonal_networks(DEEP_FILE), diagonal_networks()):  # of seven layers the second
        for name, (loss, *_) in held.losses.items():
            family, law, layers = name.split("/")
            found[family, law, int(layers)] = NamedNetwork(
                f"linear/{family}/{law.replace(':', '-')}/{layers}",
                f"{FAMILIES[family]}, {_layers(int(layers))}, noise {law}, recorded loss "
                f"{loss:.3g}",
                lambda path, h=held, at=(family, law, int(layers)): save(path, h.network(*at)),
            )
    return [found[at] for at in sorted(found)]


def _regressors() -> list[NamedNetwork]:
    from attnlab.linear.regressor.shipped import shipped

    def saved(file: str, path: Path) -> None:
        with resources.as_file(resources.files("attnlab.linear.weights") / file) as source:
            shutil.copyfile(source, path)

    return [
        NamedNetwork(
            f"linear/regressor/d{each.d}-n{each.n}",
            f"of the regressor, DIAG with free omegas, {_layers(len(each.omegas))}, d = {each.d}, "
            f"n = {each.n}",
            lambda path, file=each.name: saved(file, path),
        )
        for each in shipped()
    ]


def _layers(depth: int) -> str:
    return "1 layer" if depth == 1 else f"{depth} layers"
