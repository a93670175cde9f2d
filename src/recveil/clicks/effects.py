"""Effects of a pre-click: what it would change for its person, what the opposite would, and the zone it falls into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.clicks.profiles import Profiles, unit
from recveil.data import Floats
from recveil.errors import RecveilError
from recveil.kernels.clicks import NOBODY, every_item, gain, risk, signs, zone

Zone = Literal["trade_off", "safe", "dangerous", "deleterious"]
ZONES: tuple[Zone, ...] = get_args(Zone)  # by their number in the kernels


@dataclass(frozen=True)
class Effect:
    """What a click changes for its person.

    commonality and disclosure: by how much. reverse: the change in disclosure if she clicked the opposite instead.
    signs: of the three, computed in integers; they decide the zone.
    """

    commonality: float
    disclosure: float
    reverse: float
    signs: tuple[int, int, int]
    zone: Zone


def effect(likes: int, dislikes: int, users: int, sign: int, base: str = "e") -> Effect:
    """The effect of a like (+1) or dislike (-1) by someone new to an item, given its profile before the click."""
    per = unit(base)
    if sign not in (1, -1):
        raise RecveilError(f"a click is a like (1) or a dislike (-1), not {sign}")
    if likes < 0 or dislikes < 0 or likes + dislikes >= users:
        raise RecveilError(
            f"{likes} likes and {dislikes} dislikes among {users} people leave nobody who could click: counts must not "
            "be negative, and their sum must be less than the number of people"
        )
    a, b = (likes, dislikes) if sign > 0 else (dislikes, likes)
    found = signs(a, b, users)
    return Effect(
        gain(a, b, users), risk(a, b, users) / per, risk(b, a, users) / per, found, ZONES[zone(*found)]
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of liking (row 0) and of disliking (row 1) every item."""

    commonality: Floats
    disclosure: Floats
    zones: NDArray[np.uint8]

    @property
    def reverse(self) -> Floats:
        """The change in disclosure if the opposite were clicked instead."""
        return self.disclosure[::-1]

    def zone(self, sign: int) -> list[Zone | None]:
        """The zone of each item for a like or a dislike; None where everyone has clicked."""
        return [None if z == NOBODY else ZONES[z] for z in self.zones[0 if sign > 0 else 1]]


def effects(of: Profiles, base: str = "e") -> Effects:
    """Every item, both signs, for someone who has clicked on none of them; not a number where everyone has clicked."""
    zones, gains, risks = every_item(of.likes, of.dislikes, of.users)
    per = unit(base)
    return Effects(gains, risks if per == 1 else risks / per, zones)
