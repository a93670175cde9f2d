"""DATA that Spark reads, a path or a table, as a checked Table.

What lands on the driver: the ids of items and tags, the extremes of every item, a thousand rows of the busiest user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recveil.errors import RecveilError, unknown
from recveil.formats.checking import IDS, Broken, Note
from recveil.formats.duplicates import KEEP, Keep
from recveil.formats.roles import TOLD, Names, assign, parse_columns, parse_types
from recveil.formats.schema import Schema, check_alone
from recveil.ids import as_type, listed, plain, ranked
from recveil.releases.bundle import check_stated, data_files, placed
from recveil.releases.chunks import ChunkLayout
from recveil.releases.places import Place
from recveil.spark.checking import Wanted, checked
from recveil.spark.chunks import Table
from recveil.spark.lake import literal
from recveil.spark.loading import WantedColumns, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_IDS = 5_000_000  # items, or tags, that the driver and every executor hold
BUSIEST = 1000


def read_table(
    spark: Any,
    data: str,
    columns: str | None = None,
    duplicates: str = "last",
    types: str | None = None,
    broken: Broken = "refuse",
    items: pl.Series | None = None,
    schema: Schema | None = None,
    note: Note = lambda line: None,  # noqa: ARG005
) -> Table:
    """The rows of DATA with ids, ratings and times as `recveil.read` would give them, but for their order.

    `items`: a public list of them; then no other one is looked at, so that none can make the vocabulary too large.
    `note` is told how many rows are none, where these are dropped.
    """
    if duplicates not in KEEP:
        raise unknown("treatment of duplicates", duplicates, KEEP)
    check_alone(schema, columns, types)
    mapping: Mapping[str, Names] | None = parse_columns(columns) if columns else schema.columns if schema else None
    declared = parse_types(types) if types else schema.types if schema else {}
    if schema is not None and any(schema.values):
        raise RecveilError(f"{data}: [values] of a schema are not read on Spark; release it locally")
    raw, text = load(spark, data, WantedColumns(mapping, schema, broken))
    roles = assign(raw.columns, mapping, data, closed=schema is not None)
    if len(roles.columns.get("time", [0])) > 1:
        raise RecveilError(f"{data}: a date in several columns is not read on Spark; make it one column")
    read = {role: where[0] for role, where in roles.columns.items() if role not in TOLD}
    frame = raw.select(*(raw[raw.columns[n]].alias(role) for role, n in read.items()))
    lists = dict(frame.dtypes)["item"].startswith("array")
    if schema is not None and lists != schema.lists:
        raise RecveilError(f"{data}: the column of items holds {'' if lists else 'no '}lists, unlike the schema")
    rows = checked(_unrolled(frame, data, broken), Wanted(text, declared, broken), data, note)
    untyped = frozenset(role for role in IDS if text and role in frame.columns and role not in declared) - {"session"}
    made = table(rows, roles.unit, duplicates, data, empty=broken == "drop", untyped=untyped, items=items)
    levels = schema.levels if schema else None
    return replace(made, specimen=replace(made.specimen, levels=levels)) if levels else made


def released_rows(spark: Any, bundle: Place, manifest: dict[str, Any]) -> DataFrame:
    """The rows of a bundle of parquet files."""
    files = data_files(manifest)
    if not all(file.endswith(".parquet") for file in files):
        raise RecveilError(f"{bundle}: Spark reads bundles of parquet files")
    raw: DataFrame = spark.read.parquet(*(literal((bundle / file).uri) for file in files))
    return raw.withColumnsRenamed({manifest["unit"]: "user", "order": "time"})


def read_bundle(spark: Any, bundle: str | Path | Place, manifest: dict[str, Any]) -> Table:
    """A bundle of parquet files as a Table."""
    return table(released_rows(spark, placed(bundle), manifest), manifest["unit"], "all", str(bundle))


def table_fingerprint(rows: Table) -> str:
    """A digest of all rows and of what is said of them, whatever their order and parts; for a ledger, which keys it."""
    from pyspark.sql import functions as fn

    names = sorted(rows.frame.columns)
    hashed = rows.frame.select(fn.xxhash64(*names).cast("decimal(38,0)").alias("hash"))
    count, total = hashed.agg(fn.count("*"), fn.sum("hash")).first()
    kinds = ",".join(f"{name} {kind}" for name, kind in sorted(rows.frame.dtypes))
    return f"{kinds}:{rows.layout.unit}:{sorted(rows.layout.untyped)}:{count}:{total}"


def check_counts(bundle: Any, manifest: dict[str, Any]) -> None:
    """Count rows, users and items of a bundle in a lake on the executors; raise where the manifest states others."""
    from pyspark.sql import functions as fn

    rows = released_rows(bundle.spark, bundle, manifest)
    found = rows.agg(fn.count("*"), fn.count_distinct("user"), fn.count_distinct("item")).first()
    check_stated(bundle, manifest, *found)


def table(
    frame: DataFrame,
    unit: Any = "user",
    duplicates: Keep = "last",
    name: str = "the table",
    empty: bool = False,
    untyped: frozenset[str] = frozenset(),
    items: pl.Series | None = None,
) -> Table:
    """A Table of a DataFrame with the columns user, item and perhaps rating (double), time and tag; perhaps `empty`.

    A row without an item is no row: it says that its user is there. `items`: a public list; no other one is looked at.
    """
    from pyspark.sql import functions as fn

    everyone, frame = frame, frame.where("item is not null")
    if items is not None:
        frame = _among(frame, "item", listed(items))
    numbers = [name for name in ("rating", "time") if name in frame.columns]
    ends = [end(name).alias(f"{end.__name__} {name}") for name in numbers for end in (fn.min, fn.max)]
    found = pl.DataFrame(frame.groupBy("item").agg(fn.count("*").alias("rows"), *ends).limit(MOST_IDS + 1).toArrow())
    if not found.height and not empty:
        raise RecveilError(f"{name}: no rows")
    tags = frame.select("tag").distinct().limit(MOST_IDS + 1).toArrow()["tag"] if "tag" in frame.columns else None
    for what, n in (("items", found.height), ("tags", 0 if tags is None else len(tags))):
        if n > MOST_IDS:
            raise RecveilError(f"{name}: more than {MOST_IDS:,} {what}, and every executor has to hold their ids")
    words = None if tags is None else ranked(plain(pl.Series(tags)))
    layout = ChunkLayout(ranked(plain(found["item"])), words, unit, duplicates, untyped=untyped)
    specimen = replace(layout, duplicates="all").interactions(_specimen(frame, found, words))
    return Table(everyone, layout, specimen, int(found["rows"].sum()))


def _specimen(frame: DataFrame, found: pl.DataFrame, tags: pl.Series | None) -> pl.DataFrame:
    """Rows of the busiest person; and of every item its extremes, in rows of people who do not exist.

    Where there is one person alone, all are hers.
    """
    from pyspark.sql import functions as fn

    busiest = frame.groupBy("user").count().orderBy(fn.desc("count"), "user").limit(2).select("user")
    people = pl.DataFrame(busiest.toArrow())["user"]
    if not len(people):
        return pl.DataFrame(frame.limit(0).toArrow())
    # A join, since a query that names her would stand in the logs of the cluster.
    rows = frame.join(fn.broadcast(busiest.limit(1)), "user", "left_semi").select(*frame.columns).limit(BUSIEST)
    hers = pl.DataFrame(rows.toArrow())
    some = [hers]
    for n, end in enumerate(("min", "max")):
        nobody = pl.Series(-1 - n - 2 * np.arange(found.height)).cast(
            people.dtype
        )  # whole numbers, and so before texts
        made = {
            "user": nobody if len(people) > 1 else pl.repeat(people[0], found.height, dtype=people.dtype, eager=True)
        }
        made |= {name: found[f"{end} {name}"] for name in ("rating", "time") if name in hers.columns}
        if tags is not None:
            made["tag"] = pl.repeat(tags[-n], found.height, eager=True)
        if "session" in hers.columns:
            made["session"] = pl.repeat(hers["session"][0], found.height, dtype=hers["session"].dtype, eager=True)
        some.append(pl.DataFrame({**made, "item": found["item"]}).select(hers.columns))
    return pl.concat(some).unique()


def over_catalogue(data: Table, catalogue: pl.Series, everyone: bool = False) -> Table:
    """The rows whose items stand in the public catalogue, coded over all of it, in its type and order.

    `everyone`: people stay whose items it lacks, with nothing; chunks leave their rows out.
    """
    items = listed(catalogue).alias("item")
    layout = replace(data.layout, items=items, untyped=data.layout.untyped - {"item"})
    specimen = data.specimen.over_items(items)
    if everyone:
        return replace(data, layout=layout, specimen=specimen)
    return Table(_among(data.frame, "item", items), layout, specimen, data.rows)


def _among(frame: DataFrame, name: str, ids: pl.Series) -> DataFrame:
    """The rows whose ids in a column are among these."""
    from pyspark.sql import functions as fn

    text = dict(frame.dtypes)[name] == "string"
    kind = as_type(ids, pl.String if text else pl.Int64).drop_nulls().alias(name)
    known = frame.sparkSession.createDataFrame(pl.DataFrame({name: kind}).to_arrow())
    return frame.join(fn.broadcast(known), name, "left_semi").select(*frame.columns)


def narrow(data: Table, column: str, codes: Any) -> tuple[Table, pl.Series]:
    """The rows with these items (tags) of the vocabulary alone, coded over them; and their ids."""
    ids, name = getattr(data.layout, column).gather(codes), column.removesuffix("s")
    specimen = getattr(data.specimen, f"over_{column}")(ids)
    return Table(_among(data.frame, name, ids), replace(data.layout, **{column: ids}), specimen, data.rows), ids


def _unrolled(frame: DataFrame, name: str, broken: Broken) -> DataFrame:
    """One row per element of the lists in `item`; `time` is its position. An empty list is a row without an item."""
    from pyspark.sql import functions as fn

    if not dict(frame.dtypes)["item"].startswith("array"):
        return frame
    if broken == "refuse" and frame.groupBy("user").count().where("count > 1").head(1):
        raise RecveilError(f"{name}: a user has several lists, and Spark does not know which came first")
    explode = fn.posexplode if broken == "refuse" else fn.posexplode_outer
    return frame.select("user", explode("item").alias("time", "item")).select("user", "item", "time")
