"""The clicking game: confirm, cancel or change each pre-click; strategies, rewards, and an enumerating Nash check.

All users playing smart is a Nash equilibrium where items are pure, that is from an empty start, provided that changing
a click costs its person utility whatever it does to the counts. Both matter: see `deviations`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, get_args

from recveil.clicks.effects import Zone, effect
from recveil.errors import RecveilError, unknown

Action = Literal["confirm", "cancel", "change"]
ACTIONS: tuple[Action, ...] = get_args(Action)  # by their number in the kernels
Policy = Mapping[Zone, Action]
Reward = Callable[[float, float], float]  # of utility and privacy gained

BASIC: Policy = {"trade_off": "confirm", "safe": "confirm", "dangerous": "confirm", "deleterious": "confirm"}
CAREFUL: Policy = {**BASIC, "dangerous": "cancel", "deleterious": "cancel"}
SMART: Policy = {**CAREFUL, "dangerous": "change"}
STRATEGIES: dict[str, Policy] = {"basic": BASIC, "careful": CAREFUL, "smart": SMART}


def policy(**actions: str) -> Policy:
    """A user's own policy: an action for some zones, such as deleterious="cancel"; the others are confirmed."""
    for where, action in actions.items():
        if where not in BASIC:
            raise unknown("zone", where, BASIC)
        if action not in ACTIONS:
            raise unknown("action", action, ACTIONS)
    return {**BASIC, **actions}  # type: ignore[dict-item]


# --- rewards ------------------------------------------------------------------------------------------------------
# Of the sign of the larger of utility and privacy, and non-decreasing in utility: strictly increasing is impossible,
# since without privacy gained every utility that is not positive gives zero.


def larger(utility: float, privacy: float) -> float:
    """The larger of the two."""
    return max(utility, privacy)


def steep(utility: float, privacy: float) -> float:
    """The larger, weighted by both."""
    most = max(utility, privacy)
    return most * math.exp(utility + privacy if most > 0 else -(utility + privacy))


def odd(utility: float, privacy: float) -> float:
    """With the asked-for properties too, yet it may fall as privacy grows."""
    most = max(utility, privacy)
    return most * math.exp(utility - 50 * privacy if most > 0 else -utility)


REWARDS: dict[str, Reward] = {"larger": larger, "steep": steep, "odd": odd}


def reward_of(
    action: Action, likes: int, dislikes: int, users: int, sign: int, reward: Reward, literal: bool = False
) -> float:
    """The reward of an action on a pre-click. A changed click is not what she prefers: it costs utility, always.

    literal: its utility is the opposite of the pre-click's, as the paper's text has it. Then lying can pay twice.
    """
    if action == "cancel":
        return 0.0
    if action == "confirm":
        would = effect(likes, dislikes, users, sign)
        return reward(would.commonality, -would.disclosure)
    would = effect(likes, dislikes, users, sign)
    utility = -would.commonality if literal else -abs(would.commonality)
    return reward(utility, -would.reverse)


# --- states of one item -------------------------------------------------------------------------------------------


def step(likes: int, dislikes: int, users: int, sign: int, by: Policy) -> tuple[int, int]:
    """The item's profile after a pre-click met by a policy."""
    action = by[effect(likes, dislikes, users, sign).zone]
    if action == "cancel":
        return likes, dislikes
    return (likes + 1, dislikes) if (sign > 0) == (action == "confirm") else (likes, dislikes + 1)


def reachable(users: int, by: Policy, start: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int]]:
    """All profiles that an item can have when everyone plays `by`, one pre-click a person, in any order."""
    seen, level = {start}, {start}
    yield start
    for _ in range(users - sum(start)):
        level = {step(*s, users, sign, by) for s in level if sum(s) < users for sign in (1, -1)}
        yield from sorted(level - seen)
        seen |= level


@dataclass(frozen=True)
class Deviation:
    """A state in which another action pays more than the policy's."""

    likes: int
    dislikes: int
    sign: int
    zone: Zone
    action: Action
    better_by: float


def deviations(
    users: int, by: Policy, reward: Reward, start: tuple[int, int] | None = (0, 0), literal: bool = False
) -> list[Deviation]:
    """Nash check by enumeration: every state in which a single person does better than `by` while all others play it.

    What she does on one item changes her later rewards on no other, so that comparing actions click by click suffices.
    start: the profile to begin with; None: all states, reachable or not.
    """
    everywhere = [(a, b) for a in range(users) for b in range(users - a)]
    states = everywhere if start is None else [s for s in reachable(users, by, start) if sum(s) < users]
    found = []
    for likes, dislikes in states:
        for sign in (1, -1):
            where = effect(likes, dislikes, users, sign).zone
            pays = {a: reward_of(a, likes, dislikes, users, sign, reward, literal) for a in ACTIONS}
            best = max(ACTIONS, key=lambda a: pays[a])
            if pays[best] > pays[by[where]]:
                found.append(Deviation(likes, dislikes, sign, where, best, pays[best] - pays[by[where]]))
    return found


# --- the sum of everyone's commonality, over one item ---------------------------------------------------------------


def utility(likes: int, dislikes: int, shown: tuple[int, int], users: int) -> Fraction:
    """Of those who like and dislike an item, while its profile shows other counts."""
    a, b = shown
    return Fraction((a + b) * (a - b) * (likes - dislikes), users**2)


def expected_utility(likes: int, dislikes: int, users: int, by: Policy) -> Fraction:
    """The same if everyone plays `by`, averaged over all orders in which they come."""
    if likes + dislikes > users:
        raise RecveilError(f"{likes} likes and {dislikes} dislikes are more clicks than {users} people have")

    @cache
    def rest(a: int, b: int, more_likes: int, more_dislikes: int) -> Fraction:
        left = more_likes + more_dislikes
        if not left:
            return utility(likes, dislikes, (a, b), users)
        mean = Fraction(0)
        if more_likes:
            mean += Fraction(more_likes, left) * rest(*step(a, b, users, 1, by), more_likes - 1, more_dislikes)
        if more_dislikes:
            mean += Fraction(more_dislikes, left) * rest(*step(a, b, users, -1, by), more_likes, more_dislikes - 1)
        return mean

    return rest(0, 0, likes, dislikes)
