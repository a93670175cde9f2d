"""Before anything is spent: about how many items a release with a proof will keep, from numbers that are declared.

No row is looked at. Items are taken to be touched as unevenly as in public data sets, where the logarithm of an item's
number of people spreads by 0.9 to 1.6, mostly 1.2 (docs/explanation/forecast.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, exp, log
from statistics import NormalDist
from typing import Any, NamedTuple

import polars as pl

from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, PublicInfo, Synthesis

SPREADS = (0.9, 1.2, 1.6)  # of the logarithm: the narrowest, the usual and the widest of public data sets
NUMBERS = ("people", "items", "rows")
UNFORESEEN = (
    "no forecast of what will be kept: say about how large the log is, --size people=5000,items=800,rows=90000, or "
    "have it counted with noise, --count 0.1 --ledger FILE"
)
MOST_TIMES = 1024  # as many people, or as large an epsilon


class LogSize(NamedTuple):
    """What is known of a log without looking at it."""

    people: int
    items: int
    rows: int

    def __str__(self) -> str:
        return ",".join(f"{name}={number}" for name, number in zip(NUMBERS, self, strict=True))

    def rounded(self) -> LogSize:
        """To one digit, as one says such numbers."""
        return LogSize(*(int(float(f"{max(number, 1):.1g}")) for number in self))


def parse_size(text: str) -> LogSize:
    """people=5000,items=800,rows=90000."""
    found = dict(part.partition("=")[::2] for part in text.replace(" ", "").split(","))
    try:
        size = LogSize(**{name: int(float(number.replace("_", ""))) for name, number in found.items()})
    except (TypeError, ValueError, OverflowError):
        raise RecveilError(f"--size is people=5000,items=800,rows=90000, not {text!r}") from None
    if min(size) < 1 or size.people > size.rows:
        raise RecveilError(f"--size {text}: everybody has at least one row, and nothing is fewer than 1")
    return size


@dataclass(frozen=True)
class Forecast:
    """How many items will be kept, how much of the rows these have, and what would help."""

    mechanism: Mechanism
    size: LogSize
    items: tuple[int, int, int]  # the fewest, about as many, the most
    share: float
    needed: int  # people who must have an item, or it is not kept

    @property
    def hopeless(self) -> bool:
        """Whether next to nothing will be kept."""
        return self.items[1] < self.mechanism.fewest_items

    @property
    def doubtful(self) -> bool:
        """Whether it may turn out so: a forecast is right within a factor of two, and people may be held out."""
        half = forecast(self.mechanism, grown(self.size, 0.5))
        return half is None or half.hopeless

    def words(self) -> str:
        low, about, high = self.items
        return (
            f"forecast for {self.size.people:,} people, {self.size.items:,} items and {self.size.rows:,} rows: about "
            f"{about:,} items will be kept ({low:,} to {high:,}, by what public data sets are like), which have "
            f"{self.share:.0%} of the rows; an item needs about {self.needed:,} people"
        )

    def help(self) -> list[str]:
        """What would keep enough, by how much."""
        found = ["a public file of the items: --items items.csv --catalogue-is-public"]
        if people := people_needed(self):
            found.append(f"about {people:,} people, a longer window for instance")
        epsilon: float = getattr(self.mechanism, "epsilon", 0.0)
        if epsilon and (times := _times(lambda n: _stronger(self.mechanism, epsilon * n, self.size))):
            weak = ", which is a weak promise" if epsilon * times > 10 else ""
            found.append(f"an epsilon of about {epsilon * times:.2g}{weak}")
        return found


def people_needed(expected: Forecast) -> int | None:
    """With about how many people enough would be kept; None where no number helps."""
    times = _times(lambda n: forecast(expected.mechanism, grown(expected.size, n)))
    return ceil(times * expected.size.people) if times else None


def _stronger(mechanism: Any, epsilon: float, size: LogSize) -> Forecast | None:
    try:
        return forecast(replace(mechanism, epsilon=epsilon), size)
    except RecveilError:  # no such epsilon
        return None


def grown(size: LogSize, times: float) -> LogSize:
    """A log of so many times as many people who do as these do, with the same items."""
    return LogSize(ceil(size.people * times), size.items, ceil(size.rows * times))


def forecast(mechanism: Mechanism, size: LogSize) -> Forecast | None:
    """What a mechanism that selects items within its budget will keep; None of any other."""
    if not isinstance(mechanism, Synthesis):
        return None
    ids: Any = pl.Series([], dtype=pl.String)
    needed = mechanism.people_of_an_item(PublicInfo("clicks", "user", ids, None, False), size.rows / size.people)
    if needed is None:
        return None
    kept = [_above(size, needed, spread) for spread in SPREADS]
    most = [min(size.items, ceil(number)) if number >= 0.5 else 0 for number, _ in kept]
    return Forecast(mechanism, size, (min(most), most[1], max(most)), kept[1][1], ceil(needed))


def foresee(
    mechanism: Mechanism, size: LogSize | None, go_on: bool, note: Callable[[str], None], spent: str = "nothing"
) -> None:
    """Say what to expect by numbers that were declared, or counted with noise; raise before any other noise where that
    is next to nothing. Without numbers, say how to give some.
    """
    expected = forecast(mechanism, size or LogSize(1, 1, 1))
    if expected is None:
        return
    if size is None:
        note(UNFORESEEN)
        return
    note(expected.words())
    if expected.hopeless and not go_on:
        raise RecveilError(
            f"{mechanism.name} would keep next to nothing, and {spent} is spent yet. What would help: "
            f"{'; '.join(expected.help())}. The same command with --go-on releases knowingly"
        )


def _above(size: LogSize, needed: float, spread: float) -> tuple[float, float]:
    """How many items have so many people, and which share of the rows is theirs, where logarithms spread so much."""
    below = NormalDist().cdf
    middle = log(size.rows / size.items) - spread * spread / 2
    beyond = (log(needed) - middle) / spread
    most = below(-(log(size.people) - middle) / spread)  # no item has more people than there are
    number = below(-beyond) if needed < size.people else 0.0
    return size.items * max(number, most if number else 0.0), below(spread - beyond) if number else 0.0


def _times(made: Any) -> float | None:
    """The least factor at which a forecast leaves no doubt."""
    low, high = 1.0, 2.0
    while (found := made(high)) is None or found.doubtful:
        if found is None or high > MOST_TIMES:
            return None
        low, high = high, high * 2
    for _ in range(4):
        middle = exp((log(low) + log(high)) / 2)
        low, high = (middle, high) if made(middle).doubtful else (low, middle)
    return float(f"{high:.2g}")
