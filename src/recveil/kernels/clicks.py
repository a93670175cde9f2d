"""Effects of a click, in integers: the one place of the formulas. A click adds one to a count of its item's profile.

Before the click, `a` people had clicked with the same sign, `b` with the opposite one, of `n` people in all; she who
clicks is in neither. Signs decide zones, and they are exact; logarithms only tell how far.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

TRADE_OFF, SAFE, DANGEROUS, DELETERIOUS, NOBODY = 0, 1, 2, 3, 4  # NOBODY: everyone has clicked on the item
CONFIRM, CANCEL, CHANGE = 0, 1, 2


@njit(inline="always", cache=True)
def _sign(x: Any) -> Any:
    return int(x > 0) - int(x < 0)


@njit(inline="always", cache=True)
def signs(a: Any, b: Any, n: Any) -> Any:
    """Signs of the change in commonality, in disclosure, and in disclosure if the opposite is clicked instead."""
    return _sign(a + 1 - b), _sign(n - 2 * a - b - 1), _sign(n - a - 2 * b - 1)


@njit(inline="always", cache=True)
def zone(c: Any, d: Any, r: Any) -> Any:
    """The zone of a click with these signs; no change in commonality is no gain."""
    if c > 0:
        return SAFE if d < 0 else TRADE_OFF
    if d < 0:
        return TRADE_OFF
    return DANGEROUS if r < 0 else DELETERIOUS


@njit(inline="always", cache=True)
def gain(a: Any, b: Any, n: Any) -> Any:
    """Change in commonality."""
    return (a + b + 1) * (a + 1 - b) / (n * n)


@njit(inline="always", cache=True)
def risk(a: Any, b: Any, n: Any) -> Any:
    """Change in disclosure, in natural logarithms."""
    return log((n - a - b) / (a + 1))


@njit(cache=True, nogil=True)
def replay(
    user: NDArray[Any],
    item: NDArray[Any],
    sign: NDArray[np.int8],
    people: NDArray[np.int64],
    actions: NDArray[np.uint8],
    n_items: int,
) -> Any:
    """Pre-clicks in their order, each met by its user's action for its zone (actions[user, zone]).

    people: how many there are at each row. Returns zone, action and effects of every pre-click, and the likes and
    dislikes of every item in the end.
    """
    likes, dislikes = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    zones, done = np.empty(len(item), dtype=np.uint8), np.empty(len(item), dtype=np.uint8)
    gains, risks = np.empty(len(item)), np.empty(len(item))
    for k in range(len(item)):
        i, n, like = item[k], people[k], sign[k] > 0
        a, b = (likes[i], dislikes[i]) if like else (dislikes[i], likes[i])
        c, d, r = signs(a, b, n)
        zones[k] = zone(c, d, r)
        gains[k] = gain(a, b, n)
        risks[k] = risk(a, b, n)
        done[k] = actions[user[k], zones[k]]
        if done[k] == CANCEL:
            continue
        if like == (done[k] == CONFIRM):
            likes[i] += 1
        else:
            dislikes[i] += 1
    return zones, done, gains, risks, likes, dislikes


@njit(cache=True, nogil=True)
def every_item(likes: NDArray[np.int64], dislikes: NDArray[np.int64], n: int) -> Any:
    """Zones, gains and risks of liking (row 0) and disliking (row 1) each item.

    The risk of clicking the opposite instead stands in the other row.
    """
    zones = np.empty((2, len(likes)), dtype=np.uint8)
    gains, risks = np.empty((2, len(likes))), np.empty((2, len(likes)))
    for i in range(len(likes)):
        like, dislike = likes[i], dislikes[i]
        if like + dislike >= n:
            zones[:, i], gains[:, i], risks[:, i] = NOBODY, np.nan, np.nan
            continue
        c, d, r = signs(like, dislike, n)
        zones[0, i] = zone(c, d, r)
        gains[0, i] = gain(like, dislike, n)
        zones[1, i] = zone(_sign(dislike + 1 - like), r, d)
        gains[1, i] = gain(dislike, like, n)
        risks[0, i] = risk(like, dislike, n)
        risks[1, i] = risk(dislike, like, n)
    return zones, gains, risks
