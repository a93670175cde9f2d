"""The shape of the project: who may import whom, what is public, what is documented."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recveil as package

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "recveil"

# A room and the rooms it may import. A room that is not listed stands above all others and may import anything.
LEAVES = {"errors", "ids"}
ALLOWED = {
    "errors": set(),
    "ids": set(),
    "kernels": {"kernels"},
    "data": LEAVES,
    "guarantee": LEAVES,
    "randomness": LEAVES,
    "intervals": LEAVES,
    "formats": {"formats", "data"} | LEAVES,
    "samples": {"data", "kernels"} | LEAVES,
    "splits": {"data"} | LEAVES,
    "mechanism": {"data", "guarantee", "randomness"} | LEAVES,
    "clicks": {"clicks", "data", "kernels"} | LEAVES,
}
BELOW_MEASURES = {"data", "kernels", "measurement", "intervals", "splits", "randomness"} | LEAVES
FORBIDDEN = {
    "mechanisms": {"metrics", "attacks", "recommenders", "measurement", "report", "cli", "studio", "reproduce", "spec"},
    "metrics": {"mechanisms", "mechanism", "attacks", "cli", "studio", "reproduce", "spec", "release"},
    "attacks": {"mechanisms", "mechanism", "metrics", "cli", "studio", "reproduce", "spec", "release"},
    "recommenders": {"mechanisms", "metrics", "attacks", "cli", "studio", "reproduce", "spec", "release"},
    "report": {"attacks", "cli", "studio", "reproduce"},
}
BANNED_NAMES = {"utils", "core", "helpers", "base", "manager", "factory", "common", "misc"}


def imports(path: Path) -> set[str]:
    """The rooms of ours that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            if node.module.count("."):
                names = [node.module]
        found |= {parts[1] for name in names if (parts := name.split("."))[0] == "recveil" and len(parts) > 1}
    return found


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


sources = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", sources, ids=[str(p.relative_to(PACKAGE)) for p in sources])
def test_imports_point_one_way(path: Path) -> None:
    here = room(path)
    if here in ALLOWED:
        assert imports(path) <= ALLOWED[here]
    assert not imports(path) & FORBIDDEN.get(here, set())


@pytest.mark.parametrize("path", sources, ids=[str(p.relative_to(PACKAGE)) for p in sources])
def test_one_idea_per_file(path: Path) -> None:
    assert path.stem not in BANNED_NAMES
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_public_names_are_listed_and_exist() -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    assert set(package.__all__) == {name for names in package._ROOMS.values() for name in names}
    for name in package.__all__:
        assert getattr(package, name).__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError):
        package.nothing_of_the_kind  # noqa: B018


def test_the_command_line_starts_without_heavy_imports() -> None:
    heavy = ["numpy", "polars", "numba", "scipy", "pyarrow", "opendp", "randomgen"]
    code = f"import sys, recveil.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def commands() -> list[str]:
    from recveil.cli import app

    return sorted(c.name or c.callback.__name__ for c in app.registered_commands if c.callback)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_helpful_and_documented(command: str, recveil: Callable[..., Any]) -> None:
    done = recveil(command, "--help")
    assert "Example: recveil" in done.stdout
    assert "--json" in done.stdout
    documented = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"## recveil {command}" in documented


def test_the_project_names_no_place_on_a_disk() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.split():
        path = PROJECT / name
        if path.suffix in (".md", ".py", ".toml", ".html", ".js", "") and path.is_file():
            text = path.read_text(encoding="utf-8")
            assert str(PROJECT) not in text, name
