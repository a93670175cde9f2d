"""Twenty rows before and after, side by side: for the owner's screen alone, read anew each time and kept nowhere."""

from __future__ import annotations

from typing import Any

import polars as pl

from recveil.desk.project.bundles import bundle_place
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import standing_bundle
from recveil.releases.bundle import load

ROWS = 20
SECONDS = 100_000_000  # what is smaller is an order, not a time since 1970


def rows_side_by_side(project: Project) -> dict[str, Any]:
    """The first rows of the data, and of what is released of them."""
    choices, _ = project.read()
    name = standing_bundle(JobStore(project), choices)
    before = project.input(choices.data).all_rows().frame().head(ROWS)
    after = load(str(bundle_place(project, name))).data.frame().head(ROWS)
    return {"before": _table(before), "after": _table(after)}


def _table(frame: pl.DataFrame) -> dict[str, Any]:
    if frame.schema.get("time") == pl.Int64 and frame["time"].min() > SECONDS:  # type: ignore[operator]
        frame = frame.with_columns(pl.from_epoch("time").dt.to_string("%Y-%m-%d %H:%M"))
    return {"columns": frame.columns, "rows": [[str(value) for value in row] for row in frame.rows()]}
