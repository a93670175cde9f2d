"""What a release does not hold any more of what the mechanism was given: columns that are gone, in short phrases."""

from __future__ import annotations

from recveil.data import Interactions

COLUMNS = {"rating": "the ratings are gone", "tag": "the tags are gone"}


def gone(given: Interactions, released: Interactions) -> tuple[str, ...]:
    """Order, ratings, tags: what was there and is not in the release."""
    lost = [
        says
        for column, says in COLUMNS.items()
        if getattr(given, column) is not None and getattr(released, column) is None
    ]
    ordered = given.time is not None and given.kind in ("clicks", "sessions")
    return (*(["the order of clicks is gone"] if ordered and released.time is None else []), *lost)
