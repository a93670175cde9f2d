"""A platform that speaks for its people: keys, ids of its own, batches, and everything that can go wrong with them."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from serving import ADMIN, API, ITEMS, ME, click, join
from sqlalchemy import select, update

from recveil.advisor import batches, platforms, schema
from recveil.advisor.applying import apply
from recveil.advisor.service import Advisor
from recveil.advisor.store import YEAR, now, reading, recount
from recveil.advisor.writes import Forget

BY_ADMIN = {"Authorization": f"Bearer {ADMIN}"}
BATCHES = f"{API}/platform/batches"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A revoked key is noticed with the next request."""
    monkeypatch.setattr(platforms, "KEY_AGE", 0.0)


def key_of(server: TestClient, name: str = "night-owl") -> dict[str, str]:
    return {"Authorization": f"Bearer {server.put(f'{API}/platforms/{name}', headers=BY_ADMIN).json()['key']}"}


def send(server: TestClient, by: dict[str, str], *lines: Any, key: str | None = None) -> Any:
    body = "".join(json.dumps(line) + "\n" for line in lines)
    return server.post(BATCHES, content=body, headers={**by, "Idempotency-Key": key or uuid4().hex})


def says(person: str, item: str, sign: str | None) -> dict[str, Any]:
    return {"person": person, "item": item, "sign": sign}


def counters(advisor: Advisor) -> dict[str, tuple[int, int]]:
    with reading(advisor.engine) as db:
        assert recount(db) == []
        rows = db.execute(select(schema.items.c.key, schema.items.c.likes, schema.items.c.dislikes))
        return {key: (likes, dislikes) for key, likes, dislikes in rows if likes or dislikes}


def test_a_platform_speaks_for_a_person(server: TestClient, service: Advisor) -> None:
    by = key_of(server)
    her = {**by, "X-Recveil-Person": "user-1"}
    refused = server.get(ME, headers=her)
    assert refused.status_code == 404 and "no such person" in refused.json()["detail"]
    assert click(server, her, "item-1").status_code == 404  # a click makes no account: it would decide when it ends
    made = [server.post(f"{API}/people", headers=her) for _ in range(2)]
    assert [one.status_code for one in made] == [201, 200] and made[0].json()["token"] is None
    assert [click(server, her, "item-1", key="k").status_code for _ in range(2)] == [201, 200]
    assert server.get(ME, headers=her).json()["clicks"] == 1
    assert server.get(f"{ME}/export", headers=her).json()["clicks"][0]["item"] == "item-1"
    other = {**key_of(server, "other"), "X-Recveil-Person": "user-1"}
    assert server.get(ME, headers=other).status_code == 404  # another platform's user-1 is somebody else
    assert "user-1" not in str(stored(service))
    assert server.delete(f"{ME}/clicks/item-1", headers=her).status_code == 204
    assert server.delete(ME, headers=her).status_code == 204
    assert counters(service) == {} and server.get(ME, headers=her).status_code == 404


def stored(advisor: Advisor) -> list[Any]:
    with reading(advisor.engine) as db:
        return [tuple(row) for table in schema.metadata.sorted_tables for row in db.execute(select(table))]


def test_keys_are_the_admins_to_give_and_to_revoke(server: TestClient) -> None:
    assert server.put(f"{API}/platforms/night-owl").status_code == 401
    assert server.put(f"{API}/platforms/Not%20a%20name", headers=BY_ADMIN).status_code == 422
    old = key_of(server)
    assert send(server, old, {"person": "p"}).json()["changed"] == 1
    new = key_of(server)
    assert send(server, old, {"person": "p"}).status_code == 401
    assert send(server, new, {"person": "p"}).status_code == 200
    assert server.post(f"{API}/platform/clicks", json={"people": ["p"]}, headers=new).json() == {"people": {"p": []}}
    assert server.delete(f"{API}/platforms/night-owl", headers=BY_ADMIN).status_code == 204
    assert server.delete(f"{API}/platforms/night-owl", headers=BY_ADMIN).status_code == 404
    for headers in (new, {**new, "X-Recveil-Person": "p"}, BY_ADMIN, {}, join(server)):
        assert send(server, headers, {"person": "p"}).status_code == 401
    assert server.get(ME, headers={**new, "X-Recveil-Person": "p"}).status_code == 401
    back = key_of(server)  # her account was not lost with the key
    assert server.post(f"{API}/platform/clicks", json={"people": ["p", "q"]}, headers=back).json() == {
        "people": {"p": [], "q": None}
    }


def test_a_batch_says_how_things_stand(server: TestClient, service: Advisor) -> None:
    by = key_of(server)
    lines = [
        says("nobody-yet", "item-1", "like"),
        {"person": "a"},
        {"person": "b"},
        says("a", "item-1", "like"),
        says("a", "item-1", "like"),
        says("b", "item-1", "dislike"),
        says("b", "item-1", "like"),
        says("a", "nothing-there", "like"),
        says("a", "item-2", "dislike"),
        says("a", "item-2", None),
        says("a", "item-3", None),
        {"person": "gone", "erase": True},
    ]
    told = send(server, by, *lines).json()
    assert told["lines"] == len(lines) and told["refused"] == 2 and told["same"] == 3 and told["again"] is False
    assert [row["line"] for row in told["problems"]] == [1, 8]
    assert counters(service) == {"item-1": (2, 0)}
    found = server.post(f"{API}/platform/clicks", json={"people": ["a", "b"]}, headers=by).json()["people"]
    assert [(row["item"], row["sign"]) for row in found["a"] + found["b"]] == [("item-1", "like")] * 2
    told = send(server, by, says("a", "item-2", "like"), {"person": "a", "erase": True}, says("a", "item-2", "like"))
    assert told.json()["refused"] == 1 and counters(service) == {"item-1": (1, 0)}
    assert (
        send(server, by, {"person": "b", "erase": True}, {"person": "b"}, says("b", "item-4", "like")).json()["changed"]
        == 3
    )
    assert counters(service) == {"item-4": (1, 0)}


def test_only_so_many_changes_of_a_mind_reach_noisy_counters(server: TestClient, service: Advisor) -> None:
    """The batch and the single click spend from the same account: like, back, like again counts the first two alone."""
    by = key_of(server)
    her = {**by, "X-Recveil-Person": "a"}
    send(server, by, {"person": "a"}, says("a", "item-1", "like"), says("a", "item-1", None))
    click(server, her, "item-1")
    send(server, by, says("a", "item-1", "dislike"))
    with reading(service.engine) as db:
        row = db.execute(select(schema.items).where(schema.items.c.key == "item-1")).mappings().one()
    assert (row["likes"], row["dislikes"], row["entered_likes"], row["entered_dislikes"]) == (0, 1, 0, 0)


def test_a_batch_counts_once(server: TestClient, service: Advisor, monkeypatch: pytest.MonkeyPatch) -> None:
    by = key_of(server)
    lines = [{"person": "a"}, says("a", "item-1", "like")]
    first, again = (send(server, by, *lines, key="k").json() for _ in range(2))
    assert (first["again"], again["again"]) == (False, True) and {**again, "again": False} == first
    assert send(server, by, {"person": "b"}, key="k").status_code == 422
    server.delete(f"{ME}/clicks/item-1", headers={**by, "X-Recveil-Person": "a"})
    send(server, by, *lines, key="k")  # late: it does not bring her click back
    assert counters(service) == {}
    assert (
        send(server, key_of(server, "other"), {"person": "b"}, key="k").status_code == 200
    )  # keys are each platform's

    monkeypatch.setattr(batches, "LINES", 2)
    many = [{"person": "c"}, *(says("c", item, "like") for item, _ in ITEMS)]
    broken = iter([None, None, OSError("the power is gone")])
    usual = batches.settle

    def fails(*given: Any) -> Any:
        if problem := next(broken, None):
            raise problem
        return usual(*given)

    monkeypatch.setattr("recveil.advisor.applying.settle", fails)
    assert send(server, by, *many, key="half").status_code == 500
    assert len(counters(service)) == 3  # two portions stand
    server.delete(f"{ME}/clicks/item-0", headers={**by, "X-Recveil-Person": "c"})
    told = send(server, by, *many, key="half").json()
    assert told["changed"] == len(many) and told["again"] is False
    assert sorted(counters(service)) == [
        item for item, _ in ITEMS if item != "item-0"
    ]  # what was done is not done again


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "7",
        "{",
        '"person"',
        '{"item": "item-1", "sign": "like"}',
        '{"person": ""}',
        '{"person": "two words"}',
        '{"person": 7}',
        '{"person": "p", "item": "item-1"}',
        '{"person": "p", "item": "item-1", "sign": "love"}',
        '{"person": "p", "item": "item-1", "sign": []}',
        '{"person": "p", "item": 1, "sign": "like"}',
        '{"person": "p", "erase": false}',
        '{"person": "p", "item": "item-1", "sign": "like", "at": "2026"}',
        "[" * 5000,
    ],
)
def test_a_line_that_is_none_stops_the_whole_batch(server: TestClient, service: Advisor, line: str) -> None:
    by = key_of(server)
    body = '{"person": "a"}\n{"person":"a","item":"item-1","sign":"like"}\n' + line
    told = server.post(BATCHES, content=body.encode(), headers={**by, "Idempotency-Key": "k"})
    if not line:
        assert told.json()["lines"] == 2
        return
    assert told.status_code == 422 and "line 3" in told.json()["detail"]
    assert counters(service) == {}


def test_whoever_was_away_for_a_year_is_new(server: TestClient, service: Advisor) -> None:
    by = key_of(server)
    send(server, by, {"person": "a"}, says("a", "item-1", "like"))
    with service.engine.begin() as db:
        db.execute(update(schema.people).values(seen=now() - YEAR - 1))
    assert send(server, by, says("a", "item-2", "like")).json()["refused"] == 1
    assert send(server, by, {"person": "a"}, says("a", "item-2", "like")).json()["refused"] == 0
    apply(service.engine, [Forget()])
    assert counters(service) == {"item-2": (1, 0)}


def test_a_click_decides_nothing_about_other_clicks(server: TestClient, service: Advisor) -> None:
    """Two histories that differ in one click, told by batch: accounts come and go at the same times."""
    by, seen = key_of(server), []
    for person, lines in (("with", [says("with", "item-1", "like")]), ("without", [])):
        send(server, by, {"person": person})
        with service.engine.begin() as db:
            db.execute(update(schema.people).values(seen=now() - YEAR // 2))
        send(server, by, *lines)
        with reading(service.engine) as db:
            seen.append(
                db.execute(select(schema.people.c.seen).order_by(schema.people.c.id.desc()).limit(1)).scalar_one()
            )
    assert abs(seen[0] - seen[1]) <= 5 and seen[0] < now() - YEAR // 3
