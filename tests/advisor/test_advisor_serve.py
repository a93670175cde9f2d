"""`recveil advisor serve` as a process: one line starts it, people click at once, and kill -9 loses nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from serving import API, ME, running

from recveil.advisor.store import connect, reading, recount
from recveil.advisor.titles import read_titles
from recveil.cli.advisor import _admin_token

FILMS = "sample:films?users=60,items=50"
FAST = ("--rate", "100000", "--accounts", "100000")


def person(url: str) -> httpx.Client:
    token = httpx.post(f"{url}{API[1:]}/people", timeout=30).json()["token"]
    return httpx.Client(base_url=url, timeout=30, headers={"Authorization": f"Bearer {token}"})


def click(client: httpx.Client, item: str, key: str) -> int:
    return client.put(f"{ME}/clicks/{item}", json={"sign": "like"}, headers={"Idempotency-Key": key}).status_code


def test_one_line_gives_a_working_demo(tmp_path: Path) -> None:
    token = "given by the environment " + uuid4().hex
    environment = {"RECVEIL_ADMIN_TOKEN": token}
    database = str(tmp_path / "advisor.sqlite")
    with running("--sample", "films", "--database", database, environment=environment) as (_, url), person(url) as anna:
        page = httpx.get(url)
        assert page.headers["content-type"].startswith("text/html")
        assert page.status_code == 200
        table = anna.get(f"{API}/profiles").json()
        assert abs(table["people"] - 1000) < 150 and table["counters"] == "private"
        first = anna.get(f"{ME}/recommendations").json()["items"]
        assert [click(anna, item, item) for item in first[:3]] == [201] * 3
        admin = {"Authorization": f"Bearer {token}"}
        new = {"items": [{"id": "new", "title": "New"}]}
        assert anna.put(f"{API}/items", json=new, headers=admin).json() == {"added": 1, "renamed": 0, "withdrawn": 0}


def test_without_a_log_it_starts_empty(tmp_path: Path) -> None:
    token = uuid4().hex
    database = str(tmp_path / "advisor.sqlite")
    with running("--database", database, environment={"RECVEIL_ADMIN_TOKEN": token}) as (_, url), person(url) as anna:
        assert anna.get(f"{API}/profiles").json()["profiles"] == {}
        assert anna.get(f"{API}/catalogue").json()["items"] == []
        assert anna.get("/").status_code == 200 and anna.get(f"{ME}/recommendations").json()["items"] == []
        new, admin = {"items": [{"id": "first", "title": "First"}]}, {"Authorization": f"Bearer {token}"}
        assert anna.put(f"{API}/items", json=new, headers=admin).json()["added"] == 1
        assert click(anna, "first", "k") == 201
    engine = connect(database)
    with reading(engine) as db:
        assert db.exec_driver_sql("SELECT count(*) FROM people").scalar_one() == 1
        assert db.exec_driver_sql("SELECT count(*) FROM models").scalar_one() == 0
    engine.dispose()


def test_kill_9_in_a_load_loses_nothing_and_repeats_nothing(database: str) -> None:
    sent: dict[int, list[tuple[str, str]]] = {n: [] for n in range(6)}
    acknowledged: dict[int, set[str]] = {n: set() for n in range(6)}
    with running(FILMS, "--database", database, *FAST) as (kill, url):
        items = list(httpx.get(f"{url}{API[1:]}/profiles").json()["profiles"])
        clients = [person(url) for _ in sent]

        def visit(n: int) -> None:
            for item in items:
                sent[n].append((item, uuid4().hex))
                try:
                    if click(clients[n], *sent[n][-1]) == 201:
                        acknowledged[n].add(item)
                except httpx.HTTPError:
                    return

        threads = [threading.Thread(target=visit, args=(n,)) for n in sent]
        for thread in threads:
            thread.start()
        while sum(map(len, acknowledged.values())) < 50:
            time.sleep(0.005)
        kill()
        for thread in threads:
            thread.join()
    assert 50 <= sum(map(len, acknowledged.values())) < 6 * len(items)  # it was killed in the middle
    with running(FILMS, "--database", database, *FAST) as (_, url):
        for n, client in enumerate(clients):
            client.base_url = httpx.URL(url)
            there = [row["item"] for row in client.get(f"{ME}/clicks").json()["clicks"]]
            assert len(there) == len(set(there))
            assert acknowledged[n] <= set(there) <= {item for item, _ in sent[n]}
            again = {item: click(client, item, key) for item, key in sent[n]}
            assert {item for item, status in again.items() if status == 200} == set(there)
            assert client.get(ME).json()["clicks"] == len(sent[n])
            client.close()
    engine = connect(database)
    with reading(engine) as db:
        assert recount(db) == []
    engine.dispose()


def test_what_cannot_be_served_is_one_line(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item\n1,2\n")
    (tmp_path / "short").write_text("short")
    wrong = {
        ("--database", "mysql://x"): "sqlite and postgresql",
        ("--database", "no/such/folder.sqlite"): "cannot be opened",
        ("--host", "256.0.0.1"): "cannot listen",
        ("--admin-token-file", "short"): "at least 20",
        ("--admin-token-file", "missing"): "missing",
        ("missing.csv",): "missing.csv",
        ("log.csv", "--sample", "films"): "one of them",
        ("--sample", "missing"): "missing",
        ("log.csv", "--like", "3"): "like needs a rating",
        ("log.csv", "--titles", "missing"): "missing",
    }
    for arguments, reason in wrong.items():
        said = recveil("advisor", "serve", "--port", "0", *arguments, code=1).stderr.strip().splitlines()
        assert reason in said[-1], said
        assert said[-1].startswith("recveil: ")


def test_the_admin_token_is_never_made_where_nobody_sees_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECVEIL_ADMIN_TOKEN", raising=False)
    assert _admin_token(None) is None  # standard error is no terminal here
    assert "RECVEIL_ADMIN_TOKEN" in capfd.readouterr().err
    monkeypatch.setenv("RECVEIL_ADMIN_TOKEN", "x" * 30)
    assert _admin_token(None) == "x" * 30
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "movies.csv",
            'movieId,title,genres\n1,"Toy Story, the (1995)",x\n2,Ä,y\n',
            {"1": "Toy Story, the (1995)", "2": "Ä"},
        ),
        ("movies.dat", "1::Toy Story (1995)::Animation\n2::Jumanji::x\n", {"1": "Toy Story (1995)", "2": "Jumanji"}),
        ("u.item", '1|Toy "Story|01-Jan-1995\n2|GoldenEye|x\n', {"1": 'Toy "Story', "2": "GoldenEye"}),
        ("items.tsv", "item\tyear\tname\na\t1\tAlpha\nb\t2\t\n", {"a": "Alpha"}),
    ],
)
def test_titles_come_from_the_usual_tables(tmp_path: Path, name: str, text: str, expected: dict[str, str]) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1" if name == "u.item" else "utf-8")
    assert read_titles(str(tmp_path / name)) == expected
