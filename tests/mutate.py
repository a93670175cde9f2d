"""make mutants: a seeded random sample of small changes to the code that privacy and truth hang on.

A change (an operator, a comparison, a constant) is made in memory, in a child of a process that has the libraries
loaded, and the child runs the tests that reach the changed line, the quickest first. Caught: a test fails, or does not
end. Survived: all pass, so either nothing changed or a test is missing. Which test reaches which line is found out once
for the package and the tests as they are. What was tried before stands in the report and is not tried again:

    python tests/mutate.py --number 200 --seed 1 --report mutants.json --seconds 500
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from tempfile import gettempdir
from typing import Any

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "recveil"
MARKS = "not slow and not spark and not data and not extras"
ROOMS = (
    "dp", "attacks", "metrics", "desk/audit", "desk/release.py", "desk/ledger.py", "desk/catalogue.py", "guarantee.py",
    "intervals.py", "splits.py", "mechanisms/dp_streams/__init__.py", "mechanisms/dp_streams/counting.py",
    "mechanisms/dp_tags/__init__.py", "mechanisms/dp_tags/cells.py", "mechanisms/mask/__init__.py",
)  # fmt: skip
TESTS = (  # the files that concern these rooms
    "attacks", "audit", "book", "bounds", "bundle", "catalogue", "contracts", "copies", "denoise", "dp_ratings",
    "dp_streams", "dp_tags", "equipment", "every_cell", "formulas", "guarantee", "hiding", "intervals", "ledger",
    "linkage", "mask", "measure", "metrics", "noise", "planted_bugs", "ranking", "referees", "release", "sensitivity",
    "sessions", "shadow", "sparse_noise", "splits", "sybil", "tag_recommenders", "vocabulary",
)  # fmt: skip
LIBRARIES = (
    "hypothesis", "numba", "numpy", "polars", "pyarrow.parquet", "pytest", "scipy.optimize", "scipy.sparse.linalg",
    "scipy.stats", "typer",
)  # fmt: skip
LONGEST, TOGETHER = 15.0, 45.0  # seconds: of one test, and of all that one change is run against
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.Pow: ast.Mult,
}  # fmt: skip
Reached = dict[str, list[str]]  # "module:line", and the tests that run it


@dataclass(frozen=True)
class Mutant:
    """One change, and what became of it."""

    module: str
    place: int
    line: int
    change: str
    outcome: str
    by: str  # the test that caught it, or how many did not
    seconds: float


def modules() -> list[str]:
    found = [p.relative_to(PACKAGE).as_posix() for p in sorted(PACKAGE.rglob("*.py"))]
    return [name for name in found if any(name == room or name.startswith(f"{room}/") for room in ROOMS)]


def parsed(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def sites(tree: ast.Module) -> list[tuple[ast.AST, ast.stmt]]:
    """What can be changed, with its statement: operators, comparisons, constants in functions; not text."""
    found: dict[ast.AST, ast.stmt] = {}
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        for top in function.body:
            for statement in [n for n in ast.walk(top) if isinstance(n, ast.stmt)]:
                for node in ast.walk(statement):
                    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
                    operator = isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS
                    comparison = isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS
                    if number or operator or comparison:
                        found[node] = statement  # the innermost comes last
    return list(found.items())


def change(node: ast.AST) -> str:
    """Make a small change in place, and say which."""
    before = ast.unparse(node)
    if isinstance(node, ast.Constant):
        value: Any = node.value
        node.value = value + 1 if isinstance(value, int) else value * 1.25 + (value == 0)
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    return f"{before}  ->  {ast.unparse(node)}"


def lines_of(node: ast.AST, statement: ast.stmt) -> range:
    """The lines on which a tracer may see the node run."""
    first = getattr(node, "lineno", statement.lineno)
    last = getattr(node, "end_lineno", first)
    compound = hasattr(statement, "body")
    return range(statement.lineno, max(last, statement.lineno if compound else statement.end_lineno or last) + 1)


# --- which tests reach which line -----------------------------------------------------------------------------


class Tracer:
    """Told by pytest of each test; sees which lines of these modules run in it."""

    def __init__(self) -> None:
        self.files = {str(PACKAGE / module): module for module in modules()}
        self.reached: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.current = ""

    def entered(self, frame: Any, *_: Any) -> Any:
        return self.line if frame.f_code.co_filename in self.files and self.current else None

    def line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            at = f"{self.files[frame.f_code.co_filename]}:{frame.f_lineno}"
            self.reached.setdefault(at, set()).add(self.current)
        return self.line

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.current = nodeid
        sys.settrace(self.entered)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.seconds[report.nodeid] = float("inf")  # fails as it is: it tells nothing


def reach(keep: Path, out_of_time: Callable[[], bool]) -> tuple[Reached, dict[str, float]] | None:
    """The tests that reach each line, and how long each takes; kept for as long as neither package nor tests change."""
    every = sorted([*PACKAGE.rglob("*.py"), *(PROJECT / "tests").glob("*.py")])
    state = blake2b(b"".join(p.read_bytes() for p in every), digest_size=8).hexdigest()
    kept = json.loads(keep.read_text()) if keep.exists() else {}
    kept = kept if kept.get("state") == state else {"state": state, "files": {}}
    for name in [name for name in TESTS if name not in kept["files"]]:
        if out_of_time():
            return None
        say(f"which lines do the tests of test_{name}.py reach?")
        part = keep.with_suffix(".part")
        child = os.fork()
        if not child:
            _trace(name, part)
        os.waitpid(child, 0)
        kept["files"][name] = json.loads(part.read_text())
        part.unlink()
        keep.write_text(json.dumps(kept))
    reached: Reached = {}
    for file in kept["files"].values():
        for line, tests in file["reached"].items():
            reached.setdefault(line, []).extend(tests)
    return reached, {test: took for file in kept["files"].values() for test, took in file["seconds"].items()}


def _trace(name: str, part: Path) -> None:
    import pytest

    seen = Tracer()
    pytest.main([*QUIET, "-m", MARKS, str(PROJECT / "tests" / f"test_{name}.py")], [seen])
    reached = {line: sorted(tests) for line, tests in seen.reached.items()}
    part.write_text(json.dumps({"reached": reached, "seconds": seen.seconds}))
    os._exit(0)


QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-W", "ignore"]


# --- one change -----------------------------------------------------------------------------------------------


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module of the package from a changed tree, all others as they are."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.name = "recveil." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.path, self.tree = PACKAGE / module, tree

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.name:
            return None
        folder = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self.path, loader=self, submodule_search_locations=folder)  # type: ignore[call-overload]

    def create_module(self, _: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self.tree, str(self.path), "exec"), vars(module))


def tried(module: str, place: int, reached: Reached, seconds: dict[str, float]) -> Mutant:
    """One change, run in a child against the tests that reach it."""
    tree = parsed(module)
    node, statement = sites(tree)[place]
    lines, line = lines_of(node, statement), getattr(node, "lineno", statement.lineno)
    says = change(node)
    tests = {test for n in lines for test in reached.get(f"{module}:{n}", ()) if seconds.get(test, 0.0) < LONGEST}
    ordered = sorted(tests, key=lambda t: seconds[t])
    chosen = [t for t, total in zip(ordered, accumulate(seconds[t] for t in ordered), strict=True) if total < TOGETHER]
    began = time.monotonic()
    if not chosen:
        return Mutant(module, place, line, says, "survived", "no test reaches it", 0.0)
    said = Path(gettempdir()) / f"mutant-{os.getpid()}.txt"
    child = os.fork()
    if not child:
        _run(module, tree, chosen, said)
    limit = began + 60.0 + 6 * sum(seconds[t] for t in chosen)
    code = None
    while code is None and time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
        time.sleep(0.02)
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    by = "it does not end" if code is None else said.read_text() if said.exists() else f"exit code {code}"
    said.unlink(missing_ok=True)
    outcome = "survived" if code == 0 else "caught"
    took = round(time.monotonic() - began, 1)
    return Mutant(module, place, line, says, outcome, by if code != 0 else f"{len(chosen)} of {len(tests)} tests", took)


def _run(module: str, tree: ast.Module, tests: list[str], said: Path) -> None:
    """The child: nothing of it comes back but its exit code and the name of the test that failed."""
    import pytest

    class First:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                said.write_text(report.nodeid)

    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.meta_path.insert(0, Changed(module, tree))
    try:
        code = int(pytest.main(["-x", *QUIET, *(f"{PROJECT}/{test}" for test in tests)], [First()]))
    except BaseException:
        code = 1
    os._exit(code)


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--number", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--report", type=Path, default=Path("mutants.json"))
    asked.add_argument("--seconds", type=float, default=float("inf"), help="after which no further one is begun")
    asked.add_argument("--only", default="", help="a part of a module's name")
    wish = asked.parse_args()
    began = time.monotonic()
    os.chdir(PROJECT)
    for library in LIBRARIES:
        importlib.import_module(library)
    known_reach = reach(wish.report.with_suffix(".reach.json"), lambda: time.monotonic() - began > wish.seconds)
    if known_reach is None:
        say("out of time; begin again to go on")
        return
    every = [(m, n) for m in modules() if wish.only in m for n in range(len(sites(parsed(m))))]
    chosen = random.Random(wish.seed).sample(every, min(wish.number, len(every)))
    known = [Mutant(**m) for m in json.loads(wish.report.read_text())] if wish.report.exists() else []
    found = {(m.module, m.place, m.change): m for m in known}
    for module, place in chosen:
        node, _ = sites(parsed(module))[place]
        if (module, place, change(node)) in found or time.monotonic() - began > wish.seconds:
            continue
        one = tried(module, place, *known_reach)
        found[module, place, one.change] = one
        say(f"{one.outcome:9} {one.seconds:6.1f} s  {one.module}:{one.line}  {one.change[:90]}  ({one.by[-90:]})")
        wish.report.write_text(json.dumps([asdict(m) for m in found.values()], indent=1))
    caught = sum(m.outcome == "caught" for m in found.values())
    say(f"{caught} caught, {len(found) - caught} survived of {len(found)} tried ({len(every)} places)")


if __name__ == "__main__":
    main()
