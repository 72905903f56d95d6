"""The house: one folder per paper, and imports that go one way (see DESIGN of the layout below).

    papers        linear, random, rank, separation: never import one another
    checkpoints   reads real transformers; may look at the sizes that `rank` lists
    lab           runs and keeps; report shows; cli calls: none of them imports a paper
    shared        stats, maths, training, drawing and a few helpers: import none of the above

The graph is drawn from the sources, imports inside functions included, and calls of importlib that
name a module count as imports. `attnlab.papers` is the one table of names.
"""

import ast
from pathlib import Path

import pytest

import attnlab

ROOT = Path(attnlab.__file__).parent
REPOSITORY = Path(__file__).parents[1]
PAPERS = {"linear", "random", "rank", "separation"}
SHARED = {
    "arguments",
    "compiling",
    "drawing",
    "errors",
    "files",
    "lazy",
    "maths",
    "memory",
    "protocols",
    "stats",
    "tensor_files",
    "training",
}
# what a paper may use
OF_THE_LAB = {
    f"lab.{name}"
    for name in (
        "cell",
        "judgement",
        "needs",
        "presentation",
        "reader",
        "study",
        "units",
        "watch",
    )
}
LONGEST = 400


def modules() -> dict[str, Path]:
    """Every module by its name below attnlab, "" for the package itself."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(source: str) -> set[str]:
    """The modules of attnlab that a source imports, wherever in it, importlib's calls included."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            words = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            found.update(word for word in words if isinstance(word, str))
    names = {name.removeprefix("attnlab").lstrip(".") for name in found if _ours(name)}
    return {name for name in names if name in MODULES}


def _ours(name: str) -> bool:
    return name == "attnlab" or name.startswith("attnlab.")


GRAPH = {name: imports(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def room(name: str) -> str:
    return name.partition(".")[0]


def forbidden(name: str, target: str) -> bool:
    """Whether a module may not import another."""
    here, there = room(name), room(target)
    if here == there or target == "":
        return False
    if here in PAPERS:
        return there not in SHARED and target not in OF_THE_LAB and target != "lab"
    if here == "checkpoints":
        allowed = target in OF_THE_LAB or target.startswith("rank.theory.public_sizes")
        return there not in SHARED and not allowed and target not in ("lab", "rank", "rank.theory")
    if here in SHARED or here == "papers":
        return there not in SHARED
    order = ["lab", "report", "cli"]  # each may use those before it
    return there not in {*SHARED, "papers", *order[: order.index(here)]}


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_a_module_imports_only_what_its_room_may(name):
    if name == "":
        return  # the front door: its names come from attnlab.papers
    assert [target for target in sorted(GRAPH[name]) if forbidden(name, target)] == []


def test_the_rules_would_notice_a_wrong_import():
    assert forbidden("linear.problem", "rank.problem")
    assert forbidden("lab.store", "linear.study")
    assert forbidden("report.site", "cli.main")
    assert forbidden("stats.fits", "lab.cell")
    assert forbidden("separation.theory.bounds", "lab.store")
    assert not forbidden("separation.study.cells", "lab.cell")
    source = "def f():\n    import importlib\n    importlib.import_module('attnlab.rank.study')\n"
    assert imports(source) == {"rank.study"}
    assert imports("from attnlab.linear import study") == {"linear", "linear.study"}


def test_no_module_imports_itself_in_a_circle():
    """Strongly connected components of the graph, packages' own __init__ aside."""
    edges = {
        name: {t for t in targets if t != name and not name.startswith(f"{t}.")}
        for name, targets in GRAPH.items()
        if name
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        for target in edges.get(name, ()):
            visit(target, (*path, name))
        done.add(name)

    for name in sorted(edges):
        visit(name, ())


def test_every_room_is_known():
    known = PAPERS | SHARED | {"", "checkpoints", "lab", "report", "cli", "papers"}
    assert {room(name) for name in MODULES} == known


def test_no_source_is_longer_than_anyone_reads():
    sources = [
        path
        for folder in ("src", "tests", "benchmarks", "scripts", "docs")
        for path in (REPOSITORY / folder).rglob("*.py")
        if "_build" not in path.parts
    ]
    assert len(sources) > 200
    lengths = {str(p.relative_to(REPOSITORY)): len(p.read_text().splitlines()) for p in sources}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}
