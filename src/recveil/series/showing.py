"""What a series is and where it stands, as data and in words: nothing but what has left, and the calendar."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from recveil.dp.budget import epsilon_of
from recveil.guarantee import grade
from recveil.releases.bundle import MANIFEST
from recveil.series.folder import Series
from recveil.series.participation import stretch
from recveil.series.periods import Window

_COUNTS = ("rows", "users", "items")


def shown(series: Series, now: datetime | None = None) -> dict[str, Any]:
    """The series, its period, every window of it, what is spent on a person at most, and when the next window ends."""
    period, now, left = series.period, now or datetime.now(UTC), series.left()
    windows = [_window(series, period.at(n), left, now) for n in range(period.first, period.last + 1)]
    waiting = [w for w in windows if w["status"] in ("open", "to come")]
    most = _most([w["window"] - period.first for w in windows if w["status"] == "left"], series)
    rho = next((w["rho"] for w in windows if w["status"] == "left" and w["rho"]), None)
    return {
        "series": str(series.path),
        "name": series.facts.name,
        "mechanism": series.facts.spec,
        "unit": series.facts.unit,
        "epsilon": period.epsilon,
        "delta": period.delta,
        "grade": grade(period.epsilon),
        "period": {"number": period.number, "begin": period.begin.isoformat(), "end": period.end.isoformat()},
        "participations": period.participations,
        "spent_on_a_person": most / period.participations,
        "spent_epsilon": round(epsilon_of(most * rho, period.delta), 4) if rho else None,
        "windows": windows,
        "left": sum(w["status"] == "left" for w in windows),
        "due": sum(w["status"] == "due" for w in windows),
        "next": waiting[0]["end"] if waiting else None,
        "carry": series.carries,
        "experiment": series.facts.seed is not None,
    }


def _most(places: list[int], series: Series) -> int:
    """In how many of these windows anybody counts at most: one of each stretch, unless the first ones are taken."""
    many = series.period.participations
    if series.takes_first:
        return min(len(places), many)
    return len({stretch(place, series.period.windows, many)[0] for place in places})


def _window(series: Series, window: Window, left: dict[int, dict[str, Any]], now: datetime) -> dict[str, Any]:
    begin, end = window.seconds
    line = left.get(window.number, {})
    status = "to come"
    if line:
        status = "left"
    elif end <= now.timestamp():
        status = "due" if window.number > max(left, default=0) else "left out"
    elif begin <= now.timestamp():
        status = "open"
    kept = dict.fromkeys(_COUNTS)
    manifest = series.bundle(window) / MANIFEST
    if line and manifest.exists():
        stated = json.loads(manifest.read_text())
        kept = {name: stated[name] for name in _COUNTS}
    return {
        "window": window.number,
        "begin": window.begin.isoformat(),
        "end": window.end.isoformat(),
        "status": status,
        "date": line.get("date"),
        "epsilon": line.get("epsilon"),
        "rho": line.get("rho"),
        "bundle": str(series.bundle(window)) if line else None,
        **kept,
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same for a person at a terminal, with a picture over time."""
    period, windows = found["period"], found["windows"]
    said = [
        f"{found['series']}: {found['mechanism']}, {len(windows)} windows from {period['begin']} to {period['end']} "
        f"(period {period['number']})",
        f"promise of the period: epsilon {found['epsilon']:g}, delta {found['delta']:g} for every {found['unit']}, who "
        f"counts in at most {found['participations']} windows",
        f"windows that left: {found['left']}; spent on a {found['unit']} so far: at most "
        f"{found['spent_on_a_person']:.0%} of the budget",
    ]
    done = [w for w in windows if w["rows"] is not None]
    if done:
        most = max(max(w["rows"] for w in done), 1)
        bars = "".join(" ▁▂▃▄▅▆▇█"[round(8 * (w["rows"] / most))] if w["rows"] is not None else "·" for w in windows)
        said.append(f"rows by window: |{bars}| at most {most:,}")
    for w in windows:
        if w["status"] == "left" and w["rows"] is not None:
            kept = f"{w['rows']:,} rows, {w['items']:,} items" if w["rows"] else "nothing stood out of the noise"
            said.append(f"  {w['window']:>4}  {w['begin']}  left, {kept}")
        elif w["status"] in ("due", "open", "left out") or (w["status"] == "left" and w["rows"] is None):
            gone = "left, and its bundle is not here" if w["status"] == "left" else w["status"]
            said.append(f"  {w['window']:>4}  {w['begin']}  {gone}")
    if found["due"]:
        said.append(f"windows that wait: {found['due']}; recveil series release {found['series']} LOG releases them")
    if found["next"] or not found["due"]:
        ends = f"the next window ends on {found['next']}"
        said.append(ends if found["next"] else "all windows of this period have left")
    if found["experiment"]:
        said.append("made with a seed: an experiment, not for publication")
    return said
