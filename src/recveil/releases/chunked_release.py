"""release_chunks(): a release of a log in chunks of whole people, whose rows never stand in one place together.

On a disk or on a cluster the steps are the same, and for the same seed the rows are those of `release`. An engine says
how chunks are counted, narrowed and masked, and how masked rows become files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.guarantee import NOT_ON_RECORD
from recveil.ids import whole
from recveil.mechanism import Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source, source
from recveil.releases import local
from recveil.releases.bundle import save, save_parts
from recveil.releases.catalogue import Catalogue, check_public
from recveil.releases.chunks import interactions
from recveil.releases.places import Place
from recveil.releases.release import (
    SAME_KEY,
    Enter,
    Published,
    Release,
    Time,
    canonical,
    check_fit,
    drawn,
    promised,
    publish,
    time_rule,
)

PART_ROWS = 5_000_000  # of one file of a bundle


@dataclass(frozen=True)
class Made:
    """A bundle that was written; the private map of its users, and what a Synthesis published."""

    manifest: dict[str, Any]
    id_map: pl.DataFrame | None = None
    published: Published | None = None


@dataclass(frozen=True)
class HowReleased:
    """How a log in chunks is released: what `release` takes; `said` of itself beside its rows; what `save` takes."""

    seed: int | None = None
    time: Time = "auto"
    catalogue: Catalogue | None = None
    enter: Enter | None = None
    keep_map: bool = False
    part_rows: int = PART_ROWS
    said: Mapping[str, Any] = field(default_factory=lambda: {"schema_from": "", "chosen_on_data": NOT_ON_RECORD})
    publication: Mapping[str, Any] = field(default_factory=dict)


class MaskedLog(Protocol):
    """Masked rows where an engine keeps them, under their tokens, and what is known of all of them."""

    @property
    def columns(self) -> pl.DataFrame:
        """None of the rows: their columns."""

    @property
    def counts(self) -> dict[str, int]:
        """How many rows, users and items there are."""

    @property
    def notes(self) -> dict[str, int]: ...

    def ids(self, role: str) -> pl.Series:
        """The items (tags) that occur."""

    def id_map(self) -> pl.DataFrame:
        """Original and released id of everybody who is in it."""

    def write(self, release: Release, public: PublicInfo, part_rows: int, folder: Place) -> None:
        """The rows as parquet files of about so many rows, each a range of tokens."""


@dataclass(frozen=True)
class ChunkEngine:
    """What an engine does with a log in chunks, which has a layout and a specimen: a few rows that tell its columns."""

    where: str  # its name, in a sentence
    total: Callable[..., Any]  # of counts over all chunks
    narrow: Callable[..., Any]  # to the rows with some items (tags) alone
    over: Callable[[Any, Catalogue, Mechanism], Any]  # the rows that stand in a public list of items
    masked: Callable[..., AbstractContextManager[tuple[Mechanism, MaskedLog]]]
    share_keys: Callable[[Any], bool]  # whether two people would get the same randomness
    ordered: bool  # whether clicks without times have an order


def release_chunks(
    engine: ChunkEngine,
    data: Any,
    mechanism: Mechanism,
    out: Place,
    wishes: HowReleased,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
) -> Made:
    """Protect a log with a mechanism and write the bundle; `wishes.enter` is told of the promise before any noise."""
    check_fit(mechanism, data.specimen, wishes.time)
    mechanism = mechanism.with_declared(data.specimen)
    if data.specimen.session is not None and not mechanism.reads_sessions:
        data = _seen(data, {"sessions": False}, session=None)
    chance, given = source(wishes.seed), wishes.catalogue or Catalogue()
    check_public(mechanism, given.is_given, given.is_public, chance.seeded)
    if given.lists():
        raise RecveilError(f"{engine.where} a catalogue lists items alone; leave its tags and users out")
    if given.items is not None:
        data = engine.over(data, given, mechanism)
    rows, layout = data.specimen, data.layout
    public = PublicInfo(
        rows.kind, rows.unit, layout.items, layout.tags, given.items is not None, untyped=layout.untyped,
        features=given.facts(layout.items) if mechanism.reads_features else None, sessions=rows.session is not None,
    )  # fmt: skip
    said = {**wishes.said, "titles": given.titles}
    if isinstance(mechanism, Synthesis):
        if not engine.ordered and rows.kind in ("clicks", "sessions") and rows.time is None:
            raise RecveilError(f"{mechanism.name} needs a time column {engine.where}, where rows have no order")
        published = publish(data, mechanism, public, chance, tick, engine.total, engine.narrow, wishes.enter)
        published = replace(published, chosen_on_data=said["chosen_on_data"])
        made = replace(drawn(published, chance, wishes.time), **said)
        return Made(save(made, out, **wishes.publication), published=published)
    assert isinstance(mechanism, Masking)
    if not mechanism.everyone and data.is_empty:
        raise RecveilError("there are no rows to release")
    if mechanism.guarantee(public).status == "proved" and engine.share_keys(data):
        raise RecveilError(SAME_KEY)
    if wishes.enter:
        wishes.enter(mechanism, promised(mechanism, public, chance.seeded))
    if not mechanism.reads_time and time_rule(wishes.time, rows) == "drop":
        data = _seen(data, {"timed": False}, time=None)
    with engine.masked(data, mechanism, chance, tick) as (settled, masked):
        release = replace(_columns_of(masked, settled, public, chance, wishes.time), **said)
        put = partial(_put, masked, release, public, wishes.part_rows)
        manifest = save_parts(release, out, put, **wishes.publication)
        return Made(manifest, masked.id_map() if wishes.keep_map else None)


def _seen(data: Any, layout: dict[str, Any], **columns: Any) -> Any:
    """The same rows, as another layout sees them."""
    return replace(data, layout=replace(data.layout, **layout), specimen=replace(data.specimen, **columns))


def _put(masked: MaskedLog, release: Release, public: PublicInfo, part_rows: int, folder: Place) -> dict[str, int]:
    masked.write(release, public, part_rows, folder)
    return masked.counts


def _columns_of(masked: MaskedLog, mechanism: Mechanism, public: PublicInfo, chance: Source, time: Time) -> Release:
    """A release without its rows: their columns, and everything that is said of them."""
    counts = masked.counts
    if not counts["rows"]:
        raise RecveilError(f"{mechanism.name} left no rows to release")
    unit: Any = public.unit
    kept = time_rule(time, interactions(masked.columns, unit))
    rows = finished(masked.columns, unit, kept)
    for role in public.untyped & {"item", "tag"}:
        ids: pl.Series | None = getattr(rows, f"{role}s")
        if ids is not None and ids.dtype == pl.String and not whole(masked.ids(role)).null_count():
            vocabulary: dict[str, Any] = {f"{role}s": ids.cast(pl.Int64)}
            rows = replace(rows, **vocabulary)
    promise = promised(mechanism, public, chance.seeded, counts["users"])
    return Release(rows, mechanism, promise, kept, chance.seeded, masked.notes)


def finished(frame: pl.DataFrame, unit: Any, time: str) -> Interactions:
    """Masked rows of some people as they are released."""
    rows = interactions(frame, unit)
    return canonical(replace(rows, time=None) if time == "drop" else rows, time)


def columns(rows: Interactions, time: str) -> pl.DataFrame:
    """Released rows under the names that their files have for the columns."""
    return rows.frame().rename({"user": rows.unit, "time": "order" if time == "order" else "time"}, strict=False)
