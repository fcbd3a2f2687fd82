"""The rules of the layout, read from the source: who may import whom, and what nobody does."""

import ast
import fnmatch
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP_LEVEL = (
    ".ci",
    ".gitignore",
    ".streamlit",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "app.py",
    "assets",
    "core",
    "docs",
    "pages",
    "pyproject.toml",
    "requirements*.txt",
    "tests",
    "tools",
)
DRAWING = ("streamlit", "plotly", "pandas")
PICKLERS = ("pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve")
PICKLING_CALLS = ("torch.load", "torch.save", "pandas.read_pickle", "pd.read_pickle")

LIBRARY = ("core/graph", "core/models", "core/generate", "core/analysis", "core/snapshot.py")
# Where -> what must not be imported there. A name covers everything below it.
FORBIDDEN = [
    *((place, DRAWING) for place in LIBRARY),
    ("core/graph", ("core.models", "core.view")),
    ("pages", ("torch", "numpy")),
]


def python_files(place: str) -> list[Path]:
    path = ROOT / place
    if path.suffix:
        return [path] if path.exists() else []
    return sorted(path.rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def package_of(path: Path) -> list[str]:
    return list(path.relative_to(ROOT).parent.parts)


def imported(tree: ast.Module, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every import, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot means this package, each further dot one package up.
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *filter(None, [node.module])]
            yield from ((node.lineno, ".".join([*stem, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node).split(".")[-1] in (
            "import_module",
            "__import__",
        ):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def called(node: ast.Call) -> str:
    """The dotted name of what a call calls: `torch.load(f)` -> "torch.load"."""
    return ast.unparse(node.func)


def is_within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def forbidden_imports(tree: ast.Module, package: list[str], modules: tuple[str, ...]) -> list[str]:
    found = imported(tree, package)
    return [f"line {line}: {name}" for line, name in found if is_within(name, modules)]


def pickling(tree: ast.Module) -> list[str]:
    found = forbidden_imports(tree, [], (*PICKLERS, "torch.load", "torch.save"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in PICKLING_CALLS:
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append(f"line {node.value.lineno}: allow_pickle")
    return found


def in_place(tree: ast.Module) -> list[str]:
    """Calls that by torch's naming overwrite a tensor: `x.add_(y)`, `out=x`, `inplace=True`."""
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        keywords = {keyword.arg for keyword in call.keywords}
        if (method.endswith("_") and not method.endswith("__")) or keywords & {"out", "inplace"}:
            found.append(f"line {call.lineno}: {ast.unparse(call)}")
    return found


def by_file(files: list[Path], check: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """Only the files with something to complain about, so that a failure reads as a list."""
    results = {str(path.relative_to(ROOT)): check(path) for path in files}
    return {name: found for name, found in results.items() if found}


@pytest.mark.parametrize(
    ("place", "modules"), FORBIDDEN, ids=lambda v: v if isinstance(v, str) else "+".join(v)
)
def test_place_does_not_import(place, modules):
    files = python_files(place)
    assert files, f"{place} is gone: the rule needs another place"
    assert not by_file(files, lambda p: forbidden_imports(parse(p), package_of(p), modules))


def test_only_view_imports_streamlit_and_nothing_below_imports_view():
    files = [path for path in python_files("core") if ROOT / "core/view" not in path.parents]
    modules = ("streamlit", "core.view")
    assert files
    assert not by_file(files, lambda p: forbidden_imports(parse(p), package_of(p), modules))


def test_importing_core_draws_in_no_user_interface():
    code = f"import sys, core; print([m for m in {DRAWING} if m in sys.modules])"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_core_does_not_pickle():
    assert not by_file(python_files("core"), lambda p: pickling(parse(p)))


@pytest.mark.parametrize("place", ["core/graph", "core/models"])
def test_recorded_values_are_never_overwritten(place):
    files = python_files(place)
    assert files
    assert not by_file(files, lambda p: in_place(parse(p)))


def test_repository_root_holds_only_what_the_layout_names():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    entries = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert "core" in entries
    assert not {e for e in entries if not any(fnmatch.fnmatch(e, p) for p in TOP_LEVEL)}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import streamlit.components.v2 as c", "streamlit.components.v2"),
        ("def f():\n    from streamlit import text", "streamlit.text"),
        ("from ..view import figures", "core.view.figures"),
        ("from .. import view", "core.view"),
        ("from core import view", "core.view"),
        ("import importlib\nimportlib.import_module('core.view')", "core.view"),
    ],
)
def test_imports_are_seen_in_every_spelling(source, name):
    modules = ("streamlit", "core.view")
    assert forbidden_imports(ast.parse(source), ["core", "graph"], modules) == [
        f"line {1 + source.count(chr(10))}: {name}"
    ]


def test_similar_names_are_not_mistaken_for_forbidden_ones():
    source = "from core.viewer import a\nimport streamlit_extras"
    assert not forbidden_imports(ast.parse(source), [], ("core.view", "streamlit"))


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "torch.load(path)",
        "from torch import load",
        "numpy.load(path, allow_pickle=True)",
    ],
)
def test_pickle_is_seen_in_every_spelling(source):
    assert pickling(ast.parse(source))


@pytest.mark.parametrize(
    "source", ["x.add_(y)", "torch.add(x, y, out=z)", "F.relu(x, inplace=True)"]
)
def test_in_place_is_seen_in_every_spelling(source):
    assert in_place(ast.parse(source))


def test_ordinary_calls_are_not_mistaken_for_in_place():
    assert not in_place(ast.parse("x.add(y); self.__call__(x); f(output=x); _private(x)"))
