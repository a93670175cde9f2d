"""release_table(): run a mechanism over a Table on Spark, with the same parameters, and write its bundle in parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.guarantee import NOT_ON_RECORD
from recveil.ids import keys
from recveil.mechanism import Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source
from recveil.releases import local
from recveil.releases.bundle import check_writable, placed
from recveil.releases.catalogue import Catalogue
from recveil.releases.chunked_release import ChunkEngine, HowReleased, Made, columns, finished, release_chunks
from recveil.releases.chunks import Tokens
from recveil.releases.places import Place
from recveil.releases.release import Release
from recveil.releases.signing import Signer
from recveil.spark.chunks import Batches, Table, arrow, pieces, rewrite, spark_schema, total
from recveil.spark.lake import write_parts
from recveil.spark.neighbours import critical_items
from recveil.spark.reading import narrow, over_catalogue
from recveil.spark.similar import plan_streams, rewrite_streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK_ROWS = 500_000
PART_BYTES = 64 << 20  # of a file before compression: it is hashed whole in the memory of an executor

# Global steps that do not fit a driver are Spark jobs of their own. What they do is what the mechanism does locally.
PLANS: dict[str, Callable[..., Any]] = {"streams": plan_streams, "critical items": critical_items}
REWRITES: dict[str, Callable[..., Any]] = {"streams": rewrite_streams}


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
    force: bool = False,
    licence: str | None = None,
    sign: Signer | None = None,
    schema_from: str = "",
    chosen_on_data: str = NOT_ON_RECORD,
    **wishes: Any,
) -> Made:
    """Protect a table with a mechanism and write the bundle; the arguments are those of `release` and `save`.

    A path must be one that the driver and all executors see; other places are those of `lake.place`. For the same seed
    the rows are those of `release`. `wishes`: see HowReleased.
    """
    check_runs(mechanism)
    out = placed(where)
    check_writable(out, force)
    said = {"schema_from": schema_from, "chosen_on_data": chosen_on_data}
    publication = {"force": force, "licence": licence, "sign": sign}
    return release_chunks(SPARK, data, mechanism, out, HowReleased(said=said, publication=publication, **wishes))


@dataclass(frozen=True)
class _OnSpark:
    """Masked rows on the executors' disks, and what is known of all of them."""

    frame: DataFrame

    @property
    def rows(self) -> DataFrame:
        return self.frame.where("notes is null")

    @property
    def columns(self) -> pl.DataFrame:
        none = self.frame.drop("user", "origin", "notes").limit(0).toArrow()
        return pl.DataFrame(none).rename({"token": "user"})

    @cached_property
    def counts(self) -> dict[str, int]:
        names = {"users": "token", "items": "item"}
        found = {what: self.rows.select(name).distinct().count() for what, name in names.items()}
        return {"rows": self.rows.count()} | found

    @property
    def notes(self) -> dict[str, int]:
        notes: Counter[str] = Counter()
        for row in self.frame.where("notes is not null").select("notes").toLocalIterator():
            notes.update(json.loads(row["notes"]))
        return dict(notes)

    def ids(self, role: str) -> pl.Series:
        return pl.Series(self.rows.select(role).distinct().toArrow()[role])

    def id_map(self) -> pl.DataFrame:
        """On the driver: only where the owner asks for it."""
        pairs = self.rows.selectExpr("origin as original", "token as released").distinct()
        return pl.DataFrame(pairs.toArrow()).sort("released")

    def write(self, release: Release, public: PublicInfo, part_rows: int, folder: Place) -> None:
        from pyspark.sql import functions as fn

        parts = -(-self.counts["rows"] // min(part_rows, PART_BYTES // row_bytes(release.data, public)))
        place = fn.shiftright(fn.shiftright("token", 31) * parts, 32).cast("int")  # 63-bit tokens are uniform
        like = columns(release.data, release.time)
        schema, types = like.to_arrow().schema, like.schema

        def made(batches: Batches, unit: Any, time: Any) -> Batches:
            for piece in pieces(batches, "token", CHUNK_ROWS):
                chunk = finished(piece.drop("user").rename({"token": "user"}), unit, time)
                yield from arrow(columns(chunk, time).cast(types), schema)

        kept = self.rows.drop("origin", "notes").repartitionById(parts, place).sortWithinPartitions("token")
        done = kept.mapInArrow(partial(made, unit=release.data.unit, time=release.time), spark_schema(schema))
        if write_parts(done, folder / "data") != self.counts["rows"]:
            raise AssertionError("rows were lost on their way")


@contextmanager
def _masked(
    data: Table,
    mechanism: Masking,
    chance: Source,
    tick: local.Tick,  # noqa: ARG001
) -> Iterator[tuple[Mechanism, _OnSpark]]:
    """The masked rows, whose tokens are all different and none of them a real user's; kept on the executors' disks."""
    from pyspark import StorageLevel

    mine, disk = chance.derive(mechanism.name), StorageLevel.DISK_ONLY
    make: Callable[..., Any] = PLANS.get(mechanism.cluster_steps, _plan)
    change: Callable[..., Any] = REWRITES.get(mechanism.cluster_steps, _rewrite)
    plan = make(data, mechanism, mine.derive("plan"))
    for attempt in count():
        tokens = chance.derive("tokens").derive(attempt).names
        masked = change(data, mechanism, plan, mine.derive("mask"), tokens).persist(disk)
        try:
            taken = masked.where("notes is null").select("user", "token").distinct().select("token")
            people = data.frame.select("user").distinct().selectExpr("try_cast(user as bigint) as token")
            taken = taken.union(people.where("token is not null"))
            if not taken.groupBy("token").count().where("count > 1").head(1):
                yield mechanism.with_parameters(plan), _OnSpark(masked)
                return
        finally:
            masked.unpersist()


def _plan(data: Table, mechanism: Masking, chance: Source) -> Any:
    return mechanism.plan(total(data, mechanism.count, mechanism.by), chance)


def _rewrite(data: Table, mechanism: Masking, plan: Any, chance: Source, tokens: Tokens) -> DataFrame:
    mask = partial(mechanism.mask, plan=plan, source=chance)
    return rewrite(data, mask, mechanism.by, tokens, mechanism.dense, mechanism.everyone)


def row_bytes(rows: Interactions, public: PublicInfo) -> int:
    """About how much room a released row takes, by the types of its columns and the public ids alone."""
    names = {"item": public.items, "tag": public.tags}
    sizes = [8] * len(rows.frame().columns)
    for role, kind in rows.frame().schema.items():
        ids = names.get(role)
        if kind == pl.String and ids is not None:
            sizes.append(8 + int(ids.cast(pl.String).str.len_bytes().mean() or 0))  # type: ignore[arg-type]
    return sum(sizes)


def _over(data: Table, given: Catalogue, mechanism: Mechanism) -> Table:
    assert given.items is not None
    return over_catalogue(data, given.items, isinstance(mechanism, Masking) and mechanism.everyone)


def _share_keys(data: Table) -> bool:
    """Whether two people, in whichever chunks, have the same key."""
    people = data.frame.select("user").distinct()
    if dict(people.dtypes)["user"] != "string":
        return False

    def keyed(batches: Batches) -> Batches:
        for batch in batches:
            yield from arrow(pl.DataFrame({"key": keys(pl.Series(batch["user"])).view("i8")}))

    return bool(people.mapInArrow(keyed, "key bigint").groupBy("key").count().where("count > 1").head(1))


SPARK = ChunkEngine("on Spark", total, narrow, _over, _masked, _share_keys, ordered=False)
