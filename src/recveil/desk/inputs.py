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
from recveil.formats import deduplicate, from_csr, from_frame, parse_columns, read

if TYPE_CHECKING:
    from recveil.spark.chunks import Table

SAMPLE = "sample:"
_KINDS = "a path, sample:films, a pandas, polars or arrow table, a scipy matrix, or what recveil.read returns"


@dataclass(frozen=True)
class Input:
    """`columns` maps roles to names, as a mapping or as user=uid,item=movie; `duplicates` settles repeated pairs."""

    source: Any
    columns: Mapping[str, str] | str | None = None
    duplicates: str = "last"
    fold_tags: bool = False

    @property
    def name(self) -> str:
        """What a report calls it; never a folder."""
        if isinstance(self.source, str) and self.source.startswith(SAMPLE):
            return self.source
        return Path(self.source).name if isinstance(self.source, str | PathLike) else "data"

    def rows(self, progress: Progress = SILENT) -> Interactions:
        """The rows with repeated pairs settled; the owner is told how many there were."""
        rows = self.all_rows()
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

    def table(self, spark: Any, duplicates: str | None = None) -> Table:
        """The same as a table of a cluster, which reads what has a name; `duplicates` in place of its own rule."""
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
        return read_table(spark, self.source, columns, duplicates or self.duplicates)

    def _read(self) -> Interactions:
        source, columns = self.source, self.columns
        if isinstance(columns, str):
            columns = parse_columns(columns)
        if isinstance(source, Interactions):
            if columns:
                raise RecveilError("these data have their columns already; leave columns out")
            return source
        if isinstance(source, str | PathLike):
            text = fspath(source)
            if text.startswith(SAMPLE):
                from recveil.samples import sample

                return sample(text.removeprefix(SAMPLE))
            return read(text, columns=columns, duplicates="all")
        if hasattr(source, "tocsr"):
            return from_csr(source, duplicates="all")
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect"):
            return from_frame(source, columns=columns, duplicates="all")
        raise RecveilError(f"data must be {_KINDS}; not {_called(source)}")


def as_input(source: Any, **how: Any) -> Input:
    """What a caller gave as data, as an Input."""
    return replace(source, **how) if isinstance(source, Input) else Input(source, **how)


def _called(source: Any) -> str:
    kind = source.__name__ if isinstance(source, type) else type(source).__name__
    return f"a {kind}" + ("; pandas.DataFrame(...) makes a table of it" if isinstance(source, list | dict) else "")
