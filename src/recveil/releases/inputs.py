"""DATA of a request: a path, sample:NAME, a frame, a matrix, or Interactions; and how it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats import deduplicate, from_csr, from_frame, parse_columns, parse_types, read
from recveil.formats.checking import Broken, Note, Types
from recveil.formats.parts import name_of
from recveil.formats.schema import BY_FILE, BY_OPTIONS, Schema, as_schema
from recveil.mechanism import Mechanism
from recveil.options import asked
from recveil.releases.asked import COLUMNS, DATA, DUPLICATES, FOLD_TAGS, SCHEMA, TYPES
from recveil.releases.progress import SILENT, WARNING, Progress

SAMPLE = "sample:"
_KINDS = "a path, sample:films, a pandas, polars or arrow table, a scipy matrix, or what recveil.read returns"


@dataclass(frozen=True)
class Input:
    """`columns` maps roles to names, as a mapping or as user=uid,item=movie; `duplicates` settles repeated pairs;
    `types` declares ids, as a mapping or as item=int,user=text; `broken`: rows that are none, refused or dropped;
    `schema`: a declaration of columns, types and scale in their place, or its file.
    """

    source: Any = asked(DATA)
    columns: Mapping[str, str] | str | None = asked(COLUMNS, None)
    duplicates: str = asked(DUPLICATES, "last")
    fold_tags: bool = asked(FOLD_TAGS, False)
    types: Types | str | None = asked(TYPES, None)
    broken: Broken = "refuse"
    schema: Schema | str | PathLike[str] | None = asked(SCHEMA, None)

    def __post_init__(self) -> None:
        if isinstance(self.source, list | tuple) and len(self.source) == 1:
            object.__setattr__(self, "source", self.source[0])

    @property
    def name(self) -> str:
        """What a report calls it; never the folder in which it lies."""
        if self.is_sample:
            return str(self.source)
        return Path(name_of(self.source)).name if self.is_place else "data"

    @property
    def is_place(self) -> bool:
        """Whether it lies in files: a path, a pattern, or several of them."""
        several = self.source if isinstance(self.source, list | tuple) else [self.source]
        return bool(several) and all(isinstance(one, str | PathLike) for one in several)

    @property
    def is_sample(self) -> bool:
        """Whether it is generated, and nobody in it is real."""
        return isinstance(self.source, str) and self.source.startswith(SAMPLE)

    @property
    def schema_from(self) -> str:
        """Whence it is known what the columns are, for a manifest."""
        if self.schema is not None:
            return getattr(as_schema(self.schema), "origin", "")
        return BY_OPTIONS if self.columns or self.types else BY_FILE

    @property
    def catalogue_is_public(self) -> bool:
        """Whether a schema declares the file of items to be public."""
        schema = as_schema(self.schema)
        return schema is not None and schema.catalogue_is_public

    def under(self, mechanism: Mechanism) -> Input:
        """As this mechanism is given it: beside a proof no row is refused."""
        return self.without_refusals() if mechanism.is_proved else self

    def without_refusals(self) -> Input:
        """No row is refused, nor a repeated one: that would tell of it."""
        if self.duplicates == "error":
            refuses = "--duplicates error would refuse by what stands in the data, and what is proved may not"
            raise RecveilError(f"{refuses}: take last, first or all; recveil inspect says how many rows are repeated")
        return replace(self, broken="drop")

    def rows(self, progress: Progress = SILENT) -> Interactions:
        """The rows with repeated pairs settled, where they are read; the owner is told how many there were."""
        rows = self.all_rows(progress)
        if isinstance(self.source, Interactions):
            return rows
        kept = deduplicate(rows, self.duplicates)  # type: ignore[arg-type]
        if len(kept) < len(rows):
            left = f"{len(rows) - len(kept):,} repeated rows left out"
            progress.note(f"{WARNING}{left} (kept: the {self.duplicates} of each)")
        return kept

    def all_rows(self, progress: Progress = SILENT) -> Interactions:
        """All rows, as they stand there; the owner is told how many are none, where these are dropped."""
        rows = self._read(lambda line: progress.note(f"{WARNING}{line}"))
        if not self.fold_tags:
            return rows
        from recveil.views.triples import folded

        return folded(rows)

    def _read(self, note: Note) -> Interactions:
        source, columns = self.source, self.columns
        if isinstance(columns, str):
            columns = parse_columns(columns)
        types = parse_types(self.types) if isinstance(self.types, str) else self.types
        how: dict[str, Any] = {"columns": columns, "duplicates": "all", "types": types, "broken": self.broken}
        how |= {"schema": as_schema(self.schema), "note": note}
        if self.schema is not None and (isinstance(source, Interactions) or hasattr(source, "tocsr") or self.is_sample):
            raise RecveilError("these data have their columns already; leave the schema out")
        if isinstance(source, Interactions):
            if columns:
                raise RecveilError("these data have their columns already; leave columns out")
            return source
        if self.is_sample:
            from recveil.samples import sample

            return sample(source.removeprefix(SAMPLE))
        if self.is_place:
            return read(source, **how)
        if hasattr(source, "tocsr"):
            return from_csr(source, duplicates="all", broken=self.broken, note=note)
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect"):
            return from_frame(source, **how)
        raise RecveilError(f"data must be {_KINDS}; not {_called(source)}")


def as_input(source: Any, **how: Any) -> Input:
    """What a caller gave as data, as an Input."""
    return replace(source, **how) if isinstance(source, Input) else Input(source, **how)


def _called(source: Any) -> str:
    kind = source.__name__ if isinstance(source, type) else type(source).__name__
    return f"a {kind}" + ("; pandas.DataFrame(...) makes a table of it" if isinstance(source, list | dict) else "")
