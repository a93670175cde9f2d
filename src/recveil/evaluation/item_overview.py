"""What is taken from a public file of items, how it meets the log, and whether it looks made from the log.

What is said of the log is for the owner alone. A file that was made from people's rows is not public, whatever its
owner declares, and a promise "given that the item file is public" would be empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.item_file import ITEM, public_items, read_item_file, typed
from recveil.formats.overview import names_in
from recveil.formats.parts import Location, is_sample
from recveil.formats.roles import recognised
from recveil.ids import places
from recveil.items import PublicItems
from recveil.releases.catalogue import Catalogue, looks_read_off

COUNTED = "count counts popularity clicks views plays sales sold purchases ratings votes listens rank".split()  # noqa: SIM905
AVERAGED = ("mean", "avg", "average")
FEWEST = 20  # items from which on it is no chance that two lists are the same
GOES_WITH = 0.8  # a rank correlation with how often items occur


def is_item_file(source: Location) -> bool:
    """Whether a file lists items, and no people: it has the column item, and none for a user or a session."""
    if is_sample(source):
        return False
    try:
        names = names_in(source)
    except RecveilError:
        return False
    return ITEM in names and recognised(names, "user") is None and recognised(names, "session") is None


def item_overview(source: str, data: Interactions | None = None) -> dict[str, Any]:
    """As plain data: the columns of the file and what is made of them; and, with a log, what they have in common."""
    frame = _frame(source)
    facts = public_items(frame, source)
    found: dict[str, Any] = {
        "file": source,
        "items": len(facts.items),
        "rows": frame.height,
        "features": len(facts.names),
        "vectors": 0 if facts.vectors is None else facts.vectors.shape[1],
        "titles": facts.titles is not None,
        "columns": [{"name": name, "taken": taken} for name, taken in facts.taken],
        "warnings": signs_in_names(name for name, _ in facts.taken),
    }
    if data is None:
        return found
    outside = places(data.items, facts.items) < 0
    rows = np.bincount(data.item, minlength=data.n_items)
    found["log"] = {
        "items": data.n_items,
        "outside": int(outside[rows > 0].sum()),
        "rows_outside": int(rows[outside].sum()),
        "never": int((places(facts.items, data.items) < 0).sum()),
    }
    found["warnings"] = [*found["warnings"], *made_from_log(frame, facts, data)]
    return found


def signs_in_names(columns: Iterable[str]) -> list[str]:
    """Columns whose names say that they count what people did. It follows from the file alone."""
    lines = []
    for name in columns:
        words = name.lower().replace("-", "_").split("_")
        if set(words) & set(COUNTED) or words[0] in AVERAGED:
            lines.append(
                f"the column {name} of the item file seems to count what people did: it is public only if everybody "
                "can see it already"
            )
    return lines


def made_from_log(frame: pl.DataFrame, facts: PublicItems, data: Interactions) -> list[str]:
    """Signs that a file was made from this log; none of them is a proof."""
    lines: list[str] = []
    count = np.bincount(data.item, minlength=data.n_items)
    frame = frame.drop_nulls(ITEM)
    at = places(frame[ITEM], data.items)
    often = np.where(at >= 0, count[np.maximum(at, 0)], 0)
    if len(often) >= FEWEST and abs(_goes(np.arange(len(often)), often)) > GOES_WITH:
        lines.append("the rows of the item file stand in the order of how often items occur in the log")
    for name in frame.columns:
        column = typed(frame[name])
        if name == ITEM or not column.dtype.is_numeric():
            continue
        value = column.cast(pl.Float64).fill_nan(None)
        known = value.is_not_null().to_numpy()
        if known.sum() >= FEWEST and abs(_goes(value.to_numpy()[known], often[known])) > GOES_WITH:
            lines.append(f"the column {name} of the item file goes with how often items occur in the log")
    made = [f"{line}: was it made from it? Then it is not public, and no proof holds" for line in lines]
    return [*filter(None, [looks_read_off(Catalogue(facts.items), data)]), *made]


def looks_private(given: Catalogue | None, data: Interactions) -> list[str]:
    """What to tell an owner who measures with a file that may be made from the log."""
    if given is None or given.features is None:
        return []
    signs = signs_in_names(name for name, _ in given.features.taken)
    return [f"warning: {line}" for line in (looks_read_off(given, data), *signs) if line]


def _frame(source: str) -> pl.DataFrame:
    if source.startswith("sample:"):
        from recveil.samples import sample_items

        return sample_items(source.removeprefix("sample:"))
    return read_item_file(source)


def _goes(one: Any, other: Any) -> float:
    """The rank correlation; 0 where one of them is constant."""
    from scipy.stats import spearmanr

    if len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        return 0.0
    return float(spearmanr(one, other).statistic)


def overview_lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    repeats = f" in {found['rows']:,} rows" if found["rows"] != found["items"] else ""
    lines = [f"public items: {found['items']:,} items{repeats}, {found['features']:,} features"]
    if found["vectors"]:
        lines[0] += f", vectors of {found['vectors']:,} numbers"
    lines += [f"    {one['name']}: {one['taken']}" for one in found["columns"]]
    if not found["features"] and not found["vectors"]:
        lines.append("nothing tells items apart, so it serves as a list of items alone")
    if found["titles"]:
        lines.append("titles stay in the house, unless you declare them publishable with --publish-titles")
    if log := found.get("log"):
        lines.append(
            f"of {log['items']:,} items of the log {log['outside']:,} are not in it: their {log['rows_outside']:,} "
            f"rows are outside the catalogue, and no release has them; {log['never']:,} of its items nobody has"
        )
    return [*lines, *(f"warning: {line}" for line in found["warnings"])]
