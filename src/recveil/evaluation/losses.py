"""What a release holds, and what it does not hold any more of what the mechanism was given."""

from __future__ import annotations

from recveil.data import Interactions
from recveil.guarantee import Guarantee
from recveil.report.table import Entry

COLUMNS = {"rating": "the ratings are gone", "tag": "the tags are gone"}


def lost_columns(given: Interactions, released: Interactions) -> tuple[str, ...]:
    """Order, ratings, tags: what was there and is not in the release."""
    lost = [
        says
        for column, says in COLUMNS.items()
        if getattr(given, column) is not None and getattr(released, column) is None
    ]
    ordered = given.time is not None and given.kind in ("clicks", "sessions")
    return (*(["the order of clicks is gone"] if ordered and released.time is None else []), *lost)


def entry_of(
    spec: str, promise: Guarantee, done: str, given: Interactions, rows: Interactions, *, drawn: bool = False
) -> Entry:
    """What a release is, how much is in it, and what of the given rows is not."""
    sizes = {"items": rows.n_items, "items_of": given.compact().n_items}
    return Entry(spec, promise, done, len(rows), rows.n_users, **sizes, drawn=drawn, lost=lost_columns(given, rows))
