"""Parts of a data set: whole users (horizontal), each user's past and future (vertical), both, rows, posts.

A `share` is strictly between 0 and 1. Every part keeps the vocabularies of the data and the order of its rows, and
the parts of a split are a partition of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions, group
from recveil.errors import RecveilError


class Split(NamedTuple):
    train: Interactions
    test: Interactions


class QuerySplit(NamedTuple):
    """Users to learn from; of the other users, what a recommender is shown (query) and should find (result)."""

    train: Interactions
    query: Interactions
    result: Interactions


def horizontal(data: Interactions, share: float, rng: np.random.Generator) -> Split:
    """A random `share` of the users to train, the others to test."""
    users = rng.permutation(np.unique(data.user))
    chosen = np.zeros(data.n_users, dtype=bool)
    chosen[users[: part_of(share, len(users), "users")]] = True
    return _split(data, chosen[data.user])


def holdout_users(data: Interactions, share: float, rng: np.random.Generator) -> Split:
    """The users who stay in the data, and a random `share` of them who are held out: kept, held."""
    return horizontal(data, 1 - _checked(share), rng)


def hold_out(data: Interactions, share: float, names: NDArray[np.int64]) -> Split:
    """The users who stay in the data, and about a `share` of them who are held out: kept, held, each over their own.

    A name is a random 63-bit number that belongs to an id, one for each in the vocabulary. Each person is judged by her
    own name: neither who else is there nor the engine changes who is held out.
    """
    held = names < name_bound(share)
    return Split(data.among(~held), data.among(held))


def name_bound(share: float) -> int:
    """Below which the names of those lie who are held out."""
    return int(_checked(share) * 2**63)


def vertical(data: Interactions, share: float) -> Split:
    """The first `share` of each user's interactions in time (as they stand, without one), rounded down; the rest.

    Of two interactions or more, each side gets at least one; a single one is in the first part. For users of
    whom nothing else is known this is the cut into query and result. Interactions are rows: a post of several
    tags may be cut through, which `leave_one_post_out` never does.
    """
    length = np.bincount(data.user, minlength=data.n_users)
    wanted = np.floor(_checked(share) * length + 1e-9)  # 0.29 * 100 is 28.999...
    return _split(data, _position(data) < np.clip(wanted, 1, np.maximum(length - 1, 1))[data.user])


def before_and_after(people: Interactions, rng: np.random.Generator) -> Split:
    """The first half of what each person did, shown to a recommender, and the rest, which it should find.

    Without times the halves are random: the order of a file may say nothing.
    """
    return vertical(people if people.time is not None else people.take(rng.permutation(len(people))), 0.5)


def both(data: Interactions, share: float, cut: float, rng: np.random.Generator) -> QuerySplit:
    """A horizontal split at `share`, and a vertical one of its test users at `cut`."""
    _checked(cut)
    train, test = horizontal(data, share, rng)
    return QuerySplit(train, *vertical(test, cut))


def random_rows(data: Interactions, share: float, rng: np.random.Generator) -> Split:
    """A random `share` of the rows, whoever they belong to; the others."""
    chosen = np.zeros(len(data), dtype=bool)
    chosen[rng.permutation(len(data))[: part_of(share, len(data), "rows")]] = True
    return _split(data, chosen)


def leave_one_post_out(data: Interactions, rng: np.random.Generator) -> Split:
    """One uniformly random post (a user's item, with all its tags) of each user with two or more is tested."""
    post = data.user.astype(np.int64) * data.n_items + data.item
    posts = np.unique(post)
    number = np.bincount(posts // max(data.n_items, 1), minlength=data.n_users)
    eligible = number > 1
    first = np.cumsum(number) - number
    held = posts[first[eligible] + rng.integers(0, number[eligible])]
    return _split(data, ~np.isin(post, held))


def _split(data: Interactions, train: NDArray[Any]) -> Split:
    return Split(data.take(train), data.take(~train))


def _position(data: Interactions) -> NDArray[np.int64]:
    """Of each row, how many rows of its user come before it."""
    by_time = np.arange(len(data)) if data.time is None else np.argsort(data.time, kind="stable")
    starts, order = group(data.user[by_time], data.n_users)
    rows = by_time[order]
    position = np.empty(len(data), dtype=np.int64)
    position[rows] = np.arange(len(data)) - starts[data.user[rows]]
    return position


def _checked(share: float) -> float:
    if not 0 < share < 1:
        raise RecveilError(f"a share must be strictly between 0 and 1, not {share}")
    return share


def part_of(share: float, n: int, what: str) -> int:
    """The share of n, to the nearest; no part is empty."""
    wanted = round(_checked(share) * n)
    if n < 2:
        raise RecveilError(f"a split needs at least 2 {what}, and these data have {n}")
    return min(max(wanted, 1), n - 1)
