"""write(): Interactions into a file that `read` gives back as they were.

Csv and .inter do not say that digits are text: whoever reads them declares it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Literal

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.formats.files import written
from recveil.formats.itemsets import put_itemsets
from recveil.formats.sources import one_line

Format = Literal["parquet", "csv", "inter", "itemsets"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "inter", "itemsets")
INTER = {
    "user": "user_id:token",
    "session": "session_id:token",
    "item": "item_id:token",
    "tag": "tag:token",
    "rating": "rating:float",
    "time": "timestamp:float",
    "order": "order:float",
}


def write(
    data: Interactions,
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    time: Literal["time", "order"] = "time",
    private: bool = False,
) -> None:
    """Write to `path`, whole or not at all; without `format`, its ending tells. `private`: for its owner's eyes alone.

    `time` is the name of that column: "order" says that its numbers are ranks, not moments.
    """
    name = os.fspath(path)
    form = format or Path(name).suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise unknown("format to write", form, FORMATS)
    frame = data.frame().rename({"user": data.unit})
    for role in (data.unit, "item", "tag"):
        if role in frame.columns and frame[role].dtype == pl.String and (frame[role] == "").any():
            raise RecveilError(f"{name}: {role} has an empty id, which no reader could tell from a missing one")
    if data.time is not None and data.time.dtype.kind == "f":
        frame = frame.with_columns(time=pl.Series(data.time))  # NaN in text, so that the column stays one of floats
    if data.time is not None:
        frame = frame.rename({"time": time})
    write_frame(frame, name, form, private)


def write_frame(frame: pl.DataFrame, name: str, form: str, private: bool = False) -> None:
    """A table into a file, whole or not at all."""
    with written(name, private=private) as file, one_line(name, "written"):
        put_itemsets(frame, file, name) if form == "itemsets" else _put(frame, file, form)


def _put(frame: pl.DataFrame, file: BinaryIO, form: str) -> None:
    if form == "parquet":
        frame.write_parquet(file)
        return
    names, separator = (frame.columns, ",") if form == "csv" else ([INTER[c] for c in frame.columns], "\t")
    file.write((separator.join(names) + "\n").encode())
    file.flush()
    frame.write_csv(file, include_header=False, separator=separator, quote_style="non_numeric")
