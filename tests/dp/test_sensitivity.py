"""Sensitivity of the whole way: what one neighbour moves in the true statistics that reach the noise.

Counted through reader, duplicates, catalogue, holdout and count together, for the same neighbours as in
test_non_interference.py, and for people with very much, with one item, and with pairs that nobody else has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from doors import holds
from neighbours import ITEMS, UNITS, Pair, catalogue, filled, world
from scipy import sparse
from test_non_interference import PROVED, SPECS, Desk, desk, unit_of  # noqa: F401  (desk is a fixture)

from recveil.mechanism import Synthesis
from recveil.mechanisms.dp_streams.counting import UNIT
from recveil.mechanisms.dp_streams.pairs import Listed
from recveil.mechanisms.spec import parse

Tables = dict[str, np.ndarray[Any, Any]]


def dense(table: Any) -> np.ndarray[Any, Any]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64).ravel()


def streams(counts: Any) -> Tables:
    """Tables that share one noise and one bound."""
    if isinstance(counts, np.ndarray):
        return {"items": dense(counts)}
    if isinstance(counts, Listed):
        cells = np.zeros(int(counts.cells.max(initial=0)) + 1)
        cells[counts.cells] = counts.values
        return {"pairs and lengths": np.append(counts.lengths, cells)}
    return {
        "pairs and lengths": np.append(dense(counts.lengths), dense(counts.pairs)),
        "transitions": dense(counts.transitions),
    }


def named(counts: Any) -> Tables:
    return {name: dense(table) for name, table in counts.items()}


def posts(counts: Any) -> Tables:
    found = {name: dense(table[:, :-1]) for name, table in counts.items()}
    return found | {"tag": np.asarray(counts["item_tag"].sum(0)).ravel()[:-1]}


# How a mechanism's counts fall into tables, and what a neighbour may move in each: a norm and its bound.
BOUNDS: dict[str, tuple[Callable[[Any], Tables], Callable[[str], tuple[int, float]]]] = {
    "dp-streams": (streams, lambda spec: (2, UNIT)),  # noqa: ARG005
    "dp-ratings": (named, lambda spec: (2, UNIT)),  # noqa: ARG005
    "dp-tags": (named, lambda spec: (2, UNIT) if "unit=user" in spec else (1, 1)),
    "dp-post-tags": (posts, lambda spec: (1, 2)),  # noqa: ARG005
}
COUNTED = [spec for spec in PROVED if isinstance(parse(spec), Synthesis) or parse(spec).name in BOUNDS]


class Counted(Desk):
    """A desk that keeps what reaches the noise, and publishes what its first release published."""

    seen: list[list[Any]]

    def watch(self, spec: str) -> None:
        made = type(parse(spec))
        self.seen = []
        step = "publish" if issubclass(made, Synthesis) else "plan"
        self.force(spec)
        forced = getattr(made, step)

        def watched(mechanism: Any, counts: Any, *rest: Any) -> Any:
            self.seen[-1].append(counts)
            return forced(mechanism, counts, *rest)

        self.monkeypatch.setattr(made, step, watched)

    def release(self, *arguments: Any) -> Any:
        self.seen.append([])
        return super().release(*arguments)

    def distances(self, spec: str) -> Iterator[tuple[str, float]]:
        """Of the last two releases, table by table."""
        tables, bound = BOUNDS[parse(spec).name]
        for first, second in zip(*self.seen[-2:], strict=True):
            for (name, one), other in zip(tables(first).items(), tables(second).values(), strict=True):
                size = max(len(one), len(other))
                moved = np.pad(one, (0, size - len(one))) - np.pad(other, (0, size - len(other)))
                yield name, float(np.linalg.norm(moved, bound(spec)[0]))


@pytest.fixture
def counted(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Counted:
    return Counted(tmp_path, monkeypatch, capfd)


def within(counted: Counted, spec: str, pair: Pair, form: str, *options: object) -> float:
    for rows in (pair.first, pair.second):
        counted.release(spec, rows, form, *options)
    moved = dict(counted.distances(spec))
    bound = BOUNDS[parse(spec).name][1](spec)[1]
    assert moved
    for name, distance in moved.items():
        assert distance <= bound * (1 + 1e-12), f"{name} moved by {distance}, and the noise is for {bound}"
    return max(moved.values()) / bound


def test_every_proved_mechanism_has_a_bound() -> None:
    for spec in PROVED:
        assert parse(spec).name in {*BOUNDS, "mask"}, f"{spec}: say what a neighbour may move (mask has no counts)"


@pytest.mark.parametrize("spec", COUNTED)
def test_a_neighbour_moves_no_more_than_the_noise_is_for(spec: str, counted: Counted) -> None:
    lists = catalogue(counted.folder)
    made = parse(spec)
    counted.watch(spec)
    counted.release(spec, world(made), "csv", "--catalogue", lists)
    largest = 0.0
    for case, pair in UNITS[unit_of(spec)](made).items():
        for options in ((), ("--holdout", 0.4, "--holdout-file", "held.parquet")):
            try:
                largest = max(largest, within(counted, spec, pair, "csv", "--catalogue", lists, *options))
            except AssertionError as fault:
                raise AssertionError(f"{case}, {options}: {fault}") from fault
    assert largest > 0.5, "the neighbours move nothing, so this proves nothing"


@pytest.mark.parametrize("form", ["jsonl", "parquet", "inter"])
@pytest.mark.parametrize("spec", COUNTED)
def test_in_other_formats(spec: str, form: str, counted: Counted) -> None:
    lists, made, unit = catalogue(counted.folder), parse(spec), unit_of(spec)
    assert holds(parse(spec), form)
    counted.watch(spec)
    counted.release(spec, world(made), "csv", "--catalogue", lists)
    cases = UNITS[unit](made)
    odd = {"user": "a new type of id", "record": "a new tag", "tag": "by one that is not listed"}
    within(counted, spec, cases[odd[unit]], form, "--catalogue", lists)


@pytest.mark.parametrize("items", [1, 5_000, 50_000])
def test_a_basket_of_any_size(items: int, counted: Counted) -> None:
    """With a list of 50,000 items, of which few stand out; the largest baskets are all of them, twice."""
    spec = SPECS["dp-streams"][0]
    made, many = parse(spec), range(1, 50_001)
    pl.DataFrame({"item": list(many)}).write_parquet(lists := counted.folder / "lists.parquet")
    counted.watch(spec)
    base = world(made)
    counted.release(spec, base, "csv", "--catalogue", lists)
    hers = [filled(made, item=str(item), time=str(item % 7)) for item in many[:items]]
    assert within(counted, spec, Pair(base, base + hers + hers[:100]), "csv", "--catalogue", lists) > 0.9


def test_a_pair_that_nobody_has(counted: Counted) -> None:
    spec = SPECS["dp-streams"][0]
    made, lists = parse(spec), catalogue(counted.folder)
    base = [row for row in world(made) if not (row["item"] == ITEMS[0] and int(row["user"]) % 2)]
    base = [row for row in base if not (row["item"] == ITEMS[1] and not int(row["user"]) % 2)]
    counted.watch(spec)
    counted.release(spec, base, "csv", "--catalogue", lists)
    hers = [filled(made, item=item, time=str(n)) for n, item in enumerate(ITEMS[:2])]
    assert within(counted, spec, Pair(base, base + hers), "csv", "--catalogue", lists) > 0.9
