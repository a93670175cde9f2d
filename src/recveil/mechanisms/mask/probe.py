"""Canaries of mask for an audit in one run: people with one item, or not, by the coin; in the released bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, concat
from recveil.mechanism import Masked, Mechanism, Probe
from recveil.mechanisms.probing import Bits, Floats, new_ids, people


def probe(data: Interactions, inside: Bits) -> Probe:
    users, first, second = new_ids(data.users, len(inside)), data.items[0], data.items[-1]
    everybody, hers = (people(data, users, pl.Series([item] * len(inside))) for item in (second, first))
    plain = Interactions(data.user, data.item, data.users, data.items, data.rating, data.time, unit=data.unit)

    def scores(made: Any, _: Interactions) -> Floats:
        seen = made.data.frame().filter(pl.col("item") == first)["user"]
        found = pl.DataFrame({"original": users}).join(made.id_map, on="original", how="left", maintain_order="left")
        return np.where(found["released"].is_in(seen.implode()).fill_null(False).to_numpy(), 1.0, -1.0)

    whole = concat([plain, everybody, hers.take(np.flatnonzero(inside))])  # all of them are in the data
    return Probe("people with one item or not", whole, scores, data.items)


def seen_through(mechanism: Any, watch: Any) -> Mechanism:
    """The same with its flips looked at: how many bits were flipped, and how many ought to be."""
    kind = type(mechanism)

    class Watched(kind):  # type: ignore[misc, valid-type]
        def mask(self, chunk: Interactions, plan: float, source: Any) -> Masked:
            made: Masked = super().mask(chunk, plan, source)
            before, after = (np.unique(rows.user * np.int64(chunk.n_items) + rows.item) for rows in (chunk, made.rows))
            share, bits = 1 - plan, chunk.n_users * chunk.n_items
            changed = len(np.setxor1d(before, after, assume_unique=True))
            watch.struck("bits flipped", changed, share * bits, bits * share * plan, bits)
            return made

    return Watched(**vars(mechanism))
