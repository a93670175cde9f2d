"""Titles of items, from a table that has an id and a title: csv, tsv, parquet, MovieLens u.item and movies.dat."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from recveil.errors import RecveilError
from recveil.samples import sample_items

TITLES = ("title", "name")
MARK = "\x1f"  # csv wants a separator of one character: ASCII's own stands for "::"


def read_titles(file: str) -> dict[str, str]:
    """Titles by item id: ids are in the first column, titles in the one that is called so, else in the second."""
    path = Path(file)
    try:
        rows = _parquet(path) if path.suffix in (".parquet", ".pq") else _text(path)
        first = next(rows, [])
        named = [n for word in TITLES for n, name in enumerate(first) if n and word in name.lower()]
        place = named[0] if named else 1
        found = {row[0]: row[place] for row in rows if len(row) > place and row[place].strip()}
    except OSError as error:
        raise RecveilError(f"{file}: {error.strerror or error}") from None
    except csv.Error as error:
        raise RecveilError(f"{file}: {error}") from None
    if not named and len(first) > 1:  # no header: its first line is a row as well
        found[first[0]] = first[1]
    if not found:
        raise RecveilError(f"{file}: no titles; a table of id and title is needed")
    return found


def sample_titles(data: str) -> dict[str, str]:
    """Of a generated world, by item id; nothing where the data are none."""
    kind, _, name = data.partition(":")
    if kind != "sample":
        return {}
    public = sample_items(name)
    return dict(zip(public["item"].cast(str), public["title"], strict=True))


def _text(path: Path) -> Iterator[list[str]]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # as MovieLens has it
    line = text.partition("\n")[0]
    if "::" in line:
        text, separator = text.replace("::", MARK), MARK
    else:
        separator = next((mark for mark in "\t|;," if mark in line), ",")
    if separator in ",;":
        return csv.reader(text.splitlines(), delimiter=separator)
    return csv.reader(text.splitlines(), delimiter=separator, quoting=csv.QUOTE_NONE)


def _parquet(path: Path) -> Iterator[list[str]]:
    import polars as pl

    try:
        frame = pl.read_parquet(path).cast(pl.String, strict=False).fill_null("")
    except pl.exceptions.PolarsError as error:
        raise RecveilError(f"{path.name}: not a table of text and numbers ({type(error).__name__})") from None
    yield frame.columns
    for row in frame.iter_rows():
        yield list(row)
