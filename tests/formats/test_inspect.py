"""What inspect says of a file: every column with its role, what looks like personal data, and what to type next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recveil.formats.overview import looks_like, overview

WAY = ["assess", "compare", "release", "measure", "decide", "verify"]
SHOP = """customer,session_id,product,ts,email,ip,comment,price
1,a,10,1,ann@example.org,10.0.0.1,a very nice thing that I would buy again,3
2,b,11,2,bob@example.org,10.0.0.2,not at all what I had hoped for sadly,4
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    path.write_text(SHOP, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_every_column_has_a_role_or_is_ignored(shop: Path, ending: str) -> None:
    path = shop.with_suffix(f".{ending}")
    frame = pl.read_csv(shop)
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    found = {c.name: c for c in overview(path)}
    assert list(found) == frame.columns
    assert found["customer"].role == "user" and found["product"].role == "item" and found["ts"].role == "time"
    assert [c for c in found.values() if c.role is None and c.looks] == [found[n] for n in ("email", "ip", "comment")]
    assert [found[n].looks for n in ("email", "ip", "comment")] == ["e-mail addresses", "IP addresses", "free text"]
    assert found["price"].looks is None


@pytest.mark.parametrize(
    ("name", "values", "looks"),
    [
        ("contact", ["+49 30 1234567", "+1 (555) 010-9999"], "phone numbers"),
        ("first_name", ["Ann"], "names"),
        ("x", ["2001:db8:0:0:0:0:0:1"], "IP addresses"),
        ("item", [1, 2, 3], None),
        ("title", ["Toy Story (1995)"], None),
        ("x", [], None),
        ("x", [None, "a@b.org"], "e-mail addresses"),
    ],
)
def test_what_looks_personal(name: str, values: list[Any], looks: str | None) -> None:
    assert looks_like(name, values) == looks


def test_inspect_warns_and_says_what_to_type_next(recveil: Callable[..., Any], shop: Path) -> None:
    lines = recveil("inspect", shop).stdout.splitlines()
    assert "    price       ignored: not read, not released" in lines
    assert "note: email looks like e-mail addresses; it is not released" in lines
    assert any(line.startswith("what a release protects: a person with all her sessions") for line in lines)
    as_items = recveil("inspect", shop, "--columns", "item=email").stdout
    assert "warning: email looks like e-mail addresses, and as item it would be released as it is" in as_items
    assert "--columns item=email" in as_items


def test_the_commands_that_inspect_suggests_work(recveil: Callable[..., Any], tmp_path: Path) -> None:
    from shlex import split

    recveil("release", "sample:films?users=150", "--with", "pseudonymise", "-o", "made", "--format", "csv")
    (tmp_path / "made" / "data.csv").rename(tmp_path / "odd name.csv")
    suggested = recveil("inspect", "odd name.csv", json_answer=True)["next"]
    assert [split(command)[1] for command in suggested] == WAY
    assert split(suggested[1])[2] == "odd name.csv"


def test_one_of_a_thing_is_singular(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("user,item\n1,2\n", encoding="utf-8")
    assert "clicks: 1 row, 1 person, 1 item" in recveil("inspect", "one.csv").stdout


def test_dates_that_nobody_named_are_pointed_out(recveil: Callable[..., Any], tmp_path: Path) -> None:
    lines = [f"{n % 7},{n % 5},2024-03-0{1 + n % 9} 1{n % 10}:00:00" for n in range(40)]
    (tmp_path / "visits.csv").write_text("\n".join(["user,item,seen at", *lines]), encoding="utf-8")
    assert (
        "note: seen at holds dates; time=seen at in --columns gives an order" in recveil("inspect", "visits.csv").stdout
    )
    named = recveil("inspect", "visits.csv", "--columns", "user=user,item=item,time=seen at").stdout
    assert "holds dates" not in named and "ordered in time" in named
