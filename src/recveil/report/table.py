"""Report: what a comparison found, as data. Renderers read it and add nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from recveil.errors import RecveilError
from recveil.formats.files import write_text
from recveil.guarantee import Guarantee
from recveil.measurement import Measurement, frame_of

HEADLINE_KNOWN = 4  # items, where nobody says what an attacker knows
MEMBERSHIP_ATTACKS = ("shadow-auc", "membership-auc")  # strong evidence first
METRIC = "ndcg"  # by which lists are judged
NEXT = "next ndcg"  # by which those are judged that read the order
ERROR = "rmse"  # by which predicted ratings are judged


@dataclass(frozen=True)
class Words:
    """What an item and a person are called in these data."""

    item: str = "item"
    person: str = "person"

    @property
    def items(self) -> str:
        return self.item + "s"

    @property
    def people(self) -> str:
        return "people" if self.person == "person" else self.person + "s"


@dataclass(frozen=True)
class Advice:
    """A mechanism for these data: whether it fits, what it is good for, and what to mind."""

    mechanism: str
    fits: bool
    why: str
    best_for: str = ""  # lists, ratings or tags, of which it keeps most among those with a proof

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """One mechanism of a comparison: what it did, what it promises, and the size of what it gave out.

    drawn: its records are nobody's. items_of: how many items the mechanism was given. lost: what else is gone.
    """

    spec: str
    guarantee: Guarantee
    done: str
    rows: int
    users: int
    items: int = 0
    items_of: int = 0
    drawn: bool = False
    lost: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        return {
            "spec": self.spec,
            "guarantee": self.guarantee.record(),
            "done": self.done,
            "rows": self.rows,
            "users": self.users,
            "items": self.items,
            "items_of": self.items_of,
            "drawn": self.drawn,
            "lost": list(self.lost),
        }


def short(spec: str) -> str:
    return spec.partition(":")[0]


@dataclass(frozen=True)
class Report:
    """Measurements of several mechanisms on the same data, by the spec of the mechanism."""

    data: Mapping[str, Any]
    entries: tuple[Entry, ...]
    measurements: tuple[Measurement, ...]
    advice: tuple[Advice, ...] = ()
    skipped: tuple[str, ...] = ()  # what was not measured, and why, in sentences
    meta: Mapping[str, Any] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    attackers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # criterion, knows, weak, by attack
    known: int = HEADLINE_KNOWN  # how many items the attacker of the verdict knows

    def record(self) -> dict[str, Any]:
        """As plain data, for --json."""
        from recveil.report.verdict import headline, sentence

        return {
            "data": dict(self.data),
            "verdict": [headline(self), *(sentence(self, e) for e in self.entries)],
            "mechanisms": [e.record() for e in self.entries],
            "measurements": [m.record() for m in self.measurements],
            "attackers": {name: dict(facts) for name, facts in self.attackers.items()},
            "skipped": list(self.skipped),
            "advice": [a.record() for a in self.advice],
            "meta": dict(self.meta),
        }

    def frame(self) -> pl.DataFrame:
        """A row for each measurement of each mechanism."""
        return frame_of(self.measurements)

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def frontier(self) -> pl.DataFrame:
        """A row for each mechanism: what the attacker of the verdict finds, what a recommender keeps, and whether no
        other mechanism is at least as good in both; null where that was not measured.
        """
        rows = []
        for entry in self.entries:
            found, lift = self.found(entry), self.lift(entry)
            rows.append(
                {
                    "mechanism": entry.spec,
                    "promise": entry.guarantee.status,
                    **_numbers("found", found),
                    **_numbers("lift", lift),
                }
            )
        for row in rows:
            row["frontier"] = None if row["found"] is None or row["lift"] is None else not _beaten(row, rows)
        return pl.DataFrame(rows)

    def save(self, path: str | Path) -> None:
        """The page (.html), or all numbers as a JSON document (.json)."""
        path = Path(path)
        if path.suffix == ".html":
            from recveil.report.html import html

            write_text(path, html(self))
        elif path.suffix == ".json":
            write_text(path, json.dumps(self.record(), ensure_ascii=False, allow_nan=False, default=str))
        else:
            raise RecveilError(f"{path}: a report is saved as .html or .json")

    def __repr__(self) -> str:
        from recveil.report.verdict import headline

        names = ", ".join(self.name(entry) for entry in self.entries[:8])
        return f"Report of {names}\n{headline(self)}\n.frontier() is a table, .save('report.html') the page"

    def _repr_html_(self) -> str:
        words = "".join(f"<li>{escape(line)}</li>" for line in self.record()["verdict"])
        return f"<ul>{words}</ul>{self.frontier()._repr_html_()}"

    def key(self, entry: Entry) -> str:
        """The letter that stands for a mechanism in figures and tables."""
        number = self.entries.index(entry)
        return chr(ord("A") + number) if number < 26 else str(number + 1)

    def name(self, entry: Entry) -> str:
        """The mechanism's name without parameters, where that says enough."""
        name = short(entry.spec)
        return name if sum(short(e.spec) == name for e in self.entries) == 1 else entry.spec

    def weak(self, m: Measurement) -> bool:
        """Whether it is weak evidence: it misses leaks that stronger attacks find."""
        return bool(self.attackers.get(m.measure, {}).get("weak"))

    def named(self, name: str, mechanism: str | None) -> list[Measurement]:
        return [m for m in self.measurements if m.name == name and m.mechanism == mechanism]

    # --- the two numbers of the verdict -----------------------------------------------------------------------

    def linkage(self, entry: Entry) -> list[Measurement]:
        """For each number of known items, the strongest attacker who knows random ones; in order of that number."""
        best: dict[int, Measurement] = {}
        for m in self.named("linkage", entry.spec):
            known = m.params.get("known")
            if known is None or m.params.get("items", "random") != "random":
                continue
            if known not in best or _rank(m) > _rank(best[known]):
                best[known] = m
        return [best[known] for known in sorted(best)]

    def found(self, entry: Entry) -> Measurement | None:
        """How many people the attacker of the verdict finds."""
        return min(self.linkage(entry), key=lambda m: abs(m.params["known"] - self.known), default=None)

    def membership(self, entry: Entry) -> Measurement | None:
        """The strongest attack on whether a person is in the data at all; where a strong kind was run, of that kind."""
        kinds = [self.named(name, entry.spec) for name in MEMBERSHIP_ATTACKS]
        return max(next(filter(None, kinds), []), key=lambda m: m.value, default=None)

    def judge(self, metric: str = METRIC) -> str | None:
        """The referee of the verdict: the best on the real data, so that no release has a say in the choice."""
        real = self.algorithms(None, metric)
        return max(real, key=lambda name: real[name].value, default=None)

    def lift(self, entry: Entry) -> Measurement | None:
        """What a recommender keeps of what the real data teach beyond popularity; None where that is undefined."""
        return self.judged("lift", entry)

    def sequence_lift(self, entry: Entry) -> Measurement | None:
        """The same of recommenders that read the order of clicks; None where there is none, or that is undefined."""
        return self.judged("sequence lift", entry, NEXT)

    def advantage(self, entry: Entry) -> Measurement | None:
        """What the real data teach beyond popularity; where it is nothing, its note says that lift is undefined."""
        return self.judged("advantage", entry)

    def judged(self, name: str, entry: Entry, metric: str = METRIC) -> Measurement | None:
        """A measurement by the referee of the verdict."""
        judge = self.judge(metric)
        return next((m for m in self.named(name, entry.spec) if m.params.get("referee") == judge), None)

    def rating(self, entry: Entry) -> tuple[Measurement, Measurement] | None:
        """The error of predicted ratings on the real data and on a release, by the best rater on the real data."""
        real, released = self.algorithms(None, ERROR), self.algorithms(entry, ERROR)
        judge = min(real, key=lambda name: real[name].value, default=None)
        return (real[judge], released[judge]) if judge in real and judge in released else None

    def algorithms(self, entry: Entry | None, metric: str = METRIC) -> dict[str, Measurement]:
        """What each referee reaches on a release, or on the real data; most-popular is not one of them."""
        source = "real" if entry is None else "release"
        return {
            m.params["referee"]: m
            for m in self.measurements
            if m.name == metric
            and m.params.get("trained_on") == source
            and m.params["referee"] != "most-popular"
            and entry in (None, self._entry(m.mechanism))
        }

    def _entry(self, spec: str | None) -> Entry | None:
        return next((e for e in self.entries if e.spec == spec), None)


def _rank(m: Measurement) -> tuple[bool, bool, float]:
    """The strongest attacker comes first, whom other people chose; the better informed before the other."""
    chosen = m.params.get("attacker") == "strongest"
    return chosen, chosen and bool(m.params.get("ratings")), m.value


def _numbers(name: str, m: Measurement | None) -> dict[str, Any]:
    return {name: m and m.value, f"{name}_low": m and m.low, f"{name}_high": m and m.high}


def _beaten(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether another one finds no more and keeps no less, and is better in one of the two."""
    here = row["found"], -row["lift"]
    others = [(r["found"], -r["lift"]) for r in rows if r["found"] is not None and r["lift"] is not None]
    return any(o != here and o[0] <= here[0] and o[1] <= here[1] for o in others)
