"""make doors: the whole table of doors, positions and oddities (doors.py), here and on Spark; goes on where it stopped.

A group is a mechanism at a door. What was run stands in the report, with its size and its result, until a line of the
package or of the instrument changes:

    python tests/doors_whole.py --report .doors.json --seconds 600
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from reaching import PACKAGE, PROJECT, QUIET

HERE = Path(__file__).parent
INSTRUMENT = ("doors.py", "oddities.py", "odd_forms.py", "neighbours.py", "blind.py", "whole/test_doors.py",
              "spark/test_spark_interference.py")  # fmt: skip
TABLES = {"local": "whole/test_doors.py", "spark": "spark/test_spark_interference.py"}


def state() -> str:
    """Of all that the answer hangs on."""
    sources = [*sorted(PACKAGE.rglob("*.py")), *(HERE / name for name in INSTRUMENT)]
    return blake2b(b"\0".join(path.read_bytes() for path in sources), digest_size=8).hexdigest()


class Groups:
    """Leaves out what was run, keeps what is, and begins nothing new when time is up."""

    def __init__(self, report: Path, until: float) -> None:
        self.report, self.until, self.left = report, until, 0
        known = json.loads(report.read_text()) if report.exists() else {}
        self.kept = known if known.get("state") == state() else {"state": state(), "groups": {}}

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        every = [item for item in items if "the_whole_table" in item.name]
        items[:] = [item for item in every if item.nodeid not in self.kept["groups"]]
        self.left += len(items)

    def pytest_runtest_protocol(self, item: Any) -> bool | None:
        self.began = time.process_time()
        return True if time.monotonic() > self.until else None  # left for another time

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call":
            return
        found = {"cells": dict(report.user_properties).get("cells", 0), "outcome": report.outcome,
                 "seconds": round(time.process_time() - self.began, 1)}  # fmt: skip
        if report.failed:
            found["differences"] = str(report.longrepr)
        self.kept["groups"][report.nodeid] = found
        self.report.write_text(json.dumps(self.kept, indent=1))
        self.left -= 1
        print(f"{found['outcome']}  {found['cells']:5} cells {found['seconds']:6.1f} s  {report.nodeid}", flush=True)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--report", type=Path, default=Path(".doors.json"))
    asked.add_argument("--seconds", type=float, default=float("inf"), help="after which no further group is begun")
    asked.add_argument("--only", choices=[*TABLES], help="of this machine, or of a cluster")
    wish = asked.parse_args()
    until = time.monotonic() + wish.seconds
    groups = Groups(wish.report.absolute(), until)
    for name in [wish.only] if wish.only else TABLES:
        said = pytest.main([*QUIET, "-q", "--rootdir", str(PROJECT), "-m", "slow", str(HERE / TABLES[name])], [groups])
        if said == pytest.ExitCode.INTERRUPTED:
            return int(said)
    done = groups.kept["groups"].values()
    differ = [name for name, found in groups.kept["groups"].items() if found["outcome"] != "passed"]
    cells, seconds = (sum(found[what] for found in done) for what in ("cells", "seconds"))
    print(f"{cells:,} cells in {len(done)} groups, {seconds:.0f} s of processor time: {len(differ)} with a difference")
    for name in differ:
        print(f"differs: {name}")
    if groups.left:
        print(f"{groups.left} groups are left; begin again to go on")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
