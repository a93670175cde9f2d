"""Tables beside the rows, from which a recipient trains without drawing: vectors of items, popularity, pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams.drawing import last_lengths, people
from recveil.mechanisms.dp_streams.loadings import tastes

_MOST = 128  # pairs to an item


def model_tables(tables: Any, pairs: Any, public: PublicInfo) -> dict[str, pl.DataFrame]:
    """`items`: how many people have an item, p, and a vector v; p p' (1 + v v') / people have both of a pair.

    `pairs`: how many have both of the pairs that are expected most, as the noisy pairs correct them.
    """
    known, found = tables.known, tastes(tables.known)
    middle = (tables.edges + last_lengths(tables.edges)) / 2
    popular = known.have * (float((people(tables) * middle).sum()) / float(known.have.sum()))
    values, axes = np.linalg.eigh(found.firm)
    vectors = (found.mean @ (axes / np.sqrt(values))).astype(np.float32)
    columns = {f"v{k}": vectors[:, k] for k in range(vectors.shape[1])}
    items = pl.DataFrame({"item": public.items, "popularity": popular, **columns})
    row, column, weight = _cells(pairs)
    one = row < column
    weight = weight * (popular.sum() ** 2 / known.people / pairs.strength.sum())
    listed = pl.DataFrame({"first": row[one], "second": column[one], "weight": weight[one]})
    listed = listed.sort("weight", "first", "second", descending=[True, False, False]).head(_MOST * len(known.have))
    names = public.items
    listed = listed.with_columns(first=names.gather(listed["first"]), second=names.gather(listed["second"]))
    return {"items": items, "pairs": listed}


def _cells(pairs: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and weights of the cells that are not empty."""
    n = len(pairs.strength)
    if not len(pairs.table.indices):
        row, column = np.nonzero(np.triu(pairs.square, 1))
        return row, column, pairs.square[row, column]
    row = np.repeat(np.arange(n), np.diff(pairs.table.indptr))
    return row, pairs.table.indices.astype(np.int64), pairs.weight
