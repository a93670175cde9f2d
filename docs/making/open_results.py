"""The cells of the open benchmark out of kept JSON: figures with their intervals, lifts, reasons, and what is old."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from making import kept

PROJECT = Path(__file__).parent.parent.parent
ROOM = "open"
NAMES = {
    "real": "real rows",
    "popular": "most popular",
    "public_items": "public items, no private data",
    "dp_streams": "dp-streams",
    "dp_streams_items": "dp-streams, item file",
    "dp_ratings": "dp-ratings",
    "dp_ratings_items": "dp-ratings, item file",
    "dpals": "DPALS",
    "dp_sgd": "transformer, DP-SGD",
    "transformer": "transformer, no privacy",
    "markov": "Markov chain",
    "mbrw": "mbrw",
    "microaggregation": "microaggregation",
    "threshold": "threshold",
    "sdv_par": "PAR of SDV",
    "mostly": "engine of MOSTLY AI",
}
CONTROLS = ("real", "popular", "public_items")
SHOWN_AT = 4.0
NOT_RUN = "not run yet"

Cells = list[dict[str, Any]]


class Results:
    """The cells of one data set, and what there is to be run."""

    def __init__(self, document: kept.Document, grid: dict[str, Any]) -> None:
        self.name, self.content, self.grid, self.stale = document.name, document.content, grid, document.stale
        self.cells: Cells = document.content["cells"]
        self.hits = f"{self.content['hits']}@{self.content['n']}"
        self.ndcg = f"NDCG@{self.content['n']}"

    @property
    def begun(self) -> bool:
        return any(c["status"] == "done" for c in self.cells)

    def of(self, method: str, epsilon: float | None, kind: str = "use") -> Cells:
        return [c for c in self.cells if (c["kind"], c["method"], c["epsilon"]) == (kind, method, epsilon)]

    def values(self, method: str, epsilon: float | None, figure: str) -> list[float]:
        found = [c["figures"].get(figure) for c in self.of(method, epsilon) if c["status"] == "done"]
        return [v for v in found if v is not None]

    def rows(self) -> Iterator[tuple[str, float | None]]:
        """Methods and epsilons, controls first."""
        known = self.grid["methods"]
        order = [m for m in NAMES if m in known] + [m for m in known if m not in NAMES]
        for method in order:
            for epsilon in self.grid["epsilons"] if known[method]["private"] else (None,):
                yield method, epsilon

    def shown(self) -> Iterator[tuple[str, str, float | None]]:
        """The same with their names; a method that is empty for one reason at every epsilon is one row."""
        for method, group in groupby(self.rows(), key=lambda row: row[0]):
            epsilons = [epsilon for _, epsilon in group]
            why = {self.reason(method, e) for e in epsilons}
            empty = not any(self.values(method, e, f"best {self.hits}") for e in epsilons)
            for epsilon in epsilons[:1] if empty and len(why) == 1 else epsilons:
                yield name_of(method, None if empty and len(why) == 1 else epsilon), method, epsilon

    def reason(self, method: str, epsilon: float | None, kind: str = "use") -> str:
        """Why there is no figure."""
        cells = self.of(method, epsilon, kind)
        if not cells:
            heavy = self.grid["methods"][method]["heavy"]
            return f"{NOT_RUN}: {heavy}" if heavy else NOT_RUN
        return next((f"{c['status']}: {c['reason']}" for c in cells if c["status"] != "done"), "")

    def lift(self, method: str, epsilon: float | None) -> list[float]:
        """Split by split: 0 is the most popular, 1 the real rows."""
        figure, found = f"best {self.hits}", []
        for c in self.of(method, epsilon):
            ends = [[e for e in self.of(end, None) if e["split"] == c["split"]] for end in ("popular", "real")]
            if c["status"] == "done" and all(e and e[0]["status"] == "done" for e in ends):
                low, high = (e[0]["figures"][figure] for e in ends)
                found.append((c["figures"][figure] - low) / (high - low))
        return found

    def attack(self, method: str, epsilon: float | None) -> list[float] | None:
        done = [c for c in self.of(method, epsilon, "attack") if c["status"] == "done"]
        return done[0]["attack"]["shadow-auc"] if done else None

    @property
    def thinned(self) -> list[str]:
        """Methods that were run on some of the people alone."""
        return sorted({f"{name_of(c['method'])} ({c['thin']:,} people)" for c in self.cells if "thin" in c})

    @property
    def old(self) -> list[tuple[str, float | None]]:
        """Rows with figures whose files have changed since."""
        changed = {name for name, files in self.content["code"].items() if any(_now(f) != h for f, h in files.items())}
        found = {(c["method"], c["epsilon"]) for c in self.cells if c["code"] in changed and c["status"] == "done"}
        return [row for row in self.rows() if row in found]


@cache
def _now(file: str) -> str:
    path = PROJECT / file
    return sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else ""


def results(folder: Path = kept.KEPT) -> list[Results]:
    path = folder / f"{ROOM}_grid.json"
    if not path.is_file():
        return []
    grid = json.loads(path.read_text(encoding="utf-8"))
    known = {d.name: d for d in kept.usable(ROOM, folder)}
    return [Results(known[name], grid) for name in grid["data"] if name in known]


def name_of(method: str, epsilon: float | None = None) -> str:
    return NAMES.get(method, method) + ("" if epsilon is None else f", epsilon {epsilon:g}")


def span(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean and Student's 95% interval over splits; of fewer than three, what was seen."""
    mean = float(np.mean(values))
    if len(values) < 3:
        return mean, min(values), max(values)
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def among(values: Sequence[float], splits: int) -> str:
    """A figure in a row whose figures are of so many splits: one of fewer says so."""
    few = f" ({'one split' if len(values) == 1 else 'two splits'})" if 0 < len(values) < min(splits, 3) else ""
    return told(values, note="") + few


def told(values: Sequence[float], digits: int = 3, note: str = " (one split)") -> str:
    """A figure with its interval; of one split or two it says so."""
    if not values:
        return "-"
    mean, low, high = span(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}{note}"
    return f"{mean:.{digits}f} " + (
        f"({low:.{digits}f}, {high:.{digits}f})" if len(values) == 2 else f"± {high - mean:.{digits}f}"
    )
