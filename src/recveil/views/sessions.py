"""Sessions of people: rows by person, session and time, and where each of them begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sessions:
    """The items of session k are item[starts[k] : starts[k + 1]]; those of person p have the numbers people[p] on."""

    people: Ints
    starts: Ints
    item: NDArray[np.int32]


def sessions(rows: Interactions) -> Sessions:
    """The sessions of rows that stand by user and time; a session is what one user calls so, in the order of times."""
    if rows.session is None:
        raise ValueError("the rows have no sessions")
    order = np.lexsort((rows.session, rows.user))  # stable: times within sessions stay in order
    user, session = rows.user[order], rows.session[order]
    first = np.flatnonzero(np.append(True, (np.diff(user) != 0) | (session[1:] != session[:-1]))[: len(user)])
    people = np.searchsorted(user[first], np.arange(rows.n_users + 1)).astype(np.int64)
    return Sessions(people, np.append(first, len(user)), rows.item[order])
