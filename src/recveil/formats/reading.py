"""read(): a file of any known format into Interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.checking import Broken, Note, Types, interactions
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.itemsets import read_itemsets, read_lists
from recveil.formats.json_lines import read_jsonl
from recveil.formats.parts import Location
from recveil.formats.schema import Schema, check_alone
from recveil.formats.sources import TABLES, find, one_line
from recveil.formats.tables import read_typed
from recveil.formats.text import read_text


def read(
    path: Location,
    columns: Mapping[str, str] | None = None,
    duplicates: Keep = "last",
    types: Types | None = None,
    broken: Broken = "refuse",
    note: Note = lambda line: None,  # noqa: ARG005
    schema: Schema | None = None,
) -> Interactions:
    """Interactions from a file, from several, a folder of parts or a pattern such as part-*.csv.

    `columns` maps roles (user, item, rating, time, tag) to column names; the obvious names need no mapping. A column
    of lists gives each element as a click of that row's user or session, its position as the time; other columns
    are then ignored. `duplicates`: see `deduplicate`. Dates become seconds since 1970. `types` declares ids to be "int"
    or "text", where the file does not: csv and its like and jsonl do not, parquet does. `broken`: whether a row that is
    no interaction is refused by its line, or dropped, whereupon an empty file is one of no rows, what columns there are
    is read off no row, and `note` is told how many were. `schema` declares columns and types in their place, and how
    the file is written.
    """
    check_alone(schema, columns, types)
    source = find(path, empty=broken == "drop", form=schema)
    how = {
        **dict.fromkeys(TABLES, read_typed),
        "jsonl": read_jsonl,
        "json": read_jsonl,
        "lists": read_lists,
        "itemsets": read_itemsets,
    }.get(source.kind, read_text)
    wanted, declared = (schema.columns, [schema.values]) if schema else (columns, [])
    with one_line(source.name):
        raw = how(source, wanted, broken, schema)
        data = interactions(raw, source.name, schema.types if schema else types, broken, note, *declared)
        if schema is not None and schema.levels is not None:
            data = replace(data, levels=schema.levels)
    try:
        return deduplicate(data, duplicates)
    except RecveilError as fault:
        raise RecveilError(f"{source.name}: {fault}") from None
