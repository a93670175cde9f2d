"""Tables of dp-streams over several windows: each combined with what earlier windows published, cell by cell.

The counts of items are kept as means with several ways to forget; the one that foretold the windows so far best is that
of all tables. Everything here sees noisy tables and public facts alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.dp.combining import CARRIED, FORGET, CarriedTable, best_forgetting, evened, foretold, nothing_known
from recveil.ids import keys
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams.counting import EDGES, ONE_LENGTH, SESSIONS, UNIT
from recveil.mechanisms.dp_streams.drawing import Numbers, StreamTables

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Tables = Mapping[str, Any]

# items, pairs, moves: which items to pair is told
SHARES: dict[str, tuple[float, ...]] = {"transitions": (0.30, 0.55, 0.15), "none": (0.30, 0.70)}
FEWEST, MOST = 25, 4096  # items that are kept: a list of twenty needs more than twenty
_BY_CHANCE = 1  # of them, at most about: so many stand out by noise alone
_MARKS = ("", ".variance")
_ENOUGH = 30_000  # streams, in which the chance of drawing is next to nothing
_STAYS = 0.8  # of what an item must stand out by: one that was kept is so while it stands out by as much


def is_carried(published: tuple[Tables, ...]) -> bool:
    return bool(published) and f"{CARRIED}items" in published[0]


def with_items(found: dict[str, Any], public: PublicInfo, variance: float) -> dict[str, Any]:
    """The first round with the counts of items as all windows tell them, by each way to forget."""
    ids, noisy, before = keys(public.items), found["items"].astype(np.float64), public.earlier
    at = places(before.get("ids"), ids)
    tables = [_stored(before, f"items.{k}").at(at) for k in range(len(FORGET))]
    skill = before.get("skill", np.zeros((2, len(FORGET))))
    if "kept" in before:
        cells = places(ids, before["ids"][before["kept"]])
        skill = skill + foretold(tables, noisy, float(variance), cells[cells >= 0])
    told = dict(found)
    for k, forget in enumerate(FORGET):
        told |= _record(f"items.{k}", tables[k].after(noisy, float(variance), forget))
    best = best_forgetting(skill)
    told |= {f"{CARRIED}items{mark}": told[f"{CARRIED}items.{best}{mark}"] for mark in _MARKS}
    return told | {f"{CARRIED}ids": ids, f"{CARRIED}skill": skill, f"{CARRIED}forget": np.array([FORGET[best]])}


def kept(first: Tables, public: PublicInfo) -> Ints:
    """Those that stand out of the noise by now, and those kept before that nearly do; at least a few."""
    from scipy.special import ndtri

    value, deviation = first[f"{CARRIED}items"], np.sqrt(first[f"{CARRIED}items.variance"])
    least = np.full(len(value), float(ndtri(1 - _BY_CHANCE / max(len(value), 4 * _BY_CHANCE))))
    if "kept" in public.earlier:
        at = places(first[f"{CARRIED}ids"], public.earlier["ids"][public.earlier["kept"]])
        least[at[at >= 0]] *= _STAYS
    stands = value > least * deviation
    order = np.lexsort((-value / deviation, ~stands))
    return np.sort(order[: min(max(int(stands.sum()), FEWEST), MOST)])


def with_tables(
    found: dict[str, Any],
    mine: Ints,
    first: Tables,
    public: PublicInfo,
    variances: Mapping[str, float],
    where: Mapping[str, Ints] | None = None,
) -> dict[str, Any]:
    """The last round, pairs of the items `mine`, with its tables as all windows tell them; variances by name."""
    old = np.full(len(mine), -1)
    if "kept" in public.earlier:
        old = places(public.earlier["ids"][public.earlier["kept"]], keys(public.items)[mine])
    before = len(public.earlier.get("kept", ()))
    i, j = np.triu_indices(len(mine), 1)
    a, b = old[i], old[j]
    cells = np.where((a >= 0) & (b >= 0), a * (2 * before - a - 1) // 2 + b - a - 1, -1)
    moves = np.where((old[:, None] >= 0) & (old >= 0), old[:, None] * before + old, -1).ravel()
    forget = float(first[f"{CARRIED}forget"][0])
    stood = dict.fromkeys(("pairs", "pairs_alone", "pairs_whole"), cells) | {"transitions": moves} | dict(where or {})
    told = after(found, public.earlier, variances, forget, stood)
    windows = 1 + (1 - forget) * (float(public.earlier["windows"][0]) if "windows" in public.earlier else 0.0)
    return told | {f"{CARRIED}kept": mine, f"{CARRIED}windows": np.array([windows])}


def after(
    found: dict[str, Any], before: Tables, variances: Mapping[str, float], forget: float, where: Mapping[str, Ints]
) -> dict[str, Any]:
    """Tables of a window as all windows tell them; where: at which place each cell stood, else at the same."""
    told = dict(found)
    for name, variance in variances.items():
        known = _stored(before, name).at(where.get(name, np.arange(len(found[name]))))
        told |= _record(name, known.after(found[name].astype(np.float64), float(variance), forget))
    return told


def tables(published: tuple[Tables, ...]) -> StreamTables:
    """The combined statistics in units of one person, with the deviations of their noise."""
    second, mine = published[1], published[1][f"{CARRIED}kept"]
    m = len(mine)
    have = np.maximum(published[0][f"{CARRIED}items"][mine].astype(np.float64), 0.0)  # squares of squares follow
    G = np.zeros((m, m))
    i, j = np.triu_indices(m, 1)
    G[i, j], sigma = even("pairs", second, have[i] * have[j])
    moves, move_sigma = None, 0.0
    if f"{CARRIED}transitions" in second:
        flat, move_sigma = even("transitions", second, np.outer(have, have).ravel())
        moves = flat.reshape(m, m) / UNIT
    lengths = estimate(second, "lengths")
    deviation = np.sqrt(lengths.variance)
    sizes = np.where(lengths.value > 3 * deviation, lengths.value, 0.0) / UNIT / ONE_LENGTH
    sizes *= times(float(sizes.sum()), float(second[f"{CARRIED}windows"][0]))
    many = None
    if f"{CARRIED}sessions" in second:
        numbers = estimate(second, "sessions")
        many = Numbers(numbers.value / UNIT, float(np.sqrt(numbers.variance.max())) / UNIT, SESSIONS)
    return StreamTables(
        mine, np.maximum(have, 1e-9) / UNIT, (G + G.T) / UNIT, lengths.value / UNIT, moves, sigma / UNIT,
        move_sigma / UNIT, EDGES, ONE_LENGTH, many, sizes if sizes.any() else np.ones(len(EDGES)),
    )  # fmt: skip


def times(people: float, windows: float) -> float:
    """How often over a window's people are drawn: as often as the tables speak of windows, which costs no privacy; but
    of many people chance hides nothing, and drawing takes time.
    """
    return float(np.clip(_ENOUGH / max(people, 1.0), 1.0, max(windows, 1.0)))


def even(name: str, second: Tables, shape: Floats) -> tuple[Floats, float]:
    """A table of one deviation: where less is known of a cell it stays nearer to independence."""
    found = estimate(second, name)
    weight = np.where(np.isfinite(found.variance), 1 / found.variance, 0.0)
    scale = float((weight * shape * found.value).sum()) / max(float((weight * shape**2).sum()), 1e-300)
    return evened(found, shape * max(scale, 0.0))


def estimate(told: Tables, name: str) -> CarriedTable:
    value, variance = (told[f"{CARRIED}{name}{mark}"] for mark in _MARKS)
    return CarriedTable(value.astype(np.float64), variance.astype(np.float64))


def _stored(before: Tables, name: str) -> CarriedTable:
    if name not in before:
        return nothing_known(0)
    return estimate({f"{CARRIED}{key}": table for key, table in before.items()}, name)


def _record(name: str, found: CarriedTable) -> dict[str, Any]:
    parts = (part.astype(np.float32) for part in (found.value, found.variance))
    return dict(zip((f"{CARRIED}{name}{mark}" for mark in _MARKS), parts, strict=True))


def places(known: Any, wanted: Any) -> Ints:
    """Where each wanted id stands among the known ones, both by their keys; -1: nowhere."""
    if known is None or not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(known)
    at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[at] == wanted, at, -1).astype(np.int64)
