"""Periods and their windows: a public calendar, in UTC. Nothing here looks at data."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from recveil.errors import RecveilError, unknown

_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
WINDOWS = ("day", "week", "month")
PERIODS = ("week", "month", "quarter", "year")


@dataclass(frozen=True)
class Window:
    """One window of a series: what happened from `begin` on and before `end`."""

    number: int  # in the series, from 1 on, over all its periods
    begin: date
    end: date

    @property
    def name(self) -> str:
        """What its bundle is called: windows sort by it."""
        return f"{self.number:05d}-{self.begin.isoformat()}"

    @property
    def seconds(self) -> tuple[int, int]:
        """Its bounds in seconds since 1970."""
        return _seconds(self.begin), _seconds(self.end)


@dataclass(frozen=True)
class Period:
    """The whole windows of a stretch of the calendar, and what may be spent on one person in all of them."""

    number: int
    first: int  # the number of its first window
    begin: date
    length: str
    window: str
    epsilon: float
    delta: float
    participations: int

    def __post_init__(self) -> None:
        for option, value, known in (("--period", self.length, PERIODS), ("--window", self.window, WINDOWS)):
            if value not in known:
                raise unknown(option, value, known)
        if not 0 < self.epsilon < float("inf") or not 0 < self.delta < 0.1:
            raise RecveilError("--epsilon must be above 0 and --delta between 0 and 0.1, such as 4 and 1e-6")
        if self.windows < 1:
            raise RecveilError(f"no {self.window} fits into a {self.length}: take a shorter --window")
        if not 1 <= self.participations <= self.windows:
            raise RecveilError(
                f"--participations must be from 1 to {self.windows}, the windows of the period, not "
                f"{self.participations}"
            )

    @property
    def windows(self) -> int:
        """How many whole windows fit."""
        end, count = later(self.begin, self.length), 0
        while later(self.begin, self.window, count + 1) <= end:
            count += 1
        return count

    @property
    def last(self) -> int:
        return self.first + self.windows - 1

    @property
    def end(self) -> date:
        """Where its last window ends, and the next period begins."""
        return later(self.begin, self.window, self.windows)

    def at(self, number: int) -> Window:
        """The window of this number."""
        if not self.first <= number <= self.last:
            raise RecveilError(f"window {number} is not one of this period's ({self.first} to {self.last})")
        place = number - self.first
        return Window(number, later(self.begin, self.window, place), later(self.begin, self.window, place + 1))

    def closed(self, now: datetime) -> list[Window]:
        """The windows that have ended."""
        moment = now.timestamp()
        found = [self.at(number) for number in range(self.first, self.last + 1)]
        return [window for window in found if window.seconds[1] <= moment]


def later(begin: date, step: str, times: int = 1) -> date:
    """So many days, weeks, months, quarters or years later; a day that a month lacks is its last one."""
    if step in _DAYS:
        return begin + timedelta(days=_DAYS[step] * times)
    months = begin.year * 12 + begin.month - 1 + _MONTHS[step] * times
    year, month = divmod(months, 12)
    return date(year, month + 1, min(begin.day, monthrange(year, month + 1)[1]))


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
