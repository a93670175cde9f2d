"""signs: what an attacker looks at in what a bundle publishes, to tell whether the canary was there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.releases.release import Release

_SIGNS = (
    "refused",
    "rows",
    "users",
    "items",
    "rows of canary items",
    "rows of the last item",
    "nearest overlap",
    "nearest has the last item",
    "people with two canary items",
    "rating of the last item",
    "canary tags",
)


def signs(made: Release | None, canary: Interactions) -> Mapping[str, float]:
    """Sizes, traces of the canary's items in rows and tables, and the record that is most like hers."""
    if made is None:
        return dict.fromkeys(_SIGNS, 0.0) | {"refused": 1.0}
    return _in_rows(made.data, canary) | _in_tables(made, canary) | _in_her_record(made, canary)


def _in_rows(released: Interactions, canary: Interactions) -> dict[str, float]:
    ids, wanted = released.items.to_numpy(), canary.items.to_list()
    hers, last = np.isin(ids, wanted)[released.item], (ids == wanted[-1])[released.item]
    overlap = np.bincount(released.user[hers & ~last], minlength=released.n_users)
    nearest = int(np.argmax(overlap))
    tagged = 0.0
    if released.tags is not None and released.tag is not None:
        tagged = float((released.tags.to_numpy() == "canary")[released.tag].sum())
    values = (
        0.0,
        len(released),
        len(np.unique(released.user)),
        len(np.unique(released.item)),
        hers.sum(),
        last.sum(),
        overlap[nearest],
        (last & (released.user == nearest)).any(),
        (np.bincount(released.user[hers], minlength=released.n_users) >= 2).sum(),
        0.0 if released.rating is None else released.rating[last].sum(),
        tagged,
    )
    return dict(zip(_SIGNS, map(float, values), strict=True))


def _in_her_record(made: Release, canary: Interactions) -> dict[str, float]:
    """Her own record, where releases have one: random names of people are no part of what is claimed."""
    if made.id_map is None:
        return {}
    her = made.id_map.filter(pl.col("original") == canary.users[0])["released"]
    rows = made.data.frame().filter(pl.col("user").is_in(her.implode()), pl.col("item") == canary.items[-1])
    found = {"her last item": float(len(rows))}
    if "tag" in rows.columns:
        found["her last tag"] = float((rows["tag"] == "canary").sum())
    return found


def _in_tables(made: Release, canary: Interactions) -> dict[str, float]:
    """What each published table holds of the canary's items and tags."""
    found = {}
    for name, table in made.tables.items():
        if "count" not in table.columns:
            continue
        mine = np.ones(len(table), dtype=bool)
        if "item" in table.columns:
            mine &= np.isin(table["item"].to_numpy(), canary.items.to_list())
        if "tag" in table.columns:
            mine &= (table["tag"] == "canary").to_numpy()
        found[f"published {name}"] = float(table["count"].to_numpy()[mine].sum())
    return found
