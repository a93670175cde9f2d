"""Canaries: what is put into data, or left out, to see whether a release tells; and toy data to put them into."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, concat, from_ids
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism

LENGTH = 4  # items of the canary that differs in one record
MANY = 2000  # items of the one that has nearly everything
LONG = 40  # of them in one session
SESSIONS = 30  # of the one that does the same again and again
_PEOPLE = 400  # of the toy: so many that items stand out of noise at epsilon 1
_MANY_PEOPLE, _ITEMS = 6000, 60  # of the crowd
_POPULAR = 40  # items among which a pair that nobody has is looked for


def canaries(data: Interactions, unit: str | None) -> dict[str, Interactions]:
    """People to be told from nobody, by what is odd about them; or one, where a single record is protected."""
    if unit in (None, "user", "session"):
        pair = lonely_pair(data)
        found = {
            f"a {data.unit} with {MANY:,} items": person(data, MANY),
            f"a {data.unit} with a pair that nobody has": _of(data, pair),
            f"a {data.unit} with one item": _of(data, pair[:1]),
        }
        if data.session is not None:
            found[f"a {data.unit} with that pair in {SESSIONS} sessions"] = _of(data, pair * SESSIONS, 2)
        return found
    return {f"one {unit}": person(data)}


def person(data: Interactions, length: int = LENGTH, tags: int = 1) -> Interactions:
    """A person with items (and tags) that nobody in the data has, and the best rating."""
    text = data.items.dtype == pl.String
    top = 0 if text else int(data.items.max())  # type: ignore[arg-type]
    items = [f"canary-{k:04d}" for k in range(length)] if text else [top + 1 + k for k in range(length)]
    return _of(data, items, tags=tags)


def loners(data: Interactions, most: int) -> dict[str, Interactions]:
    """People with ids that nobody has: one of them, and one more than the `most` that a selection lets count."""
    return {
        f"a {data.unit} with an id that nobody has": person(data, 1),
        f"a {data.unit} with {most + 1} ids that nobody has": person(data, most + 1, most + 1),
    }


def lonely_pair(data: Interactions) -> list[Any]:
    """Two popular items that nobody, or hardly anybody, has both."""
    often = np.bincount(data.item, minlength=data.n_items)
    top = np.sort(np.argsort(-often, kind="stable")[:_POPULAR])
    if len(top) < 2:
        raise RecveilError("an audit needs data with at least two items")
    have = np.zeros((data.n_users, data.n_items), dtype=np.float32) if data.n_users * data.n_items < 2**26 else None
    if have is None:
        return data.items.gather(top[:2]).to_list()
    have[data.user, data.item] = 1
    together = have[:, top].T @ have[:, top] + np.diag(np.full(len(top), np.inf, dtype=np.float32))
    return data.items.gather(top[list(np.unravel_index(np.argmin(together), together.shape))]).to_list()


def neighbours(data: Interactions, canary: Interactions, unit: str | None) -> tuple[Interactions, Interactions]:
    """Two data sets that differ in what the guarantee protects: the canary, or one of her records."""
    whole = concat([data, canary])
    if unit in (None, "user", "session"):
        return whole, data
    if unit == "tag" and data.tags is not None:
        tags = pl.Series([*canary.frame()["tag"][:-1], data.tags[0]])  # the last one replaced
        other = from_ids(canary.frame()["user"], canary.frame()["item"], canary.rating, canary.time, tags, canary.unit)
        return whole, concat([data, other])
    if unit in ("record", "bit"):
        return whole, concat([data, canary.take(np.arange(len(canary) - 1))])
    if unit == "rating" and canary.rating is not None and data.rating is not None:
        lowest = np.append(canary.rating[:-1], data.rating.min())
        other = from_ids(canary.frame()["user"], canary.frame()["item"], lowest, canary.time, None, canary.unit)
        return whole, concat([data, other])
    raise RecveilError(f"there is no canary for the unit {unit}: known are user, session, record, bit, tag, rating")


def toy(mechanism: Mechanism) -> Interactions:
    """People in two camps, with what the mechanism needs."""
    rng = np.random.default_rng(8)
    user = np.repeat(np.arange(_PEOPLE), 6)
    item = np.concatenate([rng.choice(8, 6, replace=False) + 8 * (u % 2) for u in range(_PEOPLE)])
    return from_ids(
        pl.Series(user),
        pl.Series(item),
        rng.integers(1, 6, len(user)) if "rating" in mechanism.needs else None,
        np.arange(len(user)),
        pl.Series([f"t{t}" for t in item % 5]) if "tag" in mechanism.needs else None,
    )


def crowd(mechanism: Mechanism) -> Interactions:
    """For an audit in one run: so many people that all items stand out of the noise, where the mechanism takes many."""
    if not mechanism.takes_many:
        return toy(mechanism)
    rng = np.random.default_rng(8)
    first = rng.integers(0, _ITEMS, _MANY_PEOPLE)
    item = (first[:, None] + np.arange(6) * rng.integers(1, 8, _MANY_PEOPLE)[:, None]) % _ITEMS
    user = np.repeat(np.arange(_MANY_PEOPLE), 6)
    rating = rng.integers(1, 6, len(user)) if "rating" in mechanism.needs else None
    return from_ids(pl.Series(user), pl.Series(item.ravel()), rating, np.arange(len(user)))


def _of(data: Interactions, items: list[Any], long: int = LONG, tags: int = 1) -> Interactions:
    """One person with these items, in sessions of so many, and so many tags."""
    n = len(items)
    user = "canary" if data.users.dtype == pl.String else int(data.users.max()) + 1  # type: ignore[arg-type]
    rows = from_ids(
        pl.Series([user] * n),
        pl.Series(items),
        None if data.rating is None else np.full(n, data.rating.max()),
        None if data.time is None else np.arange(n, dtype=data.time.dtype),
        None if data.tags is None else pl.Series([f"canary-{k % tags}" if k % tags else "canary" for k in range(n)]),
        data.unit,
    )
    return rows if data.session is None else replace(rows, session=(np.arange(n) // long).astype(data.session.dtype))
