"""On a cluster as locally: neighbouring files give the same bundle to the last byte, given equal published statistics.

An executor does not see what a test replaces, so the mechanism that masks is sent to it.
"""

from __future__ import annotations

from typing import Any

import blind
import polars as pl
import pytest
from neighbours import ITEMS, TAGS, UNITS, Pair, filled, world
from test_non_interference import PROVED, Desk, together, unit_of
from test_spark import spark  # noqa: F401  (a fixture)

from recveil.errors import RecveilError
from recveil.mechanism import Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse
from recveil.spark.reading import read_table

pytestmark = pytest.mark.spark
# On Spark a catalogue lists items alone, so that tags are selected, which needs delta.
ON_SPARK = [
    spec if spec != "dp-tags:epsilon=60" else f"{spec},delta=0.01" for spec in PROVED if not parse(spec).local_only
]
QUICK = [(spec, "csv") for spec in ON_SPARK if spec.startswith(("dp-streams", "mask"))]
SLOW = [(spec, form) for spec in ON_SPARK for form in ("csv", "tsv", "jsonl", "parquet") if (spec, form) not in QUICK]


@pytest.mark.parametrize(
    ("spec", "form"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)  # fmt: skip
def test_neighbours_on_a_cluster(
    spec: str,
    form: str,
    spark: Any,  # noqa: F811
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    spark.sparkContext.addPyFile(blind.__file__)
    desk, made, unit = Desk(tmp_path, monkeypatch, capfd), parse(spec), unit_of(spec)
    if isinstance(made, Synthesis):
        desk.force(spec)
    else:
        monkeypatch.setitem(MECHANISMS, made.name, {"mask": blind.Blind}[made.name])
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    options = ("--catalogue", tmp_path / "items.txt", "--engine", "spark")
    first = desk.release(spec, world(made), form, *options)
    assert first.code == 0 and first.bundle, first.stderr
    cases = UNITS[unit](made)
    pairs = [listed(together(cases, unit))]
    if "tag" in made.needs:
        pairs.append(Pair(world(made), [*world(made), filled(made, tag="zzz")]))
    elif form == "csv" and isinstance(made, Synthesis) and unit == "user":
        pairs.append(cases["the only person"])  # with tags the forced selection names some, and nobody's file has none
    if unit == "bit":
        pairs.append(cases["her only one"])
    for pair in pairs:
        same(*(desk.release(spec, rows, form, *options) for rows in (pair.first, pair.second)))


def listed(pair: Pair) -> Pair:
    """Without rows whose tags nobody else has: the forced selection names tags by their places among all."""
    return Pair(*([row for row in rows if row.get("tag", TAGS[0]) in TAGS] for rows in (pair.first, pair.second)))


def same(first: Any, second: Any) -> None:
    assert first.code == second.code, second.stderr
    assert first.stdout == second.stdout
    assert first.bundle.keys() == second.bundle.keys()
    for name in first.bundle:
        assert first.bundle[name] == second.bundle[name], name


def test_ids_outside_the_list_never_make_the_vocabulary_too_large(
    spark: Any,  # noqa: F811
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
    from recveil.mechanism import Public
    from recveil.spark.release import row_bytes

    public = Public("clicks", "user", pl.Series(["a", "bb", "ccc"]), None, True)
    for items in (["a"], ["ccc", "bb", "a"], []):
        rows = from_ids(pl.Series(range(len(items)), dtype=pl.Int64), pl.Series(items, dtype=pl.String))
        assert row_bytes(rows, public) == 8 + 8 + 10


def test_pairs_are_of_this_unit() -> None:
    assert all(isinstance(pair, Pair) for spec in ON_SPARK for pair in UNITS[unit_of(spec)](parse(spec)).values())
