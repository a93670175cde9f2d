"""Public counters with a bound: the algebra, what reaches them, the ledger, and the attack that reads exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa
from epsilons import lower_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import API, ITEMS, click, client_of, join, opened, profile_rows
from sqlalchemy import Engine, select
from zones import drawn

from recveil.advisor import applying, counter_noise, noisy_counters, profile_parts, schema
from recveil.advisor.applying import apply
from recveil.advisor.loading import load
from recveil.advisor.noisy_counters import CounterBudget, blur, look, seal
from recveil.advisor.publication import blurred, publish, snapshot
from recveil.advisor.store import DAY, YEAR, at_once, connect, open_store, reading
from recveil.advisor.writes import Click, Erase, Join, Stock, Undo, Write
from recveil.clicks.profiles import clicks as signed
from recveil.data import from_ids
from recveil.dp import continual
from recveil.dp.budget import epsilon_of, rho_of
from recveil.errors import RecveilError
from recveil.randomness import seeded
from recveil.samples import sample

TOKENS = [bytes([n]) * 32 for n in range(4)]


class Clock:
    """What time it is, for the ledger."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1_700_000_000
        monkeypatch.setattr(noisy_counters, "now", lambda: self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def rows(engine: Engine, table: Any) -> list[Any]:
    with reading(engine) as db:
        return list(db.execute(select(table)).mappings())


# --- the algebra ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [1, 2, 7, 60])
def test_the_factors_add_up(looks: int) -> None:
    r, column = continual.weights(looks), continual.answers(looks)
    place = np.subtract.outer(np.arange(looks), np.arange(looks))
    R, L = (np.where(place >= 0, x[np.maximum(place, 0)], 0.0) for x in (r, column))
    np.testing.assert_allclose(L @ R, np.tril(np.ones((looks, looks))), atol=1e-9)
    assert np.all(np.diff(r) <= 0) and r[0] == pytest.approx(continual.SCALE)
    assert continual.squared_norm(looks) == pytest.approx(((R + np.tril(np.ones_like(R))) ** 2).sum(0).max())
    for at in range(1, looks + 1):
        assert continual.deviation(at, looks, 9) == pytest.approx(np.sqrt(9 + 1 / 12) * np.linalg.norm(L[at - 1]))


@pytest.mark.parametrize("looks", [1, 2, 3, 17, 365, 5000])
def test_few_sums_do_nearly_as_well_as_the_root(looks: int) -> None:
    r, column = continual.weights(looks), continual.answers(looks)
    assert np.all(np.diff(r) <= 1e-9) and r.min() >= 0 and r[0] == pytest.approx(continual.SCALE)
    assert len(continual.points(looks)[0]) <= 2 + np.ceil(np.log2(4 * looks) / 2)
    root = np.cumprod(np.append(1.0, 1 - 1 / (2.0 * np.arange(1, looks))))
    assert np.linalg.norm(r) * np.linalg.norm(column) <= 1.003 * (root**2).sum()


@given(st.integers(1, 40), st.data())
def test_a_unit_that_comes_and_goes_moves_no_more_than_its_changes(looks: int, data: st.DataObject) -> None:
    """Toggles of one unit at any looks, in two counters (likes and dislikes): the norm that the noise is scaled to."""
    times = sorted(data.draw(st.lists(st.integers(0, looks - 1), max_size=6)))
    r = continual.weights(looks)
    moved = np.zeros((2, looks))
    sign = 0
    for n, at in enumerate(times):
        if n % 2 == 0:
            sign = data.draw(st.integers(0, 1))
        moved[sign, at:] += (1 if n % 2 == 0 else -1) * r[: looks - at]
    beyond = np.ceil(np.abs(moved) - 1e-9)  # between two numbers of noise that are not whole, it may be the next
    assert (beyond**2).sum() <= len(times) * continual.squared_norm(looks)


def test_the_noise_is_what_the_budget_says_and_never_another() -> None:
    budget = CounterBudget(looks=30)
    variance, people = budget.variances()
    norm = continual.squared_norm(30)
    spent = budget.changes * norm / (2 * variance) + noisy_counters.PEOPLE_CHANGES * norm / (2 * people)
    spent += budget.changes / (2 * budget.closing_variance())  # net, over both counters, at most one for each change
    assert 0.996 * rho_of(2.0, 1e-6) < spent <= rho_of(2.0, 1e-6)
    assert epsilon_of(spent, 1e-6) <= 2.0
    one, again = (continual.noise(seeded(3), 20, 30, variance, 4000) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    longer = continual.noise(seeded(3), 20, 30, variance, 4100)
    np.testing.assert_array_equal(longer[:4000], one)  # new items change nothing for the old ones
    assert one.std() == pytest.approx(continual.deviation(20, 30, variance), rel=0.05)
    assert abs(one.mean()) < 4 * one.std() / np.sqrt(4000)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"epsilon": 101.0}, {"delta": 0.0}, {"delta": 0.1}, {"looks": 1}, {"changes": 0}]
)
def test_a_budget_that_promises_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecveilError, match="the budget of counters"):
        CounterBudget(**wrong)
    CounterBudget(epsilon=100.0, looks=2, changes=1)


# --- what reaches the counters --------------------------------------------------------------------------------------

token, item = st.sampled_from(TOKENS), st.sampled_from(["item-0", "item-1"])
one_write = st.one_of(
    st.builds(Click, token, item, st.sampled_from([1, -1]), st.uuids().map(str)),
    st.builds(Undo, token, item),
    st.builds(Erase, token),
)


@settings(max_examples=40)
@given(st.integers(1, 4), st.lists(st.lists(one_write, max_size=10), max_size=6))
def test_only_so_many_changes_of_a_unit_reach_a_counter(changes: int, batches: list[list[Write]]) -> None:
    engine = connect(":memory:")
    schema.metadata.create_all(engine)
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS)])
    standing: dict[tuple[bytes, str], int] = {}
    spent: dict[tuple[bytes, str], int] = {}
    inside: dict[tuple[bytes, str], int] = {}  # units that the noisy counters hold now, with their sign
    people = set(TOKENS)
    # what erased units left behind, where their changes were spent
    left: dict[str, list[int]] = {"item-0": [0, 0], "item-1": [0, 0]}
    for batch in batches:
        back: list[Write] = [Join(token) for token in TOKENS if token not in people]
        people |= set(TOKENS)
        apply(engine, [*back, *batch], changes)
        for write in batch:
            assert not isinstance(write, Join)
            if isinstance(write, Erase):
                people.discard(write.token)
                for unit in [u for u in [*standing, *spent] if u[0] == write.token]:
                    if unit in inside:
                        if standing.get(unit) is not None and spent[unit] < changes:
                            del inside[unit]
                        else:
                            left[unit[1]][inside.pop(unit) < 0] += 1
                    standing.pop(unit, None)
                    spent.pop(unit, None)
            elif write.token in people and isinstance(write, Click):
                unit = (write.token, write.item)
                if unit not in standing:
                    standing[unit] = write.sign
                    if spent.get(unit, 0) < changes:
                        spent[unit] = spent.get(unit, 0) + 1
                        inside[unit] = write.sign
            elif write.token in people and isinstance(write, Undo):
                unit = (write.token, write.item)
                if standing.pop(unit, None) is not None and unit in inside and spent[unit] < changes:
                    spent[unit] += 1
                    del inside[unit]
    for item in ("item-0", "item-1"):
        found = next(row for row in rows(engine, schema.items) if row["key"] == item)
        for place, (sign, name) in enumerate(((1, "entered_likes"), (-1, "entered_dislikes"))):
            now_in = sum(1 for unit, s in inside.items() if unit[1] == item and s == sign)
            assert found[name] == now_in + left[item][place]
    engine.dispose()


def test_an_undone_click_is_remembered_where_only_she_can_tell(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite"), counters="private") as advisor, client_of(advisor) as server:
        who = join(server)
        for _ in range(3):
            click(server, who, "item-1")
            server.delete(f"{API}/people/me/clicks/item-1", headers=who)
        (mark,) = rows(advisor.engine, schema.marks)
        assert mark["spent"] == 2
        item = next(row for row in rows(advisor.engine, schema.items) if row["key"] == "item-1")
        assert (item["likes"], item["entered_likes"]) == (0, 0)
        assert server.get(f"{API}/people/me/export", headers=who).json()["marks"][0]["spent"] == 2
        server.delete(f"{API}/people/me", headers=who)
        assert rows(advisor.engine, schema.marks) == []


class DeadlockError(Exception):
    """What PostgreSQL says of a deadlock."""

    sqlstate = "40P01"


@pytest.mark.parametrize(
    ("fault", "tried"),
    [
        (sa.exc.IntegrityError("", {}, Exception()), 2),
        (sa.exc.OperationalError("", {}, DeadlockError()), 2),
        (sa.exc.OperationalError("", {}, Exception()), 1),
    ],
    ids=["another was quicker", "a deadlock", "no disk"],
)
def test_what_passes_is_tried_again_and_what_does_not_is_raised(fault: Exception, tried: int) -> None:
    left, done = [fault], []

    def work() -> int:
        done.append(1)
        if left:
            raise left.pop()
        return 7

    if tried == 1:
        with pytest.raises(sa.exc.OperationalError):
            applying.again(work)
    else:
        assert applying.again(work) == 7
    assert len(done) == tried


def test_what_never_passes_is_raised_after_its_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying.time, "sleep", lambda _: None)
    done = []

    def work() -> None:
        done.append(1)
        raise sa.exc.IntegrityError("", {}, Exception())

    with pytest.raises(sa.exc.IntegrityError):
        applying.again(work)
    assert len(done) == applying.ATTEMPTS


# --- the ledger -----------------------------------------------------------------------------------------------------


def test_a_year_has_its_looks_and_each_is_taken_once(database: str, clock: Clock) -> None:
    budget = CounterBudget(looks=10)
    engine, other = open_store(database), open_store(database)
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS), *(Click(t, "item-0", 1, "k") for t in TOKENS)])
    assert look(engine, budget)
    first = blurred(engine, 1).table
    assert not look(engine, budget) and not look(other, budget)  # nor after a restart, nor from another process
    assert blurred(other, 1).table == first
    clock.at -= 100 * DAY  # a clock that is set back opens nothing
    assert not look(engine, budget)
    clock.at += 100 * DAY
    taken = 1
    for _ in range(70):
        clock.at += 5 * DAY
        taken += look(engine, budget) + look(other, budget)
    assert taken == 9  # the tenth is kept to close the year
    (year,) = rows(engine, schema.years)
    assert year["done"] == 9 and year["key"] is not None
    clock.at = year["opened"] + YEAR - 1
    assert not look(engine, budget)
    for one in (engine, other):
        one.dispose()


def test_a_closed_year_is_never_read_again(database: str, clock: Clock) -> None:
    budget = CounterBudget(epsilon=100.0, looks=3)
    engine = open_store(database)
    tokens = [n.to_bytes(2, "big") * 16 for n in range(300)]
    apply(engine, [Stock(ITEMS), *map(Join, tokens), *(Click(t, "item-0", 1, "k") for t in tokens)])
    apply(engine, [Click(t, "item-1", -1, "l") for t in tokens[250:]])
    look(engine, budget)
    clock.at += YEAR
    assert look(engine, budget)
    closed, running = rows(engine, schema.years)
    assert closed["key"] is None and closed["closed"] is not None and running["done"] == 0
    assert {(row["entered_likes"], row["entered_dislikes"]) for row in rows(engine, schema.items)} == {(0, 0)}
    ended = {row["item"]: row["closed_likes"] for row in profile_rows(engine)}
    assert abs(ended[1] - 300) < 8
    apply(engine, [Click(t, "item-1", -1, "j") for t in tokens[:100]])
    apply(engine, [Undo(t, "item-0") for t in tokens[:100]])  # enters the year that runs
    clock.at += YEAR // 2
    assert look(engine, budget)
    after = {row["item"]: (row["likes"], row["dislikes"], row["closed_likes"]) for row in profile_rows(engine)}
    assert abs(after[1][0] - 200) < 12 and abs(after[2][1] - 150) < 12
    assert after[1][2] == ended[1]
    with reading(engine) as db:
        known = blur(db)
    assert known is not None and abs(known.people - 300) < 60
    assert running["closed_people_spread"] == pytest.approx(continual.deviation(2, 3, closed["people_variance"]) ** 2)
    one_year = continual.deviation(2, 3, closed["variance"]) ** 2
    both = 1 / (1 / one_year + 1 / closed["closing_variance"])  # measured once more, and weighed
    assert 0 < both < one_year and running["closed_spread"] == pytest.approx(both)
    told = np.hypot(np.sqrt(both), continual.deviation(1, 3, running["variance"]))
    assert known.deviation == pytest.approx(told, abs=0.01)
    engine.dispose()


def test_whoever_is_stopped_while_a_year_closes_goes_on_and_the_next_one_begins_at_zero(
    database: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact counters are taken off a few at a time; stopped at each of these steps, clicks and undos in between."""
    monkeypatch.setattr(profile_parts, "PART", 4)
    monkeypatch.setattr(profile_parts, "FEW", 2)
    budget, engine = CounterBudget(epsilon=100.0, looks=3), open_store(database)
    people, extra = [n.to_bytes(2, "big") * 16 for n in range(60)], []
    names = [f"item-{n}" for n in range(7)]
    apply(engine, [Stock(ITEMS), *map(Join, people), *(Click(t, name, 1, name) for t in people for name in names)])
    look(engine, budget)
    clock.at += YEAR
    for step in range(20):
        left = [1]  # of the transactions after a year was closed, before this process is killed

        def carry_out(act: Any, left: list[int] = left) -> Any:
            told = at_once(engine)(act)
            left[0] -= rows(engine, schema.years)[0]["closed"] is not None
            if left[0] < 0:
                raise KeyboardInterrupt
            return told

        try:
            look(engine, budget, carry_out)
            break
        except KeyboardInterrupt:
            apply(engine, [Undo(people[step], "item-6"), Click(people[step], "item-7", -1, "late")])
            extra.append(step)
    assert 2 <= len(extra) < 20 and rows(engine, schema.years)[0]["key"] is None
    found = {row["key"]: (row["entered_likes"], row["entered_dislikes"]) for row in rows(engine, schema.items)}
    assert {found[name] for name in names[:6]} == {(0, 0)}
    assert found["item-6"] == (-len(extra), 0) and found["item-7"] == (0, len(extra))
    drafts = {row["draft"] for row in rows(engine, schema.profiles)}
    assert drafts == {rows(engine, schema.years)[1]["shown"]}
    clock.at += YEAR // 2
    assert look(engine, budget)
    shown = {row["item"]: row["likes"] for row in profile_rows(engine)}
    assert all(abs(shown[n] - 60) < 12 for n in range(1, 7))
    engine.dispose()


def test_what_a_year_ends_with_is_as_noisy_as_stated() -> None:
    budget, n = CounterBudget(looks=12), 4000
    year = {"key": b"k" * 32, "looks": 12, "variance": budget.variances()[0], "done": 11}
    year["closing_variance"] = budget.closing_variance()
    sums = counter_noise.advance(None, year, 11, 0, n)
    ended, last = counter_noise.closing_noise(sums, year, 0), counter_noise.noise(sums, 12)
    stated = counter_noise.closing_spread(year)
    daily = CounterBudget()
    of_z, anew = daily.variances()[0], daily.closing_variance()
    of_year = counter_noise.closing_spread({"looks": 365, "done": 365, "variance": of_z, "closing_variance": anew})
    before = continual.deviation(364, 365, of_z)
    told = (round(of_year), round(float(np.hypot(before, 2 * np.sqrt(of_year))), 1), round(before, 1))
    assert told == (63, 18.7, 9.9)
    assert ended.var() == pytest.approx(stated + 1 / 12, rel=0.06) and stated < 0.9 * last.var()
    assert np.corrcoef(ended)[0, 1] == pytest.approx(0, abs=0.05)  # likes and dislikes
    np.testing.assert_array_equal(counter_noise.closing_noise(sums, year, 0), ended)


def test_a_copy_without_a_click_counts_the_first_one(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "a.sqlite"))
    apply(engine, [Stock(ITEMS)])
    look(engine, CounterBudget())
    with engine.begin() as db:
        seal(db)
    assert [(year["upto"], year["key"]) for year in rows(engine, schema.years)] == [(0, None)]
    assert {(row["entered_likes"], row["entered_dislikes"]) for row in rows(engine, schema.items)} == {(0, 0)}
    engine.dispose()


def test_what_was_not_written_was_not_shown(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS), Click(TOKENS[0], "item-0", 1, "k")])
    look(engine, CounterBudget())
    clock.at += DAY
    with monkeypatch.context() as broken:
        broken.setattr(noisy_counters, "_taken", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            look(engine, CounterBudget())
    assert rows(engine, schema.years)[0]["done"] == 1
    assert look(engine, CounterBudget())
    with pytest.raises(RecveilError, match="--changes 2"):
        look(engine, CounterBudget(changes=3))
    engine.dispose()


def test_a_look_that_was_made_ready_is_taken_once_and_knows_of_items_that_came_meanwhile(
    database: str, clock: Clock
) -> None:
    """Noise is drawn beside the writer; clicks, items and another process may come in between."""
    engine, other = open_store(database), open_store(database)
    budget = CounterBudget(epsilon=100.0, looks=10)
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS), Click(TOKENS[0], "item-0", 1, "k")])
    write, late_write = (at_once(one) for one in (engine, other))
    ready, late = noisy_counters.prepare(engine, budget, write), noisy_counters.prepare(other, budget, late_write)
    assert ready is not None and late is not None
    apply(engine, [Stock((("new", "New"),)), Click(TOKENS[1], "new", 1, "k"), Click(TOKENS[1], "item-0", 1, "k")])
    assert noisy_counters.take(engine, budget, ready, write)
    assert not noisy_counters.take(other, budget, late, late_write)
    likes = {row["item"]: row["likes"] for row in profile_rows(engine)}
    assert sorted(likes) == list(range(1, 9)) and abs(likes[1] - 2) < 6  # the new item waits for the next look
    clock.at += YEAR // 10
    assert look(engine, budget) and len(profile_rows(engine)) == 9
    for one in (engine, other):
        one.dispose()


# --- the attack -----------------------------------------------------------------------------------------------------


def attacked(folder: Path, accounts: int, n: int) -> Engine:
    """A world in which the attacker's accounts like all items, beside a few others."""
    rng = np.random.default_rng(accounts)
    user, item = np.nonzero(rng.random((30, n)) < 0.3)
    hers, all_of_them = np.divmod(np.arange(accounts * n), n)
    who, what = np.append(user, 30 + hers), np.append(item, all_of_them)
    log = signed(from_ids(pl.Series(who), pl.Series(what).map_elements(lambda k: f"i{k:05d}", pl.String)), None)
    engine = open_store(str(folder / f"{accounts}.sqlite"))
    load(engine, log, {})
    return engine


def test_exact_counters_give_every_click_away(tmp_path: Path) -> None:
    engine = attacked(tmp_path, 0, 40)
    publish(engine, 5)
    visible = [key for key, shown in snapshot(engine, 5).profiles.items() if shown][:18]
    accounts = [bytes([9, n]) * 16 for n in range(4)]
    victim = bytes(32)
    apply(engine, [*map(Join, accounts), Join(victim)])
    apply(engine, [Click(who, key, 1, key) for who in accounts for key in visible])
    publish(engine, 5)
    before = snapshot(engine, 5).profiles
    truth = {key: 1 if n % 3 else -1 for n, key in enumerate(visible)}
    apply(engine, [Click(victim, key, sign, key) for key, sign in truth.items()])
    publish(engine, 5)
    after = snapshot(engine, 5).profiles
    read = {key: 1 if after[key][0] - before[key][0] == 5 else -1 for key in visible if after[key] != before[key]}  # type: ignore[index]
    assert read == truth  # 18 of 18, with the right sign
    engine.dispose()


@pytest.mark.parametrize("accounts", [8, 60, pytest.param(600, marks=pytest.mark.slow)])
def test_the_same_attack_on_noisy_counters_stays_within_the_budget(tmp_path: Path, clock: Clock, accounts: int) -> None:
    """1,000 clicks of a victim and 1,000 items she leaves alone; before, after, and a day later."""
    n, budget = 2000, CounterBudget()
    engine = attacked(tmp_path, accounts, n)
    look(engine, budget)
    looks = [shown_likes(engine, n)]
    victim = bytes(32)
    apply(engine, [Join(victim), *(Click(victim, f"i{k:05d}", 1, str(k)) for k in range(0, n, 2))])
    for _ in range(2):
        clock.at += DAY
        assert look(engine, budget)
        looks.append(shown_likes(engine, n))
    seen = {0: iter(np.flatnonzero(np.arange(n) % 2 == 0)), 1: iter(np.flatnonzero(np.arange(n) % 2))}
    names = ("step", "later", "level")

    def watch(side: int, _: int) -> dict[str, float]:
        at = next(seen[side])
        return dict(zip(names, (looks[1][at] - looks[0][at], looks[2][at] - looks[0][at], looks[2][at]), strict=True))

    bound = lower_bound(watch, (0, 1), lambda told: told, runs=1000, delta=budget.delta)
    assert bound.lower <= budget.epsilon
    assert bound.lower < 1.0  # most of the budget is for the looks to come
    engine.dispose()


def shown_likes(engine: Engine, n: int) -> np.ndarray[Any, Any]:
    found = np.zeros(n)
    for row in profile_rows(engine):
        found[row["item"] - 1] = row["likes"]
    return found


# --- what the noise costs -------------------------------------------------------------------------------------------


def test_zones_are_told_rightly_or_said_to_be_near_the_border() -> None:
    found = np.mean([drawn(signed(sample("films").compact(), None), seed) for seed in range(3)], axis=0)
    assert found[0] <= 0.07 and found[1] >= 0.44 and found[2] <= 0.01


def test_items_that_nobody_clicked_hardly_ever_show() -> None:
    """With five people as the least, three in ten of them did at the first look."""
    variance, _ = CounterBudget().variances()
    for at in (1, 40):
        a, b = (continual.whole(continual.noise(seeded(n), at, 365, variance, 60_000)) for n in (1, 2))
        deviation = continual.deviation(at, 365, variance)
        assert 0.006 < np.mean(a + b >= noisy_counters.too_few(deviation)) < 0.012
        assert np.mean(a + b >= 5) > 0.25
