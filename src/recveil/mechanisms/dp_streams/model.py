"""Tables beside the rows, from which a recipient trains without drawing: vectors of items, popularity, pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams.drawing import last_lengths, people
from recveil.mechanisms.dp_streams.loadings import tastes

_MOST = 128  # pairs to an item
DIRECTIONS = 64  # of drawn pairs


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
    return {"items": items, "pairs": _listed(pairs, popular, known.people, public.items)}


def drawn_tables(rows: Interactions, tables: Any, pairs: Any, public: PublicInfo) -> dict[str, pl.DataFrame]:
    """The same where pairs tell more than a space of features: vectors are directions of the drawn pairs."""
    kept, have, many = tables.kept, tables.beside.have, float(people(tables).sum())
    popular = have * (len(rows) / float(have.sum()))
    popular[kept] = np.bincount(rows.item, minlength=len(have))[kept]
    X = rows.matrix(binary=True)[:, kept].astype(np.float64)
    p = np.maximum(popular[kept], 1.0)
    beyond = ((X.T @ X).toarray() - np.outer(p, p) / rows.n_users) / np.sqrt(np.outer(p, p))
    np.fill_diagonal(beyond, 0.0)
    values, axes = np.linalg.eigh(beyond)
    values, axes = np.maximum(values[::-1][:DIRECTIONS], 0.0), axes[:, ::-1][:, :DIRECTIONS]
    vectors = np.zeros((len(have), len(values)), dtype=np.float32)
    vectors[kept] = axes * np.sqrt(values * rows.n_users / p[:, None])
    popular *= many / rows.n_users
    columns = {f"v{k}": vectors[:, k] for k in range(vectors.shape[1])}
    items = pl.DataFrame({"item": public.items, "popularity": popular, **columns})
    return {"items": items, "pairs": _listed(pairs, popular[kept], many, public.items.gather(kept))}


def _listed(pairs: Any, popular: Any, people: float, names: pl.Series) -> pl.DataFrame:
    """How many people have both of the pairs that most have, by name."""
    row, column, weight = _cells(pairs)
    one = row < column
    weight = weight * (popular.sum() ** 2 / people / pairs.strength.sum())
    listed = pl.DataFrame({"first": row[one], "second": column[one], "weight": weight[one]})
    listed = listed.sort("weight", "first", "second", descending=[True, False, False]).head(_MOST * len(names))
    return listed.with_columns(first=names.gather(listed["first"]), second=names.gather(listed["second"]))


def _cells(pairs: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and weights of the cells that are not empty."""
    n = len(pairs.strength)
    if not len(pairs.table.indices):
        row, column = np.nonzero(np.triu(pairs.square, 1))
        return row, column, pairs.square[row, column]
    row = np.repeat(np.arange(n), np.diff(pairs.table.indptr))
    return row, pairs.table.indices.astype(np.int64), pairs.weight
