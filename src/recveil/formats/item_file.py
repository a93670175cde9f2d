"""One public file of items: csv, parquet or jsonl with the column item, or ids one a line; frames likewise.

What is made of its columns follows from the file alone, never from anybody's rows: a title's words, names parted by
`|` or in lists, numbers in classes, and lists of numbers as vectors.
"""

from __future__ import annotations

from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ids import listed, narrow, places
from recveil.items import PublicItems

ITEM, TITLES, LISTS = "item", ("title", "name"), ("item", "tag", "user")
LEAST, LEAST_OF_TITLES = 2, 5  # items that must share a feature, and a word of a title
MOST = 1 << 16  # features in all: those that most items share
CLASSES = 8  # of numbers, about as many items in each
VALUES = 4  # items to a value from which on whole numbers are names, such as 1034 for a category
WORDS = r"[\p{L}\p{N}]+"
SEPARATORS, PARTED = (
    ",\t;",
    ("|", "; ", ", "),
)  # of columns; of names in one column, whichever occurs first in this list


class Cells(NamedTuple):
    """Which row has which word, and in plain words what the column was taken for."""

    row: pl.Series
    word: pl.Series
    about: str
    least: int = LEAST


def read_item_file(path: str | Path) -> pl.DataFrame:
    """The table as it stands in the file; of text, all columns are text. A list of ids is a table of one column."""
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path, glob=False)
        if path.suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, infer_schema_length=None)
        text = path.read_text(encoding="utf-8-sig")
        head = next((line for line in text.splitlines() if line.strip()), "")
        cut = max(SEPARATORS, key=head.count)
        if cut in head and ITEM in [name.strip(' "') for name in head.split(cut)]:
            found = pl.read_csv(text.encode(), separator=cut, infer_schema=False)
            return found.rename({name: name.strip() for name in found.columns})
        lines = [line.strip() for line in text.splitlines()]
        return pl.DataFrame({ITEM: [line for line in lines if line and line != ITEM]}, schema={ITEM: pl.String})
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as fault:
        raise RecveilError(f"{path} cannot be read as a file of items: {str(fault).splitlines()[0]}") from None


def public_items(frame: pl.DataFrame, source: str) -> PublicItems:
    """What the table tells of its items. Rows of the same item are taken together."""
    if ITEM not in frame.columns:
        raise RecveilError(f"{source}: a file of items needs a column item; it has {', '.join(frame.columns)}")
    if "user" in frame.columns:
        raise RecveilError(f"{source}: it has a column user: that is a log of people, not a public file of items")
    if frame.schema[ITEM].is_nested():
        raise RecveilError(f"{source}: the column item holds lists; an id is a number or text")
    frame = frame.drop_nulls(ITEM)
    given = narrow(frame[ITEM]) if frame.schema[ITEM] == pl.String else frame[ITEM]
    items = listed(given)
    if not len(items):
        raise RecveilError(f"{source}: the file of items is empty")
    at = places(given if not given.dtype.is_float() else given.cast(pl.Int64, strict=False), items)
    frame = frame.filter(pl.Series(at >= 0))
    row = pl.Series(at[at >= 0])
    title = next((name for name in TITLES if name in frame.columns), None)
    titles = None if title is None else _first(frame[title].cast(pl.String), row, len(items))
    frame = _numbered_as_vectors(frame)
    parts, vectors, taken = [], [], []
    for name in frame.columns:
        if name == ITEM:
            continue
        column = typed(frame[name])
        if _is_vector(column):
            vectors.append(_vectors(column, row, len(items), f"{source}: column {name}", items))
            taken.append((name, f"vectors of {vectors[-1].shape[1]} numbers"))
            continue
        cells = _title(frame[name]) if name == title else _cells(name, column)
        made = _shared(name, cells, row, len(items))
        parts.append(made)
        taken.append((name, _said(cells.about, made["feature"].n_unique(), cells.least)))
    names, table = _table(parts, len(items))
    joined = np.hstack(vectors) if vectors else None
    return PublicItems(items, names, table, joined, titles, taken=tuple(taken))


def typed(column: pl.Series) -> pl.Series:
    """Text that is numbers throughout as numbers; lists written as text, [0.1, 0.2], as lists."""
    if column.dtype != pl.String:
        return column
    known = column.str.strip_chars().replace("", None)
    some = known.drop_nulls()
    if len(some) and some.str.starts_with("[").all() and some.str.ends_with("]").all():
        return _lists(known)
    numbers = known.cast(pl.Float64, strict=False)
    if len(some) and numbers.null_count() == known.null_count() and narrow(some).dtype.is_integer():
        return known.cast(pl.Int64)
    return numbers if len(some) and numbers.null_count() == known.null_count() else known


def _lists(text: pl.Series) -> pl.Series:
    """Lists written as text: of decimal numbers, of whole ones, or of words; as text where they are none of these."""
    numbers = pl.Float64 if text.str.contains(r"[.eE]").any() else pl.Int64
    for kind in (numbers, pl.String):
        try:
            return text.str.json_decode(pl.List(kind))
        except pl.exceptions.PolarsError:
            continue
    return text


def _numbered_as_vectors(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of numbers called v0, v1, v2 as one of vectors: so the tables of a release are a file of items."""
    names = list(takewhile(frame.columns.__contains__, (f"v{k}" for k in count())))
    columns = [typed(frame[name]) for name in names]
    if len(names) < 2 or not all(column.dtype.is_numeric() for column in columns):
        return frame
    numbers = pl.DataFrame([column.cast(pl.Float64) for column in columns])
    whole = numbers.select(
        pl.when(~pl.all_horizontal(pl.all().is_null())).then(pl.concat_list(pl.all())).alias(f"v0 to {names[-1]}")
    )
    return pl.concat([frame.drop(names), whole], how="horizontal")


def _is_vector(column: pl.Series) -> bool:
    return isinstance(column.dtype, pl.List | pl.Array) and column.dtype.inner.is_float()


def _vectors(column: pl.Series, row: pl.Series, n: int, where: str, items: pl.Series) -> NDArray[np.float64]:
    """A row an item; the first that an item has, and 0 for one that has none."""
    column = column.cast(pl.List(pl.Float64))
    known = column.is_not_null() & (column.list.len() > 0).fill_null(False)
    lists, rows = column.filter(known), row.filter(known)
    lengths = lists.list.len()
    if not len(lists):
        raise RecveilError(f"{where} has no vector in it")
    if lengths.n_unique() > 1:
        odd = int((lengths != lengths[0]).arg_max() or 0)
        raise RecveilError(
            f"{where}: vectors must have one length, and that of {items[int(rows[odd])]} has {lengths[odd]} numbers "
            f"where that of {items[int(rows[0])]} has {lengths[0]}"
        )
    numbers = lists.explode().cast(pl.Float64).to_numpy().reshape(len(lists), -1)
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        raise RecveilError(f"{where}: the vector of {items[int(rows[int(bad[0])])]} holds what is no number")
    found = np.zeros((n, numbers.shape[1]))
    found[rows.to_numpy()[::-1]] = numbers[::-1]  # of repeated items the first stays
    return found


def _first(column: pl.Series, row: pl.Series, n: int) -> pl.Series:
    """The first value of each item that is not null."""
    seen = pl.DataFrame({"row": row, "value": column}).drop_nulls().unique("row", keep="first", maintain_order=True)
    every = pl.DataFrame({"row": np.arange(n, dtype=np.int32)})
    return every.join(seen.cast({"row": pl.Int32}), on="row", how="left", maintain_order="left")["value"]


def _title(column: pl.Series) -> Cells:
    words = column.cast(pl.String).str.to_lowercase().str.extract_all(WORDS)
    return _exploded(words, "the title, and its words", LEAST_OF_TITLES)


def _cells(name: str, column: pl.Series) -> Cells:
    if isinstance(column.dtype, pl.List | pl.Array):
        inner = column.cast(pl.List(column.dtype.inner))
        if column.dtype.inner.is_nested():
            return _exploded(pl.Series([[]] * len(column), dtype=pl.List(pl.String)), "lists of lists, left out")
        return _exploded(inner.cast(pl.List(pl.String)), "names in lists")
    if column.dtype.is_nested():
        return _exploded(pl.Series([[]] * len(column), dtype=pl.List(pl.String)), "records, left out")
    if column.dtype in (pl.Date, pl.Datetime):
        return _cells("year", column.dt.year())
    if column.dtype.is_numeric():
        return _numbers(name, column)
    text = column.cast(pl.String)
    cut = next((mark for mark in PARTED if text.str.contains(mark, literal=True).any()), None)
    if cut is None and _is_words(text):
        cut = " "
    by = f" parted by {cut.strip() or 'blanks'}" if cut else ""
    return _exploded(text.str.split(cut or PARTED[0]), f"names{by}")


def _is_words(text: pl.Series) -> bool:
    """Whether texts are lists of words, such as Action Comedy Drama: there are few words, in many arrangements."""
    values = text.drop_nulls().unique()
    return 2 * values.str.split(" ").explode().n_unique() < len(values)


def _numbers(name: str, column: pl.Series) -> Cells:
    """Whole numbers that many items share are names; others, and years too, fall into classes of equal size."""
    value = column.cast(pl.Float64).fill_nan(None)
    value = value.zip_with(value.is_finite().fill_null(False), pl.Series([None], dtype=pl.Float64))
    known = value.drop_nulls()
    different = known.n_unique()
    round_ = bool((known == known.floor()).all())
    named = name.lower().endswith("id")
    whole = round_ and (named or different * VALUES <= len(known))
    if different <= CLASSES + 1 or (whole and "year" not in name.lower()):
        words = known.cast(pl.Int64) if round_ else known
        return Cells(_row_numbers(value), words.cast(pl.String), "whole numbers, each a name" if whole else "numbers")
    ends = np.unique(np.sort(known.to_numpy())[len(known) * np.arange(1, CLASSES) // CLASSES])
    classes = pl.Series(np.searchsorted(ends, known.to_numpy(), side="right")).cast(pl.String)
    rows, about = _row_numbers(value), f"numbers in {len(ends) + 1} classes"
    if not whole:
        return Cells(rows, classes, about)
    both = pl.concat([classes, known.cast(pl.Int64).cast(pl.String)])
    return Cells(pl.concat([rows, rows]), both, f"years, and {len(ends) + 1} classes of them")


def _row_numbers(column: pl.Series) -> pl.Series:
    return column.is_not_null().arg_true()


def _exploded(lists: pl.Series, about: str, least: int = LEAST) -> Cells:
    frame = pl.DataFrame({"row": np.arange(len(lists), dtype=np.uint32), "word": lists}).explode("word")
    frame = frame.with_columns(pl.col("word").cast(pl.String).str.strip_chars())
    frame = frame.filter(pl.col("word").is_not_null() & (pl.col("word") != ""))
    return Cells(frame["row"], frame["word"], about, least)


def _shared(name: str, cells: Cells, row: pl.Series, n: int) -> pl.DataFrame:
    """Rows of (item, feature), of the features that enough items share and not all of them."""
    held = pl.DataFrame({"item": row.gather(cells.row), "feature": cells.word}).unique()
    held = held.with_columns((pl.lit(f"{name} ") + pl.col("feature")).alias("feature"), pl.len().over("feature"))
    return held.filter((pl.col("len") >= cells.least) & (pl.col("len") < n))


def _table(parts: list[pl.DataFrame], n: int) -> tuple[tuple[str, ...], Any]:
    from scipy import sparse

    if not parts or not sum(part.height for part in parts):
        return (), sparse.csr_array((n, 0), dtype=np.float32)
    held = pl.concat(parts)
    order = held.unique("feature").sort("len", "feature", descending=[True, False])["feature"].head(MOST)
    column = places(held["feature"], order)
    keep = column >= 0
    at = (held["item"].to_numpy()[keep], column[keep])
    table = sparse.csr_array((np.ones(int(keep.sum()), dtype=np.float32), at), shape=(n, len(order)))
    table.sort_indices()
    return tuple(order.to_list()), table


def _said(about: str, features: int, least: int) -> str:
    if about.endswith("left out"):
        return about
    if not features:
        return f"{about}: none is shared by {least} items and by fewer than all, so it tells nothing"
    return f"{about}: {features:,} feature{'s' if features != 1 else ''}"
