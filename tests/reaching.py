"""Which tests reach which line of the code that privacy and truth hang on: for make mutants (mutate.py)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "recveil"
MARKS = "not slow and not spark and not data and not extras"
ROOMS = (
    "dp", "evaluation/attacks", "evaluation/metrics", "evaluation/audit", "releases/release.py", "releases/ledger.py",
    "releases/hash_chain.py", "releases/catalogue.py", "guarantee.py", "intervals.py", "splits.py",
    "views/contributions.py", "views/sessions.py", "mechanisms/dp_streams/__init__.py",
    "mechanisms/dp_streams/counting.py",
    "mechanisms/dp_ratings/__init__.py", "mechanisms/dp_tags/__init__.py", "mechanisms/dp_tags/cells.py",
    "mechanisms/mask/__init__.py", "advisor/applying.py", "advisor/item_model.py", "advisor/noisy_counters.py",
    "advisor/counter_noise.py", "advisor/totals.py",
    "releases/aside.py", "court/people.py", "court/values.py", "court/scoring.py", "court/ladder.py",
)  # fmt: skip
TESTS = (  # the files that concern these rooms
    "advisor_backup", "advisor_counters", "advisor_histories", "advisor_model",
    "advisor_promises", "attacks", "audit", "blur", "hash_chain",
    "boundaries", "bounds", "court", "court_input", "court_privacy", "budget",
    "bundle", "by_hand", "catalogue", "contracts", "copies", "denoise", "dp_ratings", "dp_ratings_public",
    "dp_streams", "dp_tags", "resources", "every_cell", "formulas",
    "guarantee", "hiding", "intervals", "ledger", "linkage", "mask", "measure", "metrics", "next_item", "noise",
    "planted_advisor", "planted_bugs",
    "ranking", "rating_metrics", "referees", "release", "sensitivity", "sessions", "shadow",
    "sparse_noise", "splits", "advisor_store", "sybil", "tag_recommenders", "vocabulary", "walks",
)  # fmt: skip
LOOKED_AT = 40  # calls of one function in one test, where the lines that it reaches are found out
QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-W", "ignore"]
Reached = dict[str, list[str]]  # "module:line", and the tests that run it


def modules() -> list[str]:
    found = [p.relative_to(PACKAGE).as_posix() for p in sorted(PACKAGE.rglob("*.py"))]
    return [name for name in found if any(name == room or name.startswith(f"{room}/") for room in ROOMS)]


class Tracer:
    """Told by pytest of each test; sees which lines of these modules run in it."""

    def __init__(self) -> None:
        self.files = {str(PACKAGE / module): module for module in modules()}
        self.reached: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.calls: dict[Any, int] = {}  # in this test: a function called again and again is looked at so often
        self.current, self.began = "", 0.0

    def entered(self, frame: Any, *_: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.files or not self.current:
            return None
        self.calls[code] = self.calls.get(code, 0) + 1
        return self.line if self.calls[code] <= LOOKED_AT else None

    def line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            at = f"{self.files[frame.f_code.co_filename]}:{frame.f_lineno}"
            self.reached.setdefault(at, set()).add(self.current)
        return self.line

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.current, self.calls, self.began = nodeid, {}, time.process_time()
        sys.settrace(self.entered)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = time.process_time() - self.began  # of the processor: others may be at work here
        if report.failed:
            self.current = "failed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.current == "failed":
            self.seconds[nodeid] = float("inf")  # fails as it is: it tells nothing


def reach(
    keep: Path, out_of_time: Callable[[], bool], names: Sequence[str] = TESTS
) -> tuple[Reached, dict[str, float]] | None:
    """The tests that reach each line, and how long each takes; kept until its file of tests or a room changes."""
    rooms = b"".join((PACKAGE / module).read_bytes() for module in modules())
    states = {n: blake2b(rooms + _file(n).read_bytes(), digest_size=8).hexdigest() for n in names}
    kept = json.loads(keep.read_text()) if keep.exists() else {}
    kept = {name: kept[name] for name in names if name in kept}
    for name in [name for name in names if kept.get(name, {}).get("state") != states[name]]:
        if out_of_time():
            return None
        print(f"which lines do the tests of test_{name}.py reach?", flush=True)
        part = keep.with_suffix(".part")
        child = os.fork()
        if not child:
            _trace(name, part)
        os.waitpid(child, 0)
        kept[name] = {"state": states[name], **json.loads(part.read_text())}
        part.unlink()
        keep.write_text(json.dumps(kept))
    reached: Reached = {}
    for file in kept.values():
        for line, tests in file["reached"].items():
            reached.setdefault(line, []).extend(tests)
    return reached, {test: took for file in kept.values() for test, took in file["seconds"].items()}


def _file(name: str) -> Path:
    return next((PROJECT / "tests").glob(f"*/test_{name}.py"))


def _trace(name: str, part: Path) -> None:
    import pytest

    seen = Tracer()
    pytest.main([*QUIET, "-m", MARKS, str(_file(name))], [seen])
    reached = {line: sorted(tests) for line, tests in seen.reached.items()}
    part.write_text(json.dumps({"reached": reached, "seconds": seen.seconds}))
    os._exit(0)
