"""Report: what a comparison found, as data. Renderers read it and add nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from recveil.guarantee import Guarantee
from recveil.measurement import Measurement

HEADLINE_KNOWN = 4  # how many items the attacker of the verdict knows
MEMBERSHIP_ATTACKS = ("shadow-auc", "membership-auc")  # strong evidence first
METRIC = "ndcg"  # by which lists are judged
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

    def record(self) -> dict[str, Any]:
        return asdict(self)


# parameters without a default, for a first look


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
    left_out: tuple[str, ...] = ()  # what was not measured, and why, in sentences
    meta: Mapping[str, Any] = field(default_factory=dict)
    words: Words = field(default_factory=Words)

    def record(self) -> dict[str, Any]:
        """As plain data, for --json."""
        from recveil.report.verdict import headline, sentence

        return {
            "data": dict(self.data),
            "verdict": [headline(self), *(sentence(self, e) for e in self.entries)],
            "mechanisms": [e.record() for e in self.entries],
            "measurements": [m.record() for m in self.measurements],
            "left_out": list(self.left_out),
            "advice": [a.record() for a in self.advice],
            "meta": dict(self.meta),
        }

    def key(self, entry: Entry) -> str:
        """The letter that stands for a mechanism in figures and tables."""
        number = self.entries.index(entry)
        return chr(ord("A") + number) if number < 26 else str(number + 1)

    def name(self, entry: Entry) -> str:
        """The mechanism's name without parameters, where that says enough."""
        name = short(entry.spec)
        return name if sum(short(e.spec) == name for e in self.entries) == 1 else entry.spec

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
            if known not in best or m.value > best[known].value:
                best[known] = m
        return [best[known] for known in sorted(best)]

    def found(self, entry: Entry) -> Measurement | None:
        """How many people the attacker of the verdict finds."""
        return min(self.linkage(entry), key=lambda m: abs(m.params["known"] - HEADLINE_KNOWN), default=None)

    def membership(self, entry: Entry) -> Measurement | None:
        """The strongest attack on whether a person is in the data at all; where a strong kind was run, of that kind."""
        kinds = [self.named(name, entry.spec) for name in MEMBERSHIP_ATTACKS]
        return max(next(filter(None, kinds), []), key=lambda m: m.value, default=None)

    def judge(self) -> str | None:
        """The referee of the verdict: the best on the real data, so that no release has a say in the choice."""
        real = self.algorithms(None)
        return max(real, key=lambda name: real[name].value, default=None)

    def lift(self, entry: Entry) -> Measurement | None:
        """What a recommender keeps of what the real data teach beyond popularity; None where that is undefined."""
        return self._judged("lift", entry)

    def advantage(self, entry: Entry) -> Measurement | None:
        """What the real data teach beyond popularity; where it is nothing, its note says that lift is undefined."""
        return self._judged("advantage", entry)

    def _judged(self, name: str, entry: Entry) -> Measurement | None:
        judge = self.judge()
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
