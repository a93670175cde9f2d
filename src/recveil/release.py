"""release(): run a mechanism over data and give its result the form in which it may leave the house."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.engines import local
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.mechanism import Masking, Mechanism, Public, Synthesis
from recveil.randomness import Source, source

Time = Literal["auto", "drop", "order", "keep"]


@dataclass(frozen=True)
class Release:
    """Released rows with the mechanism that made them and what it promises.

    `id_map` (columns original, released) is private: it is for scoring attacks, and never part of a bundle.
    """

    data: Interactions
    mechanism: Mechanism
    guarantee: Guarantee
    time: Literal["drop", "order", "keep"]
    seeded: bool
    notes: Mapping[str, Any] = field(default_factory=dict)
    id_map: pl.DataFrame | None = field(default=None, repr=False)


def release(
    data: Interactions,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: pl.Series | None = None,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
) -> Release:
    """Protect data with a mechanism.

    Without a seed, all randomness comes from the operating system and is forgotten. With one, the release is an
    experiment and marked so. `time`: drop it, reduce it to each person's order, or keep it; auto keeps the order of
    clicks and sessions and drops the time of ratings and tags. `catalogue`: the public list of item ids.
    """
    if not len(data):
        raise RecveilError("there are no rows to release")
    mechanism.fits(data)
    chance = source(seed)
    data = data.compact()  # nobody and nothing without a row may leave a trace
    if catalogue is not None:
        data = over_catalogue(data, catalogue)
    public = Public(data.kind, data.unit, data.items, data.tags, catalogue is not None)
    kept = _time_rule(time, data, mechanism)
    mechanism, rows, origin, notes = _run(data, mechanism, public, chance.derive(mechanism.name), tick)
    if not len(rows):
        raise RecveilError(f"{mechanism.name} left no rows to release")
    if kept == "drop":
        rows = replace(rows, time=None)
    rows, tokens = _tokens(rows, data, chance.derive("tokens"))
    promise = mechanism.guarantee(public)
    return Release(
        _canonical(rows, kept).compact(),
        mechanism,
        promise.as_experiment() if chance.seeded else promise,
        kept,
        chance.seeded,
        notes,
        None if origin is None else pl.DataFrame({"original": origin, "released": tokens}),
    )


def over_catalogue(data: Interactions, catalogue: pl.Series) -> Interactions:
    """The rows whose items stand in the public catalogue, coded over all of it."""
    known = data.over_items(catalogue.cast(data.items.dtype, strict=False).drop_nulls().unique().sort())
    if not len(known):
        raise RecveilError("no item of the data stands in the catalogue")
    return known


def _run(
    data: Interactions, mechanism: Mechanism, public: Public, chance: Source, tick: local.Tick
) -> tuple[Mechanism, Interactions, pl.Series | None, Mapping[str, Any]]:
    if isinstance(mechanism, Masking):
        counts = local.total(data, mechanism.count, mechanism.by, tick)
        plan = mechanism.plan(counts, chance.derive("plan"))
        mask = partial(mechanism.mask, plan=plan, source=chance.derive("mask"))
        masked = local.rewrite(data, mask, mechanism.by, tick)
        return mechanism.settled(plan), masked.rows, masked.origin, masked.notes
    assert isinstance(mechanism, Synthesis)
    published: tuple[Any, ...] = ()
    for number in range(mechanism.rounds):
        counts = local.total(data, partial(mechanism.count, published=published), "user", tick)
        published = (*published, mechanism.publish(counts, published, chance.derive("publish", number)))
    return mechanism, mechanism.draw(published, public, chance.derive("draw")), None, {}


def _time_rule(time: Time, data: Interactions, mechanism: Mechanism) -> Literal["drop", "order", "keep"]:
    if isinstance(mechanism, Masking) and not mechanism.ordered:
        if time in ("order", "keep"):
            raise RecveilError(f"{mechanism.name} releases neither times nor an order; leave --time out")
        return "drop"
    if time != "auto":
        return time
    return "order" if data.kind in ("clicks", "sessions") and data.time is not None else "drop"


def _tokens(rows: Interactions, data: Interactions, chance: Source) -> tuple[Interactions, pl.Series]:
    """The rows with a random 63-bit token for every user; tokens that name a real id are drawn again."""
    real = data.users.to_numpy() if data.users.dtype == pl.Int64 else None
    rng = chance.generator()
    tokens = np.zeros(rows.n_users, dtype=np.int64)
    open_ = np.arange(rows.n_users)
    while len(open_):
        tokens[open_] = rng.integers(0, 2**63, size=len(open_), dtype=np.int64)
        _, first = np.unique(tokens, return_index=True)
        again = np.ones(rows.n_users, dtype=bool)
        again[first] = False
        if real is not None:
            again |= np.isin(tokens, real)
        open_ = np.flatnonzero(again)
    order = np.argsort(tokens)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return replace(rows, user=rank[rows.user], users=pl.Series(tokens[order])), pl.Series(tokens)


def _canonical(rows: Interactions, time: str) -> Interactions:
    """Rows in an order that carries nothing but what is meant to be released."""
    if time == "drop":
        keys = [k for k in (rows.rating, rows.tag, rows.item, rows.user) if k is not None]
        return rows.take(np.lexsort(keys))
    rows = rows.ordered()
    if time == "keep":
        return rows
    starts = rows.starts("user")
    order = np.arange(len(rows), dtype=np.int64) - starts[rows.user] + 1
    return replace(rows, time=order)
