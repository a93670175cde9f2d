"""How soon the desk answers, idle and while a red team runs in a worker: wall and CPU milliseconds of each page.

A page should answer in 100 ms, the sheet in a second. Wall times are those of the machine as it is; on one that is
busy with other things, give this script a higher priority (nice -n -10) to see them as on an idle one.

    python benchmarks/desk.py [FOLDER]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from desks import RunningDesk, decides

from recveil.desk.project.standing import STEPS

DATA = "sample:films?users=500,items=150"
SPEC = "dp-ratings:epsilon=4,delta=1e-6,scale=1..5"
VIEWS = ("state", "projects", "overview", "exposure", "solve", "candidates", "bundle", "sheet", "sheet/page",
         "published", "published/rows", "watch", "candidates/report", "recipients")  # fmt: skip
ROUNDS = 5
Seen = dict[str, list[tuple[float, float]]]


def main(folder: Path) -> None:
    with RunningDesk(folder, DATA) as desk:
        prepare(desk)
        ask(desk)  # what is made once and kept
        idle, busy = Seen(), Seen()
        for _ in range(ROUNDS):
            ask(desk, idle)
        desk.client.post("/api/work", json={"kind": "red-team", "again": True})
        desk.until(lambda s: any(w["state"] == "running" for w in s["work"]))
        while any(w["state"] == "running" for w in desk.state()["work"]):
            ask(desk, busy)
        print(
            f"load {os.getloadavg()[0]:.1f}; milliseconds: median, most, CPU; {len(busy['/start'])} rounds beside work"
        )
        for path in idle:
            print(f"{path:24} idle {figures(idle[path])}   beside work {figures(busy[path])}")


def prepare(desk: RunningDesk) -> None:
    """Everything up to a published bundle, so that every page has something to show."""
    desk.until_idle()
    if (desk.folder / "published").exists():
        return
    desk.work("exposure")
    desk.choose(recipient={"name": "contractor", "purpose": "a challenge"}, use={"what": "recommend", "keep": 0.1})
    desk.choose(candidates={"specs": ["pseudonymise", SPEC], "chosen": SPEC})
    desk.work("candidates")
    desk.until_idle()
    desk.work("red-team")
    desk.until(lambda s: s["steps"]["red-team"]["state"] in ("done", "failed"))
    decides(desk.folder)
    desk.work("publish")
    desk.until_idle()


def ask(desk: RunningDesk, seen: Seen | None = None) -> None:
    """Every page and view once."""
    for path in (*(f"/{step}" for step in (*STEPS, "home")), *(f"/api/{view}" for view in VIEWS)):
        used, began = cpu(desk.process.pid), time.perf_counter()
        answer = desk.client.get(path)
        took = time.perf_counter() - began
        assert answer.status_code == 200, (path, answer.text)
        if seen is not None:
            seen.setdefault(path, []).append((took, cpu(desk.process.pid) - used))


def figures(times: list[tuple[float, float]]) -> str:
    walls = [wall for wall, _ in times]
    mean = sum(used for _, used in times) / len(times)
    return " ".join(f"{1000 * value:5.0f}" for value in (median(walls), max(walls), mean))


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made) / "desk")
