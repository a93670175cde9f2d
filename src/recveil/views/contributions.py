"""What one person may contribute at most: a draw within her own record, which nobody else can change."""

from __future__ import annotations

import numpy as np

from recveil.data import Interactions
from recveil.randomness import seeded


def at_most(rows: Interactions, most: int) -> Interactions:
    """Of a person with more than `most` different items the rows of so many of them; rows stand by user.

    What is drawn is a function of her id and her items alone. It needs no secret: it is no noise, and hides nothing.
    """
    starts = rows.starts()
    keep = np.ones(len(rows), dtype=bool)
    for user in np.flatnonzero(np.diff(starts) > most):
        mine = slice(starts[user], starts[user + 1])
        items = np.unique(rows.item[mine])
        if len(items) > most:
            words = seeded(0).derive("own record", str(rows.users[int(user)])).words(len(items))
            keep[mine] = np.isin(rows.item[mine], items[np.argsort(words, kind="stable")[:most]])
    return rows if keep.all() else rows.take(keep)
