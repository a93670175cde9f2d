"""A new series, or the next period of one: its whole promise is in the ledger before anybody counts."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError, unknown
from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import text
from recveil.releases import aside, hash_chain, ledger
from recveil.releases.bundle import BUNDLES, SERIES
from recveil.releases.catalogue import check_public, read_catalogue
from recveil.releases.places import Folder, check_vacant, whole
from recveil.series.folder import LATE, STATISTICS, Series, SeriesFacts, open_series
from recveil.series.periods import Period
from recveil.series.promise import as_synthesis, check, of_period, of_window
from recveil.series.state import new_state


@dataclass(frozen=True)
class SeriesRequest:
    """A series at `out`: at most `participations` of the windows of a period count for one person, and all of them
    together spend `epsilon` and `delta` on her. `items`: the public file; `late`: events of a window that has left
    are dropped, or count in the one that is open.
    """

    out: str
    mechanism: str
    ledger: str
    epsilon: float
    delta: float
    participations: int
    period: str = "year"
    window: str = "week"
    start: date | None = None
    items: str | None = None
    catalogue_is_public: bool = False
    publish_titles: bool = False
    unit: str = "user"
    late: str = "drop"
    carry: bool = True
    seed: int | None = None


def run_new_series(request: SeriesRequest, now: datetime | None = None) -> Series:
    """The series; its first period is open."""
    if request.late not in LATE:
        raise unknown("--late", request.late, LATE)
    if request.unit not in ("user", "session"):
        raise unknown("--unit", request.unit, ("user", "session"))
    path = Path(request.out)
    if (path / SERIES).exists():
        raise RecveilError(f"{path} is a series already; recveil series next opens its next period")
    check_vacant(Folder(path))
    mechanism = as_synthesis(request.mechanism)
    check_public(mechanism, request.items is not None, request.catalogue_is_public, request.seed is not None)
    if request.items:
        read_catalogue(request.items, request.publish_titles)  # what cannot be read is known before anything is spent
    start = request.start or (now or datetime.now(UTC)).date()
    period = Period(1, 1, start, request.period, request.window, request.epsilon, request.delta, request.participations)
    facts = SeriesFacts(
        secrets.token_hex(8), request.mechanism, _from(path, request.ledger), request.unit,
        _from(path, request.items) if request.items else None, request.late, request.carry,
        request.publish_titles, request.seed,
    )  # fmt: skip
    with whole(Folder(path)) as part:
        part.close_to_others()
        for folder in (BUNDLES, STATISTICS):
            (part / folder).make()
        made = Series(part.path, facts, (period,))
        made.save()
        new_state(1, request.seed).save(part.path)
        _reserve(Series(path, facts, (period,)))
    return open_series(path)


def next_period(path: str | Path, now: datetime | None = None, **changed: object) -> Series:
    """Open the next period, with the same promise or a changed one; the state of the old one goes."""
    series = open_series(path)
    with series.locked():
        series.recover()
        old, left = series.period, series.left()
        missing = [n for n in range(old.first, old.last + 1) if n not in left]
        ended = [w.number for w in old.closed(now or datetime.now(UTC))]
        if old.last not in ended and missing:
            raise RecveilError(
                f"the period runs until {old.end}, and its budget is not closed: {len(missing)} of its "
                f"{old.windows} windows have not left"
            )
        period = replace(old, number=old.number + 1, first=old.last + 1, begin=old.end, **changed)  # type: ignore[arg-type]
        opened = replace(series, periods=(*series.periods, period))
        _reserve(opened)
        new_state(period.number, series.facts.seed).save(series.path)
        opened.save()
    return opened


def window_mechanism(series: Series) -> Synthesis:
    """The mechanism of one window, as far as it is known before any data are."""
    return of_window(series.mechanism, series.public, series.period)


def _reserve(series: Series) -> None:
    """The promise of the whole period, in the ledger before anybody counts; a period is entered once."""
    period, mechanism = series.period, window_mechanism(series)
    of_one = mechanism.guarantee(series.public)
    check(of_one, period)
    promise = of_period(of_one, period)
    line = ledger.entry(
        f"series of {period.windows} windows:{text(mechanism)}",
        promise.as_experiment() if series.facts.seed is not None else promise,
    )
    line |= {"series": series.facts.name, "period": period.number, "participations": period.participations}
    if without := aside.share_aside(hash_chain.read(series.ledger)):
        line["people"] = [without, 1.0]
    with hash_chain.locked(series.ledger) as chain:
        for entered in chain.entries:
            if series.is_opened_by(entered):
                _same(entered, line)
                return
        if series.facts.seed is None:
            ledger.refuse(chain.entries, line, outside=False)
        chain.add(line)


def _same(entered: dict[str, Any], line: dict[str, Any]) -> None:
    """A period that was stopped while it was opened opens with the promise that the ledger has of it, and no other."""
    if any(entered.get(name) != line.get(name) for name in ("epsilon", "delta", "participations", "rho", "rho_fails")):
        raise RecveilError(
            f"the ledger has this period already, with epsilon {entered['epsilon']:g} and participations "
            f"{entered['participations']}: open it with these"
        )


def _from(path: Path, file: str) -> str:
    return os.path.relpath(Path(file).resolve(), path.resolve())
