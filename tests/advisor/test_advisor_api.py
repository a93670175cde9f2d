"""What people can do with the advisor, and what they cannot; on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import ADMIN, API, ITEMS, ME, click, join
from sqlalchemy import select, update

from recveil.advisor import schema
from recveil.advisor import service as module_of_service
from recveil.advisor.service import Advisor
from recveil.advisor.store import YEAR, now, reading, recount


def stored(service: Advisor, table: str) -> list[tuple[object, ...]]:
    with reading(service.engine) as db:
        return [tuple(row) for row in db.execute(select(schema.metadata.tables[table]))]


def test_a_person_clicks_looks_undoes_and_leaves(server: TestClient, service: Advisor) -> None:
    who = join(server)
    assert server.get(ME, headers=who).json() == {"clicks": 0, "strategy": None}
    made = click(server, who, "item-1")
    assert made.status_code == 201
    assert made.json().keys() == {"item", "sign", "at"}
    click(server, who, "item-3", "dislike")
    click(server, who, "item-0")
    assert server.delete(f"{ME}/clicks/item-1", headers=who).status_code == 204
    listed = server.get(f"{ME}/clicks", headers=who).json()["clicks"]
    assert [(row["item"], row["sign"]) for row in listed] == [("item-3", "dislike"), ("item-0", "like")]
    assert server.put(f"{ME}/strategy", json={"strategy": "smart"}, headers=who).status_code == 200
    assert server.get(ME, headers=who).json() == {"clicks": 2, "strategy": "smart"}

    given = server.get(f"{ME}/export", headers=who)
    assert "attachment" in given.headers["content-disposition"]
    assert given.json()["clicks"] == listed
    assert len(given.json()["idempotency_keys"]) == 3

    assert server.delete(ME, headers=who).status_code == 204
    assert server.get(ME, headers=who).status_code == 401
    assert not stored(service, "people") and not stored(service, "clicks") and not stored(service, "keys")
    with reading(service.engine) as db:
        assert recount(db) == []
        assert not db.execute(select(schema.items.c.id).where(schema.items.c.likes + schema.items.c.dislikes > 0)).all()


def test_a_click_counts_once(server: TestClient) -> None:
    who = join(server)
    first, again = (click(server, who, "item-1", key="k") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert click(server, who, "item-1").status_code == 409
    assert click(server, who, "item-1", "dislike").status_code == 409
    other = click(server, who, "item-2", key="k")
    assert (other.status_code, "another request" in other.json()["detail"]) == (422, True)
    assert click(server, join(server), "item-1", key="k").status_code == 201  # keys are each person's own


def test_a_click_in_other_words_is_the_same_click(server: TestClient, service: Advisor) -> None:
    """Clicks in the words of our pages go a shorter way; both ways lead to the same place, and to the same refusals."""
    who, plain, other = join(server), b'{"sign":"dislike"}', b'{ "sign" : "dislike" }'

    def put(body: bytes, item: str = "item-1", key: str = "k", **more: str) -> tuple[int, Any]:
        headers = {**who, "Content-Type": "application/json", "Idempotency-Key": key, **more}
        made = server.put(f"{ME}/clicks/{item}", content=body, headers=headers)
        return made.status_code, made.json()

    first, again, spelled = put(plain), put(plain), put(other)
    assert first[0] == 201 and again == spelled == (200, first[1])
    assert put(other, "item-2", "l") == (201, put(plain, "item-2", "l")[1])
    for bad in (
        {"item": "i" * 201},
        {"item": "i%0a"},
        {"item": "nothing-there"},
        {"key": "k" * 65},
        {"key": "k k"},
        {"Authorization": "Bearer stranger"},
        {"Authorization": "Basic eDp5"},
    ):
        assert put(plain, **bad) == put(other, **bad) and put(plain, **bad)[0] in (401, 404, 422), bad
    assert put(b'{"sign":"maybe"}')[0] == put(b'{"sign":"like","x":1}')[0] == put(b"")[0] == 422
    with reading(service.engine) as db:
        assert recount(db) == []


def test_an_undone_click_does_not_come_back_and_leaves_nothing_to_read(server: TestClient, service: Advisor) -> None:
    who = join(server)
    click(server, who, "item-1", key="k")
    server.delete(f"{ME}/clicks/item-1", headers=who)
    assert click(server, who, "item-1", key="k").status_code == 409  # a late copy of the old request
    assert server.get(f"{ME}/clicks", headers=who).json() == {"clicks": []}
    assert not stored(service, "clicks")
    assert len(stored(service, "keys")) == 1  # of hashes that need the key
    assert click(server, who, "item-1").status_code == 201


def test_nobody_reads_or_writes_the_clicks_of_another(server: TestClient) -> None:
    one, other = join(server), join(server)
    click(server, one, "item-1")
    assert server.get(f"{ME}/clicks", headers=other).json() == {"clicks": []}
    assert server.get(f"{ME}/export", headers=other).json()["clicks"] == []
    assert server.delete(f"{ME}/clicks/item-1", headers=other).status_code == 404
    server.delete(ME, headers=other)
    assert len(server.get(f"{ME}/clicks", headers=one).json()["clicks"]) == 1


def test_bad_requests_are_problems_in_a_sentence(server: TestClient) -> None:
    who = join(server)
    key = {**who, "Idempotency-Key": "k", "Content-Type": "application/json"}
    where = f"{ME}/clicks/item-1"
    answers = {
        404: [click(server, who, "nothing"), server.get("/nowhere")],
        401: [server.get(ME), click(server, {"Authorization": "Bearer forged"}, "item-1")],
        413: [server.put(where, content=b"x" * 20_000, headers=key)],
        405: [server.post(ME, headers=who)],
        422: [
            server.put(where, content=b"{", headers=key),
            server.put(where, content=b"\xff\xfe", headers=key),
            server.put(where, json={"sign": "love"}, headers=key),
            server.put(where, json={"sign": "like", "more": 1}, headers=key),
            server.put(where, json=[], headers=key),
            server.put(where, json={"sign": "like"}, headers=who),  # no key
            click(server, who, "item-1", key="k" * 65),
            click(server, who, "i" * 201),
            click(server, who, "item-1%00"),
            server.put(f"{ME}/strategy", json={"strategy": "reckless"}, headers=who),
            server.get(f"{ME}/recommendations?limit=0", headers=who),
            server.get(f"{API}/items?limit=100000"),
        ],
    }
    for status, all_of_them in answers.items():
        for answer in all_of_them:
            assert answer.status_code == status, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json().keys() == {"type", "title", "status", "detail"}
            assert answer.json()["status"] == status
            assert 5 < len(answer.json()["detail"]) < 200
    assert server.get(f"{ME}/clicks", headers=who).json() == {"clicks": []}


def test_a_body_without_a_length_is_limited_too(server: TestClient) -> None:
    headers = {**join(server), "Idempotency-Key": "k", "Content-Type": "application/json"}
    stream = (b" " * 1000 for _ in range(30))
    assert server.put(f"{ME}/clicks/item-1", content=stream, headers=headers).status_code == 413


def test_a_token_expires_unless_it_is_used(server: TestClient, service: Advisor) -> None:
    who = join(server)
    click(server, who, "item-1")
    for age, status in ((YEAR - 100, 200), (YEAR + 100, 401)):
        with service.engine.begin() as db:
            db.execute(update(schema.people).values(seen=now() - age))
        assert server.get(ME, headers=who).status_code == status
        assert click(server, who, "item-2").status_code == {200: 201, 401: 401}[status]
        if status == 200:
            assert stored(service, "people")[0][3] > now() - 100  # the visit counts
    assert server.delete(ME, headers=who).status_code == 401


def test_a_click_keeps_no_account_alive_and_a_visit_does(server: TestClient, service: Advisor) -> None:
    """Else one click would decide how long all others count."""
    who = join(server)
    with service.engine.begin() as db:
        db.execute(update(schema.people).values(seen=now() - YEAR + 100))
    click(server, who, "item-1")
    server.delete(f"{ME}/clicks/item-1", headers=who)
    server.put(f"{ME}/strategy", json={"strategy": "smart"}, headers=who)
    assert stored(service, "people")[0][3] < now() - 100
    server.get(ME, headers=who)
    assert stored(service, "people")[0][3] > now() - 100


def test_many_new_items_cost_one_public_table(
    server: TestClient, service: Advisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    honest = module_of_service.public_table

    def table(*given: Any) -> Any:
        made.append(given)
        return honest(*given)

    monkeypatch.setattr(module_of_service, "public_table", table)
    admin = {"Authorization": f"Bearer {ADMIN}"}
    for n in range(5):
        new = {"items": [{"id": f"new-{n}", "title": "New"}]}
        assert server.put(f"{API}/items", json=new, headers=admin).status_code == 200
    assert made == []
    for _ in range(2):
        assert len(server.get(f"{API}/catalogue").json()["items"]) == len(ITEMS) + 5
    assert len(made) == 1
    service.rested = time.monotonic() + 100  # a large one was made a moment ago
    assert server.delete(f"{API}/items/new-1", headers=admin).status_code == 204
    assert len(server.get(f"{API}/profiles").json()["profiles"]) == len(ITEMS) + 5
    service.rested = 0.0
    assert len(server.get(f"{API}/profiles").json()["profiles"]) == len(ITEMS) + 4


def test_the_admin_loads_a_catalogue_and_nobody_else(server: TestClient) -> None:
    new = {"items": [{"id": "a/b c?", "title": "Ä"}, {"id": "item-1", "title": "Renamed"}]}
    admin = {"Authorization": f"Bearer {ADMIN}"}
    for headers in ({}, join(server), {"Authorization": "Bearer wrong"}):
        assert server.put(f"{API}/items", json=new, headers=headers).status_code == 401
    assert server.put(f"{API}/items", json=new, headers=admin).json() == {"added": 1, "renamed": 1, "withdrawn": 0}
    titles = {row["id"]: row["title"] for row in server.get(f"{API}/items").json()["items"]}
    assert (titles["a/b c?"], titles["item-1"], len(titles)) == ("Ä", "Renamed", len(ITEMS) + 1)
    assert click(server, join(server), "a%2Fb%20c%3F").json()["item"] == "a/b c?"
    for wrong in ("\ud800", "", "a\0b", ".", "a\nb"):
        body = f'{{"items": [{{"id": {json.dumps(wrong)}, "title": "x"}}]}}'
        answer = server.put(f"{API}/items", content=body, headers={**admin, "Content-Type": "application/json"})
        assert answer.status_code == 422, wrong
    assert server.get(ME, headers=admin).status_code == 401  # an admin is not a person
    many = {"items": [{"id": f"m{n}", "title": "x"} for n in range(2500)]}
    assert server.put(f"{API}/items", json=many, headers=admin).json() == {"added": 2500, "renamed": 0, "withdrawn": 0}
    assert server.put(f"{API}/items", json=many, headers=admin).json() == {"added": 0, "renamed": 2500, "withdrawn": 0}


def test_the_catalogue_is_searched_and_paged(server: TestClient) -> None:
    found = server.get(f"{API}/items", params={"query": "title", "offset": 6, "limit": 5}).json()
    assert (found["total"], [row["id"] for row in found["items"]]) == (8, ["item-6", "item-7"])
    assert server.get(f"{API}/items", params={"query": "ITLE 3"}).json()["total"] == 1


def test_the_public_table_comes_whole_and_only_when_it_changed(server: TestClient, service: Advisor) -> None:
    first = server.get(f"{API}/profiles")
    assert first.json()["profiles"].keys() == dict(ITEMS).keys()
    same = {"If-None-Match": first.headers["etag"]}
    assert server.get(f"{API}/profiles", headers=same).status_code == 304
    click(server, join(server), "item-1", "dislike")
    assert server.portal is not None
    server.portal.call(service.refresh)
    second = server.get(f"{API}/profiles", headers=same)
    assert second.status_code == 200
    assert (second.json()["people"], second.json()["profiles"]["item-1"]) == (1, [0, 1])
    plain = server.get(f"{API}/profiles", headers={"Accept-Encoding": "identity"})
    assert plain.json() == second.json()


def test_her_clicks_say_whether_they_are_counted(server: TestClient, service: Advisor) -> None:
    who = join(server)
    click(server, who, "item-1")
    assert not server.get(f"{ME}/clicks", headers=who).json()["clicks"][0]["counted"]
    assert server.portal is not None
    server.portal.call(service.refresh)
    assert server.get(f"{ME}/clicks", headers=who).json()["clicks"][0]["counted"]


def test_many_people_at_once_see_each_other_only_in_the_counters(server: TestClient, service: Advisor) -> None:
    people = [join(server) for _ in range(6)]
    with ThreadPoolExecutor(6) as at_once:
        made = list(at_once.map(lambda who: [click(server, who, name).status_code for name, _ in ITEMS], people))
    assert made == [[201] * len(ITEMS)] * 6
    assert server.delete(f"{ME}/clicks/item-1", headers=people[0]).status_code == 204
    assert server.portal is not None
    server.portal.call(service.refresh)
    shown = server.get(f"{API}/profiles").json()["profiles"]
    assert shown == {name: [5 if name == "item-1" else 6, 0] for name, _ in ITEMS}
    counts = [len(server.get(f"{ME}/clicks", headers=who).json()["clicks"]) for who in people]
    assert counts == [len(ITEMS) - 1] + [len(ITEMS)] * 5
