"""Toy worlds for attacks: people with tastes, so that the answer is obvious by construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, from_ids
from recveil.evaluation.shadows import Halves, of_halves
from recveil.measurement import SecondRelease, Shadows, Trial, owners, trial


def people(
    n: int, seed: int, *, items: int = 80, size: int = 12, first: int = 0, uniform: bool = False
) -> Interactions:
    """n people with `size` items each, out of the half of the catalogue that they like (or out of all of it).

    Every third one rates everything high, the next low; among `uniform` people ratings follow nothing.
    """
    rng = np.random.default_rng(seed)
    user, item = [], []
    for u in range(n):
        half = np.arange(items) if uniform else np.arange(items // 2) + (u % 2) * (items // 2)
        user += [first + u] * size
        item += rng.choice(half, size=size, replace=False).tolist()
    mood = np.zeros(len(user)) if uniform else 1.5 - np.array(user) % 3
    rating = (
        rng.integers(1, 6, len(user)) if uniform else np.clip(np.rint(3 + mood + rng.normal(0, 0.7, len(user))), 1, 5)
    )
    return from_ids(pl.Series(user), pl.Series(item), rating=rating, time=np.arange(len(user)))


def published(data: Interactions, seed: int = 0) -> tuple[Interactions, pl.DataFrame]:
    """The data with new ids alone, in their order, and the map."""
    token = np.random.default_rng(seed).permutation(data.n_users).astype(np.int32)
    names = pl.Series(10_000 + np.arange(data.n_users))
    id_map = pl.DataFrame({"original": data.users, "released": names.gather(token)})
    return replace(data, user=token[data.user], users=names), id_map


def shadowed(data: Interactions, seed: int = 0) -> Shadows:
    """Halves of the data, published with new ids alone."""
    return of_halves(data, lambda people, number: published(people, number)[0], Halves(8, seed=seed))


def same(n: int = 150, seed: int = 0) -> Trial:
    """released = train, with held-out people of the same kind."""
    train, held = people(n, seed), people(n // 2, seed + 1000, first=n)
    released, id_map = published(train)
    again, other_map = published(train, seed + 1)
    return replace(
        trial(train, released, holdout=held, id_map=id_map),
        shadows=(shadowed(train, seed),),
        also=SecondRelease(again, owners(train, again, other_map)),
        attributes={"even": (even(train), even(held))},
    )


def grown(subject: Trial, newcomers: int = 8) -> Trial:
    """The same after an earlier release in which the last of the people were not yet."""
    assert subject.owner is not None
    new = np.arange(subject.train.n_users - newcomers, subject.train.n_users)
    before = subject.released.take(~np.isin(subject.owner[subject.released.user], new))
    return replace(subject, also=SecondRelease(before, newcomers=new))


def even(data: Interactions) -> NDArray[np.int8]:
    """Who has more even items than odd ones; unknown where it is a draw."""
    ids = data.items.to_numpy()[data.item]
    balance = np.bincount(data.user, weights=1.0 - 2 * (ids % 2), minlength=data.n_users)
    return np.where(balance == 0, -1, balance > 0).astype(np.int8)


def unrelated(n: int = 100, seed: int = 0) -> Trial:
    """A release of other people, whose tastes have nothing to do with the data; the map says whose they claim to be."""
    kind = {"items": 40, "size": 8, "uniform": True}
    train, held = people(n, seed, **kind), people(n, seed + 1000, first=n, **kind)  # type: ignore[arg-type]
    released, id_map = published(people(n, seed + 2000, **kind), seed)  # type: ignore[arg-type]
    subject = trial(train, released, holdout=held, id_map=id_map)

    def other(_: Interactions, number: int) -> Interactions:
        return published(people(n // 2, number % 2**32, **kind))[0]  # type: ignore[arg-type]

    again, other_map = published(people(n, seed + 3000, **kind), seed + 1)  # type: ignore[arg-type]
    coins = np.random.default_rng(seed).integers(0, 2, (2, n), dtype=np.int8)
    return replace(
        subject,
        shadows=(of_halves(train, other, Halves(8, seed=seed)),),
        also=SecondRelease(again.over_items(subject.train.items), owners(train, again, other_map)),
        attributes={"coin": (coins[0], coins[1])},
    )
