"""release_table(): run a mechanism over a Table on Spark, with the same parameters, and write its bundle in parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.guarantee import NOT_ON_RECORD
from recveil.ids import keys, whole
from recveil.mechanism import Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source, source
from recveil.releases.bundle import check_writable, placed, save, save_parts
from recveil.releases.catalogue import Catalogue, check_public
from recveil.releases.chunks import Tokens, interactions
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
from recveil.releases.signing import Signer
from recveil.spark.chunks import Batches, Table, arrow, pieces, rewrite, spark_schema, total
from recveil.spark.lake import write_parts
from recveil.spark.neighbours import critical_items
from recveil.spark.reading import narrow, over_catalogue
from recveil.spark.similar import plan_streams, rewrite_streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK_ROWS = 500_000
PART_ROWS = 5_000_000  # of one file of the bundle, which is hashed whole in the memory of an executor:
PART_BYTES = 64 << 20  # before compression

# Global steps that do not fit a driver are Spark jobs of their own. What they do is what the mechanism does locally.
PLANS: dict[str, Callable[..., Any]] = {"streams": plan_streams, "critical items": critical_items}
REWRITES: dict[str, Callable[..., Any]] = {"streams": rewrite_streams}


@dataclass(frozen=True)
class Made:
    """A bundle that was written; the private map of its users, and what a Synthesis published."""

    manifest: dict[str, Any]
    id_map: pl.DataFrame | None = None
    published: Published | None = None


def check_runs(mechanism: Mechanism) -> None:
    """Raise where a mechanism does not run on Spark, before anything is started."""
    if mechanism.local_only:
        raise RecveilError(f"{mechanism.name} does not run on Spark: {mechanism.local_only}; use --engine local")
    if isinstance(mechanism, Synthesis) and mechanism.knows_users:
        raise RecveilError(f"{mechanism.name} with tables of users does not run on Spark; use --engine local")


def release_table(
    data: Table,
    mechanism: Mechanism,
    where: str | Path | Place,
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: Catalogue | None = None,
    force: bool = False,
    keep_map: bool = False,
    enter: Enter | None = None,
    licence: str | None = None,
    sign: Signer | None = None,
    schema_from: str = "",
    chosen_on_data: str = NOT_ON_RECORD,
    part_rows: int = PART_ROWS,
) -> Made:
    """Protect a table with a mechanism and write the bundle; the arguments are those of `release` and `save`.

    A path must be one that the driver and all executors see; other places are those of `lake.place`. For the same seed
    the rows are those of `release`. `enter` is told what is spent before noise is drawn: a ledger misses no refusal.
    """
    check_runs(mechanism)
    out = placed(where)
    check_writable(out, force)
    check_fit(mechanism, data.specimen, time)
    mechanism = mechanism.with_declared(data.specimen)
    if data.specimen.session is not None and not mechanism.reads_sessions:
        data = replace(data, frame=data.frame.drop("session"), specimen=replace(data.specimen, session=None))
    chance = source(seed)
    given = catalogue or Catalogue()
    check_public(mechanism, given.is_given, given.is_public, chance.seeded)
    if given.lists():
        raise RecveilError("on Spark a catalogue lists items alone; leave its tags and users out")
    if given.items is not None:
        data = over_catalogue(data, given.items, isinstance(mechanism, Masking) and mechanism.everyone)
    layout, rows = data.layout, data.specimen
    facts = given.facts(layout.items) if mechanism.reads_features else None
    public = PublicInfo(
        rows.kind, rows.unit, layout.items, layout.tags, given.items is not None,
        untyped=layout.untyped, features=facts, sessions=rows.session is not None,
    )  # fmt: skip
    if isinstance(mechanism, Synthesis):
        if rows.kind in ("clicks", "sessions") and rows.time is None:
            raise RecveilError(f"{mechanism.name} needs a time column on Spark, where rows have no order")
        published = publish(data, mechanism, public, chance, total=total, narrow=narrow, enter=enter)  # type: ignore[arg-type]
        published = replace(published, chosen_on_data=chosen_on_data)
        made = replace(drawn(published, chance, time), schema_from=schema_from, titles=given.titles)
        return Made(save(made, out, force=force, licence=licence, sign=sign), published=published)
    assert isinstance(mechanism, Masking)
    if not len(rows) and not mechanism.everyone:
        raise RecveilError("there are no rows to release")
    if mechanism.guarantee(public).status == "proved":
        _check_keys(data.frame)
    if enter:
        enter(mechanism, promised(mechanism, public, chance.seeded))
    if not mechanism.reads_time and time_rule(time, rows) == "drop":
        data = replace(data, layout=replace(layout, timed=False), specimen=replace(rows, time=None))
    settled, masked = _masked(data, mechanism, chance)
    try:
        release = _release(masked, settled, public, chance.seeded, time)
        release = replace(_typed(release, masked, public), schema_from=schema_from)
        release = replace(release, titles=given.titles, chosen_on_data=chosen_on_data)
        put = partial(_put, masked, release, min(part_rows, PART_BYTES // row_bytes(release.data, public)))
        manifest = save_parts(release, out, put, force=force, licence=licence, sign=sign)
        return Made(manifest, _id_map(masked) if keep_map else None)
    finally:
        masked.unpersist()


def _masked(data: Table, mechanism: Masking, chance: Source) -> tuple[Mechanism, DataFrame]:
    """The masked rows, whose tokens are all different and none of them a real user's; kept on the executors' disks."""
    from pyspark import StorageLevel

    mine, disk = chance.derive(mechanism.name), StorageLevel.DISK_ONLY
    make: Callable[..., Any] = PLANS.get(mechanism.cluster_steps, _plan)
    change: Callable[..., Any] = REWRITES.get(mechanism.cluster_steps, _rewrite)
    plan = make(data, mechanism, mine.derive("plan"))
    for attempt in count():
        tokens = chance.derive("tokens").derive(attempt).names
        masked = change(data, mechanism, plan, mine.derive("mask"), tokens).persist(disk)
        taken = masked.where("notes is null").select("user", "token").distinct().select("token")
        people = data.frame.select("user").distinct().selectExpr("try_cast(user as bigint) as token")
        taken = taken.union(people.where("token is not null"))
        if not taken.groupBy("token").count().where("count > 1").head(1):
            return mechanism.with_parameters(plan), masked
        masked.unpersist()
    raise AssertionError


def _plan(data: Table, mechanism: Masking, chance: Source) -> Any:
    return mechanism.plan(total(data, mechanism.count, mechanism.by), chance)


def _rewrite(data: Table, mechanism: Masking, plan: Any, chance: Source, tokens: Tokens) -> DataFrame:
    mask = partial(mechanism.mask, plan=plan, source=chance)
    return rewrite(data, mask, mechanism.by, tokens, mechanism.dense, mechanism.everyone)


def _release(masked: DataFrame, mechanism: Mechanism, public: PublicInfo, seeded: bool, time: Time) -> Release:
    """A release without its rows: their columns, and everything that is said of them."""
    none = pl.DataFrame(masked.drop("user", "origin", "notes").limit(0).toArrow()).rename({"token": "user"})
    unit: Any = public.unit
    empty = interactions(none, unit)
    kept = time_rule(time, empty)
    rows = canonical(replace(empty, time=None) if kept == "drop" else empty, kept)
    notes: Counter[str] = Counter()
    for row in masked.where("notes is not null").select("notes").toLocalIterator():
        notes.update(json.loads(row["notes"]))
    return Release(rows, mechanism, promised(mechanism, public, seeded), kept, seeded, dict(notes))


def _typed(release: Release, masked: DataFrame, public: PublicInfo) -> Release:
    """Ids whose type nobody declared as integers, if all that are released are whole numbers; the rows follow later."""
    rows = release.data
    for role in public.untyped & {"item", "tag"}:
        ids: pl.Series | None = getattr(rows, f"{role}s")
        if ids is not None and ids.dtype == pl.String:
            found = pl.Series(masked.where("notes is null").select(role).distinct().toArrow()[role])
            if not whole(found).null_count():
                vocabulary: dict[str, Any] = {f"{role}s": ids.cast(pl.Int64)}
                rows = replace(rows, **vocabulary)
    return replace(release, data=rows)


def row_bytes(rows: Interactions, public: PublicInfo) -> int:
    """About how much room a released row takes, by the types of its columns and the public ids alone."""
    names = {"item": public.items, "tag": public.tags}
    sizes = [8] * len(rows.frame().columns)
    for role, kind in rows.frame().schema.items():
        ids = names.get(role)
        if kind == pl.String and ids is not None:
            sizes.append(8 + int(ids.cast(pl.String).str.len_bytes().mean() or 0))  # type: ignore[arg-type]
    return sum(sizes)


def _check_keys(frame: DataFrame) -> None:
    """Raise where two people, in whichever chunks, would get the same randomness."""
    people = frame.select("user").distinct()
    if dict(people.dtypes)["user"] != "string":
        return

    def keyed(batches: Batches) -> Batches:
        for batch in batches:
            yield from arrow(pl.DataFrame({"key": keys(pl.Series(batch["user"])).view("i8")}))

    if people.mapInArrow(keyed, "key bigint").groupBy("key").count().where("count > 1").head(1):
        raise RecveilError(SAME_KEY)


def _put(masked: DataFrame, release: Release, part_rows: int, folder: Place) -> dict[str, int]:
    """The released rows as parquet files, one range of tokens each."""
    from pyspark.sql import functions as fn

    rows = masked.where("notes is null")
    stated = {"rows": rows.count(), "users": rows.select("token").distinct().count()}
    stated["items"] = rows.select("item").distinct().count()
    if not stated["rows"]:
        raise RecveilError(f"{release.mechanism.name} left no rows to release")
    parts = -(-stated["rows"] // part_rows)
    place = fn.shiftright(fn.shiftright("token", 31) * parts, 32).cast("int")  # 63-bit tokens are uniform
    like = _columns(release.data, release.time)
    schema, types = like.to_arrow().schema, like.schema

    def finished(batches: Batches, unit: Any, time: Any) -> Batches:
        for piece in pieces(batches, "token", CHUNK_ROWS):
            chunk = interactions(piece.drop("user").rename({"token": "user"}), unit)
            chunk = canonical(replace(chunk, time=None) if time == "drop" else chunk, time)
            yield from arrow(_columns(chunk, time).cast(types), schema)

    kept = rows.drop("origin", "notes").repartitionById(parts, place).sortWithinPartitions("token")
    done = kept.mapInArrow(partial(finished, unit=release.data.unit, time=release.time), spark_schema(schema))
    if write_parts(done, folder / "data") != stated["rows"]:
        raise AssertionError("rows were lost on their way")
    return stated


def _columns(rows: Interactions, time: str) -> pl.DataFrame:
    return rows.frame().rename({"user": rows.unit, "time": "order" if time == "order" else "time"}, strict=False)


def _id_map(masked: DataFrame) -> pl.DataFrame:
    """Two ids of every released user, on the driver: only where the owner asks for it."""
    pairs = masked.where("notes is null").selectExpr("origin as original", "token as released").distinct()
    return pl.DataFrame(pairs.toArrow()).sort("released")
