"""The promise of a series: how far one person moves all tables of a period, what else depends on her, and an audit of
a whole series in one run. Each instrument must break where a window is released twice or the cap is off."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from shops import ITEMS, WEEK, after, log, released, shop

from recveil.data import Interactions, concat, from_ids
from recveil.evaluation.attacks.one_run import gaussian_estimate
from recveil.mechanisms import DpStreams
from recveil.mechanisms.dp_streams.counting import PAIRS, UNIT
from recveil.randomness import Source
from recveil.releases import hash_chain
from recveil.series import participation, releasing, state
from recveil.series.erasing import forget
from recveil.series.folder import Series, open_series

HER = 9_000_000
WEEKS = 4


@contextmanager
def counted() -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """What every round counts, before noise: (number of the round, tables)."""
    seen: list[tuple[int, dict[str, Any]]] = []
    with pytest.MonkeyPatch.context() as patch:
        honest = DpStreams.publish

        def publish(self: Any, counts: Any, published: Any, public: Any, source: Any) -> Any:
            tables = {"items": counts} if not published else {k: v for k, v in vars(counts).items() if v is not None}
            seen.append((len(published), {name: table.astype(np.int64) for name, table in tables.items()}))
            return honest(self, counts, published, public, source)

        patch.setattr(DpStreams, "publish", publish)
        # what is kept is a function of noisy counts; here everything is, so that tables can be compared cell by cell
        patch.setattr(DpStreams, "kept", lambda self, published, public: np.arange(ITEMS))  # noqa: ARG005
        yield seen


def she(weeks: int = WEEKS, rows: int = 6) -> Interactions:
    """A person who comes every week, with other items each time."""
    rng = np.random.default_rng(5)
    item = np.concatenate([rng.choice(ITEMS, rows, replace=False) for _ in range(weeks)])
    begin = int(after(0).timestamp())
    time = begin + np.repeat(np.arange(weeks), rows) * WEEK + np.tile(np.arange(rows), weeks)
    return from_ids(pl.Series(np.full(weeks * rows, HER)), pl.Series(item), time=time)


def history(folder: Path, rows: Interactions, story: str) -> list[tuple[int, dict[str, Any]]]:
    """All tables of a whole period, with whatever happens on the way."""
    series = shop(folder, seed=2, late="open" if story == "late" else "drop")
    with counted() as seen:
        match story:
            case "restart":
                for week in (1, 1, 2, 4):
                    released(open_series(series.path), rows, week)
            case "growth":
                for week in range(1, WEEKS + 1):
                    released(series, rows.take(rows.time < after(week).timestamp()), week)
            case "late":
                for week in (1, 3, 4):  # what came in a week comes with the next log once more
                    released(series, rows.take(rows.time < after(week - 0.5).timestamp()), week)
            case "erasure":
                released(series, rows, 2)
                forget(open_series(series.path), [HER])
                released(series, rows, 4)
            case _:
                released(series, rows, WEEKS)
    return seen


def moved(one: list[Any], other: list[Any]) -> dict[str, float]:
    """The squared norm by which all windows together differ, query by query, in units of one person."""
    assert len(one) == len(other)
    total: dict[str, float] = {}
    for (number, mine), (_, yours) in zip(one, other, strict=True):
        for name in mine:
            query = {0: "items"}.get(number, "pairs" if name in ("pairs", "lengths") else name)
            total[query] = total.get(query, 0.0) + float(((mine[name] - yours[name]) ** 2).sum()) / UNIT**2
    return total


def check_sensitivity(folder: Path, story: str) -> dict[str, float]:
    rows = log(people=40)
    found = moved(history(folder / "with", concat([rows, she()]), story), history(folder / "without", rows, story))
    assert all(by <= 2 for by in found.values()), found  # she counts in two of the four windows
    return found


@pytest.mark.parametrize("story", ["plain", "growth", "restart", "late", "erasure"])
def test_a_person_of_every_window_moves_a_whole_period_by_her_bound(tmp_path: Path, story: str) -> None:
    found = check_sensitivity(tmp_path, story)
    assert set(found) >= {"items", "pairs", "transitions"} and (story == "erasure" or found["items"] > 1.9)


def test_without_the_cap_she_moves_it_by_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "counts", lambda users, *_: np.ones(len(users), dtype=bool))
    monkeypatch.setattr(state.State, "part", _uncapped)
    with pytest.raises(AssertionError):
        check_sensitivity(tmp_path, "plain")


def _uncapped(self: Any, users: Any, *_: Any) -> Any:
    return np.ones(len(users), dtype=bool), self


def test_with_a_window_twice_she_moves_it_by_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Series, "due", lambda self, now: self.period.closed(now))
    monkeypatch.setattr(Series, "enter", lambda self, line: None)  # noqa: ARG005
    monkeypatch.setattr(releasing, "_check_ledger", lambda *_: None)
    monkeypatch.setattr(Series, "put_out", lambda self, window: shutil.rmtree(self.staged))  # noqa: ARG005
    with pytest.raises(AssertionError):
        check_sensitivity(tmp_path, "restart")


def test_the_state_alone_holds_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the hash to say yes every time, the counters would stop her."""
    monkeypatch.setattr(state, "counts", lambda users, *_: np.ones(len(users), dtype=bool))
    check_sensitivity(tmp_path, "plain")


def test_the_hash_alone_holds_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the counters to forget, the hash would."""
    honest = state.State.part

    def part(self: Any, *given: Any) -> Any:
        return honest(replace(self, person=self.person[:0], taken=self.taken[:0], latest=self.latest[:0]), *given)

    monkeypatch.setattr(state.State, "part", part)
    check_sensitivity(tmp_path, "plain")


# --- nothing else depends on her ----------------------------------------------------------------------------------


def leaves(folder: Path, rows: Interactions, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """All files that leave the house, with the noise held fixed where it is added."""
    kept: dict[Any, Any] = leaves.__dict__.setdefault("kept", {})
    honest = DpStreams.publish

    def publish(self: Any, counts: Any, published: Any, public: Any, source: Any) -> Any:
        number = len(published)
        if number not in kept:
            kept[number] = honest(self, counts, published, public, source)
        return kept[number]

    with monkeypatch.context() as patch:
        patch.setattr(DpStreams, "publish", publish)
        patch.setattr("secrets.token_bytes", lambda n: bytes(n))
        patch.setattr("recveil.series.opening.secrets.token_hex", lambda n: "0" * n)
        patch.setattr("recveil.randomness.entropy", lambda: Source(bytes(32), seeded=False))
        series = shop(folder)
        said = [str(left.manifest) for left in released(series, rows, 3)]
        files = {
            p.relative_to(folder).as_posix(): p.read_bytes()
            for p in sorted((series.path / "bundles").rglob("*.*"))
            if p.is_file()
        }
    lines = [{k: v for k, v in e.items() if k not in ("date", "previous")} for e in hash_chain.read(series.ledger)]
    return files | {"said": "".join(said).encode(), "ledger": repr(lines).encode()}


@pytest.mark.parametrize("kind", ["she", "a row without a time", "a far future", "an unknown item", "once"])
def test_nothing_that_leaves_depends_on_her_but_through_the_noise(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves.__dict__.clear()
    rows, her = log(people=40), she()
    if kind == "a row without a time":
        her = replace(her, time=np.full(len(her), np.iinfo(np.int64).max))
    if kind == "a far future":
        her = replace(her, time=her.time + 40 * WEEK)
    if kind == "an unknown item":
        her = from_ids(pl.Series([HER]), pl.Series([123456]), time=her.time[:1])
    if kind == "once":
        her = her.take(slice(0, 1))
    assert leaves(tmp_path / "a", rows, monkeypatch) == leaves(tmp_path / "b", concat([rows, her]), monkeypatch)


def test_a_window_that_is_left_out_for_being_empty_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: who releases nothing where there are no rows tells that there are none."""
    honest = releasing._cut

    def cut(series: Any, rows: Any, window: Any) -> Any:
        found = honest(series, rows, window)
        if not len(found):
            raise releasing.RecveilError("there are no rows in this window")
        return found

    leaves.__dict__.clear()
    monkeypatch.setattr(releasing, "_cut", cut)
    rows = log(people=40)
    quiet = rows.take(rows.time < after(2).timestamp() - 7200)
    leaves(tmp_path / "a", concat([quiet, she()]), monkeypatch)
    with pytest.raises(releasing.RecveilError):
        leaves(tmp_path / "b", quiet, monkeypatch)


# --- an audit of a whole series in one run ------------------------------------------------------------------------

CANARIES = 600
LISTED = 40  # public items: 780 pairs, one for each canary


def audited(folder: Path, capped: bool = True, times: int = 1, windows: int = WEEKS) -> tuple[float, float]:
    """The epsilon that all windows together show, at least, and the promise: canaries with a pair of items each, in
    every window or in none by a coin, judged by an attacker who knows the key. `times`: how often a window is
    released."""
    rng = np.random.default_rng(11)
    inside = rng.random(CANARIES) < 0.5
    a, b = np.triu_indices(LISTED, 1)
    pick = rng.permutation(len(a))[:CANARIES]
    first, second = a[pick], b[pick]
    begin = int(after(0).timestamp())
    who = np.flatnonzero(inside)
    user = np.repeat(who, 2 * windows)
    item = np.column_stack([np.tile(np.stack([first[who], second[who]], 1), (1, windows))]).ravel()
    time = begin + np.tile(np.repeat(np.arange(windows), 2) * WEEK + np.tile([0, 1], windows), len(who))
    rows = from_ids(pl.Series(user), pl.Series(item), time=time)
    folder.mkdir(parents=True)
    (folder / "more.csv").write_text("item\n" + "\n".join(map(str, range(LISTED))) + "\n")
    series = shop(folder, items=str(folder / "more.csv"), seed=7, participations=1, epsilon=4.0, delta=1e-5)
    key = state.load_state(series.path, 1).chance.derive("participation")
    score = np.zeros(CANARIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DpStreams, "kept", lambda self, published, public: np.arange(LISTED))  # noqa: ARG005
        honest = DpStreams.publish
        place = {"now": -1}

        def publish(self: Any, counts: Any, published: Any, public: Any, source: Any) -> Any:
            made = honest(self, counts, published, public, source)
            place["now"] += not published
            if published:
                part = participation.counts(pl.Series(range(CANARIES)), place["now"] // times, windows, 1, key)
                part |= not capped
                laws = self.laws(public)
                cell = first * (2 * LISTED - first - 1) // 2 + second - first - 1
                for name, at, step in (("pairs", cell, np.sqrt(PAIRS)), ("transitions", first * LISTED + second, UNIT)):
                    v = float(laws[name].size)
                    score[part] += (step * made[name][at] / v - step**2 / (2 * v))[part]
            return made

        patch.setattr(DpStreams, "publish", publish)
        for week in range(1, windows + 1):
            released(open_series(series.path), rows, week)
    return gaussian_estimate(score[inside], score[~inside], 1e-5, 0.95), 4.0


def test_the_audit_of_a_whole_series_holds(tmp_path: Path) -> None:
    found, promised = audited(tmp_path / "s")
    assert 0.4 * promised < found <= promised, found  # a part goes to counts of items, which many canaries share


def test_the_audit_breaks_where_the_cap_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.State, "part", _uncapped)
    found, promised = audited(tmp_path / "s", capped=False)
    assert found > promised, found


def test_the_audit_breaks_where_windows_are_released_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Series, "due", lambda self, now: (w := self.period.closed(now)[-1:]) + w)
    seeds = iter(range(100, 200))  # the second time has noise of its own
    monkeypatch.setattr(releasing, "_seed", lambda *_: next(seeds))
    monkeypatch.setattr(Series, "enter", lambda self, line: None)  # noqa: ARG005
    monkeypatch.setattr(releasing, "_check_ledger", lambda *_: None)
    monkeypatch.setattr(Series, "put_out", lambda self, window: shutil.rmtree(self.staged))  # noqa: ARG005
    found, promised = audited(tmp_path / "s", times=2)
    assert found > promised, found
