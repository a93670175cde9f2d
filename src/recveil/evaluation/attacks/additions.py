"""additions: can rows that a mechanism added be told from those that are real?

The attacker knows the real records of half of the people. An added item is more frequent in the release than among
them, or does not suit the rest of the record; he ranks the entries of the other half's records by either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.roc import Ranked, ranked, resampled
from recveil.evaluation.attacks.truth import Truth
from recveil.evaluation.attacks.verdict import measured
from recveil.evaluation.recommenders.ease import EASE
from recveil.measurement import Measurement
from recveil.views.records import Records

ITEMS = 4000  # the most popular ones, among which records are judged for what suits them
FEWEST = 20  # added entries, and real ones
_BLOCK = 512


def additions(
    known: Interactions, train: Records, released: Records, whose: Truth, rng: np.random.Generator
) -> list[Measurement]:
    """AUC of telling added entries from real ones, by popularity and by misfit; nothing where none were added.

    known: the rows of the data. control: the same entries with the labels of each record dealt anew.
    """
    people = whose.people
    judged = rng.permutation(len(people)) % 2 == 1
    taught = known.take_users(people[~judged])
    starts, rows = whose.of(people[judged])
    owner = np.repeat(people[judged], np.diff(starts))
    person, record, item, real = _entries(train, released, owner, rows)
    if min(np.count_nonzero(real), np.count_nonzero(~real)) < FEWEST:
        return []
    dealt = _dealt(real, np.searchsorted(np.unique(record), record), rng)
    found = []
    for way, score in (
        ("popularity", _excess(taught, released)[item]),
        ("misfit", _misfit(taught, released, rows[record], item)),
    ):
        seen = np.isfinite(score)
        if min(np.count_nonzero(real[seen]), np.count_nonzero(~real[seen])) < FEWEST:
            continue
        places = ranked(score[seen], ~real[seen])
        estimate = _over_people(places, person[seen], rng)
        control = ranked(score[seen], ~dealt[seen]).auc(np.ones(np.count_nonzero(seen)))
        found.append(
            measured(
                "attributes-additions",
                estimate,
                int(judged.sum()),
                chance=0.5,
                control=control,
                params={"by": way},
                note="telling items that were added from real ones; control: the labels of each record dealt anew",
            )
        )
    return found


def _entries(train: Records, released: Records, owner: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Of each entry of the records: whose it is, in which place of `rows`, its item, and whether it is real."""
    lengths = released.lengths[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    item = released.items[released.rows_of(rows)].astype(np.int64)
    whole = np.repeat(np.arange(len(train)), train.lengths) * np.int64(train.n_items) + train.items
    real = np.isin(owner[place].astype(np.int64) * train.n_items + item, whole)
    return owner[place], place, item, real


def _excess(taught: Interactions, released: Records) -> Floats:
    """By how much more often each item is released than the known people have it."""
    usual = np.bincount(np.unique(np.stack([taught.user, taught.item]), axis=1)[1], minlength=released.n_items)
    n = max(len(np.unique(taught.user)), 1)
    return np.log((released.popularity() + 0.5) / (len(released.people) + 1)) - np.log((usual + 0.5) / (n + 1))


def _misfit(taught: Interactions, released: Records, record: NDArray[Any], item: NDArray[Any]) -> Floats:
    """How badly each entry suits its record, by a linear model of the known people; NaN for items that it lacks."""
    model = EASE(items=ITEMS).fit(taught, 0)
    code = np.full(released.n_items, -1)
    code[model.known] = np.arange(len(model.known))
    shape = (len(released), released.n_items)
    bits = sparse.csr_array((np.ones(len(released.items)), released.items, released.starts), shape=shape)[
        :, model.known
    ]
    found = np.full(len(item), np.nan)
    order = np.argsort(record, kind="stable")
    for some in np.array_split(order, max(1, len(np.unique(record)) // _BLOCK)):
        rows, at = np.unique(record[some], return_inverse=True)
        fit = bits[rows] @ model.B
        there = code[item[some]] >= 0
        found[some[there]] = -fit[at[there], code[item[some[there]]]]
    return found


def _dealt(real: NDArray[np.bool_], record: NDArray[Any], rng: np.random.Generator) -> NDArray[np.bool_]:
    """The labels shuffled within each record."""
    by_luck = np.lexsort((rng.random(len(real)), record))
    by_place = np.argsort(record, kind="stable")
    dealt = np.empty_like(real)
    dealt[by_place] = real[by_luck]
    return dealt


def _over_people(places: Ranked, person: NDArray[Any], rng: np.random.Generator) -> tuple[float, float, float]:
    """The AUC, with an interval over people: entries of one person are not drawn apart."""
    _, at = np.unique(person, return_inverse=True)
    return resampled(lambda people, _: places.auc(people[at]), (1, int(at.max()) + 1), rng)
