"""release(): run a mechanism over data and give its result the form in which it may leave the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.dp.vocabulary import Selected
from recveil.errors import RecveilError
from recveil.guarantee import NOT_ON_RECORD, Guarantee
from recveil.ids import keys, whole
from recveil.ids import narrow as if_whole
from recveil.mechanism import Masked, Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source, source
from recveil.releases import local
from recveil.releases.catalogue import Catalogue, check_public

SAME_KEY = "two user ids have the same 64-bit key, and would be perturbed alike; rename one of them"
Time = Literal["auto", "drop", "order", "keep"]
Enter = Callable[[Any, Guarantee], None]  # told what is about to be spent, before any noise is drawn


@dataclass(frozen=True)
class Published:
    """What a Synthesis published: its noisy statistics, from which anybody may draw as often as they like."""

    mechanism: Synthesis
    public: PublicInfo = field(repr=False)
    rounds: tuple[Mapping[str, NDArray[Any]], ...] = field(repr=False)
    seeded: bool
    chosen_on_data: str = NOT_ON_RECORD


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
    schema_from: str = ""  # whence it was known what the columns of the data are
    titles: pl.DataFrame | None = field(default=None, repr=False)  # public names of items, declared publishable
    chosen_on_data: str = NOT_ON_RECORD
    series: Mapping[str, Any] | None = None  # of which series it is a window, where it is one

    def frame(self) -> pl.DataFrame:
        """The released rows."""
        return self.data.frame()

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def save(self, directory: str | Path, *, format: str = "parquet", force: bool = False) -> dict[str, Any]:
        """Write the bundle and return its manifest."""
        from recveil.releases.bundle import save

        return save(self, directory, format=format, force=force)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        seeded = "; made with a seed: an experiment" if self.seeded else ""
        return f"Release({self.data!r} by {self.mechanism})\n{self.guarantee.sentence}{seeded}"

    def _repr_html_(self) -> str:
        return f"{self.guarantee._repr_html_()}{self.frame()._repr_html_()}"


def release(
    data: Interactions,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: Catalogue | pl.Series | None = None,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
    enter: Enter | None = None,
    everyone: bool = False,
) -> Release:
    """Protect data with a mechanism.

    Without a seed, all randomness comes from the operating system and is forgotten. With one, the release is an
    experiment and marked so. `time`: drop it, reduce it to each person's order, or keep it; auto keeps the order of
    clicks and sessions and drops the time of ratings and tags. `catalogue`: public lists of ids, or that of items.
    `enter` is told what is spent before any noise is drawn: a refusal that depends on noise is an answer too.
    `everyone`: all of data.users are in the data, also who has no row.
    """
    check_fit(mechanism, data, time)
    mechanism = mechanism.with_declared(data)
    if not mechanism.reads_sessions:
        data = replace(data, session=None)
    chance = source(seed)
    people = data.user, data.users
    data = data.compact()  # nobody and nothing without a row may leave a trace
    if everyone and isinstance(mechanism, Masking) and mechanism.everyone:
        data = replace(data, user=people[0], users=people[1])
    del people
    given = catalogue if isinstance(catalogue, Catalogue) else Catalogue(catalogue)
    check_public(mechanism, given.is_given, given.is_public, chance.seeded)
    knows_users = isinstance(mechanism, Synthesis) and mechanism.knows_users
    data = given.over(data, knows_users, isinstance(mechanism, Masking) and mechanism.answers_all)
    public = PublicInfo(
        data.kind, data.unit, data.items, None if data.tags is None else data.tags.drop_nulls(),
        given.items is not None, given.lists(), data.users if knows_users else None, data.untyped,
        given.facts(data.items) if mechanism.reads_features else None, data.session is not None, given.earlier,
    )  # fmt: skip
    if isinstance(mechanism, Synthesis):
        statistics = publish(data.canonical(), mechanism, public, chance, tick, enter=enter)
        return replace(drawn(statistics, chance, time), titles=given.titles)
    assert isinstance(mechanism, Masking)
    if not len(data) and not (mechanism.everyone and data.n_users):
        listed = ", none in the lists of the catalogue" if given.items is not None or given.lists() else ""
        raise RecveilError(f"there are no rows to release{listed}")
    if mechanism.guarantee(public).status == "proved":
        check_keys(data.users)
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
    return replace(_finish(rows, settled, public, chance.seeded, time, notes, id_map), titles=given.titles)


def publish(
    data: Interactions,
    mechanism: Synthesis,
    public: PublicInfo,
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
    for number in range(mechanism.rounds_for(public)):
        counts = total(data, partial(mechanism.count, published=rounds, public=public), "user", tick)
        noise = chance.derive(mechanism.name).derive("publish", number)
        found = dict(mechanism.publish(counts, rounds, public, noise))
        for name, selected in found.items():
            if isinstance(selected, Selected):  # what was not selected is forgotten before anything else reads it
                data, ids = narrow(data, selected.column, selected.codes)
                if selected.column.removesuffix("s") in public.untyped:
                    ids = if_whole(ids)
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
    id_map = None if drawn.origin is None else pl.DataFrame({"original": drawn.origin, "released": tokens})
    made = _finish(rows, mechanism, published.public, published.seeded or chance.seeded, time, drawn.notes, id_map)
    tables: Mapping[str, pl.DataFrame] = {
        name: table.with_columns(user=tokens.gather(table["user"])).sort("user") if "user" in table.columns else table
        for name, table in drawn.tables.items()
    }
    rows, tables = settled_types(made.data, tables, published.public.untyped)
    return replace(made, data=rows, published=published, tables=tables, chosen_on_data=published.chosen_on_data)


def _finish(
    rows: Interactions,
    mechanism: Mechanism,
    public: PublicInfo,
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
    if isinstance(mechanism, Masking):
        rows, _ = settled_types(rows, {}, public.untyped)
    return Release(rows, mechanism, promise, kept, seeded, notes, id_map)


def settled_types(
    rows: Interactions, tables: Mapping[str, pl.DataFrame], untyped: frozenset[str]
) -> tuple[Interactions, Mapping[str, pl.DataFrame]]:
    """What is published: ids whose type nobody declared are integers if all that are published are whole numbers."""
    for role in untyped & {"item", "tag"}:
        ids = getattr(rows, f"{role}s")
        if ids is None:
            continue
        seen = [ids, *(table[role] for table in tables.values() if role in table.columns)]
        if any(whole(some).null_count() for some in seen):
            continue
        vocabulary: dict[str, Any] = {f"{role}s": whole(ids)}
        rows = replace(rows, **vocabulary)
        tables = {
            name: table.with_columns(whole(table[role]).alias(role)) if role in table.columns else table
            for name, table in tables.items()
        }
    return rows, tables


def check_keys(users: pl.Series) -> None:
    """Raise where two people would get the same randomness."""
    if not users.dtype.is_integer() and len(np.unique(keys(users))) < len(users):
        raise RecveilError(SAME_KEY)


def promised(mechanism: Mechanism, public: PublicInfo, seeded: bool, people: int | None = None) -> Guarantee:
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
    return mechanism.with_parameters(plan), local.rewrite(data, mask, mechanism.by, tick, mechanism.everyone)


def time_rule(time: Time, rows: Interactions) -> Literal["drop", "order", "keep"]:
    """What happens to the times of these rows."""
    if time != "auto":
        return time
    return "order" if rows.kind in ("clicks", "sessions") and rows.time is not None else "drop"


def _tokens(rows: Interactions, users: pl.Series | None, chance: Source) -> tuple[Interactions, pl.Series]:
    """The rows with a random 63-bit token for every user; if one comes twice or names a real user, all are drawn again.

    People who were drawn are not compared with real ones: that would depend on the data outside the budget.
    """
    real = None if users is None else whole(users).drop_nulls().to_numpy()
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
