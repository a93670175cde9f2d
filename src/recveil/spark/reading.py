"""DATA that Spark reads, a path or a table, as a checked Table.

What lands on the driver: the ids of items and tags, the extremes of every item, a thousand rows of the busiest user.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recveil.desk.bundle import check_stated, data_files, placed
from recveil.desk.places import Place
from recveil.errors import RecveilError, unknown
from recveil.formats.duplicates import KEEP, Keep
from recveil.formats.roles import assign, parse_columns
from recveil.formats.sources import KINDS
from recveil.spark.chunks import Batches, Layout, Table, arrow, spark_schema
from recveil.spark.lake import literal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_IDS = 5_000_000  # items, or tags, that the driver and every executor hold
BUSIEST = 1000
BLOCKS = 20  # of a generated world that a task makes at once: about 750,000 rows
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_ID = r"^(0|-?[1-9][0-9]{0,18})$"
_WHOLE = r"^\s*[+-]?[0-9]{1,19}\s*$"
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


def read_table(spark: Any, data: str, columns: str | None = None, duplicates: str = "last") -> Table:
    """The rows of DATA with ids, ratings and times as `recveil.read` would give them, but for their order."""
    if duplicates not in KEEP:
        raise unknown("treatment of duplicates", duplicates, KEEP)
    raw, text = _load(spark, data)
    roles = assign(raw.columns, parse_columns(columns) if columns else None, data)
    if len(roles.columns.get("time", [0])) > 1:
        raise RecveilError(f"{data}: a date in several columns is not read on Spark; make it one column")
    frame = raw.select(*(raw[raw.columns[where[0]]].alias(role) for role, where in roles.columns.items()))
    return table(_typed(_unrolled(frame, data), text, data), roles.unit, duplicates, data)


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


def check_counts(bundle: Any, manifest: dict[str, Any]) -> None:
    """Count rows, users and items of a bundle in a lake on the executors; raise where the manifest states others."""
    from pyspark.sql import functions as fn

    rows = released_rows(bundle.spark, bundle, manifest)
    found = rows.agg(fn.count("*"), fn.count_distinct("user"), fn.count_distinct("item")).first()
    check_stated(bundle, manifest, *found)


def table(frame: DataFrame, unit: Any = "user", duplicates: Keep = "last", name: str = "the table") -> Table:
    """A Table of a DataFrame with the columns user, item and perhaps rating (double), time and tag."""
    from pyspark.sql import functions as fn

    numbers = [name for name in ("rating", "time") if name in frame.columns]
    ends = [end(name).alias(f"{end.__name__} {name}") for name in numbers for end in (fn.min, fn.max)]
    found = pl.DataFrame(frame.groupBy("item").agg(fn.count("*"), *ends).limit(MOST_IDS + 1).toArrow())
    if not found.height:
        raise RecveilError(f"{name}: no rows")
    tags = frame.select("tag").distinct().limit(MOST_IDS + 1).toArrow()["tag"] if "tag" in frame.columns else None
    for what, n in (("items", found.height), ("tags", 0 if tags is None else len(tags))):
        if n > MOST_IDS:
            raise RecveilError(f"{name}: more than {MOST_IDS:,} {what}, and every executor has to hold their ids")
    words = None if tags is None else pl.Series(tags).sort()
    layout = Layout(found["item"].sort(), words, unit, duplicates)
    specimen = replace(layout, duplicates="all").interactions(_specimen(frame, found, words))
    return Table(frame, layout, specimen)


def _specimen(frame: DataFrame, found: pl.DataFrame, tags: pl.Series | None) -> pl.DataFrame:
    """Rows of the busiest person; and of every item its extremes, in rows of people who do not exist.

    Where there is one person alone, all are hers.
    """
    from pyspark.sql import functions as fn

    busiest = frame.groupBy("user").count().orderBy(fn.desc("count"), "user").limit(2).select("user")
    people = pl.DataFrame(busiest.toArrow())["user"]
    # A join, since a query that names her would stand in the logs of the cluster.
    rows = frame.join(fn.broadcast(busiest.limit(1)), "user", "left_semi").select(*frame.columns).limit(BUSIEST)
    hers = pl.DataFrame(rows.toArrow())
    some = [hers]
    for n, end in enumerate(("min", "max")):
        nobody = pl.Series(-1 - n - 2 * np.arange(found.height)).cast(people.dtype)
        made = {"user": nobody if len(people) > 1 else pl.repeat(people[0], found.height, eager=True)}
        made |= {name: found[f"{end} {name}"] for name in ("rating", "time") if name in hers.columns}
        if tags is not None:
            made["tag"] = pl.repeat(tags[-n], found.height, eager=True)
        some.append(pl.DataFrame({**made, "item": found["item"]}).select(hers.columns))
    return pl.concat(some).unique()


def over_catalogue(data: Table, catalogue: pl.Series) -> Table:
    """The rows whose items stand in the public catalogue, coded over all of it."""
    from pyspark.sql import functions as fn

    items = catalogue.cast(data.layout.items.dtype, strict=False).drop_nulls().unique().sort().alias("item")
    specimen = data.specimen.over_items(items)
    if not len(specimen):
        raise RecveilError("no item of the data stands in the catalogue")
    known = data.frame.sparkSession.createDataFrame(pl.DataFrame({"item": items}).to_arrow())
    frame = data.frame.join(fn.broadcast(known), "item", "left_semi").select(*data.frame.columns)
    return Table(frame, replace(data.layout, items=items), specimen)


def narrow(data: Table, column: str, codes: Any) -> tuple[Table, pl.Series]:
    """The rows with these items (tags) of the vocabulary alone, coded over them; and their ids."""
    from pyspark.sql import functions as fn

    ids, name = getattr(data.layout, column).gather(codes), column.removesuffix("s")
    known = data.frame.sparkSession.createDataFrame(pl.DataFrame({name: ids}).to_arrow())
    frame = data.frame.join(fn.broadcast(known), name, "left_semi").select(*data.frame.columns)
    specimen = getattr(data.specimen, f"over_{column}")(ids)
    return Table(frame, replace(data.layout, **{column: ids}), specimen), ids


def here(path: str) -> str:
    """A path of this machine in the words of Spark, which may take other places for its own; others as they are."""
    return literal(f"file://{Path(path).absolute()}") if Path(path).exists() else path


def _load(spark: Any, data: str) -> tuple[DataFrame, bool]:
    """The DataFrame, and whether it is text, in which the type of a column has still to be found."""
    if data.startswith("sample:"):
        return sample_frame(spark, data.removeprefix("sample:")), False
    *_, ending = Path(data).name.lower().removesuffix(".gz").removesuffix(".zst").split(".")
    kind = KINDS.get(ending) if "." in Path(data).name else None
    data = here(data)
    if kind in ("csv", "tsv"):
        return spark.read.csv(data, header=True, sep="," if kind == "csv" else "\t", escape='"'), True
    if kind == "jsonl":
        return spark.read.json(data), False
    if kind == "parquet" or "/" in data:
        return spark.read.parquet(data), False
    if kind is not None:
        raise RecveilError(
            f"{data}: Spark reads parquet, csv, tsv, jsonl and tables, not .{ending}; release it locally"
        )
    return spark.table(data), False


def sample_frame(spark: Any, name: str) -> DataFrame:
    """A generated world, made in parts on the executors."""
    from recveil.samples import blocks, sample

    parts = max(spark.sparkContext.defaultParallelism * 4, blocks(name) // BLOCKS)
    first = sample(name, 0, 10**9).frame().rename({"user": sample(name, 0, 10**9).unit})
    schema = first.head(0).to_arrow().schema

    def made(batches: Batches, schema: Any) -> Batches:
        for batch in batches:
            for part in batch["id"].to_pylist():
                world = sample(name, part, parts)
                yield from arrow(world.frame().rename({"user": world.unit}), schema)

    return spark.range(0, parts, 1, parts).mapInArrow(partial(made, schema=schema), spark_schema(schema))


def _unrolled(frame: DataFrame, name: str) -> DataFrame:
    """One row per element of the lists in `item`; `time` is its position."""
    from pyspark.sql import functions as fn

    if not dict(frame.dtypes)["item"].startswith("array"):
        return frame
    if frame.groupBy("user").count().where("count > 1").head(1):
        raise RecveilError(f"{name}: a user has several lists, and Spark does not know which came first")
    return frame.select("user", fn.posexplode("item").alias("time", "item")).select("user", "item", "time")


def _typed(frame: DataFrame, text: bool, name: str) -> DataFrame:
    """Checked columns: ids bigint or string, ratings double, times bigint or double; one pass tells which."""
    from pyspark.sql import functions as fn

    kinds = dict(frame.dtypes)
    looks: dict[str, Column] = {"rows": fn.count("*")}
    for role, kind in kinds.items():
        column = frame[role]
        if role in ("user", "item", "tag"):
            if kind not in (*_INTEGERS, *_FLOATS, "string"):
                raise RecveilError(f"{name}: {role} holds {kind}; ids are integers or text")
            looks[f"{role} empty"] = fn.count_if(
                column.isNull() | (column == "" if kind == "string" else fn.lit(False))
            )
            if kind == "string" and text:
                looks[f"{role} whole"] = fn.bool_and(_parsed(column, "bigint", _ID).isNotNull())
            if kind in _FLOATS:
                looks[f"{role} broken"] = fn.count_if((column != fn.round(column)) | (fn.abs(column) >= 2**53))
        elif role == "rating":
            number = _parsed(column, "double", _NUMBER) if kind == "string" else column.try_cast("double")
            looks["rating broken"] = fn.count_if(number.isNull() | fn.isnan(number) | (fn.abs(number) == float("inf")))
        else:
            looks |= _looks_of_time(column, kind, name)
    seen = frame.agg(*(look.alias(key) for key, look in looks.items())).first().asDict()
    if not seen["rows"]:
        raise RecveilError(f"{name}: no rows")
    for key, many in seen.items():
        role, _, fault = key.partition(" ")
        if fault == "empty" and many:
            raise RecveilError(f"{name}: {role} is empty in {many:,} of {seen['rows']:,} rows")
        if fault == "broken" and many:
            rule = {"rating": "a finite number", "time": "a number or a date"}.get(
                role, "an id: a whole number or text"
            )
            raise RecveilError(f"{name}: {role} is not {rule} in {many:,} of {seen['rows']:,} rows")
    made = {}
    for role, kind in kinds.items():
        if role == "rating":
            made[role] = _parsed(frame[role], "double", _NUMBER) if kind == "string" else frame[role].try_cast("double")
        elif role == "time":
            made[role] = _time(frame[role], kind, seen)
        else:
            whole = kind in (*_INTEGERS, *_FLOATS) or (text and seen[f"{role} whole"])
            made[role] = frame[role].cast("bigint" if whole else "string")
    return frame.select(*(column.alias(role) for role, column in made.items()))


def _parsed(column: Column, kind: str, pattern: str) -> Column:
    """Text as a number, null where it is none; Spark's own try_cast is slow where it fails."""
    from pyspark.sql import functions as fn

    return fn.when(column.rlike(pattern), column.try_cast(kind))


def _moment(column: Column) -> Column:
    from pyspark.sql import functions as fn

    return fn.when(~column.rlike(_NUMBER), fn.try_to_timestamp(column))


def _looks_of_time(column: Column, kind: str, name: str) -> dict[str, Column]:
    from pyspark.sql import functions as fn

    if kind == "string":
        known = column.isNotNull() & (fn.trim(column) != "")
        moment = _moment(column)
        number = _parsed(column, "double", _NUMBER)
        return {
            "time whole": fn.bool_and(~known | _parsed(column, "bigint", _WHOLE).isNotNull()),
            "time number": fn.bool_and(~known | number.isNotNull()),
            "time broken": fn.count_if(known & number.isNull() & moment.isNull()),
            "time seconds": fn.bool_and(~known | (fn.unix_micros(moment) % 1_000_000 == 0)),
        }
    if kind.startswith("timestamp"):
        return {
            "time seconds": fn.bool_and(column.isNull() | (fn.unix_micros(column.cast("timestamp")) % 1_000_000 == 0))
        }
    if kind in _FLOATS or kind.startswith("decimal"):
        return {"time broken": fn.count_if(fn.abs(column) == float("inf"))}
    if kind not in (*_INTEGERS, "date"):
        raise RecveilError(f"{name}: time holds {kind}; times are numbers, dates or ISO text")
    return {}


def _time(column: Column, kind: str, seen: dict[str, Any]) -> Column:
    from pyspark.sql import functions as fn

    if kind == "string" and seen["time number"]:
        return _parsed(column, "bigint", _WHOLE) if seen["time whole"] else _parsed(column, "double", _NUMBER)
    if kind in _INTEGERS:
        return column.cast("bigint")
    if kind in _FLOATS or kind.startswith("decimal"):
        return fn.nanvl(column.cast("double"), fn.lit(None))
    moment = _moment(column) if kind == "string" else column.cast("timestamp")
    ticks = fn.unix_micros(moment)
    return (ticks / 1_000_000).cast("bigint") if kind == "date" or seen["time seconds"] else ticks / 1e6
