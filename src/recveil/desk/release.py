"""release(): run a mechanism over data and give its result the form in which it may leave the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.desk import local
from recveil.desk.catalogue import Catalogue
from recveil.dp.vocabulary import Selected
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.mechanism import Masked, Masking, Mechanism, Public, Synthesis
from recveil.randomness import Source, source

Time = Literal["auto", "drop", "order", "keep"]
Enter = Callable[[Mechanism, Guarantee], None]  # told what is about to be spent, before any noise is drawn


@dataclass(frozen=True)
class Published:
    """What a Synthesis published: its noisy statistics, from which anybody may draw as often as they like."""

    mechanism: Synthesis
    public: Public
    rounds: tuple[Mapping[str, NDArray[Any]], ...]
    seeded: bool


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
    published: Published | None = field(default=None, repr=False)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict, repr=False)


def release(
    data: Interactions,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: Catalogue | pl.Series | None = None,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
    enter: Enter | None = None,
) -> Release:
    """Protect data with a mechanism.

    Without a seed, all randomness comes from the operating system and is forgotten. With one, the release is an
    experiment and marked so. `time`: drop it, reduce it to each person's order, or keep it; auto keeps the order of
    clicks and sessions and drops the time of ratings and tags. `catalogue`: public lists of ids, or that of items.
    `enter` is told what is spent before any noise is drawn: a refusal that depends on noise is an answer too.
    """
    if not len(data):
        raise RecveilError("there are no rows to release")
    check_fit(mechanism, data, time)
    chance = source(seed)
    data = data.compact()  # nobody and nothing without a row may leave a trace
    given = catalogue if isinstance(catalogue, Catalogue) else Catalogue(catalogue)
    knows_users = isinstance(mechanism, Synthesis) and mechanism.knows_users
    data = given.over(data, knows_users)
    public = Public(
        data.kind, data.unit, data.items, data.tags, given.items is not None, given.lists(),
        data.users if knows_users else None,
    )  # fmt: skip
    if isinstance(mechanism, Synthesis):
        return drawn(publish(data.canonical(), mechanism, public, chance, tick, enter=enter), chance, time)
    assert isinstance(mechanism, Masking)
    if enter:
        enter(mechanism, promised(mechanism, public, chance.seeded))
    if not mechanism.reads_time and time_rule(time, data) == "drop":
        data = replace(data, time=None)
    data = data.canonical().grouped(mechanism.by)  # once for both passes
    settled, masked = _mask(data, mechanism, chance.derive(mechanism.name), tick)
    users = data.users
    del data  # of a large log, no more stands in memory than is needed
    rows, tokens = _tokens(masked.rows, users, chance.derive("tokens"))
    id_map, notes = pl.DataFrame({"original": masked.origin, "released": tokens}), masked.notes
    del masked
    return _finish(rows, settled, public, chance.seeded, time, notes, id_map)


def publish(
    data: Interactions,
    mechanism: Synthesis,
    public: Public,
    chance: Source,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
    total: Callable[..., Any] = local.total,
    narrow: Callable[..., Any] = local.narrow,
    enter: Enter | None = None,
) -> Published:
    """The noisy statistics of data coded over the public catalogue. This step, and no other, spends privacy.

    `total` and `narrow` are those of the engine on which the data are; `enter` is told of the promise before any noise.
    """
    promise = promised(mechanism, public, chance.seeded)  # what cannot be promised is refused before a row is counted
    if enter:
        enter(mechanism, promise)
    public = replace(public, **{name: getattr(public, name).clear() for name in mechanism.selects(public)})
    rounds: tuple[Any, ...] = ()
    for number in range(mechanism.rounds):
        counts = total(data, partial(mechanism.count, published=rounds, public=public), "user", tick)
        noise = chance.derive(mechanism.name).derive("publish", number)
        found = dict(mechanism.publish(counts, rounds, public, noise))
        for name, selected in found.items():
            if isinstance(selected, Selected):  # what was not selected is forgotten before anything else reads it
                data, ids = narrow(data, selected.column, selected.codes)
                public = replace(public, **{selected.column: ids})
                found[name] = selected.values
        rounds = (*rounds, found)
    return Published(mechanism, public, rounds, chance.seeded)


def draw(published: Published, *, seed: int | None = None, time: Time = "auto") -> Release:
    """Another release from statistics published before. It spends nothing."""
    return drawn(published, source(seed), time)


def drawn(published: Published, chance: Source, time: Time) -> Release:
    """A release from published statistics, with this source of chance."""
    mechanism = published.mechanism
    drawn = mechanism.draw(published.rounds, published.public, chance.derive(mechanism.name).derive("draw"))
    rows, tokens = _tokens(drawn.rows, drawn.origin, chance.derive("tokens"))
    seeded = published.seeded or chance.seeded
    id_map = None if drawn.origin is None else pl.DataFrame({"original": drawn.origin, "released": tokens})
    made = _finish(rows, mechanism, published.public, seeded, time, {}, id_map)
    tables = {
        name: table.with_columns(user=tokens.gather(table["user"])).sort("user") if "user" in table.columns else table
        for name, table in drawn.tables.items()
    }
    return replace(made, published=published, tables=tables)


def _finish(
    rows: Interactions,
    mechanism: Mechanism,
    public: Public,
    seeded: bool,
    time: Time,
    notes: Mapping[str, Any],
    id_map: pl.DataFrame | None,
) -> Release:
    if not len(rows):
        raise RecveilError(f"{mechanism.name} left no rows to release")
    kept = time_rule(time, rows)
    if kept == "drop":
        rows = replace(rows, time=None)
    rows = canonical(rows, kept).compact()
    promise = promised(mechanism, public, seeded, rows.n_users)
    return Release(rows, mechanism, promise, kept, seeded, notes, id_map)


def promised(mechanism: Mechanism, public: Public, seeded: bool, people: int | None = None) -> Guarantee:
    """What a release of so many people promises; with a seed it is an experiment."""
    promise = mechanism.guarantee(public)
    return (promise.as_experiment() if seeded else promise).weighed(people)


def check_fit(mechanism: Mechanism, data: Interactions, time: Time) -> None:
    """Raise a clear error where the data lack what the mechanism needs, or the wish for times cannot be met."""
    mechanism.check_fit(data)
    if time in ("order", "keep") and isinstance(mechanism, Masking) and not mechanism.ordered:
        raise RecveilError(f"{mechanism.name} releases neither times nor an order; leave --time out")


def _mask(data: Interactions, mechanism: Masking, chance: Source, tick: local.Tick) -> tuple[Mechanism, Masked]:
    counts = local.total(data, mechanism.count, mechanism.by, tick)
    plan = mechanism.plan(counts, chance.derive("plan"))
    mask = partial(mechanism.mask, plan=plan, source=chance.derive("mask"))
    return mechanism.settled(plan), local.rewrite(data, mask, mechanism.by, tick)


def time_rule(time: Time, rows: Interactions) -> Literal["drop", "order", "keep"]:
    """What happens to the times of these rows."""
    if time != "auto":
        return time
    return "order" if rows.kind in ("clicks", "sessions") and rows.time is not None else "drop"


def _tokens(rows: Interactions, users: pl.Series | None, chance: Source) -> tuple[Interactions, pl.Series]:
    """The rows with a random 63-bit token for every user; if one comes twice or names a real user, all are drawn again.

    People who were drawn are not compared with real ones: that would depend on the data outside the budget.
    """
    real = users.to_numpy() if users is not None and users.dtype == pl.Int64 else None
    for attempt in count():
        tokens = chance.derive(attempt).names(rows.users.to_list())
        order = np.argsort(tokens)
        if np.all(np.diff(tokens[order])) and (real is None or not np.isin(tokens, real).any()):
            break
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return replace(rows, user=rank[rows.user], users=pl.Series(tokens[order])), pl.Series(tokens)


def canonical(rows: Interactions, time: str) -> Interactions:
    """Rows in an order that carries nothing but what is meant to be released."""
    if time == "drop":
        keys = [k for k in (rows.rating, rows.tag, rows.item, rows.user) if k is not None]
        return rows.take(np.lexsort(keys))
    rows = rows.canonical()
    if time == "keep":
        return rows
    starts = rows.starts("user")
    order = np.arange(len(rows), dtype=np.int64) - starts[rows.user] + 1
    return replace(rows, time=order)
