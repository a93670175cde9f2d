"""make mutants: a seeded random sample of small changes to the code that privacy and truth hang on.

Each change (an operator, a comparison, a constant) is made in a copy of the package, which stands first on the path of
the tests that concern the module. Caught: a test fails. Survived: all pass, so either nothing changed or a test is
missing. python tests/mutate.py --number 60 --seed 1 --limit 120 --report mutants.json
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "recveil"
MARKS = "not slow and not spark and not data"
TESTS = {  # the modules, and the test files that concern them, quickest first
    "attacks/epsilon.py": ("test_bounds.py", "test_audit.py"),
    "attacks/one_run.py": ("test_audit.py",),
    "attacks/linkage.py": ("test_linkage.py",),
    "attacks/membership.py": ("test_attacks.py",),
    "attacks/reconstruction.py": ("test_bounds.py", "test_attacks.py"),
    "desk/audit/watching.py": ("test_audit.py",),
    "desk/ledger.py": ("test_ledger.py", "test_book.py"),
    "desk/release.py": ("test_bounds.py", "test_release.py", "test_contracts.py"),
    "dp/budget.py": ("test_ledger.py", "test_dp_streams.py"),
    "dp/noise.py": ("test_noise.py",),
    "dp/sparse_noise.py": ("test_sparse_noise.py",),
    "dp/vocabulary.py": ("test_vocabulary.py",),
    "guarantee.py": ("test_guarantee.py",),
    "intervals.py": ("test_intervals.py",),
    "mechanisms/dp_streams/__init__.py": ("test_every_cell.py", "test_dp_streams.py"),
    "mechanisms/dp_tags/__init__.py": ("test_every_cell.py", "test_dp_tags.py"),
    "metrics/agreement.py": ("test_bounds.py", "test_metrics.py"),
    "metrics/lift.py": ("test_metrics.py",),
    "metrics/ranking.py": ("test_ranking.py", "test_metrics.py"),
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.Pow: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change, and what became of it."""

    module: str
    line: int
    change: str
    outcome: str
    seconds: float


def sites(tree: ast.Module) -> list[ast.AST]:
    """What can be changed: operators, comparisons, constants in functions; not text, not annotations."""
    found: list[ast.AST] = []
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        for statement in function.body:
            for node in ast.walk(statement):
                number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
                operator = isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS
                comparison = isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS
                if number or operator or comparison:
                    found.append(node)
    return list(dict.fromkeys(found))


def change(node: ast.AST) -> str:
    """Make a small change in place, and say which."""
    before = ast.unparse(node)
    if isinstance(node, ast.Constant):
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.25 + (node.value == 0)
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    return f"{before}  ->  {ast.unparse(node)}"


def tried(module: str, place: int, limit: float) -> Mutant:
    """One change in a copy of the package, run against its tests."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    node = sites(tree)[place]
    says, line = change(node), getattr(node, "lineno", 0)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "recveil"
        shutil.copytree(PACKAGE, copy)
        (copy / module).write_text(ast.unparse(tree), encoding="utf-8")
        files = [str(PROJECT / "tests" / name) for name in TESTS[module] if (PROJECT / "tests" / name).exists()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", MARKS, *files]
        path = os.pathsep.join([folder, str(PROJECT / "tests")])
        try:
            environment = os.environ | {"PYTHONPATH": path}
            done = subprocess.run(
                command, cwd=PROJECT, env=environment, capture_output=True, timeout=limit, check=False
            )
            outcome = "survived" if done.returncode == 0 else "caught"
        except subprocess.TimeoutExpired:
            outcome = "out of time"
    return Mutant(module, line, says, outcome, round(time.monotonic() - began, 1))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--number", type=int, default=60)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--limit", type=float, default=180.0, help="seconds for each")
    asked.add_argument("--report", type=Path)
    asked.add_argument("--only", help="a part of a module's name")
    wish = asked.parse_args()
    every = [
        (module, place)
        for module in TESTS
        if (PACKAGE / module).exists() and (wish.only or "") in module
        for place in range(len(sites(ast.parse((PACKAGE / module).read_text(encoding="utf-8")))))
    ]
    chosen = random.Random(wish.seed).sample(every, min(wish.number, len(every)))
    found = []
    for module, place in chosen:
        found.append(tried(module, place, wish.limit))
        one = found[-1]
        print(f"{one.outcome:12} {one.seconds:6.1f} s  {one.module}:{one.line}  {one.change[:90]}", flush=True)
        if wish.report:
            wish.report.write_text(json.dumps([asdict(m) for m in found], indent=1))
    count = {kind: sum(m.outcome == kind for m in found) for kind in ("caught", "survived", "out of time")}
    print(", ".join(f"{n} {kind}" for kind, n in count.items()), f"of {len(found)} (of {len(every)} places)")


if __name__ == "__main__":
    main()
