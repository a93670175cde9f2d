"""On a cluster as locally: the doors of Spark in the instrument of non-interference, and what is Spark's own.

The instrument is that of test_doors (doors.py): neighbouring files give the same, given equal published statistics.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doors import DOORS, PROVED, SENT, Cell, House, Instrument, fits_spark, release_on_spark, table
from oddities import MARK, ODDITIES, POSITIONS, base_of, filled
from test_doors import STREAMS, faults, thinned

from recveil.errors import RecveilError
from recveil.formats import read
from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import parse
from recveil.spark.chunks import total
from recveil.spark.reading import read_table

pytestmark = pytest.mark.spark
WHOLE = table(on_spark=True)
THERE = [name for name, door in DOORS.items() if door.on_spark]
ON_SPARK = list(dict.fromkeys(cell.spec for cell in WHOLE))
ONCE = {type(parse(spec)): spec for spec in ON_SPARK}.values()  # of every mechanism one
# A leak for each door: a reader that refuses by values; people without an item left out of the bits.
PLANTED: dict[str, tuple[str, Any, Cell]] = {
    "Spark": (
        "recveil.spark.inputs.read_table",
        lambda *first, **rest: read_table(*first[:5], "refuse", *first[6:], **rest),
        Cell(STREAMS, "Spark", "csv", "middle", "an empty id"),
    ),
    "recommend on Spark": (
        "recveil.spark.supports.total", lambda *counted, everyone=False, **how: total(*counted, **how),  # noqa: ARG005
        Cell("mask:p=0.8", "recommend on Spark", "csv", "last", "null"),
    ),
}  # fmt: skip
SOME = [
    *thinned([c for c in WHOLE if c.spec in ONCE and (c.door == "Spark" or parse(c.spec).learned_from == "bits")]),
    Cell("mask:p=0.8", "Spark", "jsonl", "middle", "lists"),
    Cell("mask:p=0.8", "Spark", "csv", "first", "everything"),
    *(cell for _, _, cell in PLANTED.values()),  # which have no difference without the leak
]
THIN = [
    *SOME,
    *(Cell(STREAMS, "Spark", "parquet", "first", odd) for odd in ODDITIES if odd not in {c.odd for c in SOME}),
]


@pytest.fixture
def instrument(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Instrument:
    return Instrument(House(tmp_path, monkeypatch, capfd, spark))


def test_what_is_listed_is_covered() -> None:
    proved = {type(parse(spec)) for spec in PROVED if fits_spark(parse(spec))}
    assert proved == {type(parse(spec)) for spec in ON_SPARK}
    for made in proved:
        assert issubclass(made, Synthesis) or made.name in SENT, f"{made.name}: say what is sent to executors"
    mechanisms = {(type(parse(c.spec)), c.form) for c in WHOLE}
    assert mechanisms == {(type(parse(c.spec)), c.form) for c in THIN if c.door == "Spark"}
    assert {c.odd for c in WHOLE} == set(ODDITIES) and {c.position for c in WHOLE} == set(POSITIONS)
    assert {c.odd for c in THIN} == set(ODDITIES) and {c.position for c in THIN} == set(POSITIONS)
    assert {c.door for c in WHOLE} == set(PLANTED) == set(THERE)
    assert len(WHOLE) > 600, len(WHOLE)


@pytest.mark.parametrize("spec", ONCE)
def test_nobody_is_seen_through_a_door_of_spark(spec: str, instrument: Instrument) -> None:
    assert faults(instrument, [cell for cell in THIN if cell.spec == spec]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("door", "spec"), sorted({(cell.door, cell.spec) for cell in WHOLE}))
def test_the_whole_table_has_no_difference(
    door: str, spec: str, instrument: Instrument, record_property: Any
) -> None:  # make doors runs it in turns
    cells = [cell for cell in WHOLE if (cell.spec, cell.door) == (spec, door)]
    record_property("cells", len(cells))
    assert faults(instrument, cells) == []


@pytest.mark.parametrize("door", THERE)
def test_a_planted_leak_is_found(door: str, instrument: Instrument, monkeypatch: pytest.MonkeyPatch) -> None:
    name, leak, cell = PLANTED[door]
    monkeypatch.setattr(name, leak)
    assert cell.door == door
    assert faults(instrument, [cell])


@pytest.mark.slow
@pytest.mark.parametrize("spec", [spec for spec in ON_SPARK if "tag" in parse(spec).needs])
def test_a_tag_that_nobody_else_has(spec: str, instrument: Instrument) -> None:
    """Tags are selected on Spark; hers stands behind all others, so that the forced selection names the same ones."""
    made, house = parse(spec), instrument.house
    house.hold(spec)
    one, other = (
        release_on_spark(house, made, [*base_of(made), *more], "csv") for more in ([], [{**filled(made), "tag": MARK}])
    )
    assert one.code == 0 and one == other


def test_bytes_of_one_row_that_are_no_letters_refuse_nothing(spark: Any, tmp_path: Path) -> None:
    texts = pa.array([b"1", b"2", b"\xff\xfe", b"3"] * 4, pa.binary()).view(pa.string())
    pq.write_table(pa.table({"user": [str(n // 4) for n in range(16)], "item": texts}), tmp_path / "log.parquet")
    found = read_table(spark, str(tmp_path / "log.parquet"), broken="drop")
    there = read(tmp_path / "log.parquet", broken="drop")
    assert found.layout.items.to_list() == there.items.to_list() == ["1", "2", "3", "\ufffd\ufffd"]


@pytest.mark.slow
def test_the_only_person(instrument: Instrument) -> None:
    made, house = parse(STREAMS), instrument.house
    house.hold(STREAMS)
    release_on_spark(house, made, base_of(made), "csv")
    one, other = (release_on_spark(house, made, rows, "csv") for rows in ([], [filled(made)]))
    assert one.files and one == other


def test_ids_outside_the_list_never_make_the_vocabulary_too_large(
    spark: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recveil.spark.reading.MOST_IDS", 5)
    (tmp_path / "d.csv").write_text("user,item,time\n" + "".join(f"{n % 3},{n},{n}\n" for n in range(20)))
    with pytest.raises(RecveilError, match="more than 5 items"):
        read_table(spark, str(tmp_path / "d.csv"), broken="drop")
    found = read_table(spark, str(tmp_path / "d.csv"), broken="drop", items=pl.Series(["3", "4", "x"]))
    assert found.layout.items.to_list() == [3, 4]
    assert found.frame.count() == 20  # all people stay


def test_parts_follow_from_what_is_released() -> None:
    """Not from how wide the rows of the data are."""
    from recveil.data import from_ids
    from recveil.mechanism import PublicInfo
    from recveil.spark.release import row_bytes

    public = PublicInfo("clicks", "user", pl.Series(["a", "bb", "ccc"]), None, True)
    for items in (["a"], ["ccc", "bb", "a"], []):
        rows = from_ids(pl.Series(range(len(items)), dtype=pl.Int64), pl.Series(items, dtype=pl.String))
        assert row_bytes(rows, public) == 8 + 8 + 10
