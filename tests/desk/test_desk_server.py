"""The server of the desk, as a process of its own: who is let in, what is refused where, publishing."""

from __future__ import annotations

import json
import shlex
import shutil
import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
import httpx2 as httpx
from desks import RunningDesk, decides

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.standing import STEPS
from recveil.errors import RecveilError
from recveil.governance.verification import verify_bundle

SMALL = "sample:films?users=200,items=60"
UNTIL = "2099-12-31"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    with RunningDesk(tmp_path_factory.mktemp("desk"), SMALL) as running:
        running.until_idle()
        yield running


# --- who is let in ----------------------------------------------------------------------------------------------


def test_nothing_is_shown_without_the_cookie_and_a_token_works_once(desk: RunningDesk) -> None:
    with httpx.Client(base_url=desk.base) as stranger:
        for path in ("/start", "/api/state", "/api/events", "/api/sheet"):
            assert stranger.get(path).status_code == 401, path
        for token in ("", "?token=wrong", desk.address.removeprefix(desk.base)):
            answer = stranger.get(f"/{token.lstrip('/')}")
            assert answer.status_code == 403 and not answer.cookies
        for path in ("/static/desk.css", "/shared/dom.js"):  # what is in the package is no secret
            assert stranger.get(path).status_code == 200, path


@pytest.mark.parametrize("cookie", ["x", "", "a" * 43])
def test_a_wrong_cookie_opens_nothing(desk: RunningDesk, cookie: str) -> None:
    name = next(iter(desk.client.cookies))
    with httpx.Client(base_url=desk.base, headers={"Cookie": f"{name}={cookie}"}) as stranger:
        assert stranger.get("/api/state").status_code == 401


def test_the_cookie_is_for_this_site_and_no_script(desk: RunningDesk) -> None:
    said = desk.first.headers["set-cookie"].lower()
    assert "httponly" in said and "samesite=strict" in said and "domain" not in said


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:{port}", "127.0.0.1.nip.io:{port}"])
def test_another_name_for_this_machine_is_refused(desk: RunningDesk, host: str) -> None:
    """DNS rebinding: the page of evil.example, whose name now points here, asks with the cookie it cannot have."""
    asked = {"Host": host.format(port=desk.base.rpartition(":")[2])}
    assert desk.client.get("/api/state", headers=asked).status_code == 421
    assert desk.client.post("/api/work", json={"kind": "exposure"}, headers=asked).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_origin_drives_nothing_even_with_the_cookie(
    desk: RunningDesk, headers: dict[str, str]
) -> None:
    before = desk.state()["project"]["version"]
    for method, path, body in (
        ("PATCH", "/api/project", {"choices": {"recipient": {"name": "team"}}}),
        ("POST", "/api/work", {"kind": "exposure"}),
        ("POST", "/api/withdraw", {"name": "J", "role": "r", "reason": "w"}),
        ("POST", "/api/upload?name=x.csv", {}),
    ):
        assert desk.client.request(method, path, json=body, headers=headers).status_code == 403
    assert desk.state()["project"]["version"] == before
    assert desk.client.get("/api/state", headers=headers).status_code == 403


def test_a_change_needs_an_origin_at_all(desk: RunningDesk) -> None:
    with httpx.Client(base_url=desk.base, cookies=desk.client.cookies) as quiet:
        assert quiet.get("/api/state").status_code == 200
        assert quiet.post("/api/work", json={"kind": "exposure"}).status_code == 403


def test_it_listens_on_this_machine_alone_and_no_answer_may_load_from_elsewhere(desk: RunningDesk) -> None:
    port = int(desk.base.rpartition(":")[2])
    with socket.socket() as other:
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", port)) != 0
    for slug in STEPS:
        answer = desk.client.get(f"/{slug}")
        assert answer.status_code == 200, slug
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


# --- what is refused, and at which field ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field", "says"),
    [
        ("POST", "/api/start", {"source": "nowhere.csv"}, 422, "data.source", "there is no such file"),
        ("PATCH", "/api/project", {"choices": {"use": {"keep": 7}}}, 422, "use.keep", "a share"),
        ("PATCH", "/api/project", {"choices": {"recipient": {"limits": {"most_found": "5: x"}}}}, 422,
         "recipient.limits.most_found", "a share from 0 to 1"),
        ("PATCH", "/api/project", {"choices": {"candidates": {"specs": ["<b>"]}}}, 422, "candidates.specs", "unknown"),
        ("PATCH", "/api/project", {"choices": {"candidates": {"files": ["no.csv"]}}}, 422, "candidates.files", "no "),
        ("POST", "/api/work", {"kind": "lunch"}, 422, None, "there is no work of the kind lunch"),
        ("POST", "/api/work", {"kind": "bundle"}, 422, "candidates.chosen", "choose one"),
        ("POST", "/api/work", {"kind": "publish"}, 422, "candidates.chosen", "not made yet"),
        ("POST", "/api/decide", {}, 404, None, "Not Found"),
        ("GET", "/api/dossier", None, 422, "candidates.chosen", "not made yet"),
        ("GET", "/api/candidates", None, 422, "candidates.specs", "nothing to compare"),
        ("GET", "/api/nothing", None, 404, None, "Not Found"),
        ("PATCH", "/api/project", {"choices": 3}, 422, "choices", "valid dictionary"),
    ],
)  # fmt: skip
def test_bad_input_gets_the_command_lines_line_at_its_field(
    desk: RunningDesk, method: str, path: str, body: Any, status: int, field: str | None, says: str
) -> None:
    answer = desk.client.request(method, path, json=body)
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, document["field"]) == (status, field), document
    assert says in document["detail"] and "\n" not in document["detail"] and "Traceback" not in document["detail"]


def test_an_older_version_of_the_choices_is_refused_and_the_newer_one_shown(desk: RunningDesk) -> None:
    version = desk.state()["project"]["version"]
    desk.choose(recipient={"purpose": "the first tab"})
    late = {"version": version, "choices": {"recipient": {"purpose": "the second tab"}}}
    answer = desk.client.patch("/api/project", json=late)
    assert answer.status_code == 409
    assert answer.json()["state"]["choices"]["recipient"]["purpose"] == "the first tab"


def test_a_file_that_says_nothing_is_understood_once_its_columns_are_chosen(desk: RunningDesk) -> None:
    rows = "\n".join(f"{n % 30},{n % 11},{n % 5 + 1}" for n in range(400))
    sent = ('"Kunde, Nr.",was=gesehen,Güte\n' + rows).encode()
    asked = {"name": "../<img src=x onerror=alert(1)>.csv"}
    try:
        answer = desk.client.post("/api/upload", params=asked, content=sent)
        assert answer.status_code == 201, answer.text
        path = answer.json()["path"]
        assert path.startswith("uploads/") and not set("<>()=") & set(path) and ".." not in path
        assert (desk.folder / path).read_bytes() == sent and (desk.folder / path).stat().st_mode & 0o077 == 0
        desk.until_idle()
        found = desk.get("/api/overview")
        assert "no column for user" in found["problem"] and found["names"] == ["Kunde, Nr.", "was=gesehen", "Güte"]
        assert desk.state()["steps"]["start"]["state"] == "failed"
        desk.choose(data={"columns": {"user": "Kunde, Nr.", "item": "was=gesehen", "rating": "Güte"}})
        desk.work("overview")
        desk.until_idle()
        found = desk.get("/api/overview")
        assert (found["users"], found["items"], found["scale"]) == (30, 11, "1..5")
        picture = desk.client.post("/api/upload", params={"name": "cat.png"}, content=b"\x89PNG\r\n\x1a\n" * 9)
        assert picture.status_code == 201
        work = desk.until_idle()["work"]
        assert any(w["state"] == "failed" and w["field"] == "data.source" for w in work), work
    finally:
        desk.choose(data={"source": SMALL, "columns": {}})


GERMAN = {"user": "Kunde", "item": "Artikel", "rating": "Güte", "time": "Tag"}


def test_a_german_file_is_shown_as_it_is_read_and_its_choices_change_it_at_once(desk: RunningDesk) -> None:
    rows = [f"k{u};Müsli {i};{(u * i) % 5 + 1},5;{(u + i) % 28 + 1:02}.03.2024" for u in range(30) for i in range(8)]
    sent = "\n".join(["Kunde;Artikel;Güte;Tag", *rows]).encode("cp1252")
    try:
        source = desk.client.post("/api/upload", params={"name": "umsatz.csv"}, content=sent).json()["path"]

        def look(how: dict[str, str] | None = None) -> dict[str, Any]:
            asked = {"source": source, "columns": GERMAN, "how": how}
            return dict(desk.client.post("/api/look", json=asked).json())

        seen = look()
        said = {"encoding": "cp1252", "separator": ";", "decimal": ",", "time_format": "%d.%m.%Y", "header": "yes"}
        assert seen["how"] == said and seen["names"] == list(GERMAN.values())
        assert [cell["text"] for cell in seen["rows"][0]] == ["k0", "Müsli 0", "1.5", "2024-03-01"]
        assert not any(cell["bad"] for row in seen["rows"] for cell in row) and len(seen["rows"]) == 5
        wrong = look({"decimal": ".", "time_format": ""})["rows"][0]
        assert [cell["bad"] for cell in wrong] == [False, False, True, True]
        assert "Müsli" not in str(look({"encoding": "mac-roman"})["rows"])
        assert len(look({"separator": "|"})["names"]) == 1
        assert look({"header": "no"})["rows"][0][0]["text"] == "Kunde"
        refused = desk.client.post("/api/look", json={"source": source, "how": {"colour": "red"}})
        assert refused.status_code == 422 and "nothing is known of colour" in refused.json()["detail"]

        assert desk.client.post("/api/start", json={"source": source}).status_code == 200
        desk.until_idle()
        assert {c["name"]: c["role"] for c in desk.get("/api/overview")["columns"]}["Tag"] == "time"  # a day, no tag
        begun = desk.client.post("/api/start", json={"source": source, "columns": GERMAN, "how": {"decimal": ","}})
        assert begun.status_code == 200, begun.text
        desk.until_idle()
        found = desk.get("/api/overview")
        assert (found["problem"], found["users"], found["items"], found["rating"]["max"]) == ("", 30, 8, 5.5)
        assert found["time"] and {c["name"]: c["role"] for c in found["columns"]} == {v: k for k, v in GERMAN.items()}
        assert look()["how"] == said
        command = desk.state()["commands"]["start"][0]
        assert "--schema" in command and "--columns" not in command
    finally:
        desk.choose(data={"source": SMALL, "columns": {}, "schema": ""})


def test_a_broken_desk_toml_is_a_line_and_not_the_end(desk: RunningDesk) -> None:
    file = desk.folder / "desk.toml"
    text = file.read_text(encoding="utf-8")
    try:
        file.write_text("[data", encoding="utf-8")
        assert "desk.toml cannot be read" in desk.state()["problem"]["detail"]
        assert desk.client.get("/start").status_code == 200
        assert desk.client.patch("/api/project", json={"choices": {}}).status_code == 422
    finally:
        file.write_text(text, encoding="utf-8")
    assert "problem" not in desk.state()


def test_pages_are_told_of_changes(desk: RunningDesk) -> None:
    with desk.client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: state"
        assert json.loads(next(lines).removeprefix("data: "))["choices"]["data"]["source"] == SMALL
        desk.choose(recipient={"purpose": "told to all"})
        told = next(line for line in lines if "told to all" in line)
        assert json.loads(told.removeprefix("data: "))["choices"]["recipient"]["purpose"] == "told to all"


# --- publishing, the same from the command line -----------------------------------------------------------


def test_from_a_bundle_to_what_goes_out(desk: RunningDesk) -> None:
    desk.choose(
        candidates={"specs": ["pseudonymise"], "chosen": "pseudonymise"},
        recipient={"name": "team"},
        red_team={"measures": ["linkage"], "known": "2,4"},
        publish={"exports": ["zip", "huggingface"]},
    )
    desk.work("bundle")
    desk.until_idle()
    desk.work("red-team")
    desk.until_idle()
    found = desk.get("/api/red-team")
    assert [c["criterion"] for c in found["criteria"]] == ["singling out", "linkability", "inference"]
    assert found["criteria"][0]["findings"][0]["control"] is not None  # people were held out
    assert desk.get("/api/sheet")["verdict"]["outcome"] == "against"
    out = desk.folder / "published"
    assert desk.client.post("/api/work", json={"kind": "publish"}).json()["field"] == "officer.decision"
    decides(desk.folder, "refused")
    assert "it was refused" in desk.client.post("/api/work", json={"kind": "publish"}).json()["detail"]
    assert not out.exists()
    with pytest.raises(ChoiceError, match="a day such as"):
        decides(desk.folder, until="yesterday")
    with pytest.raises(ChoiceError, match="speaks against") as bare:
        decides(desk.folder, reason="")
    assert bare.value.field == "officer.reason"
    with pytest.raises(RecveilError, match="the evidence changed"):
        decides(desk.folder, sheet="0" * 64)
    decides(desk.folder, until=UNTIL, conditions=["no sale"])
    assert desk.state()["steps"]["decide"]["says"].startswith("approved: approved on")
    desk.work("publish")
    desk.until_idle()
    shown = desk.get("/api/published")
    assert shown["verification"]["verified"], shown["verification"]
    paths = {file["path"] for file in shown["goes_out"]}
    assert {"bundle/manifest.json", "bundle/claims.jsonl", "bundle.zip", "huggingface/README.md"} <= paths
    inside = b"".join(file.read_bytes() for file in out.rglob("*") if file.is_file())
    assert str(desk.folder).encode() not in inside
    watched = desk.get("/api/watch")
    assert len(watched["releases"]) == 1 and watched["expires"] == UNTIL and watched["promise_nothing"] == 1
    for key in (desk.folder / "keys").iterdir():
        assert key.stat().st_mode & 0o077 == 0
    assert desk.state()["steps"]["publish"]["state"] == "done"
    # For anybody else it is undecided, and what is refused no longer lies where it goes out from.
    assert desk.choose(recipient={"name": "public"})["steps"]["decide"]["state"] == "open"
    assert "nobody has approved it" in desk.client.post("/api/work", json={"kind": "publish"}).json()["detail"]
    desk.choose(recipient={"name": "team"})
    decides(desk.folder, "refused")
    assert not list(out.iterdir())
    assert len(list((desk.folder / "withdrawn").iterdir())) == 1
    decides(desk.folder)


def test_the_commands_of_the_screens_are_taken_as_they_stand(desk: RunningDesk, recveil: Callable[..., Any]) -> None:
    """Of a folder of its own: with the keys of the desk and the terms of its sheets, and nothing else that it made."""
    shutil.copytree(desk.folder / "keys", "keys")
    Path("private").mkdir()
    for terms in (desk.folder / "private").glob("*-context.toml"):
        shutil.copy(terms, "private")
    Path("bundles").mkdir()
    shown = desk.choose(candidates={"measures": ["linkage"]})["commands"]
    assert list(shown) == list(STEPS)
    needs = {"recipient": "decide"}  # a screen whose command wants what a later one makes
    for slug in sorted(STEPS, key=lambda slug: STEPS.index(needs.get(slug, slug))):
        for line in shown[slug]:
            program, *words = shlex.split(line)
            assert program == "recveil"
            if words[0] != "run":  # the whole way, which another test takes
                recveil(*words)
    said = {claim.kind for claim in verify_bundle(next(Path("bundles").glob("bundle-*[!r]"))).claims.claims}
    assert said == {"released"}


def test_the_command_line_makes_the_same_bundle_byte_for_byte(desk: RunningDesk, recveil: Callable[..., Any]) -> None:
    desk.choose(release={"seed": 7}, candidates={"chosen": "mask:p=0.9"}, red_team={"measures": ["linkage"]})
    desk.work("bundle")
    desk.until_idle()
    with pytest.raises(RecveilError, match="made with a seed"):
        decides(desk.folder)
    desk.choose(officer={"decision": "approved"})
    name = desk.get("/api/bundle")["name"]
    found = recveil("run", desk.folder / "desk.toml", "--into", "again", "--no-compare", json_answer=True)
    assert found["published"] is None and found["decision"] is None
    ours, theirs = _hashes(desk.folder / "bundles" / name), _hashes(Path(found["bundle"]))
    assert ours == theirs and len(ours) >= 4
    again = recveil(
        "run", desk.folder / "desk.toml", "--no-compare", json_answer=True
    )  # in the folder of the page itself
    assert again["bundle"] == str(desk.folder / "bundles" / name)
    assert recveil("run", desk.folder / "desk.toml", "--into", "again", code=1).stderr.count("\n") == 1


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "claims.jsonl"
    }
