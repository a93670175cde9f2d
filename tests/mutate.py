"""make mutants: a seeded random sample of small changes to the code that privacy and truth hang on.

A change (an operator, a comparison, a constant) is made in memory, in a child of a process that has the libraries
loaded, and the child runs the tests that reach the changed line, the quickest first. Caught: a test fails, or does not
end. Survived: all pass, so either nothing changed or a test is missing. Which test reaches which line is found out once
for the package and the tests as they are. What was tried before stands in the report and is not tried again. Why a
survivor changes nothing that can be seen is written down in tests/mutants.json, once somebody has looked:

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
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from reaching import PACKAGE, PROJECT, QUIET, TESTS, Reached, modules, reach

LIBRARIES = (
    "hypothesis", "numba", "numpy", "polars", "pyarrow.parquet", "pytest", "scipy.optimize", "scipy.sparse.linalg",
    "scipy.stats", "click",
)  # fmt: skip
LONGEST = 15.0  # seconds of one test
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.Pow: ast.Mult,
}  # fmt: skip


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


def marked(module: str, node: ast.AST) -> str:
    """The line of code with the changed part between marks: its name in tests/mutants.json."""
    at: Any = node
    text = (PACKAGE / module).read_text(encoding="utf-8").splitlines()[at.lineno - 1].encode()
    end = at.end_col_offset if at.end_lineno == at.lineno else len(text)
    return f"{text[: at.col_offset].decode()}«{text[at.col_offset : end].decode()}»{text[end:].decode()}".strip()


def harmless(module: str, place: int) -> bool:
    """Whether tests/mutants.json has a reason why this change cannot be seen."""
    reasons = json.loads((PROJECT / "tests" / "mutants.json").read_text(encoding="utf-8"))
    return marked(module, sites(parsed(module))[place][0]) in reasons.get(module, {})


def lines_of(node: ast.AST, statement: ast.stmt) -> range:
    """The lines on which a tracer may see the node run."""
    first = getattr(node, "lineno", statement.lineno)
    last = getattr(node, "end_lineno", first)
    compound = hasattr(statement, "body")
    return range(statement.lineno, max(last, statement.lineno if compound else statement.end_lineno or last) + 1)


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


def tried(module: str, place: int, reached: Reached, seconds: dict[str, float], effort: float) -> Mutant:
    """One change, run in a child against the tests that reach it."""
    tree = parsed(module)
    node, statement = sites(tree)[place]
    lines, line = lines_of(node, statement), getattr(node, "lineno", statement.lineno)
    says = change(node)
    tests = {test for n in lines for test in reached.get(f"{module}:{n}", ()) if seconds.get(test, 0.0) < LONGEST}
    ordered = sorted(tests, key=lambda t: seconds[t])
    chosen = [t for t, total in zip(ordered, accumulate(seconds[t] for t in ordered), strict=True) if total < effort]
    began = time.monotonic()
    if not chosen:
        return Mutant(module, place, line, says, "survived", "no test reaches it", 0.0)
    said = Path(gettempdir()) / f"mutant-{os.getpid()}.txt"
    child = os.fork()
    if not child:
        _run(module, tree, {test: seconds[test] for test in chosen}, said)
    limit = began + 900.0 + 6 * sum(seconds[t] for t in chosen)  # of what sleeps: others may be at work here
    code = None
    while code is None and time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
        time.sleep(0.02)
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    by = "it does not end" if code in (None, -signal.SIGPROF) else said.read_text() if said.exists() else f"exit {code}"
    said.unlink(missing_ok=True)
    outcome = "survived" if code == 0 else "caught"
    took = round(time.monotonic() - began, 1)
    return Mutant(module, place, line, says, outcome, by if code != 0 else f"{len(chosen)} of {len(tests)} tests", took)


def _run(module: str, tree: ast.Module, tests: dict[str, float], said: Path) -> None:
    """The child: nothing of it comes back but its exit code and the name of the test that failed."""
    import pytest

    class First:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            signal.setitimer(signal.ITIMER_PROF, 30 + 6 * tests.get(nodeid, 0.0))  # the child ends there

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


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--number", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--report", type=Path, default=Path("mutants.json"))
    asked.add_argument("--seconds", type=float, default=float("inf"), help="after which no further one is begun")
    asked.add_argument("--only", default="", help="parts of names of modules, with commas between them")
    asked.add_argument("--tests", default="", help="files of tests (ledger for test_ledger.py), likewise; else all")
    asked.add_argument("--effort", type=float, default=45.0, help="seconds of tests that one change is run against")
    asked.add_argument("--again", action="store_true", help="try once more what survived: there are new tests")
    wish = asked.parse_args()
    began = time.monotonic()
    os.chdir(PROJECT)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    names = wish.tests.split(",") if wish.tests else TESTS
    known_reach = reach(wish.report.with_suffix(".reach.json"), lambda: time.monotonic() - began > wish.seconds, names)
    if known_reach is None:
        say("out of time; begin again to go on")
        return 0
    every = [
        (m, n)
        for m in modules()
        if any(part in m for part in wish.only.split(","))
        for n in range(len(sites(parsed(m))))
    ]
    known = [Mutant(**m) for m in json.loads(wish.report.read_text())] if wish.report.exists() else []
    found = {(m.module, m.place, m.change): m for m in known}
    results = []
    for module, place in random.Random(wish.seed).sample(every, min(wish.number, len(every))):
        name = (module, place, change(sites(parsed(module))[place][0]))
        if wish.again and name in found and found[name].outcome == "survived" and not harmless(module, place):
            del found[name]
        if name not in found and time.monotonic() - began < wish.seconds:
            found[name] = one = tried(module, place, *known_reach, wish.effort)
            say(f"{one.outcome:9} {one.seconds:6.1f} s  {one.module}:{one.line}  {one.change[:90]}  ({one.by[-90:]})")
            wish.report.write_text(json.dumps([asdict(m) for m in found.values()], indent=1))
        results += [found[name]] if name in found else []
    return summary(results, len(every))


def summary(found: list[Mutant], places: int) -> int:
    """What became of them all; fails where less than nine in ten of those that change anything were caught."""
    lived = [m for m in found if m.outcome == "survived"]
    known = [m for m in lived if harmless(m.module, m.place)]
    for m in lived:
        if m not in known:
            node, _ = sites(parsed(m.module))[m.place]
            say(f"survived: {m.module}:{m.line}  {marked(m.module, node)}  ({m.by})")
    matter, caught = len(found) - len(known), len(found) - len(lived)
    say(f"{caught} caught of {matter} that change anything; {len(known)} more change nothing ({places} places)")
    return int(caught < 0.9 * matter)


if __name__ == "__main__":
    sys.exit(main())
