"""A large log in chunks of whole people: how rows become Interactions, and masked ones rows again, on any engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil.data import NO_TIME, Interactions, from_ids
from recveil.formats.duplicates import Keep, deduplicate
from recveil.ids import places, plain, ranked
from recveil.mechanism import Masked

Tokens = Callable[[list[Any]], Any]  # a 63-bit number for each id
CHUNK_CELLS = 1 << 26  # users times items in a chunk of what is dense


@dataclass(frozen=True, eq=False)
class ChunkLayout:
    """What a worker must know to make Interactions of rows: the vocabularies, and what happens to repeats."""

    items: pl.Series
    tags: pl.Series | None
    unit: Literal["user", "session"]
    duplicates: Keep
    timed: bool = True  # False: times serve to settle repeats, and are dropped then
    untyped: frozenset[str] = frozenset()  # roles of ids whose type nobody declared
    ordered: bool = False  # whether rows come in the order of the log
    sessions: bool = True  # False: all sessions of a person are one

    def interactions(self, frame: pl.DataFrame) -> Interactions:
        """A chunk in its canonical order; a row without an item is no row, but its user is there."""
        rows = frame.filter(pl.col("item").is_not_null()) if frame["item"].null_count() else frame
        rows = rows if self.sessions else rows.drop("session", strict=False)
        made = interactions(rows, self.unit).over_items(self.items)
        if rows.height < frame.height:
            made = made.over_users(ranked(plain(frame["user"].unique())))
        if self.tags is not None and made.tags is not None:
            made = replace(made, tag=_recoded(made.tag, made.tags, self.tags), tags=self.tags)
        if made.time is None and made.kind in ("clicks", "sessions") and not self.ordered:
            made = made.grouped("item")
        made = deduplicate(made.canonical(), self.duplicates)
        return made if self.timed or made.time is None else replace(made, time=None).canonical()


def interactions(frame: pl.DataFrame, unit: Literal["user", "session"]) -> Interactions:
    """Rows as they come, over vocabularies of their own."""
    columns = {name: frame[name] for name in frame.columns}
    time = columns.get("time")
    return from_ids(
        columns["user"],
        columns["item"],
        columns["rating"].to_numpy() if "rating" in columns else None,
        None if time is None else time.fill_null(np.nan if time.dtype.is_float() else NO_TIME).to_numpy(),
        columns.get("tag"),
        unit,
        columns.get("session"),
    )


def masked_frame(masked: Masked, tokens: Tokens) -> pl.DataFrame:
    """Masked rows with the token and the origin of their user, and one more row for the notes."""
    rows = masked.rows
    names = pl.Series(tokens(rows.users.to_list()), dtype=pl.Int64)
    made = rows.frame().with_columns(
        token=names.gather(rows.user), origin=masked.origin.gather(rows.user), notes=pl.lit(None, pl.String)
    )
    notes = pl.DataFrame({"notes": [json.dumps(dict(masked.notes))]})
    return pl.concat([made, notes], how="diagonal") if masked.notes else made


def _recoded(tag: Any, tags: pl.Series, over: pl.Series) -> Any:
    return places(tags, over)[tag]
