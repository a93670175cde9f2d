"""Neighbours in parquet files of odd types: nothing but the forced statistics is read from them either.

Two files of one schema differ in one person. Where ids have a type that can be read, the release goes on; where the
schema alone forbids it, both are refused with the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from neighbours import FORMATS, Pair, Row, catalogue, filled, world
from test_non_interference import SPECS, Desk, beyond_her_screen, check, desk  # noqa: F401  (a fixture)

from recveil.mechanisms.spec import parse

STREAMS, MASK = SPECS["dp-streams"][0], SPECS["mask"][0]
EPOCH = datetime(2020, 1, 1)


def number(make: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: make(text) if text.lstrip("-").replace(".", "", 1).isdecimal() else None


def whole(bits: int) -> Callable[[str], Any]:
    return number(lambda text: int(float(text)) % 2**bits)


TYPES: dict[str, tuple[pa.DataType, Callable[[str], Any]]] = {
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda text: text or None),
    "dictionary of numbers": (pa.dictionary(pa.int32(), pa.int64()), whole(60)),
    "large text": (pa.large_string(), lambda text: text or None),
    "text view": (pa.string_view(), lambda text: text or None),
    "whole numbers": (pa.int64(), whole(63)),
    "small numbers": (pa.uint8(), whole(7)),
    "large numbers": (pa.uint64(), whole(64)),
    "fractions": (pa.float64(), lambda text: float("nan") if text == "x" else number(float)(text)),
    "small fractions": (pa.float32(), number(float)),
    "decimal": (pa.decimal128(38, 2), number(Decimal)),
    "times": (pa.timestamp("us"), number(lambda text: EPOCH + timedelta(seconds=float(text)))),
    "times of a zone": (pa.timestamp("ns", "Europe/Prague"), number(lambda t: EPOCH + timedelta(seconds=float(t)))),
    "days": (pa.date32(), number(lambda text: EPOCH.date() + timedelta(days=int(float(text)) % 9999))),
    "yes and no": (pa.bool_(), number(lambda text: float(text) > 9)),
    "bytes": (pa.binary(), lambda text: text.encode() or None),
    "lists": (pa.list_(pa.int64()), number(lambda text: [int(float(text)), None])),
    "lists of lists": (pa.list_(pa.list_(pa.string())), lambda text: [[text], []] if text else None),
    "records": (pa.struct([("a", pa.string())]), lambda text: {"a": text} if text else None),
    "nothing": (pa.null(), lambda text: None),  # noqa: ARG005
}
NO_IDS = {"decimal", "times", "times of a zone", "days", "yes and no", "bytes", "lists of lists", "records"}
REFUSED = {  # by the schema alone
    "item": NO_IDS,  # a list of items is a basket
    "user": NO_IDS | {"lists"},
    "time": {"dictionary", "yes and no", "bytes", "lists", "lists of lists", "records"},
}


def typed(column: str, kind: str) -> Callable[[list[Row], list[str]], bytes]:
    """Parquet with one column of an odd type, texts elsewhere."""
    sort, value = TYPES[kind]

    def made(rows: list[Row], columns: list[str]) -> bytes:
        parts = {c: pa.array([row[c] or None for row in rows], pa.string()) for c in columns}
        parts[column] = pa.array([value(row[column]) for row in rows], sort)
        file = BytesIO()
        pq.write_table(pa.table(parts), file)
        return file.getvalue()

    return made


def one_more(spec: str) -> Pair:
    """A person with nulls, an id that nobody has, fractions, a negative number; or, for mask, one bit of somebody."""
    made = parse(spec)
    base = world(made)
    odd = ["", "x", "999", "3.5", "-4", "3", "3"]
    if spec == MASK:
        nothing = filled(made, user="7", item="")
        others = [row for row in base if row["user"] != "7"]
        return Pair([*others, nothing], [*others, *(filled(made, user="7", item=item) for item in odd), nothing])
    hers = [filled(made, user="7000", item=item, time=time) for item, time in zip(odd, [*odd[1:], "0"], strict=True)]
    return Pair(base, [*hers[:3], *base, *hers[3:]])


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        (STREAMS, "item"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((STREAMS, "user"), (STREAMS, "time"), (MASK, "item"))
        ),
        *(pytest.param(MASK, column, marks=pytest.mark.slow) for column in ("user", "time")),
    ],
)
def test_neighbours_in_odd_columns(
    spec: str,
    column: str,
    desk: Desk,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = catalogue(desk.folder)
    desk.force(spec)
    assert desk.release(spec, world(parse(spec)), "csv", "--catalogue", lists).code == 0
    for kind in TYPES:
        monkeypatch.setitem(FORMATS, "parquet", typed(column, kind))
        found = check(desk, spec, one_more(spec), "parquet", "--catalogue", lists)
        nobody = spec == MASK and (column, kind) == ("user", "nothing")
        assert found.code == (kind in REFUSED[column] or nobody), (kind, found.stderr)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("column", ["item", "user", "time"])
@pytest.mark.parametrize("spec", [STREAMS, MASK])
def test_one_missing_number_makes_a_column_of_fractions(
    spec: str,
    column: str,
    listed: bool,
    desk: Desk,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As pandas writes it: whole numbers become floats for everybody, because of one person."""
    made = parse(spec)
    base, lists = world(made), ["--catalogue", catalogue(desk.folder)] * listed
    more = filled(made, **({"user": "7000"} if spec == STREAMS else {"user": "7"}) | {column: ""})
    desk.force(spec)
    outcomes = []
    for kind, rows in (("whole numbers", base), ("fractions", [*base, more])):
        monkeypatch.setitem(FORMATS, "parquet", typed(column, kind))
        outcomes.append(desk.release(spec, rows, "parquet", *lists))
    assert outcomes[0].code == 0 and outcomes[0].bundle
    assert [(o.code, o.stdout, o.bundle) for o in outcomes[:1]] == [(o.code, o.stdout, o.bundle) for o in outcomes[1:]]
    assert beyond_her_screen(outcomes[0].stderr) == beyond_her_screen(outcomes[1].stderr)
