"""The public catalogue: ids that exist whether or not anybody touched them; of items, and perhaps of tags and users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError

_LISTS = ("item", "tag", "user")


@dataclass(frozen=True)
class Catalogue:
    """Public lists of ids; a list that is not given is taken from the data."""

    items: pl.Series | None = None
    tags: pl.Series | None = None
    users: pl.Series | None = None

    def lists(self) -> tuple[str, ...]:
        """Which lists were given beside that of items."""
        return tuple(name for name in ("tags", "users") if getattr(self, name) is not None)

    def over(self, data: Interactions, users: bool = False) -> Interactions:
        """The rows whose items and tags (users) stand in the lists, coded over all of them."""
        for name in ("items", "tags", *["users"] * users):
            ids, known = getattr(self, name), getattr(data, name)
            if ids is None or known is None:
                continue
            data = getattr(data, f"over_{name}")(_as(ids, known))
            if not len(data):
                raise RecveilError(f"no {name.removesuffix('s')} of the data stands in the catalogue")
        return data

    def outside(self, data: Interactions) -> dict[str, int]:
        """How many items and tags of the data do not stand in the lists; nothing where all do."""
        pairs = {"items": (self.items, data.items), "tags": (self.tags, data.tags)}
        number = {
            name: int((~known.is_in(_as(ids, known).implode())).sum())
            for name, (ids, known) in pairs.items()
            if ids is not None and known is not None
        }
        return {name: n for name, n in number.items() if n}


def _as(ids: pl.Series, known: pl.Series) -> pl.Series:
    """The ids of a list, sorted, in the type of those of the data."""
    return ids.cast(known.dtype, strict=False).drop_nulls().unique().sort()


def read_catalogue(path: str | Path) -> Catalogue:
    """Item ids, one a line (a header `item` is skipped); or a parquet with columns item, tag, user: each is a list of
    its own, filled up with nulls where another one is longer.
    """
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            if not set(_LISTS) & set(frame.columns):
                raise RecveilError(
                    f"{path}: a catalogue needs a column item, tag or user; it has {', '.join(frame.columns)}"
                )
            lists = {f"{name}s": frame[name].drop_nulls() for name in _LISTS if name in frame.columns}
        else:
            lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
            lists = {"items": pl.Series("item", [line for line in lines if line and line != "item"], dtype=pl.String)}
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as a catalogue: {str(error).splitlines()[0]}") from None
    for ids in lists.values():
        if not len(ids):
            raise RecveilError(f"{path}: the catalogue is empty")
    return Catalogue(**lists)
