"""Recommendations that give nobody away: the ledger of models, the Sybil attack, the page's lists, closed groups."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import API, ME, alone, click, client_of, join, opened
from sqlalchemy import Engine, select
from test_advisor_recommending import two_tastes

from recveil.advisor import item_model, recommending, schema
from recveil.advisor.applying import apply
from recveil.advisor.aside import aside
from recveil.advisor.item_model import LEAST, ItemModel, ModelBudget, make_due, newest
from recveil.advisor.loading import load
from recveil.advisor.recommending import fit, recommend
from recveil.advisor.store import YEAR, open_store, reading
from recveil.advisor.writes import Click, Erase, Join, Stock
from recveil.clicks.profiles import clicks as signed
from recveil.dp.budget import rho_of
from recveil.intervals import clopper_pearson
from recveil.samples import sample


def rows(engine: Engine) -> list[Any]:
    with reading(engine) as db:
        return list(db.execute(select(schema.models)).mappings())


def model_of(engine: Engine) -> ItemModel | None:
    with reading(engine) as db:
        return newest(db)


def test_a_model_waits_for_people_as_the_public_count_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_model, "_learn", lambda *_: {})
    monkeypatch.setattr(item_model, "LEAST", 1)
    with opened(str(tmp_path / "a.sqlite"), counters="private", models=ModelBudget(people=50)) as advisor:
        for people, made in ((49, 0), (50, 1)):
            advisor.snapshot = replace(advisor.snapshot, people=people)
            alone(advisor.relearn())
            assert len(rows(advisor.engine)) == made


@pytest.mark.parametrize(("items", "made"), [(LEAST - 1, False), (LEAST, True)])
def test_a_model_is_made_of_so_many_items(
    items: int, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_model, "_learn", lambda *_: {})
    engine = open_store(str(tmp_path / "a.sqlite"))
    apply(engine, [Stock(tuple((f"item-{k}", f"Title {k}") for k in range(items)))])
    assert make_due(engine, ModelBudget()) == made
    engine.dispose()


def test_in_any_year_all_models_stay_within_the_budget(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at = 1_700_000_000
    monkeypatch.setattr(item_model, "now", lambda: at)
    monkeypatch.setattr(item_model, "_learn", lambda *_: {})  # what is learned does not matter here
    engine, other = open_store(database), open_store(database)
    budget = ModelBudget(epsilon=8.0)
    assert not make_due(engine, budget)  # of an empty catalogue nothing is asked
    load(engine, two_tastes(), {})
    made = []
    for _ in range(40):
        if make_due(engine, budget) or make_due(other, budget):
            made.append(at)
        at += YEAR // 16
    assert len(made) == 10
    spent = rows(engine)
    for row in spent:
        window = [r["rho"] for r in spent if row["at"] - YEAR < r["at"] <= row["at"]]
        assert sum(window) <= rho_of(8.0, 1e-6) * (1 + 1e-9)
    at -= 3 * YEAR  # a clock that is set back makes none
    assert not make_due(engine, budget)
    at += 4 * YEAR
    assert make_due(engine, ModelBudget(epsilon=8.0, refreshes=1))
    at += YEAR // 2
    assert not make_due(engine, budget)  # other settings do not add to what was spent
    for one in (engine, other):
        one.dispose()


def test_what_is_spent_is_entered_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    load(engine, two_tastes(), {})
    with monkeypatch.context() as broken:
        broken.setattr(item_model, "_learn", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_due(engine, ModelBudget())
    assert len(rows(engine)) == 1
    assert not make_due(engine, ModelBudget())
    assert model_of(engine) is None
    engine.dispose()


def test_too_few_people_get_what_most_like(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite"), recommend="model", counters="private") as advisor:
        assert make_due(advisor.engine, ModelBudget()) is False  # eight items
        with client_of(advisor) as server:
            who = join(server)
            click(server, who, "item-1")
            assert server.get(f"{ME}/recommendations", headers=who).json()["basis"] == "popular"
            sent = server.get(f"{API}/model").json()
            assert (sent["made"], sent["items"], sent["recommend"]) == (None, [], "model")
            assert sent["budget"] == {"epsilon": 4.0, "delta": 1e-6, "refreshes": 4, "people": 500}


def test_where_nobody_likes_anything_noise_answers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of its own, without noise, would tell nobody from one person."""
    counted: list[int] = []
    honest = item_model.publish

    def publish(data: Any, *rest: Any) -> Any:
        counted.append(len(data))
        return honest(data, *rest)

    monkeypatch.setattr(item_model, "publish", publish)
    engine = open_store(str(tmp_path / "a.sqlite"))
    apply(engine, [Stock(tuple((f"item-{k}", f"Title {k}") for k in range(2 * LEAST)))])
    assert make_due(engine, ModelBudget())
    assert counted == [0] and rows(engine)[0]["document"] is not None
    engine.dispose()


def test_lists_follow_taste(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    load(engine, two_tastes(people=3000), {})
    make_due(engine, ModelBudget(epsilon=8.0, refreshes=1))
    model = model_of(engine)
    assert model is not None and len(model.items) > 30
    for parity in (0, 1):
        best = model.best({f"i{n:02d}": 1 if n % 2 == parity else -1 for n in range(12)}, 10)
        assert sum(int(key[1:]) % 2 == parity for key in best) >= 9
    engine.dispose()


# --- the Sybil attack -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copied:
    """A world in which 29 accounts copy some of the clicks of three victims, and all else that these like."""

    engine: Engine
    known: list[list[str]]
    rest: list[set[str]]


def copied_world(folder: Path, known: int, present: bool) -> Copied:
    log = signed(sample("films").compact(), None)
    engine = open_store(str(folder / f"{known}-{present}.sqlite"))
    load(engine, log, {})
    names = log.data.items.to_list()
    liked = {u: [names[i] for i in log.data.item[(log.data.user == u) & (log.sign > 0)]] for u in range(log.users)}
    victims = sorted((u for u in liked if 28 <= len(liked[u]) <= 40), key=lambda u: len(liked[u]))[:3]
    if not present:
        with engine.begin() as db:
            for victim in victims:
                db.execute(schema.clicks.delete().where(schema.clicks.c.person == victim + 1))
    for n, victim in enumerate(victims):
        copies = [bytes([n, k]) * 16 for k in range(29)]
        part = [Click(token, key, 1, key) for token in copies for key in liked[victim][:known]]
        apply(engine, [*map(Join, copies), *part])
    return Copied(engine, [liked[v][:known] for v in victims], [set(liked[v][known:]) for v in victims])


def attack(folder: Path, known: int, present: bool) -> tuple[int, int]:
    """What the list of one who copied tells of the rest, and of how many items."""
    world = copied_world(folder, known, present)
    make_due(world.engine, ModelBudget())
    model = model_of(world.engine)
    hits = 0
    for mine, rest in zip(world.known, world.rest, strict=True):
        listed = model.best(dict.fromkeys(mine, 1), len(rest)) if model else []
        hits += len(rest & set(listed))
    world.engine.dispose()
    return hits, sum(map(len, world.rest))


@pytest.mark.parametrize("known", [8, 12])
def test_copies_of_a_person_learn_no_more_than_of_one_who_is_not_there(tmp_path: Path, known: int) -> None:
    here, there = (clopper_pearson(*attack(tmp_path, known, present), 0.95) for present in (True, False))
    assert here[0] <= there[1] and there[0] <= here[1]
    assert here[1] < 0.75  # of exact neighbours it was all


def test_the_same_copies_read_exact_neighbours_unless_these_are_hardened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack has power: it finds what she likes where people speak one by one, and not where it is hardened."""
    world = copied_world(tmp_path, 12, present=True)
    hardened = fit(world.engine)
    with monkeypatch.context() as plain:
        plain.setattr(recommending, "_different", lambda signs: signs)
        unhardened = fit(world.engine, young=0)
    assert hardened is not None and unhardened is not None
    shown: dict[str, tuple[int, int] | None] = dict.fromkeys(unhardened.keys, (9, 9))

    def found(model: recommending.Neighbourhoods, least: int) -> list[float]:
        pairs = zip(world.known, world.rest, strict=True)
        lists = [(recommend(model, dict.fromkeys(mine, 1), shown, len(rest), least)[0], rest) for mine, rest in pairs]
        return [len(rest & set(listed)) / len(rest) for listed, rest in lists]

    assert min(found(unhardened, 0)) > 0.9
    assert max(found(hardened, 5)) < 0.75
    world.engine.dispose()


def test_neighbours_of_a_closed_group_speak_together_and_old_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    load(engine, two_tastes(), {})
    copies = [bytes([k]) * 32 for k in range(1, 30)]
    same = ["i00", "i02", "i04"]
    apply(engine, [*map(Join, copies), *(Click(token, key, 1, key) for token in copies for key in same)])
    young = fit(engine)
    assert young is not None and young.signs.shape[0] == 80  # the copies are too young
    monkeypatch.setattr(recommending, "now", lambda: 2**33)
    grown = fit(engine)
    assert grown is not None and grown.signs.shape[0] == 81  # and one where they are not
    scores, several = grown.scores(dict.fromkeys(same, 1)), grown.scores(dict.fromkeys(same, 1), 5)
    assert scores is not None and several is not None
    supporters = [int(n) for n in np.asarray((grown.signs > 0).sum(axis=0)).ravel()]
    assert all(scores[n] == several[n] or several[n] == 0 for n in range(len(supporters)))
    apply(engine, [Erase(token) for token in copies])
    engine.dispose()


def test_nobody_waits_at_the_end_for_a_model_that_takes_minutes() -> None:
    going = threading.Event()

    async def cut_short() -> int:
        assert await aside(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await aside(divmod, 1, 0)
        task = asyncio.create_task(aside(going.wait, 60))
        await asyncio.sleep(0.05)
        task.cancel()
        return len(await asyncio.gather(task, return_exceptions=True))

    begin = time.monotonic()
    try:
        assert alone(cut_short()) == 1
    finally:
        going.set()
    assert time.monotonic() - begin < 20


def test_what_two_liked_items_have_in_common_comes_first() -> None:
    model = ItemModel("", list("abcd"), [1.0] * 4, [0, 2, 4, 4, 4], [2, 3, 2, 3], [0.4, 0.7, 0.4, 0.05])
    assert model.best({"a": 1, "b": 1}, 2) == ["c", "d"] and model.best({"a": 1, "b": -1}, 2) == ["d", "c"]
