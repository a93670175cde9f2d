"""User itemsets, the storage form of the MASK paper: a line for each user, userid, tab, itemid1,itemid2,..."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import BinaryIO, Literal

import polars as pl

from recveil.errors import RecveilError
from recveil.formats.checking import IDS, Broken, Raw
from recveil.formats.roles import Names
from recveil.formats.schema import Schema
from recveil.formats.sources import DataFile

ITSELF = {"user": "userid", "item": "items"}  # what the columns are called that no line names
BREAKS = "[\t,\r\n]"


def read_itemsets(source: DataFile, mapping: Mapping[str, Names] | None, broken: Broken, schema: Schema | None) -> Raw:
    """Who has which item; ids that are all whole numbers become integers."""
    if mapping and (schema is None or mapping != ITSELF):
        raise RecveilError(f"{source.name}: a file of itemsets has no column names to map")
    users: list[str] = []
    profiles: list[list[str]] = []
    lines: list[int] = []
    for n, line in enumerate(source.lines(broken == "drop"), 1):
        if not line.strip():
            continue
        user, tab, items = line.rstrip("\r\n").partition("\t")
        if not tab and broken == "refuse":
            raise RecveilError(f"{source.at(n)}: no tab between the user and the items")
        if not items.strip() and broken == "refuse":
            raise RecveilError(f"{source.at(n)}: user {user[:40]!r} has an empty profile")
        users.append(user.strip())
        profiles.append([item.strip() for item in items.split(",")])
        lines.append(n)
    starts = [0, *accumulate(len(p) for p in profiles)]
    frame = pl.DataFrame({"user": users, "item": profiles}, schema={"user": pl.String, "item": pl.List(pl.String)})

    def place(row: int) -> str:
        return source.at(lines[bisect_right(starts, row) - 1])

    if not users and broken == "refuse":
        raise RecveilError(f"{source.name}: the file is empty")
    return Raw(frame.explode("item"), place, "user", frozenset(IDS))


def read_lists(source: DataFile, mapping: Mapping[str, Names] | None, broken: Broken, schema: Schema | None) -> Raw:
    """A user and the items of hers on each line, in their order: user i1 i2 i3; or the items of a basket alone."""
    baskets = mapping == {"session": "session", "item": "items"}
    if schema is None or not (baskets or mapping == {"user": "user", "item": "items"}):
        raise RecveilError(f"{source.name}: lines of lists are read by a schema; recveil inspect --schema proposes one")
    users: list[str] = []
    profiles: list[list[str]] = []
    for n, line in enumerate(source.lines(broken == "drop"), 1):
        fields = line.strip().split(schema.separator if schema.separator.strip() else None)
        fields = [str(n), *fields] if baskets else fields
        if fields and fields[0]:
            users.append(fields[0])
            profiles.append(fields[1:])
    frame = pl.DataFrame({"user": users, "item": profiles}, schema={"user": pl.String, "item": pl.List(pl.String)})
    unit: Literal["user", "session"] = "session" if baskets else "user"
    return Raw(frame, lambda row: f"{source.name}, row {row + 1}", unit, frozenset(IDS))


def put_itemsets(frame: pl.DataFrame, file: BinaryIO, name: str) -> None:
    """Write the users of a frame with the columns user and item, in order of their ids."""
    if "session" in frame.columns or len(frame.columns) > 2:
        more = ", ".join(c for c in frame.columns if c not in ("user", "item"))
        raise RecveilError(f"{name}: itemsets hold who has which item and nothing else, and the data have {more} too")
    for column in frame:
        broken = column.cast(pl.String).str.contains(BREAKS) | (column.cast(pl.String).str.strip_chars() == "")
        if broken.any():
            bad = column.filter(broken)[0]
            raise RecveilError(f"{name}: {column.name} id {bad!r} is blank or has a tab, comma or line break in it")
    lines = (
        frame.unique()
        .sort("user", "item")
        .group_by("user", maintain_order=True)
        .agg(pl.col("item").cast(pl.String).str.join(","))
    )
    file.write("".join(f"{user}\t{items}\n" for user, items in lines.iter_rows()).encode())
