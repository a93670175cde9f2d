"""What is to be run and in which order, and what it will take, by what such cells took before."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from data_sets import SETS
from results import Cell

ATTACKED_AT = 4.0
BEGINNING = 2.0  # CPU seconds of a process before its first cell: imports, reading, the split

Job = tuple[str, str, float | None]  # use or attack, by which method, at which epsilon


@dataclass(frozen=True)
class Work:
    """One process: methods on a split."""

    data: str
    split: int
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Estimate:
    """CPU seconds of all, what `workers` idle cores take, and how many cells are of a kind that was never run."""

    cpu: float
    wall: float
    unknown: int

    def __str__(self) -> str:
        known = f"about {self.cpu / 60:.0f} CPU minutes by what such cells took, {self.wall / 60:.0f} on idle cores"
        return known + (f"; {self.unknown} were never run and are not in it" if self.unknown else "")


def planned(names: Sequence[str], chosen: Mapping[str, Any], asked: Any) -> Iterator[Work]:
    """The first split of all data sets first, so that an interrupted run has something of each; attacks at the end."""
    private = {name for name, module in chosen.items() if getattr(module, "PRIVATE", False)}
    for split in range(asked.splits):
        for data in names:
            jobs = (("use", m, e) for m in chosen for e in (asked.epsilons if m in private else (None,)))
            yield Work(data, split, tuple(jobs))
    for data in () if asked.no_attacks else names:
        if SETS[data].attacked:
            yield Work(data, 0, tuple(("attack", m, ATTACKED_AT if m in private else None) for m in chosen))


def estimate(works: Iterable[Work], cells: Mapping[str, Sequence[Cell]], workers: int) -> Estimate:
    """`cells`: what is kept of each data set, however old. The same cell of other splits tells, else other epsilons."""
    took: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for data, kept in cells.items():
        for cell in kept:
            if cell["status"] == "done" or cell["status"] == "refused":
                spent = cell.get("cpu_s", 0.0) + cell.get("judging_cpu_s", 0.0)
                took[data, cell["kind"], cell["method"], cell["epsilon"]].append(spent)
                took[data, cell["kind"], cell["method"]].append(spent)
    cpu, unknown, free = 0.0, 0, [0.0] * workers
    for work in works:
        whole = BEGINNING if work.jobs else 0.0
        for kind, method, epsilon in work.jobs:
            known = took.get((work.data, kind, method, epsilon)) or took.get((work.data, kind, method))
            unknown += not known
            whole += fmean(known) if known else 0.0
        cpu += whole
        heapq.heappush(free, heapq.heappop(free) + whole)
    return Estimate(cpu, max(free), unknown)
