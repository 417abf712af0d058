"""Imports run down only, the core is pure, and the tree keeps to its sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "coldpress"
LAYERS: list[set[str]] = [
    {"model"},
    {"measure", "wire", "stores"},
    {"engine"},
    {"config", "plugins", "drive"},
    {"gateway", "lab", "testing", "library"},
    {"demo"},
    {"cli"},
]
KNOWS_A_NEIGHBOUR = {
    ("drive", "config"),  # the driver is made from settings
    ("plugins", "config"),  # so are plugins, and the keys of their own are checked as ours are
    ("drive", "plugins"),  # the driver asks them
}

IMPURE = {
    "asyncio", "concurrent", "http", "io", "logging", "multiprocessing", "os", "pathlib",
    "random", "secrets", "select", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile",
    "threading", "time", "urllib", "uuid", "aiohttp", "uvicorn",
}  # fmt: skip
CORE = ["model", "measure", "wire", "engine"]


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def level(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module a file imports, at its top or inside its functions, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_run_down(path: Path) -> None:
    own = room(path)
    if own == "__init__":
        return
    for module, line in imported(path):
        if not module.startswith("coldpress."):
            continue
        other = module.split(".")[1]
        if other == own:
            continue
        allowed = level(other) < level(own) or (own, other) in KNOWS_A_NEIGHBOUR
        assert allowed, f"{path.name}:{line}: {own} may not import {module}"


@pytest.mark.parametrize("path", [p for p in files() if room(p) in CORE], ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_core_does_no_input_or_output(path: Path) -> None:
    for module, line in imported(path):
        assert module.split(".")[0] not in IMPURE, f"{path.name}:{line}: the core may not import {module}"


def test_no_room_imports_the_front_door_for_more_than_the_version() -> None:
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "coldpress":
                assert {alias.name for alias in node.names} == {"__version__"}, path


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_file_says_what_it_is_for_and_functions_stay_short(path: Path) -> None:
    tree = ast.parse(path.read_text())
    docstring = ast.get_docstring(tree)
    assert docstring and docstring.splitlines()[0].endswith("."), (
        f"{path} begins with a sentence that says what it is for"
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 60, f"{path}:{node.lineno}: {node.name} has {length} lines"


def test_broad_excepts_stand_in_one_place() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in files()
        for node in ast.walk(ast.parse(path.read_text()))
        if _catches_everything(node) or _exits_from_everything(node)
    ]
    # Our own mistakes, and whatever code of others raises.
    assert [place.split(":")[0] for place in found] == ["drive/faults.py", "plugins/running.py"], found


def _is_broad(kind: ast.expr | None) -> bool:
    return isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")


def _catches_everything(node: ast.AST) -> TypeGuard[ast.ExceptHandler]:
    if not isinstance(node, ast.ExceptHandler) or not (node.type is None or _is_broad(node.type)):
        return False
    return not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)  # cleans up and raises again


def _exits_from_everything(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """A context manager of our own that asks for any kind of mistake when it is left."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in ("__exit__", "__aexit__"):
        return False
    return any(isinstance(part, ast.Call) and any(map(_is_broad, part.args)) for part in ast.walk(node))
