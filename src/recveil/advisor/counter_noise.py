"""The noise of a look at all items, part by part: a counter needs what the look before it left, and one new entry.

What is left is kept in the database, where every process finds it; it derives from the year's key, and what is missing
is made again. So the noise of a look is a function of the year, the sign, the item and the look, whoever asks and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Engine, insert, select, update

from recveil.advisor.profile_parts import Write, parts
from recveil.advisor.schema import noise_sums
from recveil.advisor.store import reading
from recveil.dp import continual
from recveil.dp.noise import draw, gaussian
from recveil.randomness import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Year = Mapping[str, Any]

SIGNS = ("likes", "dislikes")


@dataclass(frozen=True)
class PartSums:
    """Of the counters of a part, after a look: signs x sums x items."""

    look: int
    sums: Floats


def advance(known: PartSums | None, year: Year, look: int, first: int, n: int) -> PartSums:
    """The sums of the items first .. first + n - 1 at a look; those of items that are new begin with the first look."""
    if known is None or known.look > look or known.sums.shape[2] > n:
        known = PartSums(0, np.zeros((len(SIGNS), len(continual.points(year["looks"])[0]), 0)))
    old = known.sums.shape[2]
    found = np.zeros((*known.sums.shape[:2], n))
    found[:, :, :old] = known.sums
    for sign, sums in zip(SIGNS, found, strict=True):
        for at in range(1, look + 1):
            begin = old if at <= known.look else 0
            if begin < n:
                v = entries(year, sign, at, first + begin, n - begin)
                continual.add(sums[:, begin:], v, year["looks"])
    return PartSums(look, found)


def entries(year: Year, sign: str, look: int, first: int, n: int) -> Floats:
    """A function of the year's key, the sign, the item's number (which never comes back) and the look, and of nothing
    else: not of how many items there are, which grows while the year runs."""
    return continual.entries(Source(year["key"], seeded=False).derive(sign), look, year["variance"], first, n)


def noise(part: PartSums, looks: int) -> Ints:
    """Of likes and of dislikes, as it is shown."""
    return np.array([continual.whole(continual.total(sums, looks)) for sums in part.sums])


def closing_noise(part: PartSums, year: Year, first: int) -> Ints:
    """Of a look that closes the year: counters are measured once more, and both are weighed by their variances."""
    running, anew = _closing_variances(year, part.look)
    found = []
    for sign, sums in zip(SIGNS, part.sums, strict=True):
        source = Source(year["key"], seeded=False).derive(sign, "closing")
        more = draw(gaussian(anew), sums.shape[1], source, first)
        found.append(continual.whole((anew * continual.total(sums, year["looks"]) + running * more) / (running + anew)))
    return np.array(found)


def closing_spread(year: Year) -> float:
    """The variance of what a counter ends a year with; `year` as its last look left it."""
    running, anew = _closing_variances(year, year["done"])
    return running * anew / (running + anew)


def _closing_variances(year: Year, look: int) -> tuple[float, int]:
    return continual.deviation(look, year["looks"], year["variance"]) ** 2, year["closing_variance"]


def noise_of(engine: Engine, year: Year, look: int, n: int, carry_out: Write[None], closing: bool) -> Ints:
    """Of likes and of dislikes, by item number. What the next look begins with is kept."""
    found = np.zeros((len(SIGNS), n), np.int64)
    for part, first, many in parts(n):
        with reading(engine) as db:
            known = _kept(db, part, year)
        ahead = advance(known, year, look, first, many)
        shown = closing_noise(ahead, year, first) if closing else noise(ahead, year["looks"])
        found[:, first : first + many] = shown
        if known is None or known.look != look or known.sums.shape != ahead.sums.shape:
            carry_out(lambda db, part=part, ahead=ahead: _keep(db, part, year, ahead))  # type: ignore[misc]
    return found


def people_noise(year: Year, look: int) -> int:
    source = Source(year["key"], seeded=False).derive("people")
    return int(continual.whole(continual.noise(source, look, year["looks"], year["people_variance"], 1))[0])


def _kept(db: sa.Connection, part: int, year: Year) -> PartSums | None:
    of_this = (noise_sums.c.part == part) & (noise_sums.c.year == year["id"])
    row = db.execute(select(noise_sums.c.look, noise_sums.c.sums).where(of_this)).first()
    if row is None:
        return None
    shape = (len(SIGNS), len(continual.points(year["looks"])[0]), -1)
    return PartSums(row.look, np.frombuffer(row.sums, "<f8").reshape(shape))


def _keep(db: sa.Connection, part: int, year: Year, sums: PartSums) -> None:
    of_this = noise_sums.c.part == part
    values = {"year": year["id"], "look": sums.look, "sums": np.ascontiguousarray(sums.sums, "<f8").data}
    if not db.execute(update(noise_sums).where(of_this).values(values)).rowcount:  # in their place: half the pages
        db.execute(insert(noise_sums).values(part=part, **values))
