"""What one person may contribute at most: a draw within her own record, which nobody else can change."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recveil.data import Interactions
from recveil.randomness import seeded


def at_most(rows: Interactions, most: int, column: Literal["item", "tag"] = "item") -> Interactions:
    """Of a person with more than `most` different items (tags) the rows of so many of them; rows stand by user.

    What is drawn is a function of her id and her items alone. It needs no secret: it is no noise, and hides nothing.
    """
    starts, code = rows.starts(), getattr(rows, column)
    keep = np.ones(len(rows), dtype=bool)
    for user in np.flatnonzero(np.diff(starts) > most):
        mine = slice(starts[user], starts[user + 1])
        different = np.unique(code[mine])
        if len(different) > most:
            words = seeded(0).derive("own record", str(rows.users[int(user)])).words(len(different))
            keep[mine] = np.isin(code[mine], different[np.argsort(words, kind="stable")[:most]])
    return rows if keep.all() else rows.take(keep)
