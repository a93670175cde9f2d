"""Every notebook of examples/ runs from its first cell to its last, in an empty folder (make test-docs)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
NOTEBOOKS = sorted((PROJECT / "examples").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def code(path: Path) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_what_came_out(path: Path) -> None:
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells(path))
    ast.parse(code(path))


@pytest.mark.extras
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    if path.stem == "on_spark":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
        if not (os.environ.get("JAVA_HOME") or which("java")):
            pytest.skip("Java is not installed")
    if path.stem == "participant":
        pytest.importorskip("implicit", reason="the extra measure is not installed")
    source = os.pathsep.join([str(PROJECT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code(path)], cwd=tmp_path, env=os.environ | {"PYTHONPATH": source},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_list_names_every_notebook() -> None:
    listed = (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in listed for path in NOTEBOOKS) and len(NOTEBOOKS) == 6
