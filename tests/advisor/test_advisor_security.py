"""Tokens, cookies, other sites, headers, limits, and what the log says."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from serving import API, ME, click, client_of, join, opened

from recveil.advisor.identity import COOKIE
from recveil.advisor.limits import REMEMBERED, RateLimit
from recveil.advisor.problems import Problem

BROWSER = {"X-Recveil-Request": "1"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestClient]:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as client:
        yield client


def test_a_browser_gets_a_cookie_that_scripts_and_other_sites_cannot_use(server: TestClient) -> None:
    joined = server.post(f"{API}/people", headers=BROWSER)
    cookie = joined.headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/", f"max-age={365 * 86_400}"):
        assert part in cookie
    assert "secure" not in cookie
    assert len(joined.json()["token"]) >= 43
    assert server.get(ME).status_code == 200
    assert "max-age=0" in server.delete(ME, headers=BROWSER).headers["set-cookie"].lower()
    assert server.get(ME).status_code == 401


def test_over_https_the_cookie_is_secure(server: TestClient) -> None:
    joined = server.post("https://testserver" + f"{API}/people", headers=BROWSER)
    assert "; Secure" in joined.headers["set-cookie"]


def test_without_the_header_of_a_browser_there_is_no_cookie(server: TestClient) -> None:
    assert "set-cookie" not in server.post(f"{API}/people").headers


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Recveil-Request": "0"},
        {**BROWSER, "Origin": "http://elsewhere.example"},
        {**BROWSER, "Origin": "https://testserver"},
        {**BROWSER, "Origin": "null"},
    ],
)
def test_what_another_site_makes_a_browser_ask_is_refused(server: TestClient, headers: dict[str, str]) -> None:
    server.post(f"{API}/people", headers=BROWSER)
    key = {"Idempotency-Key": "k"}
    asked = [
        server.put(f"{ME}/clicks/item-1", json={"sign": "like"}, headers={**headers, **key}),
        server.delete(f"{ME}/clicks/item-1", headers=headers),
        server.put(f"{ME}/strategy", json={"strategy": "basic"}, headers=headers),
        server.delete(ME, headers=headers),
    ]
    assert {answer.status_code for answer in asked} == {403}
    assert server.get(ME).json() == {"clicks": 0, "strategy": None}
    if headers:
        assert server.post(f"{API}/people", headers=headers).status_code == 403


def test_the_own_page_may(server: TestClient) -> None:
    server.post(f"{API}/people", headers=BROWSER)
    headers = {**BROWSER, "Origin": "http://testserver", "Idempotency-Key": "k"}
    assert server.put(f"{ME}/clicks/item-1", json={"sign": "like"}, headers=headers).status_code == 201


def test_a_simple_form_of_another_site_cannot_be_a_click(server: TestClient) -> None:
    headers = {**join(server), "Idempotency-Key": "k", "Content-Type": "text/plain"}
    assert server.put(f"{ME}/clicks/item-1", content=b'{"sign":"like"}', headers=headers).status_code == 422


def test_tokens_are_not_on_the_disk(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        token = join(server)["Authorization"].removeprefix("Bearer ")
        click(server, {"Authorization": f"Bearer {token}"}, "item-1", key="the-very-key")
        files = list(tmp_path.iterdir())
        assert {file.stat().st_mode & 0o077 for file in files} == {0}  # nor for others on the machine to read
        assert len(files) >= 2  # with the write-ahead log
        content = b"".join(file.read_bytes() for file in files)
    assert b"item-1" in content
    assert token.encode() not in content
    assert b"the-very-key" not in content


def test_every_answer_carries_the_security_headers(server: TestClient) -> None:
    for answer in (server.get(f"{API}/health"), server.get("/nowhere"), server.get(f"{API}/profiles"), server.get(ME)):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers


def test_an_error_of_ours_says_nothing_of_the_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor:
        monkeypatch.setattr(type(advisor.snapshot), "search", lambda *_: 1 / 0)
        with client_of(advisor) as server:
            answer = server.get(f"{API}/items")
    assert answer.status_code == 500
    assert "ZeroDivision" not in answer.text
    assert answer.json()["title"] == "Internal Server Error"
    assert "content-security-policy" in answer.headers


def test_other_sites_read_only_what_is_public(server: TestClient) -> None:
    origin = {"Origin": "https://platform.example"}
    for path in (f"{API}/items", f"{API}/profiles"):
        assert server.get(path, headers=origin).headers["access-control-allow-origin"] == "*"
    for path in (ME, f"{ME}/clicks", f"{API}/health", "/"):
        answer = server.get(path, headers={**origin, **join(server)})
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


def test_there_is_no_page_that_loads_from_elsewhere(server: TestClient) -> None:
    assert {server.get(path).status_code for path in ("/docs", "/redoc", f"{API}/docs")} == {404}
    assert server.get(f"{API}/openapi.json").status_code == 200


def test_the_log_names_no_token_no_item_and_no_address(server: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        who = join(server)
        click(server, who, "item-1", key="some-key")
        click(server, who, "item-9")
        server.get(f"{API}/items?query=Title+3")
        server.delete(f"{ME}/clicks/item-1", headers=who)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("recveil", "uvicorn", "sql"))]
    assert len(ours) == 5
    said = "\n".join(ours)
    assert "/clicks/{item" in said
    for secret in (who["Authorization"][7:], "item-1", "item-9", "some-key", "Title", "testclient"):
        assert secret not in said


def test_too_many_requests_wait(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite"), rate=1.0, accounts=3) as advisor, client_of(advisor) as server:
        one, other = join(server), join(server)
        answers = [server.get(ME, headers=one) for _ in range(10)]
        assert [answer.status_code for answer in answers[:4]] == [200] * 4
        assert answers[-1].status_code == 429
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 2
        assert server.get(ME, headers=other).status_code == 200
        assert server.post(f"{API}/people").status_code == 201
        late = server.post(f"{API}/people")
        assert late.status_code == 429
        assert int(late.headers["retry-after"]) > 1000


def test_limits_remember_a_bounded_number_of_callers() -> None:
    limit = RateLimit(rate=1.0, burst=1)
    for caller in range(REMEMBERED + 10):
        limit.spend(caller)
    assert len(limit._paid) == REMEMBERED
    with pytest.raises(Problem):
        limit.spend(REMEMBERED + 9)


def test_a_cookie_is_renewed_by_a_visit(tmp_path: Path) -> None:
    assert COOKIE == "recveil"
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        server.post(f"{API}/people", headers=BROWSER)
        assert "set-cookie" not in server.get(ME).headers
        with advisor.engine.begin() as db:
            db.exec_driver_sql("UPDATE people SET seen = seen - 100000")
        assert "max-age=31536000" in server.get(ME).headers["set-cookie"].lower()
        assert "set-cookie" not in server.get(ME).headers
