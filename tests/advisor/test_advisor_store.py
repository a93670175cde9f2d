"""The store: every batch is one transaction, counters equal a recount, and what is shown hides single people."""

from __future__ import annotations

import threading
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import ITEMS, ME, click, client_of, join, opened
from sqlalchemy import Engine, func, select

from recveil.advisor import schema, store
from recveil.advisor.applying import REMEMBER, Answer, apply
from recveil.advisor.loading import load
from recveil.advisor.platforms import give_key
from recveil.advisor.problems import Problem
from recveil.advisor.publication import publish, snapshot
from recveil.advisor.service import Advisor
from recveil.advisor.store import connect, open_store, reading, recount
from recveil.advisor.writes import Click, Erase, Forget, Join, Line, Portion, Stock, Undo, Write
from recveil.clicks.profiles import clicks as signed
from recveil.data import from_ids
from recveil.errors import RecveilError

TOKENS = [bytes([n]) * 32 for n in range(4)]


def in_memory() -> Engine:
    engine = connect(":memory:")
    schema.metadata.create_all(engine)
    return engine


def exact(engine: Engine) -> None:
    with reading(engine) as db:
        assert recount(db) == []


def test_the_migrations_make_the_schema(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = open_store(database)
    with engine.connect() as db:
        assert compare_metadata(MigrationContext.configure(db), schema.metadata) == []
    open_store(database).dispose()  # once more changes nothing
    engine.dispose()


# --- batches against a model that does one thing after the other ------------------------------------------------


class Naive:
    """The same rules, one write at a time, in dictionaries."""

    def __init__(self) -> None:
        self.people: dict[bytes, dict[str, int]] = {}
        self.keys: dict[tuple[bytes, str], tuple[str, int]] = {}

    def __call__(self, write: Write) -> int:
        if isinstance(write, Join):
            self.people[write.token] = {}
            return 200
        assert isinstance(write, Click | Undo | Erase)
        mine = self.people.get(write.token)
        if mine is None:
            return 401
        if isinstance(write, Erase):
            del self.people[write.token]
            self.keys = {key: asked for key, asked in self.keys.items() if key[0] != write.token}
            return 200
        if isinstance(write, Undo):
            return 404 if mine.pop(write.item, None) is None else 200
        asked = self.keys.get((write.token, write.key))
        if asked is not None:
            if asked != (write.item, write.sign):
                return 422
            return 200 if mine.get(write.item) == write.sign else 409
        if write.item not in dict(ITEMS):
            return 404
        if write.item in mine:
            return 409
        mine[write.item] = write.sign
        self.keys[write.token, write.key] = (write.item, write.sign)
        return 201


def status(answer: Answer) -> int:
    if isinstance(answer, Problem):
        return answer.status
    return 201 if answer.get("again") is False else 200


token = st.sampled_from(TOKENS)
item = st.sampled_from(["item-0", "item-1", "item-2", "unknown"])
key = st.sampled_from(["a", "b", "c", "d", "e", "f"])
one = st.one_of(
    st.builds(Click, token, item, st.sampled_from([1, -1]), key),
    st.builds(Click, token, item, st.sampled_from([1, -1]), key),
    st.builds(Undo, token, item),
    st.builds(Erase, token),
)


@settings(max_examples=30)
@given(st.lists(st.lists(one, max_size=12), max_size=5))
def test_batches_answer_like_one_after_the_other(batches: list[list[Write]]) -> None:
    _compare("", batches)


def test_batches_on_both_databases(database: str) -> None:
    rng = np.random.default_rng(5)

    def some() -> Write:
        who, what = TOKENS[rng.integers(4)], ["item-0", "item-1", "item-2", "unknown"][rng.integers(4)]
        kind = rng.random()
        if kind < 0.7:
            return Click(who, what, int(rng.choice([1, -1])), str(rng.integers(30)))
        return Undo(who, what) if kind < 0.95 else Erase(who)

    _compare(database, [[some() for _ in range(rng.integers(1, 20))] for _ in range(40)])


def _compare(database: str, batches: list[list[Write]]) -> None:
    engine, naive = open_store(database) if database else in_memory(), Naive()
    apply(engine, [Stock(ITEMS)])
    for batch in batches:
        back: list[Write] = [Join(who) for who in TOKENS if who not in naive.people]
        answers = [status(answer) for answer in apply(engine, [*back, *batch])]
        assert answers == [naive(write) for write in [*back, *batch]]
        publish(engine, 2)
        exact(engine)
    with reading(engine) as db:
        for who in TOKENS:
            person = store.person(db, who)
            found = {} if person is None else {row["item"]: row["sign"] for row in store.clicks_of(db, person)}
            mine = naive.people.get(who, {})
            assert found == {what: store.SIGNS[sign] for what, sign in mine.items()}
    engine.dispose()


def test_a_large_portion_of_a_platform_on_both_databases(database: str) -> None:
    """More people and items than usual are looked up in other statements; each line is judged as one alone is."""
    engine = open_store(database)
    names = [f"item '{n}' ☃ %s" for n in range(150)]
    apply(engine, [Stock(tuple((name, name) for name in names))])
    give_key(engine, "owl")
    with reading(engine) as db:
        platform, salt = db.execute(select(schema.platforms.c.id, schema.platforms.c.salt)).one()

    def send(lines: list[Line]) -> dict[str, Any]:
        body = repr(lines).encode()
        (told,) = apply(engine, [Portion(platform, salt, sha256(body).digest(), body[:32], 0, tuple(lines))])
        assert isinstance(told, dict)
        exact(engine)
        return told

    people = [f"p{n}" for n in range(150)]
    assert send([Line(who) for who in people])["changed"] == 150
    clicked = [Line(who, names[n * k % 150], 1) for n, who in enumerate(people) for k in (1, 7)]
    different = len({(line.person, line.item) for line in clicked})
    odd = [Line("p0", "no\0item", 1), Line("p0", "x" * 100_000, 1), Line("nobody", names[0], 1)]
    told = send([*clicked, *odd])
    assert (told["changed"], told["same"], told["refused"]) == (different, len(clicked) - different, 3)
    back = [Line(line.person, line.item, 0) for line in clicked]
    assert send(back)["changed"] == different
    again = send(clicked)  # the third change of a mind is stored, and reaches no noisy counter
    assert again["changed"] == different
    with reading(engine) as db:
        sums = (schema.items.c.likes, schema.items.c.entered_likes)
        assert db.execute(select(*map(func.sum, sums))).one() == (different, 0)
        order = db.execute(select(schema.clicks.c.person, schema.clicks.c.item).order_by(schema.clicks.c.id)).all()
    assert [who for who, _ in order] == sorted(who for who, _ in order)  # and hers in the order of her lines
    engine.dispose()


def test_many_at_once_on_one_database_from_several_sides(database: str) -> None:
    """Two engines stand for two processes: the same person, the same items, and still nothing twice or lost."""
    engines = [open_store(database), open_store(database)]
    apply(engines[0], [Stock(ITEMS), *map(Join, TOKENS)])
    got: list[list[Answer]] = [[], []]

    def work(side: int) -> None:
        rng = np.random.default_rng(side)
        for n in range(25):
            what = [f"item-{rng.integers(8)}" for _ in range(3)]
            batch: list[Write] = [Click(TOKENS[rng.integers(4)], name, 1, f"{side}-{n}-{name}") for name in what]
            got[side] += apply(engines[side], [*batch, Undo(TOKENS[rng.integers(4)], what[0])])

    threads = [threading.Thread(target=work, args=(side,)) for side in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = sum(1 for answer in got[0] + got[1] if status(answer) == 201)
    undone = sum(1 for answer in got[0] + got[1] if answer == {})
    with reading(engines[0]) as db:
        assert db.execute(select(func.count()).select_from(schema.clicks)).scalar_one() == made - undone
    exact(engines[0])
    for engine in engines:
        engine.dispose()


# --- what is shown ----------------------------------------------------------------------------------------------


def test_an_item_shows_nothing_below_min_people_and_moves_in_steps_of_as_many(database: str) -> None:
    engine = open_store(database)
    tokens = [bytes([n]) * 32 for n in range(20)]
    apply(engine, [Stock(ITEMS), *map(Join, tokens)])

    def shown() -> object:
        publish(engine, 5)
        return snapshot(engine, 5).profiles["item-0"]

    seen = []
    for n, who in enumerate(tokens[:12]):
        apply(engine, [Click(who, "item-0", -1 if n % 3 == 2 else 1, "k")])
        seen.append(shown())
    assert seen == [None] * 4 + [(4, 1)] * 5 + [(7, 3)] * 3
    for who in tokens[:4]:  # those who leave are not seen to leave
        apply(engine, [Undo(who, "item-0")])
        assert shown() == (7, 3)
    apply(engine, [Erase(tokens[4])])
    assert shown() == (7, 3)
    apply(engine, [Erase(tokens[5]), Erase(tokens[6])])
    assert shown() == (3, 2)  # five fewer than when it was last shown
    apply(engine, [Erase(tokens[7])])
    assert shown() is None  # four are left
    exact(engine)
    engine.dispose()


@settings(max_examples=30)
@given(st.data())
def test_every_difference_ever_shown_is_of_min_people_or_more(data: st.DataObject) -> None:
    engine, k = in_memory(), 3
    tokens = [bytes([n]) * 32 for n in range(9)]
    apply(engine, [Stock(ITEMS[:1]), *map(Join, tokens)])
    before: set[tuple[bytes, int]] = set()  # who had which sign when it was last shown
    shown: object = None
    signs: dict[bytes, int] = {}
    for n in range(data.draw(st.integers(0, 30))):
        who = data.draw(st.sampled_from(tokens))
        if who in signs:
            apply(engine, [Undo(who, "item-0")])
            del signs[who]
        else:
            signs[who] = data.draw(st.sampled_from([1, -1]))
            apply(engine, [Click(who, "item-0", signs[who], str(n))])
        if data.draw(st.booleans()):
            continue
        publish(engine, k)
        now_shown = snapshot(engine, k).profiles["item-0"]
        assert now_shown is None or len(signs) >= k
        if now_shown is not None and now_shown != shown:
            now_known = set(signs.items())
            assert len({who for who, _ in before ^ now_known}) >= k
            before, shown = now_known, now_shown
    engine.dispose()


# --- loading ----------------------------------------------------------------------------------------------------


def log(rows: int = 300) -> Any:
    rng = np.random.default_rng(2)
    user, item = np.divmod(rng.permutation(40 * 30)[:rows], 30)
    return signed(from_ids(pl.Series(user), pl.Series([f"i{n}" for n in item]), rating=rng.integers(1, 6, rows)), 3)


def test_a_log_becomes_nameless_people_once(database: str) -> None:
    engine = open_store(database)
    assert load(engine, log(), {"i3": "Three"})
    assert not load(engine, log(), {})
    with pytest.raises(RecveilError, match="another catalogue"):
        load(engine, log(200), {})
    exact(engine)
    publish(engine, 5)
    table = snapshot(engine, 5)
    expected = defaultdict(lambda: [0, 0])
    for name, sign in zip(log().data.items.gather(log().data.item), log().sign, strict=True):
        expected[name][int(sign < 0)] += 1
    assert table.people == 40
    assert table.titles["i3"] == "Three"
    assert table.profiles == {name: tuple(n) if sum(n) >= 5 else None for name, n in expected.items()}
    assert any(profile is None for profile in table.profiles.values())
    apply(engine, [Join(TOKENS[0]), Click(TOKENS[0], "i3", 1, "k"), Stock((("new", "New"),))])
    with reading(engine) as db:  # numbers go on behind those that were given
        assert db.execute(select(func.max(schema.people.c.id))).scalar_one() == 41
        assert db.execute(select(func.count()).where(schema.people.c.token.is_not(None))).scalar_one() == 1
    exact(engine)
    engine.dispose()


def test_what_has_had_its_time_is_forgotten(database: str) -> None:
    engine = open_store(database)
    apply(engine, [Stock(ITEMS), Join(TOKENS[0]), Join(TOKENS[1])])
    apply(engine, [Click(who, "item-0", 1, "k") for who in TOKENS[:2]])
    with engine.begin() as db:
        db.execute(schema.people.update().where(schema.people.c.token == TOKENS[0]).values(seen=1))
        db.execute(schema.keys.update().values(at=store.now() - REMEMBER - 10))
    assert apply(engine, [Forget()]) == [{"people": 1, "keys": 1}]
    with reading(engine) as db:
        assert db.execute(select(schema.items.c.likes).where(schema.items.c.key == "item-0")).scalar_one() == 1
    exact(engine)
    engine.dispose()


# --- the database is away ---------------------------------------------------------------------------------------


def test_a_click_while_postgresql_is_away_is_refused_and_nothing_is_lost(postgresql: Any) -> None:
    with opened(postgresql.database()) as advisor, client_of(advisor) as server:
        who = join(server)
        assert click(server, who, "item-0", key="a").status_code == 201
        postgresql.stop()
        try:
            answers = [
                click(server, who, "item-1", key="b"),
                server.get(ME, headers=who),
                server.post("/api/v1/people"),
            ]
        finally:
            postgresql.start()
        for answer in answers:
            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert "retry-after" in answer.headers
        assert click(server, who, "item-0", key="a").status_code == 200
        assert click(server, who, "item-1", key="b").status_code == 201
        assert server.get(ME, headers=who).json()["clicks"] == 2
        exact(advisor.engine)


def test_a_click_while_sqlite_is_locked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY", 0.2)
    file = str(tmp_path / "advisor.sqlite")
    with opened(file) as advisor, client_of(advisor) as server:
        who = join(server)
        other = connect(file)
        with other.begin():
            answer = click(server, who, "item-1", key="b")
            assert answer.status_code == 503
            assert server.get(ME, headers=who).status_code == 200  # reading goes on
        assert click(server, who, "item-1", key="b").status_code == 201
        other.dispose()


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "postgresql://nobody@127.0.0.1:1/x", "nowhere/else/x.sqlite", "postgresql://a:b:c/x"]
)
def test_a_database_that_cannot_be_opened_is_one_line(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecveilError, match="database"):
        open_store(url)


def test_the_advisor_never_shows_less_mixed_counts_after_a_restart(database: str) -> None:
    for start in range(3):  # two clicks each time: never five at once, until there are
        with opened(database, min_people=5) as advisor, client_of(advisor) as server:
            for _ in range(2):
                click(server, join(server), "item-0")
            assert server.portal is not None
            server.portal.call(advisor.refresh)
            assert isinstance(advisor, Advisor)
            assert advisor.snapshot.profiles["item-0"] == ((6, 0) if start == 2 else None)
