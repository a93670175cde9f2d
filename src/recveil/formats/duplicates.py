"""Rows that repeat the user and item (and tag) of another row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown

Keep = Literal["error", "first", "last", "all"]
KEEP: tuple[Keep, ...] = ("error", "first", "last", "all")


def deduplicate(data: Interactions, keep: Keep = "last") -> Interactions:
    """One row per user and item (per user, item and tag): the first or last by time, by file order among equals.

    Clicks and sessions keep their repeats, which are part of the story, under "first" and "last" too.
    "error" refuses any repeat, "all" touches nothing. The rows kept stay in their order.
    """
    if keep not in KEEP:
        raise unknown("treatment of duplicates", keep, KEEP)
    if keep == "all" or (keep != "error" and data.kind in ("clicks", "sessions")):
        return data
    if data.tag is None and _all_pairs_differ(data):
        return data
    keys = _keys(data)
    ascending = np.sort(keys)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    del ascending
    if not len(repeated):
        return data
    if keep == "error":
        what = "user, item and tag" if data.tag is not None else "user and item"
        raise RecveilError(f"{len(repeated):,} of {len(data):,} rows repeat the {what} of another row")
    rows = np.flatnonzero(_among(keys, np.unique(repeated)))
    keys = keys[rows]
    moments = data.moments
    order = np.lexsort([rows, *([] if moments is None else [moments[rows]]), keys])
    differs = np.diff(keys[order]) != 0
    best = np.append(True, differs) if keep == "first" else np.append(differs, True)
    kept = np.ones(len(data), dtype=bool)
    kept[rows[order[~best]]] = False
    return data.take(kept)


def count_duplicates(data: Interactions) -> int:
    """How many rows repeat the user and item (and tag) of an earlier one."""
    return _repeats(_keys(data))


def _all_pairs_differ(data: Interactions) -> bool:
    """Two counting sorts bring equal pairs side by side: half the time of counting the distinct ones.

    Where users stand together, as in most files, the first is done.
    """
    ones = np.ones(len(data), dtype=np.int8)
    if len(data) and not (data.user[1:] < data.user[:-1]).any():
        starts = np.flatnonzero(np.diff(data.user, prepend=-1, append=-1)).astype(np.int32)
        grouped = scipy.sparse.csr_array((ones, data.item, starts), shape=(len(starts) - 1, data.n_items))
        return bool(grouped.tocsc().has_canonical_format)
    pairs = scipy.sparse.coo_array((ones, (data.user, data.item)), shape=(data.n_users, data.n_items))
    pairs.has_canonical_format = True  # or tocsr would already sum the repeats up
    return bool(pairs.tocsr().tocsc().has_canonical_format)


def _among(keys: NDArray[Any], few: NDArray[Any]) -> NDArray[np.bool_]:
    """Which keys are among a few sorted ones, without sorting them all."""
    found: NDArray[np.bool_] = few[np.minimum(np.searchsorted(few, keys), len(few) - 1)] == keys
    return found


def _repeats(keys: NDArray[Any]) -> int:
    return len(keys) - pl.Series(keys).n_unique()


def _keys(data: Interactions) -> NDArray[Any]:
    """A number per row, the same for rows of the same user and item (and tag)."""
    pairs = data.user.astype(np.int64) * data.n_items + data.item
    if data.tag is None:
        return pairs
    if data.n_users * data.n_items * data.n_tags >= 2**63:
        pairs = np.unique(pairs, return_inverse=True)[1]
    return pairs * data.n_tags + data.tag
