"""A series: who counts, what it promises, windows that leave once, and whatever is wrong with a log or a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shops import ITEMS, START, after, log, released, shop

import recveil as package
from recveil.data import NO_TIME, concat, from_ids
from recveil.dp.budget import rho_of
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.ids import keys
from recveil.mechanism import PublicInfo
from recveil.randomness import seeded
from recveil.releases import hash_chain, ledger
from recveil.releases.inputs import Input
from recveil.releases.progress import Progress
from recveil.series.erasing import forget
from recveil.series.folder import open_series
from recveil.series.opening import SeriesRequest, next_period, run_new_series
from recveil.series.participation import counts, stretch
from recveil.series.periods import Period, later
from recveil.series.promise import as_synthesis, of_window
from recveil.series.releasing import WindowsRequest, _cut, run_windows, seconds
from recveil.series.showing import _most, lines, shown
from recveil.series.state import STATE, load_state
from recveil.series.verifying import verify_series

# --- the calendar -------------------------------------------------------------------------------------------------


def test_periods_have_whole_windows_that_follow_each_other() -> None:
    year = Period(1, 1, date(2026, 1, 5), "year", "week", 4.0, 1e-6, 26)
    assert (year.windows, year.last, year.end) == (52, 52, date(2027, 1, 4))
    assert Period(1, 1, date(2026, 1, 1), "year", "month", 4.0, 1e-6, 12).windows == 12
    assert Period(1, 1, date(2028, 1, 1), "year", "day", 4.0, 1e-6, 12).windows == 366
    for number in range(1, 52):
        assert year.at(number).end == year.at(number + 1).begin
    assert later(date(2026, 1, 31), "month") == date(2026, 2, 28)
    assert [w.number for w in year.closed(datetime(2026, 1, 19, tzinfo=UTC))] == [1, 2]
    with pytest.raises(RecveilError, match="--participations"):
        replace(year, participations=53)
    with pytest.raises(RecveilError, match="no month fits"):
        Period(1, 1, date(2026, 1, 5), "week", "month", 4.0, 1e-6, 1)


# --- participation ------------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.data())
def test_everybody_counts_in_p_windows_whatever_they_are(windows: int, data: st.DataObject) -> None:
    p = data.draw(st.integers(1, windows))
    spread = [stretch(place, windows, p) for place in range(windows)]
    assert sorted({number for number, _, _ in spread}) == list(range(p))
    assert all(begin <= place < begin + size for place, (_, begin, size) in enumerate(spread))
    users = pl.Series(["anna", "7", "bert"])
    taken = sum(counts(users, place, windows, p, seeded(1)).astype(int) for place in range(windows))
    assert taken.tolist() == [p, p, p]


def test_who_counts_depends_on_her_id_alone() -> None:
    alone, many = pl.Series([7]), pl.Series(range(50))
    for place in range(12):
        mine = counts(alone, place, 12, 5, seeded(1))[0]
        assert mine == counts(many, place, 12, 5, seeded(1))[7]
        assert mine == counts(pl.Series(["x", "7"]), place, 12, 5, seeded(1))[1]
    shares = [counts(pl.Series(range(20000)), place, 12, 5, seeded(2)).mean() for place in range(12)]
    assert np.allclose(shares, 5 / 12, atol=0.1)
    assert abs(np.mean(shares) - 5 / 12) < 1e-9  # exactly five each


# --- the promise --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["dp-streams", "dp-streams:order=none", "dp-ratings:scale=(1,2,3,4,5)"])
@pytest.mark.parametrize("listed", [True, False])
def test_p_windows_keep_the_promise_and_use_it_up(spec: str, listed: bool) -> None:
    period = Period(1, 1, START, "year", "week", 4.0, 1e-6, 26)
    public = PublicInfo("ratings" if "ratings" in spec else "clicks", "user", pl.Series(range(40)), None, listed)
    promise = of_window(as_synthesis(spec), public, period).guarantee(public)
    assert promise.rho is not None
    whole = rho_of(4.0, 1e-6 - 26 * promise.rho_fails)
    assert 0.999 * whole < 26 * promise.rho <= whole
    assert promise.rho_fails == (0 if listed else pytest.approx(1e-6 / 52))


@pytest.mark.parametrize(
    ("spec", "why"),
    [("mask:p=0.9", "does not fit"), ("dp-streams:epsilon=2", "whole period"), ("dp-strems", "unknown")],
)
def test_what_is_no_mechanism_of_a_series_is_refused(spec: str, why: str) -> None:
    with pytest.raises(RecveilError, match=why):
        as_synthesis(spec)


def test_the_ledger_holds_the_whole_promise_from_the_first_day(tmp_path: Path) -> None:
    series = shop(tmp_path)
    (total,) = ledger.totals(hash_chain.read(series.ledger))
    assert (total.epsilon, total.delta) == (8.0, 1e-3)
    released(series, log(), 5)
    (total,) = ledger.totals(hash_chain.read(series.ledger))
    assert (total.epsilon, total.delta, total.releases) == (8.0, 1e-3, 1)
    (continual,) = ledger.registry(series.ledger)["series"]
    assert (continual["release_model"], continual["windows_left"]) == ("continual", 4)


def test_a_budget_that_the_promise_exceeds_refuses_the_series(tmp_path: Path) -> None:
    ledger.set_budget(tmp_path / "people.jsonl", ledger.Budget(4.0, 1e-3), {})
    with pytest.raises(RecveilError, match="would exceed"):
        shop(tmp_path)
    assert not (tmp_path / "shop.series").exists()


# --- windows ------------------------------------------------------------------------------------------------------


def test_windows_leave_once_and_in_order(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    assert released(series, rows, 0.5) == []
    assert [left.window.number for left in released(series, rows, 1)] == [1]
    assert released(series, rows, 1) == []
    assert [left.window.number for left in released(series, rows, 9)] == [2, 3, 4]
    assert released(series, rows, 9) == []
    found = verify_series(series.path)
    assert found.problems == () and sorted(found.windows) == [1, 2, 3, 4]
    assert oct((series.path / STATE).stat().st_mode & 0o777) == "0o600"
    state = load_state(series.path, 1)
    assert state.taken.tolist() == [2] * 300
    assert (series.path / STATE).stat().st_size < 40 * 2 * 300


def test_repeated_rows_are_no_reason_to_refuse_a_window(tmp_path: Path) -> None:
    series = shop(tmp_path)
    with pytest.raises(RecveilError, match="would refuse by what stands in the data"):
        run_windows(WindowsRequest(series, Input(log(), duplicates="error")), now=after(9))
    assert released(series, log(), 1)


def test_a_bundle_names_its_series_its_window_and_the_promise_of_all(tmp_path: Path) -> None:
    (left,) = released(shop(tmp_path), log(), 1)
    stated, promise = left.manifest["series"], left.manifest["guarantee"]
    assert (stated["window"], stated["windows"], stated["begin"]) == (1, 4, "2026-01-05")
    assert (promise["epsilon"], promise["delta"], promise["proof"]) == (8.0, 1e-3, "docs/guarantees/series.md")
    assert "all 4 windows" in promise["sentence"] and "at most 2" in promise["sentence"]
    assert 2 * stated["window_rho"] == pytest.approx(promise["rho"])
    card = Path(left.bundle, "README.md").read_text()
    assert "window 1, 2026-01-05 to 2026-01-12" in card


def test_an_empty_window_is_released_all_the_same(tmp_path: Path) -> None:
    series, rows = shop(tmp_path, items=None, catalogue_is_public=False, epsilon=1.0), log(people=30)
    rows = rows.take(rows.time < after(1).timestamp())
    made = released(series, rows, 5)
    assert [left.manifest["rows"] for left in made] == [0, 0, 0, 0]
    assert "nothing stood out" in str(made[1].manifest["notes"])
    assert verify_series(series.path).problems == ()


def test_late_events_are_dropped_or_count_in_the_open_window(tmp_path: Path) -> None:
    rows = log()
    window = shop(tmp_path / "one").period.at(2)
    own = np.count_nonzero((rows.time >= window.seconds[0]) & (rows.time < window.seconds[1]))
    late = np.count_nonzero(rows.time < window.seconds[0])
    assert len(_cut(shop(tmp_path / "drop", late="drop"), rows, window)) == own > 0
    assert len(_cut(shop(tmp_path / "open", late="open"), rows, window)) == own + late > own


def test_who_is_erased_counts_in_no_further_window(tmp_path: Path) -> None:
    series, rows = shop(tmp_path, participations=4), log()
    released(series, rows, 2)
    forget(open_series(series.path), [7, "8"])
    state = load_state(series.path, 1)
    assert len(state.person) == 298 and len(state.erased) == 2
    inside, _ = state.part(rows.users, series.period.at(3), series.period)
    assert np.flatnonzero(~inside).tolist() == [7, 8]
    released(series, rows, 4)
    assert load_state(series.path, 1).taken.max() == 4


def test_a_state_that_counted_too_much_keeps_people_out(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    released(series, rows, 1)
    state = load_state(series.path, 1)
    full = replace(state, taken=np.full_like(state.taken, 2))
    inside, _ = full.part(rows.users, series.period.at(4), series.period)
    assert not (inside & np.isin(rows.users.to_numpy(), _of(series, rows, 1))).any()
    again, same = state.part(rows.users, series.period.at(1), series.period)
    assert again.sum() == len(state.person) and np.array_equal(same.taken, state.taken)


def _of(series: Any, rows: Any, number: int) -> Any:
    state = load_state(series.path, 1)
    inside, _ = replace(state, person=state.person[:0], taken=state.taken[:0], latest=state.latest[:0]).part(
        rows.users, series.period.at(number), series.period
    )
    return rows.users.to_numpy()[inside]


def test_a_new_period_opens_when_the_old_one_is_closed(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log(weeks=8)
    with pytest.raises(RecveilError, match="not closed"):
        next_period(series.path, now=after(2))
    released(series, rows, 4)
    opened = next_period(series.path, now=after(4), epsilon=6.0)
    assert (opened.period.number, opened.period.first, opened.period.begin) == (2, 5, date(2026, 2, 2))
    assert len(load_state(series.path, 2).person) == 0
    made = released(opened, rows, 8)
    assert [left.window.number for left in made] == [5, 6, 7, 8]
    assert made[0].manifest["guarantee"]["epsilon"] == 6.0
    assert verify_series(series.path).problems == ()
    assert len([e for e in hash_chain.read(series.ledger) if "series" in e]) == 2


def test_a_period_that_was_stopped_while_it_opened_has_the_promise_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a larger one would open under the smaller one's line, and the ledger would count too little."""
    series = shop(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("recveil.series.opening.new_state", _stop)
        with pytest.raises(KeyboardInterrupt):
            next_period(series.path, now=after(4), epsilon=1.0)
    with pytest.raises(RecveilError, match="the ledger has this period already, with epsilon 1 and"):
        next_period(series.path, now=after(4), epsilon=6.0)
    assert next_period(series.path, now=after(4), epsilon=1.0).period.epsilon == 1.0
    assert [e["epsilon"] for e in hash_chain.read(series.ledger) if "series" in e] == [8.0, 1.0]


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


# --- bad input ----------------------------------------------------------------------------------------------------


def test_a_clock_that_went_back_is_refused(tmp_path: Path) -> None:
    series = shop(tmp_path)
    released(series, log(), 2)
    with pytest.raises(RecveilError, match="clock went back"):
        released(series, log(), 1)


def test_a_lost_or_older_state_is_refused(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    released(series, rows, 1)
    shutil.copy(series.path / STATE, tmp_path / "copy")
    released(series, rows, 2)
    shutil.copy(tmp_path / "copy", series.path / STATE)
    with pytest.raises(RecveilError, match="older copy"):
        released(series, rows, 3)
    (series.path / STATE).unlink()
    with pytest.raises(RecveilError, match="is lost: without it nobody knows"):
        released(series, rows, 3)
    (series.path / STATE).write_bytes(b"nonsense")
    with pytest.raises(RecveilError, match="cannot be read"):
        released(series, rows, 3)
    assert next_period(series.path, now=after(4)).period.number == 2


def test_a_lost_or_older_ledger_is_refused(tmp_path: Path) -> None:
    """Else a window would leave twice, with noise of its own each time, wherever its first bundle has gone."""
    series, rows = shop(tmp_path), log()
    heads = [series.ledger, series.ledger.with_name(series.ledger.name + ".head")]
    before = {file: file.read_bytes() for file in heads}
    released(series, rows, 1)
    named = {file: file.read_bytes() for file in heads}
    for copies in (before, {}):
        for moved in (False, True):
            for file in heads:
                file.unlink(missing_ok=True)
            for file, held in copies.items():
                file.write_bytes(held)
            bundle = series.bundle(series.period.at(1))
            if moved:
                shutil.move(bundle, tmp_path / "published")
            with pytest.raises(RecveilError, match="an older copy is in its place"):
                released(series, rows, 2)
            if moved:
                shutil.move(tmp_path / "published", bundle)
    for file, held in named.items():
        file.write_bytes(held)
    settled = series.path / "series.json"
    honest = settled.read_text()
    settled.write_text(honest.replace('"participations": 2', '"participations": 1'))
    with pytest.raises(RecveilError, match="not in it as the series has it"):
        released(series, rows, 2)
    settled.write_text(honest)
    assert [left.window.number for left in released(series, rows, 2)] == [2]


@pytest.mark.parametrize(
    ("settled", "changed"),
    [('"window": "week"', '"window": "day"'), ('"begin": "2026-01-05"', '"begin": "2026-01-04"')],
)
def test_windows_that_would_overlap_are_refused(tmp_path: Path, settled: str, changed: str) -> None:
    series, rows = shop(tmp_path), log()
    released(series, rows, 2)
    facts = series.path / "series.json"
    honest = facts.read_text()
    facts.write_text(honest.replace(settled, changed))
    with pytest.raises(RecveilError, match="windows would overlap: window 1 left with the days from 2026-01-05 to"):
        released(series, rows, 3)
    facts.write_text(honest)
    assert [left.window.number for left in released(series, rows, 3)] == [3]


def test_what_was_moved_away_or_broken_beside_the_state_is_a_line(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    released(series, rows, 1)
    shutil.move(series.path / "bundles", tmp_path / "published")
    assert [left.window.number for left in released(series, rows, 2)] == [2]
    tables = series.statistics(2)
    tables.write_bytes(b"nonsense")
    with pytest.raises(RecveilError, match="put a copy back, or move it away"):
        released(series, rows, 3)
    tables.unlink()
    items = tmp_path / "items.csv"
    honest = items.read_text()
    items.write_text("nonsense\n")
    with pytest.raises(RecveilError, match="needs 10 or more: is it the file of items"):
        released(series, rows, 3)
    items.write_text(honest)
    assert [left.window.number for left in released(series, rows, 3)] == [3]
    items.write_text("item\n1\n2\n")
    few = SeriesRequest(
        str(tmp_path / "few"), "dp-streams", str(tmp_path / "few.jsonl"), 4.0, 1e-6, 2, items=str(items),
        catalogue_is_public=True,
    )  # fmt: skip
    with pytest.raises(RecveilError, match="needs 10 or more"):
        run_new_series(few)
    assert not (tmp_path / "few").exists() and not (tmp_path / "few.jsonl").exists()


def test_another_schema_no_times_and_another_unit_are_refused(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    released(series, rows, 1)
    frame = rows.frame().with_columns(rating=pl.lit(1.0))
    with pytest.raises(RecveilError, match="another schema than before: kind was clicks, and is ratings"):
        run_windows(WindowsRequest(open_series(series.path), Input(frame)), now=after(2))
    with pytest.raises(RecveilError, match="no time column"):
        released(series, replace(rows, time=None), 2)
    with pytest.raises(RecveilError, match="--unit session"):
        released(series, replace(rows, unit="session"), 2)
    assert [left.window.number for left in released(series, rows, 2)] == [2]


def test_ids_of_another_type_are_the_same_ids(tmp_path: Path) -> None:
    """One row makes a column of numbers one of texts, so that its type may settle nothing: no refusal, no key."""
    series, rows = shop(tmp_path), log()
    released(series, rows, 1)
    frame = rows.frame().with_columns(pl.col("item", "user").cast(pl.String))
    left = run_windows(WindowsRequest(open_series(series.path), Input(frame)), now=after(2))
    assert [one.window.number for one in left] == [2]
    large = pl.Series([5, 2**63 + 5], dtype=pl.UInt64)
    assert keys(large).tolist() == keys(large.cast(pl.String)).tolist()


@pytest.mark.parametrize("listed", [True, False])
def test_the_type_of_ids_in_an_empty_window_is_that_of_the_public_list(tmp_path: Path, listed: bool) -> None:
    from recveil.series.releasing import _empty

    rows = log()
    items = pl.Series(["0", "1"]) if listed else None
    for mine in (rows, replace(rows, items=rows.items.cast(pl.String))):
        made = _empty(
            mine, shop(tmp_path / str(mine.items.dtype)).mechanism, Guarantee("Nothing.", status="none"), False, items
        )
        assert made.data.items.dtype == pl.Int64


def test_rows_of_the_future_missing_days_and_times_are_said_and_nothing_is_refused(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log()
    said: list[str] = []
    heard = type("Heard", (Progress,), {"note": lambda self, line: said.append(line)})()  # noqa: ARG005
    frame = rows.frame().filter(pl.col("time") >= int(after(0).timestamp()) + 2 * 86400)
    frame = pl.concat([frame, frame.head(1).with_columns(time=None)])
    made = run_windows(WindowsRequest(open_series(series.path), Input(frame)), heard, after(1))
    assert len(made) == 1
    assert any("2 days of window 1 have no row" in line and "--until" in line for line in said)
    assert any("wait for theirs" in line for line in said) and any("1 rows have no time" in line for line in said)
    assert all(line.startswith("warning: ") for line in said)
    assert released(series, rows, 4, until=date(2026, 1, 13)) == []  # the second window is not complete by then


def test_a_session_over_the_edge_is_in_both_windows_each_with_its_rows(tmp_path: Path) -> None:
    rows = log()
    edge = from_ids(pl.Series([999] * 4), pl.Series(range(4)), time=after(1).timestamp() - 3602 + np.arange(4))
    series = shop(tmp_path, participations=4)
    released(series, concat([rows, replace(edge, time=edge.time.astype(np.int64))]), 2)
    state = load_state(series.path, 1)
    assert sorted(set(state.taken.tolist())) == [2] and len(state.person) == 301


@pytest.mark.parametrize("per_second", [1, 1000, 10**6, 10**9])
def test_times_are_told_by_their_size_each_by_itself(per_second: int) -> None:
    time = log(people=5).time
    assert time is not None
    mixed = np.concatenate([time * per_second, time, [NO_TIME]])
    found = seconds(mixed)
    assert found is not None and np.isnan(found[-1])
    assert np.array_equal(found[:-1], np.concatenate([time, time]))
    assert np.array_equal(seconds(mixed[:-1].astype(float)), found[:-1])


def test_windows_that_are_not_what_they_say_are_found(tmp_path: Path) -> None:
    series = shop(tmp_path)
    released(series, log(), 3)
    folder = tmp_path / "given"
    shutil.copytree(series.path / "bundles", folder)
    assert verify_series(folder).problems == ()
    shutil.copytree(next(folder.glob("00002*")), folder / "again")
    assert any("twice" in p for p in verify_series(folder).problems)
    shutil.rmtree(folder / "again")
    shutil.rmtree(next(folder.glob("00002*")))
    found = verify_series(folder)
    assert found.problems == () and found.remarks == ("window 2 is not here",)
    odd = tmp_path / "odd"
    shutil.copytree(folder, odd)
    third = next(odd.glob("00003*")) / "manifest.json"
    third.write_text(third.read_text().replace('"begin": "2026-01-19"', '"begin": "2026-01-11"'))
    assert any("window 3 begins before window 1 has ended" in p for p in verify_series(odd).problems)
    other = shop(tmp_path / "other")
    released(other, log(), 1)
    shutil.copytree(next((other.path / "bundles").iterdir()), folder / "stranger")
    assert any("more than one series" in p for p in verify_series(folder).problems)
    (next((series.path / "bundles").glob("00003*")) / "data.parquet").write_bytes(b"")
    assert any("not the file" in p for p in verify_series(series.path).problems)
    with pytest.raises(RecveilError, match="no windows"):
        verify_series(tmp_path / "other" / "shop.series" / "statistics")


# --- faces --------------------------------------------------------------------------------------------------------


def test_the_commands(recveil: Callable[..., Any]) -> None:
    package.write(log(), "log.parquet")
    Path("items.csv").write_text("item\n" + "\n".join(map(str, range(ITEMS))))
    new = ("series", "new", "shop.series", "--with", "dp-streams", "--ledger", "people.jsonl", "--start", START)
    wishes = ("--epsilon", 8, "--delta", 1e-3, "--participations", 2, "--period", "month", "--items", "items.csv")
    assert "--catalogue-is-public" in recveil(*new, *wishes, code=1).stderr
    made = recveil(*new, *wishes, "--catalogue-is-public", json_answer=True)
    assert len(made["windows"]) == 4
    assert "is a series already" in recveil(*new, *wishes, "--catalogue-is-public", code=1).stderr
    done = recveil("series", "release", "shop.series", "log.parquet", "--until", "2026-01-20", json_answer=True)
    assert [one["manifest"]["series"]["window"] for one in done["released"]] == [1, 2]
    again = recveil("series", "release", "shop.series", "log.parquet", "--until", "2026-01-20", code=4)
    assert "nothing to do: 2 windows that have ended wait for a later --until" in again.stdout
    assert "windows that left: 2; spent" in recveil("series", "show", "shop.series").stdout
    bundle = "shop.series/bundles/00002-2026-01-12"
    assert "carried over: the rows follow" in Path(bundle, "README.md").read_text()
    recveil("decide", bundle, "--ledger", "people.jsonl")
    sheet = Path("shop.series/owner/00002-2026-01-12/decision.html").read_text()
    assert "Window 2 of series" in sheet and "for all 4 windows of the period until 2026-02-02" in sheet
    assert len(list(Path("shop.series/bundles").iterdir())) == 2  # what is there is for recipients
    assert recveil("series", "verify", "shop.series", json_answer=True)["verified"]
    assert recveil("series", "forget", "shop.series", "--user", 3, json_answer=True)["forgotten"] == 1
    Path("shop.series/bundles/00001-2026-01-05/data.parquet").write_bytes(b"")
    recveil("series", "verify", "shop.series", code=3)
    assert "recveil series verify shop.series" in recveil("verify", "shop.series", code=1).stderr
    assert "a day such as" in recveil("series", "release", "shop.series", "log.parquet", "--until", "x", code=1).stderr
    assert "is not a series" in recveil("series", "show", "nowhere", code=1).stderr


def test_the_python_face_and_what_is_shown(tmp_path: Path) -> None:
    series = shop(tmp_path, seed=3)
    opened = package.open_series(series.path)
    rows = log()
    made = opened.release(rows, until=date(2026, 1, 13))
    assert [left.window.number for left in made] == [1] and made[0].manifest["seeded"]
    assert opened.verify().problems == () and opened.frame().height == 4
    opened.forget(1, 2)
    found = shown(series, after(1.5))
    assert [w["status"] for w in found["windows"]] == ["left", "open", "to come", "to come"]
    assert found["next"] == "2026-01-19" and found["spent_on_a_person"] == 0.5
    assert [_most([*range(n)], series) for n in range(5)] == [0, 1, 1, 2, 2]  # one of each stretch of two windows
    assert any("rows by window" in line for line in lines(found)) and "experiment" in lines(found)[-1]
    late = shown(series, after(9))
    assert (late["due"], late["next"]) == (3, None) and "windows that wait: 3;" in lines(late)[-2]


def test_a_project_releases_what_is_due(recveil: Callable[..., Any]) -> None:
    """recveil run, from a timer: windows alone where no candidate is chosen, signed by the owner's key."""
    package.write(log(), "log.parquet")
    shop(Path.cwd(), seed=1)
    Path("desk.toml").write_text('[data]\nsource = "log.parquet"\n[publish]\nseries = "shop.series"\n')
    found = recveil("run", "desk.toml", json_answer=True)
    assert [Path(name).name[:5] for name in found["windows"]] == ["00001", "00002", "00003", "00004"]
    claims = [Path(name) / "claims.jsonl" for name in found["windows"]]
    shown = recveil("keys", "show", "keys/owner.key", json_answer=True)["fingerprint"]
    Path("trust.txt").write_text(f"{shown} owner The shop\n")
    verify = ("series", "verify", "shop.series", "--trust", "trust.txt")
    assert recveil(*verify, json_answer=True)["verified"]
    claims[2].unlink()
    assert "00003-2026-01-19: no claim by the owner" in recveil(*verify, code=3).stdout
    assert "no window is due" in recveil("run", "desk.toml").stdout
