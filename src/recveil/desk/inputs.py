"""DATA of a request: a path, sample:NAME, a frame, a matrix, or Interactions; and how it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.data import Interactions
from recveil.desk.progress import SILENT, Progress
from recveil.errors import RecveilError
from recveil.formats import deduplicate, from_csr, from_frame, parse_columns, parse_types, read
from recveil.formats.checking import Broken, Types

if TYPE_CHECKING:
    from recveil.spark.chunks import Table

SAMPLE = "sample:"
_KINDS = "a path, sample:films, a pandas, polars or arrow table, a scipy matrix, or what recveil.read returns"


@dataclass(frozen=True)
class Input:
    """`columns` maps roles to names, as a mapping or as user=uid,item=movie; `duplicates` settles repeated pairs;
    `types` declares ids, as a mapping or as item=int,user=text; `broken`: rows that are none, refused or dropped.
    """

    source: Any
    columns: Mapping[str, str] | str | None = None
    duplicates: str = "last"
    fold_tags: bool = False
    types: Types | str | None = None
    broken: Broken = "refuse"

    @property
    def name(self) -> str:
        """What a report calls it; never a folder."""
        if isinstance(self.source, str) and self.source.startswith(SAMPLE):
            return self.source
        return Path(self.source).name if isinstance(self.source, str | PathLike) else "data"

    def rows(self, progress: Progress = SILENT) -> Interactions:
        """The rows with repeated pairs settled, where they are read; the owner is told how many there were."""
        rows = self.all_rows()
        if isinstance(self.source, Interactions):
            return rows
        kept = deduplicate(rows, self.duplicates)  # type: ignore[arg-type]
        if len(kept) < len(rows):
            left = f"{len(rows) - len(kept):,} repeated rows left out"
            progress.note(f"{left} (kept: the {self.duplicates} of each)")
        return kept

    def all_rows(self) -> Interactions:
        """All rows, as they stand there."""
        rows = self._read()
        if not self.fold_tags:
            return rows
        from recveil.views.triples import folded

        return folded(rows)

    def table(self, spark: Any, duplicates: str | None = None, items: Any = None) -> Table:
        """The same as a table of a cluster, which reads what has a name; `duplicates` in place of its own rule.

        `items`: a public list of them, beside which no other one is looked at.
        """
        from recveil.spark.reading import read_table

        if not isinstance(self.source, str):
            raise RecveilError(
                "Spark reads data by name: a path, a URI or a table; give that, or take the local engine"
            )
        if self.fold_tags:
            raise RecveilError("--fold-tags is for --engine local")
        columns = self.columns
        if columns is not None and not isinstance(columns, str):
            columns = ",".join(f"{role}={name}" for role, name in columns.items())
        types = self.types
        if types is not None and not isinstance(types, str):
            types = ",".join(f"{role}={kind}" for role, kind in types.items())
        return read_table(spark, self.source, columns, duplicates or self.duplicates, types, self.broken, items)

    def _read(self) -> Interactions:
        source, columns = self.source, self.columns
        if isinstance(columns, str):
            columns = parse_columns(columns)
        types = parse_types(self.types) if isinstance(self.types, str) else self.types
        how: dict[str, Any] = {"columns": columns, "duplicates": "all", "types": types, "broken": self.broken}
        if isinstance(source, Interactions):
            if columns:
                raise RecveilError("these data have their columns already; leave columns out")
            return source
        if isinstance(source, str | PathLike):
            text = fspath(source)
            if text.startswith(SAMPLE):
                from recveil.samples import sample

                return sample(text.removeprefix(SAMPLE))
            if Path(text).is_dir():
                raise RecveilError(f"{text} is a folder, not a file; name a file in it (recveil.load opens a bundle)")
            return read(text, **how)
        if hasattr(source, "tocsr"):
            return from_csr(source, duplicates="all")
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect"):
            return from_frame(source, **how)
        raise RecveilError(f"data must be {_KINDS}; not {_called(source)}")


def as_input(source: Any, **how: Any) -> Input:
    """What a caller gave as data, as an Input."""
    return replace(source, **how) if isinstance(source, Input) else Input(source, **how)


def _called(source: Any) -> str:
    kind = source.__name__ if isinstance(source, type) else type(source).__name__
    return f"a {kind}" + ("; pandas.DataFrame(...) makes a table of it" if isinstance(source, list | dict) else "")
