"""Shadows: releases of halves of the data by the mechanism to be attacked. The desk makes them, never an attack.

Plan `pool`: halves of all people in complementary pairs, so that everybody is in exactly half of them. Plan `strict`:
a third of the people are asked about, a third share the attacked releases with them and stay unknown to the attacker,
and the last third takes their place where he learns. The bundle itself can be attacked where people are known who are
not in it: as many of those who are in are asked about, and all others are in every shadow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.evaluation.attacks.roc import ceiling
from recveil.guarantee import Guarantee
from recveil.measurement import SecondRelease, Shadows, Trial
from recveil.mechanism import Mechanism, Synthesis
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import release

NEWCOMERS = 5  # people who were not there the day before: few, as between two days
OVER_TIME = "differencing"  # the measure that asks for a release of the day before
ASKED = 4000  # people at most who are asked about; the others are in the releases all the same

Maker = Callable[[Interactions, int], Interactions]  # people and a seed in, released rows out


@dataclass(frozen=True)
class Halves:
    """How many shadows to learn from, of which plan; and the promise whose ceiling stands beside the figure."""

    shadows: int = 32
    plan: Literal["pool", "strict"] = "pool"
    seed: int = 0
    promise: Guarantee | None = None

    @property
    def attacked(self) -> int:
        """Releases to be attacked: as many as make the figure steady, never one that was learnt from."""
        return max(4, self.shadows // 4)

    @property
    def ceiling(self) -> float | None:
        return None if self.promise is None else ceiling(self.promise)


def maker(mechanism: Mechanism, data: Interactions, lists: Catalogue | None = None) -> Maker:
    """A mechanism as something that makes releases of parts of the data, over public lists where some are given.

    A synthesis takes the lists of ids to be public, so it gets those of all the data: what a half lacks would tell.
    """
    if isinstance(mechanism, Synthesis):
        given = lists or Catalogue()
        users = data.users if mechanism.knows_users else None
        lists = replace(
            given,
            items=data.items if given.items is None else given.items,
            tags=data.tags if given.tags is None else given.tags,
            users=users if given.users is None else given.users,
        )
    return lambda people, seed: release(people, mechanism, seed=seed, catalogue=lists).data


def of_halves(data: Interactions, make: Maker, how: Halves) -> Shadows:
    """Shadows and releases to be attacked, of halves of the data."""
    data = data.compact()
    rng = np.random.default_rng([how.seed, *b"halves"])
    if how.plan == "strict":
        return _strict(data, make, how, rng)
    asked = np.sort(rng.permutation(data.n_users)[:ASKED])
    everybody = _coins(how.shadows + how.attacked, data.n_users, rng)
    note = "the attacker knows everybody, but not who is in; the releases are of halves of the data"
    return Shadows(
        data,
        asked,
        everybody[:, asked],
        how.shadows,
        partial(_made, data, everybody, make, how.seed),
        ceiling=how.ceiling,
        note=note,
    )


def of_bundle(
    members: Interactions, released: Interactions, strangers: Interactions, make: Maker, how: Halves
) -> Shadows:
    """The bundle as the one release that is attacked: its members against people who are not in it."""
    from recveil.data import concat

    data = concat([members.compact(), strangers.compact()]).compact()
    rng = np.random.default_rng([how.seed, *b"bundle"])
    outside = data.users.is_in(strangers.users.implode()).to_numpy()
    inside = ~outside
    n = min(int(outside.sum()), int(inside.sum()), ASKED // 2)
    asked = np.sort(np.concatenate([rng.permutation(np.flatnonzero(side))[:n] for side in (outside, inside)]))
    whole = np.repeat(inside[None, :], how.shadows + 1, axis=0)
    whole[:-1, outside] = False
    whole[:-1, asked] = _coins(how.shadows, len(asked), rng)

    def made(number: int) -> Interactions:
        return released if number == how.shadows else _made(data, whole, make, how.seed, number)

    note = "the bundle itself; the attacker knows everybody who may be in it"
    return Shadows(data, asked, whole[:, asked], how.shadows, made, target="bundle", ceiling=how.ceiling, note=note)


def _strict(data: Interactions, make: Maker, how: Halves, rng: np.random.Generator) -> Shadows:
    asked, others, known = (np.sort(part) for part in np.array_split(rng.permutation(data.n_users), 3))
    asked = asked[:ASKED]
    coins = _coins(how.shadows + how.attacked, len(asked), rng)
    whole = np.zeros((len(coins), data.n_users), dtype=bool)
    whole[:, asked] = coins
    whole[: how.shadows, known] = True
    whole[how.shadows :, others] = True
    population = data.take_users(np.concatenate([asked, known]))
    note = "the attacker knows nothing of the others in the release"
    return Shadows(
        population,
        asked.astype(np.int64),
        coins,
        how.shadows,
        partial(_made, data, whole, make, how.seed),
        plan="strict",
        ceiling=how.ceiling,
        note=note,
    )


def _coins(releases: int, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random halves, 2k and 2k + 1 each other's complement."""
    inside = np.zeros((releases, people), dtype=bool)
    for pair in range(0, releases, 2):
        inside[pair, rng.permutation(people)[: people // 2]] = True
        if pair + 1 < releases:
            inside[pair + 1] = ~inside[pair]
    return inside


def _made(data: Interactions, inside: NDArray[np.bool_], make: Maker, seed: int, number: int) -> Interactions:
    """One release, with a seed of its own."""
    own = np.random.default_rng([seed, number, *b"shadow"]).integers(2**62)
    return make(data.take_users(inside[number]).compact(), int(own))


def with_day_before(subject: Trial, design: Any, released: Callable[[Interactions, int], Any]) -> Trial:
    """The trial with a release of the day before, for which a few of its people were not there yet; where one is asked
    for. It has noise of its own.
    """
    if OVER_TIME not in (design.only or ()):
        return subject
    people = np.unique(subject.train.user)
    chosen = np.random.default_rng([design.seed, *b"newcomers"]).permutation(people)
    new = np.sort(chosen[: min(NEWCOMERS, len(people) // 2)]).astype(np.int64)
    there = np.ones(subject.train.n_users, dtype=bool)
    there[new] = False
    before = released(subject.train.among(there), 1).data.over_items(subject.train.items)
    return replace(subject, also=SecondRelease(before, newcomers=new))
