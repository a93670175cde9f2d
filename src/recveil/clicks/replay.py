"""Replay: a log of clicks in time order, each a pre-click met by its person's policy when it came."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recveil.clicks.effects import ZONES
from recveil.clicks.game import ACTIONS, BASIC, Policy
from recveil.clicks.profiles import Clicks, Profiles, unit
from recveil.data import Floats, group
from recveil.errors import RecveilError
from recveil.kernels import clicks as kernel


@dataclass(frozen=True, eq=False)
class Replay:
    """Pre-clicks in the order in which they came, with zone, action and effects (of the click as preferred)."""

    asked: Clicks
    zones: NDArray[np.uint8]
    actions: NDArray[np.uint8]
    commonality: Floats
    disclosure: Floats
    profiles: Profiles  # in the end

    @property
    def counts(self) -> dict[str, int]:
        """How many pre-clicks fell into each zone."""
        return dict(zip(ZONES, np.bincount(self.zones, minlength=len(ZONES)).tolist(), strict=True))

    @cached_property
    def made(self) -> Clicks:
        """The clicks that were made: confirmed ones, and changed ones with the opposite sign."""
        kept = self.actions != kernel.CANCEL
        sign = np.where(self.actions == kernel.CHANGE, -self.asked.sign, self.asked.sign)
        return Clicks(self.asked.data.take(kept), sign[kept].astype(np.int8))


def replay(of: Clicks, by: Policy | list[Policy] = BASIC, base: str = "e", growing: bool = False) -> Replay:
    """The log in time order (without times: as it stands), from empty item profiles, everyone playing `by`.

    by: one policy, or one for each person. growing: the number of people is that of those seen so far, not of all.
    """
    policies = by if isinstance(by, list) else [by]
    if len(policies) not in (1, of.users):
        raise RecveilError(f"{len(policies)} policies for {of.users} people; give one, or one for each")
    table = np.array([[ACTIONS.index(p[z]) for z in ZONES] for p in policies], dtype=np.uint8)
    actions = table if len(table) == of.users else np.repeat(table, of.users, axis=0)
    asked = in_time(of)
    people = _seen(asked.data.user) if growing else np.full(len(asked), of.users, dtype=np.int64)
    zones, done, gains, risks, likes, dislikes = kernel.replay(
        asked.data.user, asked.data.item, asked.sign, people, actions, of.data.n_items
    )
    per = unit(base)
    risks = risks if per == 1 else risks / per
    return Replay(asked, zones, done, gains, risks, Profiles(likes, dislikes, of.users))


def in_time(of: Clicks) -> Clicks:
    """The clicks by time, unknown times last; of equal ones as they stand."""
    if of.data.time is None:
        return of
    order = np.argsort(of.data.time, kind="stable")
    return Clicks(of.data.take(order), of.sign[order])


def _seen(user: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many people have clicked so far, the present one included."""
    starts, rows = group(user, int(user.max(initial=-1)) + 1)
    new = np.zeros(len(user), dtype=np.int64)
    new[rows[starts[:-1][np.diff(starts) > 0]]] = 1
    return np.cumsum(new)
