"""What is this data set? The plain facts, before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.formats import count_duplicates, parse_columns
from recveil.formats.overview import lines_break, names_in, overview
from recveil.views.sessions import sessions

PROTECTS = {
    "sessions": (
        "a person with all her sessions; dp-streams releases sessions, and for other mechanisms the sessions of a "
        "person are one stream"
    ),
    "user": "a person with everything she did",
    "session": (
        "one session, not a person: who has several is protected less; if a column says whose they are, name it with "
        "--columns user=COLUMN"
    ),
}


def column_names(source: str) -> list[str]:
    """The names of the columns of a file as they stand there, whether or not they say anything."""
    return [] if source.startswith("sample:") else names_in(source)


def columns_of(source: str, columns: Mapping[str, str] | str | None = None) -> list[dict[str, Any]]:
    """The columns of a file with their roles and what looks like personal data; nothing of a generated sample."""
    if source.startswith("sample:"):
        return []
    mapping = parse_columns(columns) if isinstance(columns, str) and columns else columns or None
    return [c.record() for c in overview(source, mapping)]


def warnings_of(source: str) -> list[str]:
    """What a release with a proof would leave out in silence, though other commands read it."""
    if source.startswith("sample:") or not lines_break(source):
        return []
    return [
        "quoted fields of several lines, or quotes out of place: a release with a proof reads line by line and leaves "
        "such rows out in silence; write the table as parquet, or without line breaks"
    ]


def inspect(data: Interactions) -> dict[str, Any]:
    """Rows as they stand in the file, people, items, ratings, times, repeats."""
    per_user = np.bincount(data.user, minlength=data.n_users)
    pairs = np.sort(data.user.astype(np.int64) * data.n_items + data.item)
    rating = data.rating
    return {
        "kind": data.kind,
        "unit": data.unit,
        "rows": len(data),
        "users": data.n_users,
        "items": data.n_items,
        "tags": data.n_tags,
        "sessions": None if data.session is None else len(sessions(data.ordered()).starts) - 1,
        "protects": PROTECTS["sessions" if data.session is not None else data.unit],
        "duplicates": count_duplicates(data),
        "density": (1 + np.count_nonzero(np.diff(pairs))) / (data.n_users * data.n_items),
        "rating": None
        if rating is None
        else {
            "min": float(rating.min()),
            "max": float(rating.max()),
            "mean": float(rating.mean()),
            "std": float(rating.std()),
        },
        "time": data.time is not None,
        "unknown_times": data.unknown_times,
        "rows_per_user": {
            "min": int(per_user.min()),
            "median": float(np.median(per_user)),
            "max": int(per_user.max()),
        },
    }
