"""Tables in a public space of items over several windows. The space stays that of the first one, so that they add up.

A new item has no place in it; where items with a place are no longer most of what people have, it is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.dp.combining import CARRIED
from recveil.ids import keys
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import carried

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
Tables = Mapping[str, Any]

_MOST = 0.8  # of what people have
_SPACE = ("space", "decoy", "loadings")


@dataclass(frozen=True)
class LeftNoise:
    """What is left of the noise of a table, or of each of its cells."""

    deviation: Any


def with_earlier(
    found: dict[str, Any], published: tuple[Tables, ...], public: PublicInfo, noise: Mapping[str, Any], chosen: Any
) -> dict[str, Any]:
    """The tables of a round beside what all windows so far tell of them; chosen: items of the last round, for pairs."""
    before, variances = public.earlier, {name: float(noise[name].size) for name in found}
    if not published:
        told = carried.with_items(found, public, variances.pop("items"))
        return carried.after(told, before, variances, float(told[f"{CARRIED}forget"][0]), {})
    places = _places(found, published[0], public)
    if chosen is None:
        return carried.after(found, before, variances, float(published[0][f"{CARRIED}forget"][0]), places)
    return carried.with_tables(found, chosen, published[0], public, variances, places)


def _places(found: Tables, first: Tables, public: PublicInfo) -> dict[str, Ints]:
    """Where the cells of tables in the space stood; nowhere where it was made anew."""
    same = space_before(public)
    if same is None or not np.array_equal(same[0], first["vectors"]):
        return {name: np.full(len(found[name]), -1) for name in _SPACE if name in found}
    at, d = carried.places(public.earlier["ids"], keys(public.items)), first["vectors"].shape[1]
    cells = np.where(at[:, None] >= 0, at[:, None] * d + np.arange(d), -1)
    return {"loadings": cells.ravel()} if "loadings" in found else {}


def space_before(public: PublicInfo, have: Floats | None = None) -> tuple[Singles, Singles] | None:
    """The space of earlier windows and its duel over the items of now; None: there is none, or too few have a place."""
    before = public.earlier
    if not before or "vectors" not in before:
        return None
    at = carried.places(before["ids"], keys(public.items))
    if have is not None and float(have[at >= 0].sum()) < _MOST * float(have.sum()):
        return None
    vectors, duel = (
        np.where(at[:, None] >= 0, before[name][np.maximum(at, 0)], np.float32(0.0)) for name in ("vectors", "duel")
    )
    return vectors, duel


def windows(last: Tables) -> float:
    """Of how many windows the tables speak."""
    return float(last[f"{CARRIED}windows"][0]) if f"{CARRIED}windows" in last else 1.0


def seen(published: tuple[Tables, ...], noise: Mapping[str, Any]) -> tuple[tuple[Tables, ...], Mapping[str, Any]]:
    """The tables as all windows so far tell them, and what is left of their noise; without earlier ones as they are."""
    if not carried.is_carried(published):
        return published, noise
    tables, left = [dict(found) for found in published], dict(noise)
    for found in tables:
        for name in (n for n in noise if f"{CARRIED}{n}" in found):
            told = carried.estimate(found, name)
            found[name], left[name] = told.value, LeftNoise(np.sqrt(told.variance))
            if name == "loadings":
                left[name] = LeftNoise(left[name].deviation.reshape(len(tables[0]["popularity"]), -1)[:, 0])
            elif name != "items":
                left[name] = LeftNoise(float(left[name].deviation.min()))
    if f"{CARRIED}kept" in tables[-1]:
        have = tables[0]["popularity"][tables[-1][f"{CARRIED}kept"]]
        i, j = np.triu_indices(len(have), 1)
        for name in ("pairs", "pairs_alone", "pairs_whole"):
            if f"{CARRIED}{name}" in tables[-1]:
                value, deviation = carried.even(name, tables[-1], have[i] * have[j])
                tables[-1][name], left[name] = value, LeftNoise(deviation)
        if f"{CARRIED}transitions" in tables[-1]:
            value, deviation = carried.even("transitions", tables[-1], np.outer(have, have).ravel())
            tables[-1]["transitions"], left["transitions"] = value, LeftNoise(deviation)
    return tuple(tables), left
