"""Traces of people in a release: numbers for each person that come out larger if she is in it.

How near the records come to her, how often her items, pairs and runs of clicks occur, each beside how usual they are in
a population that the attacker knows. None of them tells a member by itself: what it comes to without her is learnt from
releases that she is not in (shadow.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Floats, Interactions
from recveil.views.bits import columns
from recveil.views.records import Records, postings, records

ITEMS = ("itemlog", "itemrare", "missing", "uniq")
RUNS = (2, 3, 4)  # clicks in a row
MOST_ITEMS = 4096  # whose pairs are counted, the most popular first: the table of pairs stays small
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of n clicks of each person: `of` and `person` have an entry for each, names[of] is its 64-bit name."""

    n: int
    names: NDArray[np.uint64]  # distinct, ascending
    of: NDArray[np.int64]
    person: NDArray[np.int64]
    usual: Floats  # how often each occurs in the known population
    distinct: tuple[NDArray[np.int64], NDArray[np.int64]]  # person and run, each pair once


@dataclass(frozen=True, eq=False)
class Suspects:
    """The people whose membership is asked about, and what is usual in the population that the attacker knows."""

    population: Interactions
    records: Records
    usual: NDArray[np.int64]  # people who have each item
    n_usual: int
    narrow: Records  # their items among those whose pairs are counted, coded over these
    paired: NDArray[np.int64]
    usual_pairs: NDArray[np.int32]
    runs: tuple[Runs, ...]

    def __len__(self) -> int:
        return len(self.records)


def names(ordered: bool) -> tuple[str, ...]:
    """Of the traces, in the order of their columns; runs of clicks only where the release has an order."""
    runs = tuple(f"{kind}{n}" for n in RUNS for kind in ("run", "start")) if ordered else ()
    return (*kernels.membership.CLOSENESS, *ITEMS, *kernels.membership.PAIRS, *runs)


def suspects(population: Interactions, people: NDArray[np.int64], ordered: bool) -> Suspects:
    """The given people (codes) of a population, prepared once for all releases."""
    of = records(population)
    usual = of.popularity()
    paired = np.sort(np.argsort(-usual, kind="stable")[:MOST_ITEMS])
    known = columns(population)
    runs = tuple(_runs(population, people, n) for n in RUNS) if ordered else ()
    mine = of.take(people)
    return Suspects(
        population,
        mine,
        usual,
        len(of.people),
        _among(mine, paired),
        paired,
        known.take(paired).pairs(),
        runs,
    )


def traces(of: Suspects, released: Interactions) -> Floats:
    """One row for each suspect, one column for each name."""
    there = released.over_items(of.population.items).compact().over_items(of.population.items)
    if not len(there):
        return np.zeros((len(of), len(names(bool(of.runs)))))
    found = records(there)
    n_released = len(found)
    count = found.popularity()
    weights = 1.0 / np.log(2.0 + of.usual)
    weighted = np.add.reduceat(weights[found.items], found.starts[:-1])
    index = postings(found)
    near = kernels.membership.closeness(*of.records.sets, index.starts, index.records, found.lengths, weights, weighted)
    pairs = columns(there).take(of.paired).pairs()
    share = n_released / of.n_usual
    parts = [
        near,
        _item_traces(of, count, share),
        kernels.membership.pair_traces(*of.narrow.sets, pairs, of.usual_pairs, share),
        *(_run_traces(run, there, len(of)) for run in of.runs),
    ]
    return np.concatenate(parts, axis=1)


def _item_traces(of: Suspects, count: NDArray[np.int64], share: float) -> Floats:
    usual = np.maximum(of.usual, 1)
    columns_ = (
        np.log((count + 0.25) / (of.usual * share + 0.25)),
        count / usual,
        (count == 0).astype(np.float64),
        (count > 0) / usual.astype(np.float64) ** 2,
    )
    person = np.repeat(np.arange(len(of)), of.records.lengths)
    sums = [np.bincount(person, weights=c[of.records.items], minlength=len(of)) for c in columns_]
    size = np.maximum(of.records.lengths, 1)
    return np.stack([sums[0] / size, sums[1] / size, sums[2], sums[3]], axis=1)


def _runs(population: Interactions, people: NDArray[np.int64], n: int) -> Runs:
    rows = population.canonical()
    name, person, _ = _named(rows, n)
    place = np.full(population.n_users, -1, dtype=np.int64)
    place[people] = np.arange(len(people))
    mine = place[person] >= 0
    known, of = np.unique(name[mine], return_inverse=True)
    owner = place[person[mine]]
    once = np.unique(owner * max(len(known), 1) + of)
    return Runs(n, known, of, owner, _counted(known, name), np.divmod(once, max(len(known), 1)))


def _run_traces(of: Runs, released: Interactions, n_people: int) -> Floats:
    name, _, first = _named(released.ordered(), of.n)
    ratio = _counted(of.names, name) / of.usual
    runs = np.bincount(of.person, minlength=n_people)
    mean = np.bincount(of.person, weights=ratio[of.of], minlength=n_people) / np.maximum(runs, 1)
    begun = _counted(of.names, name[first]) / of.usual
    person, run = of.distinct
    return np.stack([mean, np.bincount(person, weights=begun[run], minlength=n_people)], axis=1)


def _named(rows: Interactions, n: int) -> tuple[NDArray[np.uint64], NDArray[Any], NDArray[np.bool_]]:
    """A 64-bit name of every run of n clicks, whose it is, and whether it begins a stream. Rows stand in order."""
    length = max(len(rows) - n + 1, 0)
    name = np.zeros(length, dtype=np.uint64)
    for k in range(n):
        name = (name ^ (rows.item[k : k + length].astype(np.uint64) + np.uint64(k + 1))) * _MIX
        name ^= name >> np.uint64(29)
    whole = rows.user[:length] == rows.user[n - 1 : n - 1 + length]
    first = np.append(True, rows.user[1:] != rows.user[:-1])[:length]
    return name[whole], rows.user[:length][whole], first[whole]


def _counted(names: NDArray[np.uint64], seen: NDArray[np.uint64]) -> Floats:
    """How often each of the sorted names was seen."""
    if not len(names):
        return np.zeros(0)
    at = np.minimum(np.searchsorted(names, seen), len(names) - 1)
    return np.bincount(at[names[at] == seen], minlength=len(names)).astype(np.float64)


def _among(of: Records, items: NDArray[np.int64]) -> Records:
    """The records with these items alone, coded over them."""
    code = np.full(of.n_items, -1, dtype=np.int32)
    code[items] = np.arange(len(items), dtype=np.int32)
    kept = code[of.items] >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    lengths = before[of.starts[1:]] - before[of.starts[:-1]]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Records(starts, code[of.items[kept]], of.ratings[kept], len(items))
