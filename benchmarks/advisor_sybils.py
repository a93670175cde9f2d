"""What invented accounts do to zones: python benchmarks/advisor_sybils.py RATINGS [LIKE] [ACCOUNTS ...]

So many accounts dislike every item. Of all likes in the log, and of all items, how many have another zone than before,
by exact counts? A limit on accounts and the visits of a year say how many accounts somebody can have.
"""

from __future__ import annotations

import sys

import numpy as np

from recveil import read
from recveil.clicks.effects import effect
from recveil.clicks.profiles import clicks, profiles


def main(path: str, like: str = "", *accounts: str) -> None:
    log = clicks(read(path).compact(), float(like) if like else None)
    counts = profiles(log)
    likes, dislikes = counts.likes, counts.dislikes
    for n in [int(one) for one in accounts] or [10, 60, 600]:
        moved = np.array(
            [
                a > 0
                and effect(int(a) - 1, int(b), log.users, 1).zone
                != effect(int(a) - 1, int(b) + n, log.users + n, 1).zone
                for a, b in zip(likes, dislikes, strict=True)
            ]
        )
        of_likes, of_items = 100 * likes[moved].sum() / likes.sum(), 100 * moved.mean()
        print(f"{n} accounts: {of_likes:.1f}% of likes, {of_items:.1f}% of items have another zone")


if __name__ == "__main__":
    main(*sys.argv[1:])
