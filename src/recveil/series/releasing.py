"""The windows of a series that have ended, one after the other: who counts is on the disk before any noise is drawn,
and that a window leaves is in the ledger before it does. Whatever stops it, the next run goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import NO_TIME, Interactions
from recveil.dp.combining import told_next
from recveil.errors import RecveilError
from recveil.formats import deduplicate
from recveil.guarantee import Guarantee
from recveil.ids import narrow
from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import text
from recveil.randomness import Source
from recveil.releases import aside, hash_chain
from recveil.releases import ledger as ledgers
from recveil.releases.bundle import SERIES, save
from recveil.releases.catalogue import Catalogue
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, WARNING, Progress
from recveil.releases.published import save_statistics, told
from recveil.releases.release import Release, release
from recveil.series.carrying import earlier_of
from recveil.series.folder import Series
from recveil.series.periods import Window
from recveil.series.promise import check, of_period, of_window
from recveil.series.state import State, load_state

NOTHING = "nothing"  # the note of a window in which nothing stood out of the noise
_NO_SECONDS = 1e11
_BACK = 60.0  # seconds by which clocks of two machines may differ


@dataclass(frozen=True)
class Left:
    """A window that left: its bundle and what that says of itself."""

    window: Window
    bundle: str
    manifest: dict[str, Any]


@dataclass(frozen=True)
class WindowsRequest:
    """The windows of `series` that have ended, out of the log `data`, which is complete `until` that day (else: now).

    `licence` and `key` as in a release.
    """

    series: Series
    data: Input
    until: date | None = None
    licence: str | None = None
    key: Any = None


def run_windows(request: WindowsRequest, progress: Progress = SILENT, now: datetime | None = None) -> list[Left]:
    """All windows that are due, each with its bundle; none where there is nothing to do."""
    series, now = request.series, now or datetime.now(UTC)
    if request.until is not None:
        now = min(now, datetime(request.until.year, request.until.month, request.until.day, tzinfo=UTC))
    with series.locked():
        series.recover()
        due = series.due(now)
        state = load_state(series.path, series.period.number)
        _check_state(series, state, now if request.until is None else None)
        if not due:
            return []
        mechanism, given = series.mechanism, series.catalogue  # what cannot be read is said before anybody counts
        rows = request.data.without_refusals().all_rows(progress)
        mechanism.check_fit(rows)
        rows = replace(rows, time=seconds(rows.time))
        state = replace(state, schema=_checked_schema(series, state, rows), clock=max(state.clock, now.timestamp()))
        rows, _ = aside.left_in(series.ledger, rows)
        _warn(due, series.facts.late, rows, progress)
        answer = ledgers.chosen_on_data(series.ledger)
        done = []
        tick = progress.counter("windows", len(due))
        for window in due:
            mine = _cut(series, rows, window).compact()
            inside, state = state.part(mine.users, window, series.period, series.takes_first)
            mine = mine.among(inside)
            state = replace(state, through=window.number)
            state.save(series.path)
            mine = deduplicate(mine, request.data.duplicates)  # type: ignore[arg-type]
            made = _made(series, mine, mechanism, given, window)
            done.append(_left(request, told(made, answer), window))
            state = replace(state, left=window.number)
            state.save(series.path)
            tick(1)
        return done


def _check_state(series: Series, state: State, now: datetime | None) -> None:
    named = {n: line for n, line in series.left().items() if n >= series.period.first}
    last = max(named, default=0)
    _check_ledger(series, max(state.left, *series.here()), last)
    _check_calendar(series, named)
    if state.through < last:
        raise RecveilError(
            f"the state of {series.path} knows of window {state.through}, and window {last} has left: an older copy "
            "was put in its place, and who counted since then is lost; nothing more is released in this period, and "
            "recveil series next opens the next one once it is over"
        )
    if now is not None and now.timestamp() < state.clock - _BACK:
        before = datetime.fromtimestamp(state.clock, UTC).isoformat(timespec="minutes")
        raise RecveilError(f"the clock went back: it says {now.isoformat(timespec='minutes')}, and it was {before}")


def _check_ledger(series: Series, seen: int, last: int) -> None:
    """A ledger that lacks the promise, or a window that was seen to leave, is not the one of this series."""
    period, wrong = series.period, ""
    line = next((e for e in hash_chain.read(series.ledger) if series.is_opened_by(e)), None)
    if line is None or any(line[n] != getattr(period, n) for n in ("epsilon", "delta", "participations")):
        wrong = "the promise of this period is not in it as the series has it"
    elif seen > last:
        wrong = f"window {seen} has left, and it does not name it"
    if wrong:
        raise RecveilError(
            f"{series.ledger} is lost, or an older copy is in its place: {wrong}; put the right one back"
        )


def _check_calendar(series: Series, named: dict[int, dict[str, Any]]) -> None:
    """Windows that left stay where they were, so that none overlaps another."""
    for number, line in named.items():
        window = series.period.at(min(number, series.period.last))
        if (number, line["begin"], line["end"]) != (window.number, window.begin.isoformat(), window.end.isoformat()):
            raise RecveilError(
                f"windows would overlap: window {number} left with the days from {line['begin']} to {line['end']}, and "
                f"by {series.path / SERIES} it is another one; put that file back as it was"
            )


def _checked_schema(series: Series, state: State, rows: Interactions) -> tuple[tuple[str, str], ...]:
    """The columns of a log, which stay what they were. Types of ids are no part of it: one row can change that of a
    column, and an id is the same in all of them (ids.py).
    """
    if rows.time is None:
        raise RecveilError("the windows of a series are stretches of time, and the data have no time column")
    if rows.unit != series.facts.unit:
        raise RecveilError(
            f"the series promises something about every {series.facts.unit}, and the data are of {rows.unit}s; "
            f"make one with --unit {rows.unit}"
        )
    found = (("kind", str(rows.kind)), ("sessions", "yes" if rows.session is not None else "no"))
    before = dict(state.schema)
    for name, value in found:
        if before.get(name, value) != value:
            raise RecveilError(
                f"another schema than before: {name} was {before[name]}, and is {value}; nothing was done"
            )
    return found


def seconds(time: NDArray[Any] | None) -> NDArray[np.float64] | None:
    """Seconds since 1970, NaN where there are none. A number too large for them (after the year 5000) counts milli-,
    micro- or nanoseconds: each by itself, so that nobody's row says what another's means.
    """
    if time is None:
        return None
    known = ~np.isnan(time) if time.dtype.kind == "f" else time != NO_TIME
    found = np.where(known, time, np.nan).astype(np.float64)
    for _ in range(3):
        found = np.where(np.abs(found) >= _NO_SECONDS, found / 1000, found)
    return found


def _cut(series: Series, rows: Interactions, window: Window) -> Interactions:
    """The rows of a window; where late events count, all rows before it too: the log then holds what is new."""
    (begin, end), time = window.seconds, rows.time
    assert time is not None
    late = series.facts.late == "open"
    return rows.take((time < end) & ((time >= begin) | late))  # a row without a time is in no window


def _warn(due: list[Window], late: str, rows: Interactions, progress: Progress) -> None:
    """What the owner should know of the log, on the owner's own screen."""
    assert rows.time is not None
    known = rows.time[~np.isnan(rows.time)]
    if len(known) < len(rows):
        progress.note(f"{WARNING}{len(rows) - len(known):,} rows have no time, and are in no window")
    ahead = int(np.count_nonzero(known >= due[-1].seconds[1]))
    if ahead:
        progress.note(f"{WARNING}{ahead:,} rows are of windows that have not ended; they wait for theirs")
    after = "counts in the next" if late == "open" else "is dropped"
    for window in due:
        begin, end = window.seconds
        days = (known[(known >= begin) & (known < end)] - begin) // 86400
        missing = (end - begin) // 86400 - np.count_nonzero(np.bincount(days.astype(np.int64)))
        if missing:
            progress.note(
                f"{WARNING}{missing} days of window {window.number} have no row; a window leaves once, and what comes "
                f"later {after}: where the log is not complete, name the day until which it is with --until"
            )


def _made(series: Series, rows: Interactions, mechanism: Synthesis, given: Catalogue, window: Window) -> Release:
    """The release of a window, whatever it holds: that nothing stood out of the noise is an answer, and no refusal."""
    period = series.period
    public = replace(series.public, kind=rows.kind, sessions=rows.session is not None and mechanism.reads_sessions)
    declared = mechanism.with_declared(rows)
    assert isinstance(declared, Synthesis)
    mine = of_window(declared, public, period)
    given = replace(given, earlier=earlier_of(series, window.number))
    promises: list[Guarantee] = []

    def enter(_: Any, promise: Guarantee) -> None:
        check(replace(promise, status="proved"), period)
        promises.append(promise)

    seed = None if series.facts.seed is None else _seed(series, window)
    try:
        made = release(rows, mine, seed=seed, catalogue=given, enter=enter)
    except RecveilError:
        if not promises:
            raise
        made = _empty(rows, mine, promises[0], seed is not None, given.items)
    promise = of_period(promises[0], period)
    promise = promise.as_experiment() if seed is not None else promise
    described = _described(series, window, promises[0], mine)
    described["carried"] = made.published is not None and bool(told_next(made.published.rounds))
    return replace(made, guarantee=promise.weighed(), series=described)


def _seed(series: Series, window: Window) -> int:
    """An experiment's seed for one window."""
    return int(
        Source(bytes(32), True).derive("window", series.facts.seed or 0, window.number).words(1)[0] >> np.uint64(2)
    )


def _empty(
    rows: Interactions, mechanism: Synthesis, promise: Guarantee, seeded: bool, listed: pl.Series | None
) -> Release:
    """Ids have the type of the public list: nobody's row may settle it."""
    none, nobody = np.zeros(0, dtype=np.int32), pl.Series([], dtype=pl.Int64)
    alone = rows.unit == "session" or rows.session is not None
    ids = pl.Series([], dtype=pl.Int64) if listed is None else narrow(listed).clear()
    empty = Interactions(none, none, nobody, ids, unit="session" if alone else "user")
    notes = {NOTHING: "nothing stood out of the noise in this window; it is released all the same, without rows"}
    return Release(empty, mechanism, promise, "drop", seeded, notes)


def _described(series: Series, window: Window, promise: Guarantee, mechanism: Synthesis) -> dict[str, Any]:
    """What a manifest says of the series."""
    period = series.period
    return {
        "name": series.facts.name,
        "window": window.number,
        "begin": window.begin.isoformat(),
        "end": window.end.isoformat(),
        "period": period.number,
        "period_begin": period.begin.isoformat(),
        "period_end": period.end.isoformat(),
        "first": period.first,
        "windows": period.windows,
        "participations": period.participations,
        "spec": text(mechanism),
        "window_epsilon": promise.epsilon,
        "window_delta": promise.delta,
        "window_rho": promise.rho,
        "window_rho_fails": promise.rho_fails,
    }


def _left(request: WindowsRequest, made: Release, window: Window) -> Left:
    """Staged, entered, put in its place: what the ledger names is whole, and nothing leaves that it does not name."""
    series = request.series
    if made.published is not None:
        save_statistics(made.published, series.statistics(window.number))
    made = replace(made, schema_from=request.data.schema_from)
    manifest = save(made, series.staged, licence=request.licence, sign=request.key)
    described = manifest["series"]
    line = {"series": series.facts.name, "number": window.number}
    line |= {name: described[name] for name in ("period", "begin", "end")}
    series.enter(line | {"epsilon": described["window_epsilon"], "rho": described["window_rho"]})
    series.put_out(window)
    return Left(window, str(series.bundle(window)), manifest)
