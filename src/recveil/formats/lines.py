"""Each line of a text file by itself: what is written on one never changes how another is read, nor refuses it.

A release with a proof reads files so. Where a file is as regular as most are, a quick reader gives the same and is
taken; else lines are read one by one. A line that is no row leaves its person behind, with nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.formats.sources import LIBRARIES, DataFile

QUOTE, NEWLINE, RETURN = (ord(letter) for letter in '"\n\r')
Bytes = NDArray[np.uint8]
Reader = Callable[[Any], Any]  # Python's csv reader of some lines


def stand_alone(source: DataFile, separator: str, quotes: bool, least: int) -> bool:
    """Whether every quoted field begins and ends as one on its own line, and no line lacks separators."""
    content = source.content
    if source.size == 0:
        return True
    text = np.asarray(np.memmap(source.path, np.uint8, "r")) if content is None else np.frombuffer(content, np.uint8)
    following = np.append(text[1:], NEWLINE).astype(np.uint8)  # the last line ends, too
    if (following[text == RETURN] != NEWLINE).any():
        return False
    marks = text == ord(separator)
    if quotes and (quote := text == QUOTE).any():
        if not _regular_quotes(text, quote, following, ord(separator)):
            return False
        marks &= np.cumsum(quote, dtype=np.uint8) % 2 == 0  # those between quotes do not count
    marks |= text == NEWLINE
    at = np.append(np.flatnonzero(marks), len(text))
    ends = np.flatnonzero(np.append(text[at[:-1]] == NEWLINE, True))
    separators = np.diff(ends, prepend=-1) - 1
    begins = np.append(0, at[ends[:-1]] + 1)
    blank = (at[ends] == begins) | ((at[ends] == begins + 1) & (text[np.minimum(begins, len(text) - 1)] == RETURN))
    return bool(((separators >= least) | blank).all())


def _regular_quotes(text: Bytes, quote: NDArray[np.bool_], following: Bytes, separator: int) -> bool:
    """Whether quotes come in pairs that begin and end a field on one line."""
    at = np.flatnonzero(quote)
    if len(at) % 2:
        return False
    line = np.searchsorted(np.flatnonzero(text == NEWLINE), at)
    opened, closed = at[::2], at[1::2]
    before, after = text[opened - 1], following[closed]
    begins = (opened == 0) | (before == separator) | (before == NEWLINE)
    ends = (after == separator) | (after == NEWLINE) | (after == RETURN)
    return bool((line[::2] == line[1::2]).all() and begins.all() and ends.all())


def fields_by_line(
    source: DataFile, reader: Reader, separator: str, skip: int, where: tuple[int, int, int], strict: bool = False
) -> tuple[pl.DataFrame, list[int]]:
    """The fields of each line under the numbers of their columns, missing ones null; and which lines are nobody's.

    `where`: how many columns there are, and where user and item stand; a line without fields for both is nobody's. One
    that is no csv by itself is split where its separators stand, and has no item; further fields are passed over.
    `strict`: such a line, and one that is no UTF-8, is nobody's either.
    """
    width, user, item = where
    columns: list[list[str | None]] = [[] for _ in range(width)]
    lost: list[int] = []
    with source.open() as file:
        for number, raw in enumerate(islice(file, skip, None), skip + 1):
            line = raw.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
            wrong = strict and "\ufffd" in line
            try:
                fields: list[str] = next(reader([line]), [])
            except csv.Error:
                wrong = strict
                fields = line.split(separator)
                fields[item : item + 1] = [""] * (item < len(fields))
            if wrong or len(fields) <= max(user, item) or (strict and len(fields) > width):
                lost += [number] if line.strip() else []
                continue
            for k, column in enumerate(columns):
                column.append((fields[k] or None) if k < len(fields) else None)
    return pl.DataFrame({str(n): pl.Series(column, dtype=pl.String) for n, column in enumerate(columns)}), lost


def whole_letters(text: str) -> str:
    """A text that can be written: U+FFFD stands for half of a pair of surrogates, which JSON and Python may hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def objects_by_line(
    lines: list[bytes], parse: Callable[[bytes], pl.DataFrame], by_hand: Callable[[bytes], pl.DataFrame]
) -> pl.DataFrame:
    """The JSON objects of the lines that are one, in their order; others are found by halving and read by hand."""
    try:
        return parse(b"\n".join(lines))
    except (OSError, ValueError, *LIBRARIES):
        if len(lines) == 1:
            return by_hand(lines[0])
    half = len(lines) // 2
    return pl.concat([objects_by_line(part, parse, by_hand) for part in (lines[:half], lines[half:])])
