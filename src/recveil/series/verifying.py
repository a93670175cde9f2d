"""verify over a whole series: each bundle, that they are windows of one series, and that they keep its promise.

A recipient has the bundles alone; an owner's folder has the ledger too, which names every window that left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recveil.dp.budget import rho_of
from recveil.errors import RecveilError
from recveil.releases.bundle import BUNDLES, MANIFEST, SERIES, BrokenBundleError, verify
from recveil.series.folder import open_series

Examined = tuple[dict[str, Any] | None, Sequence[str], Sequence[str]]  # manifest, what does not hold, remarks
_SAME = ("name", "period", "period_begin", "period_end", "first", "windows", "participations", "spec")


@dataclass(frozen=True)
class SeriesVerified:
    """What was found in the bundles of a series."""

    windows: Mapping[int, dict[str, Any]]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = field(default=())

    def record(self) -> dict[str, Any]:
        facts = [{"window": n, **manifest["series"]} for n, manifest in sorted(self.windows.items())]
        promise = next((m["guarantee"] for m in self.windows.values()), None)
        return {
            "verified": not self.problems,
            "windows": facts,
            "guarantee": promise,
            "problems": list(self.problems),
            "remarks": list(self.remarks),
        }

    def lines(self) -> list[str]:
        said = [f"{'not verified' if self.problems else 'verified'}: {len(self.windows)} windows"]
        promises = dict.fromkeys(m["guarantee"]["sentence"] for m in self.windows.values())
        said += [f"guarantee: {sentence}" for sentence in promises]
        return said + [f"remark: {r}" for r in self.remarks] + [f"not verified: {p}" for p in self.problems]


def examined(bundle: Path) -> Examined:
    """Whether the files of a bundle belong together."""
    try:
        return verify(bundle), (), ()
    except BrokenBundleError as broken:
        return None, (str(broken),), ()


def verify_series(folder: str | Path, examine: Callable[[Path], Examined] = examined) -> SeriesVerified:
    """All bundles of a folder, or of an owner's series. examine: at files, or at who signed, too."""
    folder = Path(folder)
    owned = (folder / SERIES).exists()
    place = folder / BUNDLES if owned else folder
    if not place.is_dir():
        raise RecveilError(f"{place}: there is no such folder")
    windows: dict[int, dict[str, Any]] = {}
    problems, remarks = list[str](), list[str]()
    for bundle in sorted(p for p in place.iterdir() if (p / MANIFEST).exists() and not p.name.startswith(".")):
        manifest, found, noticed = examine(bundle)
        remarks += noticed
        problems += [problem if str(bundle) in problem else f"{bundle}: {problem}" for problem in found]
        if manifest is None:
            continue
        if "series" not in manifest:
            problems.append(f"{bundle}: it is no window of a series")
            continue
        number = int(manifest["series"]["window"])
        if number in windows:
            problems.append(f"{bundle}: window {number} is there twice")
        windows[number] = manifest
    if not windows and not problems and not owned:
        raise RecveilError(f"{folder}: there are no windows of a series here")
    problems += _together(windows)
    remarks += [f"window {n} is not here" for n in _gaps(windows)]
    if owned:
        left = open_series(folder).left()
        problems += [f"window {n} is here, and the ledger does not name it" for n in sorted(set(windows) - set(left))]
        problems += [f"window {n} left, and its bundle is not here" for n in sorted(set(left) - set(windows))]
    return SeriesVerified(windows, tuple(problems), tuple(dict.fromkeys(remarks)))


def _together(windows: Mapping[int, dict[str, Any]]) -> Iterator[str]:
    """Where windows contradict each other, or cost more together than the period promises."""
    if len({m["series"]["name"] for m in windows.values()}) > 1:
        yield "the windows are of more than one series"
    periods: dict[int, tuple[int, dict[str, Any]]] = {}
    ends, before = "", 0
    for number, manifest in sorted(windows.items()):
        facts, promise = manifest["series"], manifest["guarantee"]
        first, other = periods.setdefault(facts["period"], (number, manifest))
        for name in (n for n in _SAME if facts[n] != other["series"][n]):
            yield f"window {number} says {name} {facts[name]}, and window {first} says {other['series'][name]}"
        if promise != other["guarantee"]:
            yield f"window {number} makes another promise than window {first}"
        if facts["begin"] < ends:
            yield f"window {number} begins before window {before} has ended"
        ends, before = facts["end"], number
        yield from _keeps(number, facts, promise)


def _keeps(number: int, facts: dict[str, Any], promise: dict[str, Any]) -> Iterator[str]:
    many = facts["participations"]
    if not facts["first"] <= number < facts["first"] + facts["windows"] or not 1 <= many <= facts["windows"]:
        yield f"window {number} is not one of the {facts['windows']} windows of its period"
    if facts["window_rho"] is None:
        if many * facts["window_epsilon"] > promise["epsilon"] * (1 + 1e-9):
            yield f"window {number} costs more than a part of {many} of the period's epsilon"
        return
    fails = many * facts["window_rho_fails"]
    rest = promise["delta"] - fails
    if rest <= 0 or many * facts["window_rho"] > rho_of(promise["epsilon"], rest) * (1 + 1e-9):
        yield f"window {number} costs more than a part of {many} of the period's budget"


def _gaps(windows: Mapping[int, dict[str, Any]]) -> list[int]:
    """Windows between those that are there."""
    return [n for n in range(min(windows, default=0), max(windows, default=-1)) if n not in windows]
