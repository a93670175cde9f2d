"""PublicItems: what everybody may know of items. Catalogue, features, names and vectors out of one public file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.ids import places

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublicItems:
    """Facts of items in which nobody's rows are.

    items: the ids, each once and in order. table: which item (a row) has which feature (a column), 0 and 1, sparse.
    vectors: a row an item, 0 where the file has none. titles: names of items; they leave the house where
    `publish_titles` says so. taken: for each column of the file what was made of it, in words.
    """

    items: pl.Series
    names: tuple[str, ...]
    table: Any  # scipy.sparse.csr_array of float32
    vectors: Floats | None = None
    titles: pl.Series | None = None
    publish_titles: bool = False
    taken: tuple[tuple[str, str], ...] = ()

    @property
    def tells(self) -> bool:
        """Whether there is anything to tell items apart by."""
        return bool(self.names) or self.vectors is not None

    def over(self, items: pl.Series) -> PublicItems:
        """The same over these items, in their order; one that the file lacks has no feature, and the vector 0."""
        if items.dtype == self.items.dtype and items.equals(self.items):
            return self
        at = places(items, self.items)
        known = at >= 0
        table = self.table[np.maximum(at, 0)]
        table.data *= np.repeat(known.astype(table.dtype), np.diff(table.indptr))
        table.eliminate_zeros()
        titles = None if self.titles is None else self.titles.gather(pl.Series(np.where(known, at, 0)))
        if titles is not None:
            titles = titles.zip_with(pl.Series(known), pl.Series([None], dtype=pl.String))
        vectors = None if self.vectors is None else np.where(known[:, None], self.vectors[np.maximum(at, 0)], 0.0)
        return replace(self, items=items, table=table, vectors=vectors, titles=titles)

    def weighted(self) -> Any:
        """Rows of length 1, sparse: features by how few items share them (idf), beside the vectors around their mean.

        Where an item has both, each counts for half of its length. An item of which nothing is known is a row of 0.
        """
        from scipy import sparse

        n = self.table.shape[0]
        shared = np.bincount(self.table.indices, minlength=len(self.names))
        idf = np.log(max(n, 2) / np.maximum(shared, 1))
        features = _of_length_one(sparse.csr_array(self.table.astype(np.float64).multiply(idf[None, :])))
        if self.vectors is None:
            return features
        known = (self.vectors != 0).any(axis=1)
        around = np.where(known[:, None], self.vectors - self.vectors[known].mean(axis=0), 0.0) if known.any() else None
        parts = [features] if around is None else [features, _of_length_one(sparse.csr_array(around))]
        return _of_length_one(sparse.csr_array(sparse.hstack(parts)))

    def most_shared(self, most: int, least: int) -> PublicItems:
        """With the features alone that most items share, at least `least` of them."""
        shared = np.bincount(self.table.indices, minlength=len(self.names))
        order = np.argsort(-shared, kind="stable")[:most]
        order = order[shared[order] >= least]
        return replace(self, names=tuple(self.names[k] for k in order), table=self.table[:, order])

    def names_of(self) -> pl.DataFrame | None:
        """Item and title, for a bundle; nothing where titles were not declared publishable."""
        if not self.publish_titles or self.titles is None:
            return None
        return pl.DataFrame({"item": self.items, "title": self.titles}).drop_nulls("title")

    def digest(self) -> str:
        """A name of these facts, for a cache."""
        hashed = blake2b(digest_size=16)
        hashed.update(repr((self.items.to_list(), self.names)).encode())
        for part in (self.table.indptr, self.table.indices, self.vectors):
            hashed.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        return hashed.hexdigest()


def _of_length_one(rows: Any) -> Any:
    from scipy import sparse

    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ rows)
