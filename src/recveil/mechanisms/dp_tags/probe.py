"""Canaries of tags for an audit in one run: a cell of items and tags each; or of posts, one of two tags by the coin."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, Probe
from recveil.mechanisms.probing import SPARE_CELLS, Bits, Floats, new_ids, people, place


def cells(mechanism: Any, one: int, data: Interactions, inside: Bits, rng: np.random.Generator) -> Probe:
    """People with one tag on one item, a different cell each; `one`: what a person adds to it."""
    assert data.tags is not None
    n = len(inside)
    more = max(0, int(np.ceil(SPARE_CELLS * n / data.n_tags)) - data.n_items)
    items = pl.concat([data.items, new_ids(data.items, more)])
    chosen = rng.permutation(len(items) * data.n_tags)[:n]
    item, tag = items.gather(chosen // data.n_tags), data.tags.gather(chosen % data.n_tags)
    users = new_ids(data.users, n)
    rows = people(data, users, item, tag).take(np.flatnonzero(inside))

    def scores(made: Any, coded: Interactions) -> Floats:
        tags, kept = mechanism.kept(made.rounds, made.public)
        assert coded.tags is not None
        rows = data.over_items(coded.items).over_tags(coded.tags)
        rows = (rows.over_users(coded.users) if mechanism.knows_users else rows).canonical()
        real = mechanism.count(rows, made.rounds, made.public)["item_tag"].toarray()
        at = [place(ids, of, coded_ids) for ids, of, coded_ids in ((item, kept, coded.items), (tag, tags, coded.tags))]
        there = (at[0] >= 0) & (at[1] >= 0)
        noise = (made.rounds[1]["item_tag"].astype(np.int64) - real)[np.maximum(at[0], 0), np.maximum(at[1], 0)]
        return np.where(there, noise / one - 0.5, 0.0)

    what = f"people with one tag on one item each, unit {mechanism.unit}"
    return Probe(what, concat([data, rows]), scores, items, data.tags, pl.concat([data.users, users]))


def posts(data: Interactions, inside: Bits, rng: np.random.Generator) -> Probe:
    """Posts of one person each, with one of two tags by the coin; in the released tag of that post."""
    if data.tags is None or data.n_tags < 2:
        raise RecveilError("an audit of dp-post-tags in one run needs data with at least two tags")
    n = len(inside)
    often = np.argsort(-np.bincount(data.tag, minlength=data.n_tags), kind="stable")  # type: ignore[arg-type]
    yes, no = data.tags[int(often[0])], data.tags[int(often[1])]
    users, item = new_ids(data.users, n), data.items.gather(rng.integers(0, data.n_items, n))
    rows = people(data, users, item, pl.Series([yes if coin else no for coin in inside]))

    def scores(made: Any, _: Interactions) -> Floats:
        tokens = made.id_map.rename({"released": "user"})
        seen = made.data.frame().join(tokens, on="user").select("original", "tag")
        said = pl.DataFrame({"original": users}).join(seen, on="original", how="left", maintain_order="left")["tag"]
        return np.asarray((said == yes).fill_null(False).to_numpy() * 1.0 - (said == no).fill_null(False).to_numpy())

    return Probe("posts with one of two tags each", concat([data, rows]), scores, data.items, data.tags)


def posts_seen_through(mechanism: Any, watch: Any) -> Mechanism:
    """The same with its noisy tables and its answers looked at: how many were replaced, and how many ought to be."""
    kind = type(mechanism)

    class Watched(kind):  # type: ignore[misc, valid-type]
        def noisy(self, counts: Any, source: Any) -> Any:
            tags, found = super().noisy(counts, source)
            totals = np.asarray(counts["item_tag"].sum(0)).ravel()[:-1]
            watch.look(found, {"tag": totals} | {k: v[:, tags] for k, v in counts.items()}, None)
            return tags, found

        def answers(self, *args: Any) -> Any:
            made = super().answers(*args)
            chance = self.replaced(made.k)[made.inside]
            changed = (made.chosen != made.place)[made.inside]
            watch.struck("answers replaced", int(changed.sum()), chance.sum(), chance @ (1 - chance), len(chance))
            return made

    return Watched(**vars(mechanism))
