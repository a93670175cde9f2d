"""The advisor's server as a hostile outsider meets it: headers, slow sockets, strangers, other names, other methods."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from serving import ADMIN, API, ITEMS, ME, alone, click, client_of, join, opened, running
from sqlalchemy import func, select, update

from recveil.advisor import connections
from recveil.advisor.applying import apply
from recveil.advisor.limits import RateLimit, network
from recveil.advisor.loading import load
from recveil.advisor.problems import Problem
from recveil.advisor.schema import people
from recveil.advisor.service import Settings, open_advisor
from recveil.advisor.store import DAY, check_clock, now, open_store, reading, recount
from recveil.advisor.writes import Click, Erase, Join, Stock
from recveil.clicks.profiles import clicks
from recveil.data import from_ids
from recveil.errors import RecveilError

FILMS = "sample:films?users=60,items=50"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestClient]:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as client:
        yield client


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(FILMS, "--database", str(tmp_path_factory.mktemp("attacked") / "db.sqlite")) as (_, found):
        yield found.rstrip("/")


def raw(url: str) -> socket.socket:
    at = urlsplit(url)
    return socket.create_connection((at.hostname, at.port), timeout=30)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionError:
        pass
    return found


def test_a_header_without_end_is_cut_and_keeps_nobody_waiting(url: str) -> None:
    took: list[float] = []
    stop = threading.Event()

    def others() -> None:
        with httpx.Client(base_url=url) as client:
            while not stop.is_set():
                begin = time.perf_counter()
                assert client.get(f"{API}/health").status_code == 200
                took.append(time.perf_counter() - begin)

    other = threading.Thread(target=others)
    other.start()
    while not took:
        time.sleep(0.01)
    sent = [0] * 10
    for n in range(len(sent)):
        with raw(url) as attacker:
            attacker.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            try:
                for sent[n] in range(300):
                    attacker.sendall(b"a" * 1_000_000)
            except OSError:
                continue
            assert rest(attacker).startswith(b"HTTP/1.1 431")
    stop.set()
    other.join()
    assert max(sent) < 20  # MB, in buffers on the way, of 300
    assert max(took) < 2.0


def test_many_short_headers_are_as_long(url: str) -> None:
    with raw(url) as attacker:
        attacker.sendall(
            b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(6000)) + b"\r\n"
        )
        assert rest(attacker).startswith(b"HTTP/1.1 431")


def test_an_answer_may_take_us_long_and_must_be_taken_soon() -> None:
    import uvicorn

    size = 50_000_000

    async def application(scope: Any, _: Any, send: Any) -> None:
        headers = [(b"content-length", str(size if scope["path"] == "/large" else 2).encode())]
        if scope["path"] == "/slow":
            await asyncio.sleep(1.5)  # longer than anybody may take to ask, or to take an answer
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * size if scope["path"] == "/large" else b"ok"})

    protocol = connections.bounded(patience=0.5)
    served = uvicorn.Server(
        uvicorn.Config(application, port=0, http=protocol, log_config=None, ws="none", lifespan="off")
    )
    thread = threading.Thread(target=lambda: asyncio.run(served.serve()))
    thread.start()
    while not served.started:
        time.sleep(0.01)
    port = served.servers[0].sockets[0].getsockname()[1]
    ask = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try:
        with ExitStack() as stack:
            slow, large, both = (
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(3)
            )
            slow.sendall(ask % b"/slow")
            large.sendall(ask % b"/large")
            both.sendall(ask % b"/large" + ask % b"/slow")  # what waits behind an answer buys it no time
            assert rest(slow).endswith(b"ok")
            time.sleep(1)
            assert len(rest(large)) < size and len(rest(both)) < size
    finally:
        served.should_exit = True
        thread.join()


def test_slow_sockets_are_gone_in_time_and_one_network_cannot_take_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    with opened(str(tmp_path / "advisor.sqlite")) as advisor:
        from recveil.advisor.app import create_app

        monkeypatch.setattr(connections, "EACH", 30)
        protocol = connections.bounded(total=200, patience=1.0)
        config = uvicorn.Config(create_app(advisor), port=0, http=protocol, log_config=None, ws="none", lifespan="off")
        served = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(served.serve()))
        thread.start()
        while not served.started:
            time.sleep(0.01)
        port = served.servers[0].sockets[0].getsockname()[1]
        try:
            slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(30)]
            for n, one in enumerate(slow):
                one.sendall(
                    b"" if n % 2 else b"PUT /api/v1/people/me/strategy HTTP/1.1\r\nHost: localhost\r\nContent-Le"
                )
            begin = time.monotonic()
            over = socket.create_connection(("127.0.0.1", port), timeout=20)
            over.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert rest(over).startswith(b"HTTP/1.1 200")  # whoever really asks takes the place of a slow one
            assert rest(slow[0]) == b""
            for n, one in enumerate(slow[1:]):
                with suppress(OSError):
                    while one.fileno() >= 0 and time.monotonic() - begin < 0.7 and n < 2:
                        time.sleep(0.1)  # those who drip are no quicker
                        one.sendall(b"x")
                rest(one)
            assert time.monotonic() - begin < 5
            for one in [*slow, over]:
                one.close()
            assert httpx.get(f"http://127.0.0.1:{port}{API}/health").status_code == 200
        finally:
            served.should_exit = True
            thread.join()


def test_a_large_body_is_not_read_for_whoever_is_no_admin(url: str) -> None:
    for size in (b"Content-Length: 8000000", b"Transfer-Encoding: chunked"):
        with raw(url) as attacker:
            attacker.sendall(
                b"PUT /api/v1/items HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n" + size + b"\r\n\r\n"
            )
            assert rest(attacker).startswith(b"HTTP/1.1 401")  # before a byte of it was sent


def test_guesses_are_counted_by_network_and_people_are_not(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        anna = join(server)
        assert server.get(ME, headers=anna).status_code == 200
        forged = [server.get(ME, headers={"Authorization": f"Bearer {n}"}).status_code for n in range(70)]
        assert forged[0] == 401 and forged[-1] == 429
        admin = server.put(f"{API}/items", json={"items": []}, headers={"Authorization": f"Bearer {ADMIN}"})
        assert admin.status_code == 429  # from this network nobody is believed for a while
        assert click(server, anna, "item-1").status_code == 201  # but she was known before


def test_public_things_are_limited_by_network(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite"), reads=1.0) as advisor, client_of(advisor) as server:
        found = [server.get(f"{API}/items").status_code for _ in range(10)]
        assert found[0] == 200 and found[-1] == 429


def test_an_address_stands_for_its_network() -> None:
    assert network("2001:db8:1:2:3:4:5:6") == network("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert network("2001:db8:1:3::1") != network("2001:db8:1:2::1")
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") == "192.0.2.1"
    assert network("fe80::1%eth0") == "fe80::/64"
    assert network("testclient") == "testclient"


def test_other_names_are_not_ours(server: TestClient) -> None:
    for host in ("testserver", "localhost:80", "127.0.0.1", "[::1]:8000"):
        assert server.get(f"{API}/health", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "", "localhost.evil.example", "127.0.0.1.evil.example:80"):
        assert server.get(f"{API}/health", headers={"Host": host}).status_code == 421
    twice = [("Host", "localhost"), ("Host", "elsewhere.example")]
    assert server.get(f"{API}/health", headers=twice).status_code == 421


def test_another_site_makes_no_accounts(server: TestClient) -> None:
    assert server.post(f"{API}/people", headers={"Origin": "https://evil.example"}).status_code == 403


def test_a_browser_has_one_account_also_without_its_storage(server: TestClient) -> None:
    browser = {"X-Recveil-Request": "1"}
    first = server.post(f"{API}/people", headers=browser)
    again = server.post(f"{API}/people", headers=browser)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    server.delete(ME, headers=browser)
    server.cookies.set("recveil", first.json()["token"])
    assert server.post(f"{API}/people", headers=browser).status_code == 201  # that one is gone


def test_over_https_the_cookie_cannot_be_set_by_others(server: TestClient) -> None:
    joined = server.post(f"https://testserver{API}/people", headers={"X-Recveil-Request": "1"})
    assert joined.headers["set-cookie"].startswith("__Host-recveil=")
    assert server.get(f"https://testserver{ME}").status_code == 200
    stale = {"Cookie": f"recveil={joined.json()['token']}"}
    server.cookies.clear()
    assert server.get(f"https://testserver{ME}", headers=stale).status_code == 401


def test_head_allow_etag_and_encodings(server: TestClient) -> None:
    head = server.head(f"{API}/profiles")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 10
    assert server.head("/").status_code == 200
    assert server.post(f"{API}/items").headers["allow"] == "GET, HEAD, PUT"
    assert server.get(f"{API}/profiles", headers={"If-None-Match": "*"}).status_code == 304
    several = f'"x", {head.headers["etag"]}'
    assert server.get(f"{API}/catalogue", headers={"If-None-Match": several}).status_code == 200
    assert server.get(f"{API}/profiles", headers={"If-None-Match": several}).status_code == 304
    for accepted, packed in (
        ("gzip;q=0", False),
        ("gzip", True),
        ("*", True),
        ("identity", False),
        ("gzip;q=0, *", False),
    ):
        answer = server.get(f"{API}/profiles", headers={"Accept-Encoding": accepted})
        assert (answer.headers.get("content-encoding") == "gzip") is packed, accepted


def test_it_is_ready_only_with_its_database(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        assert server.get(f"{API}/ready").status_code == 200
        advisor.engine.dispose()
        for file in tmp_path.iterdir():
            file.unlink()
        (tmp_path / "advisor.sqlite").mkdir()
        assert server.get(f"{API}/ready").status_code == 503
        assert server.get(f"{API}/health").status_code == 200


# --- the operator -------------------------------------------------------------------------------------------------


def test_failing_upkeep_keeps_no_other_work_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.advisor.applying import Transaction

    monkeypatch.setattr(Transaction, "forget", lambda _: 1 / 0)
    with opened(str(tmp_path / "advisor.sqlite"), publish_every=0.05) as advisor, client_of(advisor) as server:
        click(server, join(server), "item-1")
        for _ in range(200):
            if server.get(f"{API}/profiles").json()["profiles"]["item-1"] == [1, 0]:
                return
            time.sleep(0.05)
    raise AssertionError("nothing was published")


def test_people_who_erase_while_others_click_on_two_servers(database: str) -> None:
    """Batches of several people on two engines, in orders that lock in a circle: every erasure is done."""
    engines = [open_store(database), open_store(database)]
    tokens = [bytes([n, m]) * 16 for n in range(30) for m in range(2)]
    apply(engines[0], [Stock(ITEMS), *map(Join, tokens)])
    wrong: list[object] = []

    def work(side: int) -> None:
        rng = np.random.default_rng(side)
        mine = [token for token in tokens if token[1] == side]
        other = [token for token in tokens if token[1] != side]
        for n, gone in enumerate(mine):
            some = [Click(tokens[k], f"item-{rng.integers(8)}", 1, f"{side}-{n}-{k}") for k in rng.permutation(60)[:6]]
            answers = apply(engines[side], [*some[:3], Erase(gone), *some[3:], Click(other[n], "item-0", 1, f"{n}")])
            if isinstance(answers[3], Problem):
                wrong.append(answers[3].detail)

    threads = [threading.Thread(target=work, args=(side,)) for side in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with reading(engines[0]) as db:
        assert recount(db) == []
        assert db.execute(select(func.count()).select_from(people)).scalar_one() == 0
    for engine in engines:
        engine.dispose()


def test_a_clock_far_ahead_erases_nobody(recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store("advisor.sqlite")
    apply(engine, [Stock(ITEMS), *(Join(bytes([n]) * 32) for n in range(11))])
    check_clock(engine)
    with engine.begin() as db:
        db.execute(update(people).values(seen=now() - 366 * DAY))
    with pytest.raises(RecveilError, match="--trust-clock"):
        check_clock(engine)
    said = recveil("advisor", "serve", "--port", "0", "--database", "advisor.sqlite", code=1).stderr
    assert "set the clock" in said
    with engine.begin() as db:
        db.execute(update(people).values(seen=now() + 3 * DAY))
    with pytest.raises(RecveilError, match="newest visit"):
        check_clock(engine)
    advisor = open_advisor(engine, Settings())
    advisor.started -= 2 * DAY  # the clock jumps while the server runs
    monkeypatch.setattr(advisor, "commit", None)
    alone(advisor.forget())
    with reading(engine) as db:
        assert db.execute(select(func.count()).select_from(people)).scalar_one() == 11
    engine.dispose()


def test_a_start_that_cannot_succeed_says_why_in_a_line(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is no database, whatever its name says " * 50)
    open_store("whole.sqlite").dispose()
    whole = (tmp_path / "whole.sqlite").read_bytes()
    (tmp_path / "half.sqlite").write_bytes(whole[: len(whole) // 2])
    newer = open_store("newer.sqlite")
    with newer.begin() as db:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = 'of the future'")
    newer.dispose()
    for name, reason in (("text", "not a database"), ("half", "malformed"), ("newer", "newer recveil")):
        said = (
            recveil("advisor", "serve", "--port", "0", "--database", f"{name}.sqlite", code=1)
            .stderr.strip()
            .splitlines()
        )
        assert said[-1].startswith("recveil: ") and reason in said[-1]
    said = recveil("advisor", "serve", "--port", "0", "--trust-proxy", "10.0.0.0/99", code=1).stderr
    assert "is no network" in said


def test_two_first_starts_at_once(database: str) -> None:
    done: list[object] = []

    def start() -> None:
        try:
            engine = open_store(database)
            done.append(load(engine, log, {}))
            engine.dispose()
        except Exception as error:
            done.append(error)

    user, item = np.divmod(np.arange(300), 30)
    log = clicks(from_ids(pl.Series(user), pl.Series([f"i{n}" for n in item]), rating=np.full(300, 5.0)), 3)
    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, done)) == ["False", "False", "True"]


def test_clicking_and_undoing_for_ever_fills_no_disk(tmp_path: Path) -> None:
    """Each click leaves a key for 30 days: a person has so many a day."""
    with opened(str(tmp_path / "advisor.sqlite"), rate=0.1) as advisor:
        advisor.requests = RateLimit(1e5, 10**5)
        with client_of(advisor) as server:
            who = join(server)
            told = [click(server, who, "item-1").status_code]
            for _ in range(14):
                server.delete(f"{ME}/clicks/item-1", headers=who)
                told.append(click(server, who, "item-1").status_code)
            assert told == [201] * 11 + [429] * 4
            assert click(server, join(server), "item-1").status_code == 201


def test_a_search_counts_for_more_than_a_look(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite"), reads=10.0) as advisor, client_of(advisor) as server:
        told = [server.get(f"{API}/items?query=e").status_code for _ in range(8)]
        assert told == [200] * 6 + [429] * 2
        assert server.get(f"{API}/profiles").status_code == 200
