"""Ids are whole numbers or text. Their order, keys and types follow from each id alone, never from its company.

A whole number is one that a signed 64-bit integer holds, written plainly: 7, not 007 or +7. As text or as a number it
is the same id: it has the same key and the same place in the order.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.int32]


def plain(ids: pl.Series) -> pl.Series:
    """Signed 64-bit integers (unsigned ones stay so) or text."""
    if ids.dtype.is_integer():
        return ids if ids.dtype == pl.UInt64 else ids.cast(pl.Int64)
    return ids.cast(pl.String)


def whole(ids: pl.Series) -> pl.Series:
    """As signed 64-bit integers; null where an id is no whole number."""
    numbers = ids.cast(pl.Int64, strict=False)
    if ids.dtype.is_integer() or numbers.null_count() == len(ids):
        return numbers
    return numbers.zip_with((numbers.cast(pl.String) == ids).fill_null(False), pl.Series([None], dtype=pl.Int64))


def as_type(ids: pl.Series, kind: Any) -> pl.Series:
    """The ids in another type; null where one has no place in it."""
    if ids.dtype == kind:
        return ids
    return whole(ids) if kind == pl.Int64 else ids.cast(kind, strict=False)


def narrow(ids: pl.Series) -> pl.Series:
    """As integers, if all of them are whole numbers."""
    numbers = whole(ids)
    return ids if numbers.null_count() else numbers.alias(ids.name)


def ranked(ids: pl.Series) -> pl.Series:
    """In their order: whole numbers by value, then texts."""
    if ids.dtype.is_integer():
        return ids.sort()
    numbers = whole(ids)
    if numbers.null_count() == len(ids):
        return ids.sort()
    texts = ids.filter(numbers.is_null()).sort()
    return pl.concat([numbers.drop_nulls().sort().cast(pl.String).alias(ids.name), texts])


def listed(ids: pl.Series) -> pl.Series:
    """A list of ids, each once and in order. Its type is that of the data then, whatever theirs was."""
    if ids.dtype.is_float():  # whole numbers beside nulls, as some tools write them
        ids = ids.fill_nan(None).cast(pl.Int64, strict=False)
    return ranked(plain(ids).drop_nulls().unique())


def union(*parts: pl.Series) -> pl.Series:
    """The ids of all parts, in order; as text where their types differ."""
    kinds = {part.dtype for part in parts}
    alike = parts if len(kinds) == 1 else tuple(part.cast(pl.String) for part in parts)
    return ranked(pl.concat(alike).unique())


def places(ids: pl.Series, within: pl.Series) -> Codes:
    """Where each id stands in a vocabulary, whose type rules; -1 where it does not."""
    known = pl.DataFrame({"id": within, "code": np.arange(len(within), dtype=np.int32)})
    wanted = pl.DataFrame({"id": as_type(ids, within.dtype)})
    found = wanted.join(known, on="id", how="left", maintain_order="left")["code"]
    codes: Codes = found.fill_null(-1).to_numpy()
    return codes


def keys(ids: pl.Series) -> NDArray[np.uint64]:
    """A 64-bit name of each id, the same wherever it is computed: randomness is derived from it."""
    if ids.dtype.is_integer() and not (ids.dtype == pl.UInt64 and whole(ids).null_count()):
        return ids.to_numpy().astype(np.uint64)
    digests = b"".join(blake2b(str(i).encode(), digest_size=8).digest() for i in ids)
    found = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    numbers = whole(ids)
    if numbers.null_count() < len(ids):
        number = numbers.is_not_null().to_numpy()
        found[number] = numbers.drop_nulls().to_numpy().astype(np.uint64)
    return found


def code(ids: pl.Series) -> tuple[Codes, pl.Series]:
    """Integer codes of ids (64-bit integers or strings), and the vocabulary in order that they index."""
    if ids.dtype.is_integer() and len(ids):
        values = ids.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 65536:
            base = 0 if 0 <= low <= 65536 else low  # ids from about 0 on can serve as indices as they are
            indices = values - values.dtype.type(base) if base else values
            present = np.zeros(high - base + 1, dtype=bool)
            present[indices] = True
            codes = np.cumsum(present, dtype=np.int32) - np.int32(1)
            vocabulary = np.flatnonzero(present).astype(values.dtype) + values.dtype.type(base)
            return codes[indices], pl.Series(vocabulary)
    seen = ids.to_arrow().dictionary_encode()  # in the order of appearance: only the few distinct ids are sorted
    distinct = pl.Series(seen.dictionary)
    vocabulary = ranked(distinct)
    return places(distinct, vocabulary)[seen.indices.to_numpy()], vocabulary
