"""The judged people: of each a history, in its order, and what is to be found. No id of a person is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Interactions
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.ids import keys
from recveil.randomness import Source
from recveil.splits import vertical

LONGEST = 200  # items of a history, the latest ones: what a model is asked is bounded by a public number
_NAMES = ("starts", "history", "bounds", "wanted")


@dataclass(frozen=True, eq=False)
class Histories:
    """People by number: history[starts[p] : starts[p + 1]] in its order, wanted[bounds[p] : bounds[p + 1]] sorted."""

    starts: NDArray[np.int64]
    history: Codes
    bounds: NDArray[np.int64]
    wanted: Codes

    def __len__(self) -> int:
        return len(self.starts) - 1

    def save(self, path: Path) -> None:
        with written(path, private=True) as file:
            np.savez(file, allow_pickle=False, **{name: getattr(self, name) for name in _NAMES})


def load(path: Path) -> Histories:
    try:
        with np.load(path, allow_pickle=False) as file:
            return Histories(*(file[name] for name in _NAMES))
    except (OSError, ValueError, KeyError):
        raise RecveilError(f"{path} cannot be read: a court keeps its people there") from None


def judged(people: Interactions, find: float, like: float | None, chance: Source) -> Histories:
    """Who has something to find: the last share `find` of what she did, by time, or by chance where there are no times.

    `like`: the rating from which on a later item counts. Every step looks at one person's rows alone.
    """
    rows = _in_order(people, chance)
    before, after = vertical(rows, 1 - find)
    if like is not None and after.rating is not None:
        after = after.take(after.rating >= like)
    seen, found = before.matrix(binary=True), after.matrix(binary=True)
    fresh = found - found.multiply(seen)
    fresh.eliminate_zeros()
    fresh.sort_indices()
    chosen = np.diff(fresh.indptr) > 0
    latest = _latest(before.take(chosen[before.user]).ordered())
    new = np.cumsum(chosen) - 1
    lengths = np.bincount(new[latest.user], minlength=int(chosen.sum()))
    kept = fresh[np.flatnonzero(chosen)]
    return Histories(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        latest.item.astype(np.int32),
        kept.indptr.astype(np.int64),
        kept.indices.astype(np.int32),
    )


def _in_order(people: Interactions, chance: Source) -> Interactions:
    """Rows by person and time; without times, in an order that a keyed hash of person and item gives."""
    if people.time is not None:
        return people.canonical()
    who, what = keys(people.users), keys(people.items)
    names = chance.names(f"{u} {i}" for u, i in zip(who[people.user], what[people.item], strict=True))
    return replace(people, time=names).canonical()


def _latest(rows: Interactions) -> Interactions:
    """Of each person the last rows, LONGEST at most, each item once, where it stood last."""
    pair = rows.user.astype(np.int64) * rows.n_items + rows.item
    _, last = np.unique(pair[::-1], return_index=True)
    rows = rows.take(np.sort(len(pair) - 1 - last))
    starts = rows.starts()
    from_end = starts[rows.user + 1] - np.arange(len(rows))
    return rows.take(from_end <= LONGEST)


def generated(items: int, number: int = 64, seed: int = 1) -> Histories:
    """A public set of histories, drawn from nothing but the number of items; every submission is tried on it."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.permutation(np.resize([1, 2, 3, 5, 10, 20, 50, LONGEST], number)), items)
    drawn = [rng.choice(items, length, replace=False).astype(np.int32) for length in lengths]
    nothing = np.zeros(number + 1, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Histories(starts, np.concatenate(drawn), nothing, np.zeros(0, dtype=np.int32))
