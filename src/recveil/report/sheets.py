"""Tables of a report: rows of alike measurements, one column a mechanism. Shared by the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recveil.measurement import Measurement
from recveil.report.table import Report
from recveil.report.words import percent

SHARES = (
    "linkage",
    "lift",
    "rating skill",
    "tag lift",
    "sequence lift",
    "public items lift",
    "reconstruction",
    "sybil",
    "coverage",
    "tail share",
    "nearest",
)
SHEETS = {
    "attacks": "What an attacker learns",
    "lift": "Lift: what a recommender keeps of what the real data teach beyond popularity",
    "ratings": "Ratings: what a predictor keeps beyond items' averages, and whether the order of predictors is kept",
    "metrics": "What recommenders reach, judged on held-out real people",
    "structure": "What else is kept",
    "groups": "Who pays: light and heavy users, head and tail items",
    "linkage": "Linkage by every attacker",
}
RATED = ("rating skill", "in-house order")
TAUGHT = ("trained_on", "release")  # goes without saying
LONG = ("linkage", "metrics", "groups")  # folded away until asked for


@dataclass(frozen=True)
class Row:
    """One kind of measurement over all mechanisms; `real` is the same on the real data."""

    title: str
    detail: str
    real: Measurement | None
    cells: tuple[Measurement | None, ...]
    weak: bool = False  # evidence


@dataclass(frozen=True)
class Sheet:
    title: str
    rows: tuple[Row, ...]
    folded: bool


def kind(m: Measurement, report: Report) -> str:
    """Which sheet a measurement belongs to."""
    if m.measure in report.attackers:
        return "linkage" if m.measure == "linkage" and "known" in m.params else "attacks"
    if "group" in m.params:
        return "groups"
    if m.name in RATED:
        return "ratings"
    if m.name in ("lift", "sequence lift", "public items lift", "beyond public items"):
        return "lift"
    return "metrics" if "referee" in m.params else "structure"


def sheet(report: Report, name: str) -> Sheet:
    """A table, its rows in the order of the measurements. Attacks begin with the strongest linkage attacker."""
    chosen = [m for m in report.measurements if kind(m, report) == name]
    rows = _rows(report, ((m.name, detail(m.params, report), m) for m in chosen))
    if name == "attacks":
        strongest = [m for e in report.entries for m in report.linkage(e)]
        strongest.sort(key=lambda m: int(m.params["known"]))
        rows = _rows(report, (("linkage", _known(report, m.params["known"]), m) for m in strongest)) + rows
    return Sheet(SHEETS[name], rows, name in LONG)


def _rows(report: Report, named: Iterable[tuple[str, str, Measurement]]) -> tuple[Row, ...]:
    found: dict[str, dict[str, dict[str | None, Measurement]]] = {}  # by title, so that like stands with like
    for title, says, m in named:
        real = m.params.get("trained_on") == "real"
        found.setdefault(title, {}).setdefault(says, {})[None if real else m.mechanism] = m
    return tuple(
        Row(
            title, says, of.get(None), tuple(of.get(e.spec) for e in report.entries), any(map(report.weak, of.values()))
        )
        for title, rows in found.items()
        for says, of in rows.items()
    )


def detail(params: Mapping[str, Any], report: Report) -> str:
    """Parameters in words."""
    params = {k: v for k, v in params.items() if k != "ceiling" and (k, v) not in (TAUGHT, ("trained_on", "real"))}
    words = []
    if "known" in params:
        drawn = params.pop("items", "random")
        words.append(_known(report, params.pop("known"), "" if drawn == "random" else f"{drawn} "))
        if params.pop("ratings", False):
            words.append("with ratings")
    if params.get("referee") == "all":
        params["referee"] = "all together"
    if {"metric", "n"} <= set(params):
        words.append(f"{params.pop('metric')}@{params.pop('n')}")
    words += [str(params.pop(name)) for name in ("attacker", "referee", "group") if name in params]
    words += [f"{name.replace('_', ' ')} {value}" for name, value in params.items()]  # n 10, score nearest
    return ", ".join(words)


def _known(report: Report, known: int, drawn: str = "") -> str:
    return f"{known} {drawn}{report.words.item if known == 1 else report.words.items} known"


def describe(m: Measurement, value: float | None) -> str:
    """A value in the unit of its measurement."""
    if value is None:
        return ""
    return percent(value) if m.name.startswith(SHARES) else f"{value:.3f}"


def number(m: Measurement) -> str:
    return describe(m, m.value)


def interval(m: Measurement) -> str:
    return f"[{describe(m, m.low).removesuffix('%')}, {describe(m, m.high).removesuffix('%')}]"
