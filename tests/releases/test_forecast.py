"""The forecast: from declared numbers alone, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.actions.next_steps import suggested
from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.mechanisms.spec import completed, default_delta, parse
from recveil.releases import ledger
from recveil.releases.counting import MARKED, _cells, _marked
from recveil.releases.forecast import LogSize, forecast, foresee, parse_size

STREAMS = "dp-streams:epsilon=4,delta=1e-6"
Run = Callable[..., Any]


def items(spec: str, **size: int) -> tuple[int, int, int]:
    found = forecast(parse(spec), LogSize(**size))
    assert found is not None
    return found.items


def test_more_people_and_a_larger_epsilon_keep_more() -> None:
    few = items(STREAMS, people=5000, items=2000, rows=50_000)
    assert few[0] <= few[1] <= few[2]
    assert items(STREAMS, people=50_000, items=2000, rows=500_000)[1] > few[1]
    assert items("dp-streams:epsilon=8,delta=1e-6", people=5000, items=2000, rows=50_000)[1] > few[1]
    assert items(STREAMS, people=900_000, items=17, rows=5_000_000) == (17, 17, 17)


def test_what_would_help_is_enough() -> None:
    found = forecast(parse(STREAMS), LogSize(500, 3000, 3000))
    assert found is not None and found.hopeless
    public, people = found.help()  # no epsilon that promises anything would do
    assert "--items" in public
    many = int("".join(letter for letter in people if letter.isdigit()))
    more = forecast(parse(STREAMS), LogSize(many, 3000, 6 * many))
    assert more is not None and not more.doubtful
    few = forecast(parse(STREAMS), LogSize(300, 20, 400))
    assert few is not None and "weak promise" in few.help()[2]


def test_a_hopeless_proof_is_not_suggested() -> None:
    specs = ["pseudonymise", STREAMS, "mask"]
    assert suggested(specs, specs, LogSize(50_000, 2000, 900_000))[0] == STREAMS
    assert suggested(specs, [*specs, "microaggregation"], LogSize(500, 3000, 9000))[0] == "microaggregation"
    assert suggested(specs, specs, LogSize(500, 3000, 9000))[0] == "mask"
    assert suggested(specs, specs, LogSize(500, 3000, 9000), listed=True) == (STREAMS, None)
    assert suggested(specs, [*specs, "microaggregation"], LogSize(500, 3000, 3000))[0] == "mask"


def test_a_doubtful_proof_is_not_suggested(recveil: Run, tmp_path: Path) -> None:
    """Of 13 items that were foreseen 5 to 9 stood out, and 10 are needed: the noise had been spent in vain."""
    size = LogSize(400, 200, 6000)
    found = forecast(parse(STREAMS), size)
    assert found is not None and found.doubtful and not found.hopeless
    assert suggested(["pseudonymise", STREAMS, "mask"], [STREAMS, "mask"], size)[0] == "mask"
    (tmp_path / "c.csv").write_text(
        "user,item\n" + "".join(f"{u},{(u * u + n * n) % 150}\n" for u in range(400) for n in range(15))
    )
    said = recveil("inspect", "c.csv").stdout
    assert "may keep next to nothing" in said and "--size people=400,items=200,rows=6000 --go-on" in said


def test_a_release_stops_before_any_noise_whatever_the_rows(recveil: Run, tmp_path: Path) -> None:
    said = set()
    for rows in ("1,2\n", "".join(f"{u},{i}\n" for u in range(300) for i in range(20))):
        (tmp_path / "c.csv").write_text(f"user,item\n{rows}")
        wish = ("release", "c.csv", "--with", STREAMS, "-o", "out", "--ledger", "l.json")
        done = recveil(*wish, "--size", "people=500,items=3000,rows=3000", code=1)
        assert "nothing is spent yet" in done.stderr and not (tmp_path / "l.json").exists()
        said.add(done.stderr)
    assert len(said) == 1
    assert recveil(*wish, "--size", "people=500,items=3000,rows=3000", "--go-on").returncode == 0
    assert (tmp_path / "l.json").exists()


def test_delta_follows_from_the_declared_number_of_people(recveil: Run, tmp_path: Path) -> None:
    assert [default_delta(n) for n in (1, 300, 1000, 6040)] == [0.1, 3e-4, 1e-4, 1e-5]
    assert completed("dp-streams:epsilon=4", 1000) == parse("dp-streams:epsilon=4,delta=1e-4")
    assert completed("mask:p=0.9", 1000) == parse("mask:p=0.9")
    (tmp_path / "c.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u in range(300) for i in range(20)))
    size = ("--size", "people=3000,items=20,rows=60000")
    done = recveil("release", "c.csv", "--with", "dp-streams:epsilon=9", *size, "-o", "out")
    assert "delta=3e-05" in done.stderr


@pytest.mark.parametrize("text", ["5000", "people=5", "people=5,items=0,rows=9", "people=9,items=3,rows=2", "a=b"])
def test_a_size_that_is_none_is_one_line(text: str) -> None:
    with pytest.raises(RecveilError, match="--size"):
        parse_size(text)


def test_a_log_is_counted_with_noise_that_a_ledger_keeps(recveil: Run, tmp_path: Path) -> None:
    """And a release stops by what was counted, whatever is there."""
    rows = "".join(f"{u},{(u * 7 + k) % 90}\n" for u in range(90) for k in range(9))
    (tmp_path / "c.csv").write_text(f"user,item\n{rows}")
    wish = ("release", "c.csv", "--with", STREAMS, "-o", "out", "--count", "50")
    assert "--ledger FILE" in recveil(*wish, code=1).stderr
    done = recveil(*wish, "--ledger", "l.json", "--seed", "3", code=1)
    assert (
        "forecast for 90 people, 90 items and 1,000 rows" in done.stderr and "nothing but the count is" in done.stderr
    )
    assert [line["mechanism"] for line in ledger.read(tmp_path / "l.json")] == ["count"]
    assert "give one of them" in recveil(*wish, "--size", "people=9,items=2,rows=9", code=1).stderr
    told: list[str] = []
    foresee(parse(STREAMS), None, False, told.append)
    assert "--count 0.1 --ledger FILE" in told[0]


def test_one_person_moves_a_size_by_no_more_than_its_noise_hides() -> None:
    """However many rows she has, whatever her items are called, and whoever else has them."""
    rng = np.random.default_rng(5)
    users, items = rng.integers(0, 40, 900), rng.integers(0, 200, 900)
    for her in ([0], range(200), [f"new {n}" for n in range(300)]):
        mine = [(f"u{u}", f"i{i}") for u, i in zip(users, items, strict=True)]
        more = [*mine, *(("her", str(one) if isinstance(one, str) else f"i{one}") for one in her)]
        one, two = (from_ids(*(pl.Series(c) for c in zip(*rows, strict=True))) for rows in (mine, more))
        assert np.abs(_cells(two) - _cells(one)).sum() == 1
        assert 0 <= _marked(two) - _marked(one) <= MARKED
