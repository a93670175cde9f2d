"""The public catalogue: item ids that exist whether or not anybody touched them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recveil.errors import RecveilError


def read_catalogue(path: str | Path) -> pl.Series:
    """Item ids from a file with one id a line (a header `item` is skipped) or a parquet with a column `item`."""
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            if "item" not in frame.columns:
                raise RecveilError(f"{path}: a catalogue needs a column item; it has {', '.join(frame.columns)}")
            ids = frame["item"].drop_nulls()
        else:
            lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
            ids = pl.Series("item", [line for line in lines if line and line != "item"], dtype=pl.String)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as a catalogue: {str(error).splitlines()[0]}") from None
    if not len(ids):
        raise RecveilError(f"{path}: the catalogue is empty")
    return ids
