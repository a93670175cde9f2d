"""DATA as Spark reads it, a path, a table or a sample, before anything in it is checked; text by its text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recveil.errors import RecveilError
from recveil.formats.checking import Broken
from recveil.formats.json_lines import declared_keys
from recveil.formats.parts import KINDS
from recveil.formats.roles import Names
from recveil.formats.schema import Schema, undeclared
from recveil.spark.chunks import Batches, arrow, cores, spark_schema
from recveil.spark.lake import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MARK = "\ufeff"  # of byte order
BLOCKS = 20  # of a generated world that a task makes at once: about 750,000 rows


def here(path: str) -> str:
    """A path of this machine in the words of Spark, which may take other places for its own; others as they are."""
    return literal(f"file://{Path(path).absolute()}") if Path(path).exists() else path


class WantedColumns(NamedTuple):
    """Which columns are wanted, by options or by a schema; and what happens to rows that are none."""

    mapping: Mapping[str, Names] | None
    schema: Schema | None
    broken: Broken


def load(spark: Any, data: str, wish: WantedColumns) -> tuple[DataFrame, bool]:
    """The DataFrame, and whether it is text, in which the type of a column has still to be found."""
    if data.startswith("sample:"):
        return sample_frame(spark, data.removeprefix("sample:")), False
    *_, ending = Path(data).name.lower().removesuffix(".gz").removesuffix(".zst").split(".")
    kind, name, schema = KINDS.get(ending) if "." in Path(data).name else None, data, wish.schema
    kind, data = schema.format if schema and schema.format else kind, here(data)
    if kind in ("csv", "tsv") or (kind in ("dat", "data") and schema is not None):
        return _csv(spark, data, "," if kind == "csv" else "\t", schema), True
    if kind == "jsonl":
        return _json(spark, data, name, wish), True
    if kind == "parquet" or "/" in data:
        return spark.read.parquet(data), False
    if kind is not None:
        raise RecveilError(
            f"{data}: Spark reads parquet, csv, tsv, jsonl and tables, not .{ending}; release it locally"
        )
    return spark.table(data), False


def _csv(spark: Any, data: str, usual: str, schema: Schema | None) -> DataFrame:
    """Fields as text under the names of the header, or of a schema where there is none."""
    separator = schema.separator if schema and schema.separator else usual
    how: dict[str, Any] = {"sep": separator, "escape": '"'}
    if schema is not None and schema.encoding:
        how["encoding"] = schema.encoding
    if schema is not None and schema.line_ends == "cr":
        how["lineSep"] = "\r"
    if schema is None or schema.header:
        raw: DataFrame = spark.read.csv(data, header=True, **how)
        return raw.withColumnRenamed(raw.columns[0], raw.columns[0].removeprefix(MARK)) if raw.columns else raw
    quote = "" if separator in ("\t", "::") else '"'
    raw = spark.read.csv(data, header=False, quote=quote, schema=_texts(schema.names), **how)
    return _unmarked(raw)


def _json(spark: Any, data: str, name: str, wish: WantedColumns) -> DataFrame:
    """Every value by its text, as locally; keys are declared, or where rows are refused those of the first object."""
    declared = wish.schema is not None or wish.broken == "drop"
    if declared and not wish.mapping:
        raise undeclared(name)
    header = declared_keys(wish.mapping or {}, wish.schema) if declared else _first_keys(spark, data)
    kinds = _texts(header, [key for key, value in header.items() if isinstance(value, list)])
    return _plain_values(spark.read.json(data, schema=kinds))


def _first_keys(spark: Any, data: str) -> dict[str, Any]:
    first = spark.read.text(data).where("trim(value) != ''").head(1)
    if not first:
        raise RecveilError(f"{data}: the file is empty")
    try:
        found = json.loads(first[0]["value"].removeprefix(MARK))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RecveilError(f"{data}, line 1: not a JSON object")
    return found


def _texts(names: Iterable[str], lists: Sequence[str] = ()) -> str:
    """A schema of Spark in which every column is text, or a list of it."""
    quoted = ((name, name.replace("`", "``")) for name in names)
    return ", ".join(f"`{shown}` {'array<string>' if name in lists else 'string'}" for name, shown in quoted)


def _unmarked(raw: DataFrame) -> DataFrame:
    """Without a byte order mark before the first field: no id begins with one."""
    from pyspark.sql import functions as fn

    first = raw.columns[0]
    return raw.withColumn(first, fn.regexp_replace(first, f"^{MARK}", ""))


def _plain_values(raw: DataFrame) -> DataFrame:
    """Texts, without those of lists and objects: they are no ids and no numbers, and so missing."""
    from pyspark.sql import functions as fn

    def plain(column: Any) -> Any:
        nested = (
            fn.from_json(column, "array<string>").isNotNull() | fn.from_json(column, "map<string,string>").isNotNull()
        )
        return fn.when(~(column.rlike(r"^[\[{]") & nested), column)

    kinds = dict(raw.dtypes)
    return raw.select(
        *((plain(raw[n]) if kinds[n] == "string" else fn.transform(raw[n], plain)).alias(n) for n in raw.columns)
    )


def sample_frame(spark: Any, name: str) -> DataFrame:
    """A generated world, made in parts on the executors."""
    from recveil.samples import blocks, sample

    parts = max(cores(spark) * 4, blocks(name) // BLOCKS)
    first = sample(name, 0, 10**9).frame().rename({"user": sample(name, 0, 10**9).unit})
    schema = first.head(0).to_arrow().schema

    def made(batches: Batches, schema: Any) -> Batches:
        for batch in batches:
            for part in batch["id"].to_pylist():
                world = sample(name, part, parts)
                yield from arrow(world.frame().rename({"user": world.unit}), schema)

    return spark.range(0, parts, 1, parts).mapInArrow(partial(made, schema=schema), spark_schema(schema))
