"""The ways from a platform to the advisor: the Python client, the JavaScript module, the element in one file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha384
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest
from advisor_server import Server

import recveil
from recveil.advisor.client import AdvisorClient, AdvisorRefusal
from recveil.advisor.elements import HERE, element

STATIC = HERE.parent / "static"
ADMIN = "an admin token that only this test knows"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server, and a platform's key to it."""
    folder = tmp_path_factory.mktemp("platform")
    (folder / "admin.txt").write_text(ADMIN)
    server = Server(folder, ("--admin-token-file", str(folder / "admin.txt"))).start()
    asked = Request(f"{server.url}/api/v1/platforms/owl", headers={"Authorization": f"Bearer {ADMIN}"}, method="PUT")
    yield server, json.load(urlopen(asked, timeout=20))["key"]
    server.stop()


def test_python(platform: tuple[Server, str]) -> None:
    server, key = platform
    client = AdvisorClient(server.url, key)
    assert key not in repr(client)
    with pytest.raises(AdvisorRefusal, match="no such person"):
        client.click("p1", "Crowd", "like")
    client.visit("p1")
    assert client.click("p1", "Crowd", "like", key="k").item == "Crowd"
    assert client.click("p1", "Crowd", "like", key="k").sign == "like"
    told = client.send(
        [{"person": "p2"}, *({"person": "p2", "item": f"Film {n:02d}", "sign": "like"} for n in range(30))]
    )
    assert (told.changed, told.refused, told.problems[0]) == (21, 10, (2, "there is no such item"))
    assert client.opinions([("p2", "Film 01", None), ("p2", "Film 02", "dislike")]).changed == 2
    many = client.opinions(("p2", "ü" * 350 + str(n), "like") for n in range(12_000))  # more than one batch can hold
    assert many.refused == 12_000 and many.problems[-1][0] > 9000
    found = client.clicks_of(["p1", "p2", "p3"])
    assert [len(found["p1"] or []), len(found["p2"] or []), found["p3"]] == [1, 19, None]
    assert client.recommendations("p1") and client.export("p1")["clicks"]
    client.undo("p1", "Crowd")
    assert client.clicks("p1") == []
    client.erase("p1")
    assert client.erase_all(["p1", "p2"]).same == 1
    assert AdvisorClient(server.url, ADMIN).put_items([("new/one", "A new one"), ("Crowd", "Crowd")]) == 1
    with pytest.raises(AdvisorRefusal, match="401"):
        AdvisorClient(server.url, "owl.wrong").visits(["p1"])


def test_what_passes_is_tried_again_with_the_same_key() -> None:
    keys, waited = [], []

    class Flaky(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            keys.append(self.headers["Idempotency-Key"])
            self.rfile.read(int(self.headers["Content-Length"]))
            if len(keys) == 1:
                return  # no answer at all
            body = b'{"item": "i", "sign": "like", "at": ""}'
            self.send_response(503 if len(keys) < 4 else 201)
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = AdvisorClient(f"http://127.0.0.1:{server.server_port}", "k", wait=waited.append)
        assert client.click("p", "i", "like").item == "i"
        server.shutdown()
    assert len(keys) == 4 and len(set(keys)) == 1 and waited == [0.1, 7.0, 7.0]


WALK = """
import { AdvisorClient, AdvisorRefusal } from "./client.js";
const client = new AdvisorClient(...process.argv.slice(2));
const told = [];
const refused_ = (refusal) => told.push(refusal instanceof AdvisorRefusal, refusal.status);
await client.click("j1", "Crowd", "like").catch(refused_);
await client.visits(["j1", "j2"]);
told.push((await client.click("j1", "Crowd", "like", "k")).sign, (await client.click("j1", "Crowd", "like", "k")).item);
const { changed, refused, problems } = await client.opinions([["j2", "Crowd", "dislike"], ["j2", "nothing", "like"]]);
told.push(changed, refused, problems[0].line);
await client.undo("j1", "Crowd");
const found = await client.clicksOf(["j1", "j2", "j3"]);
told.push(found.j1.length, found.j2[0].sign, found.j3, (await client.clicks("j2")).length);
const long = await client.opinions(Array.from({ length: 12_000 }, (_, n) => ["j2", "ü".repeat(350) + n, "like"]));
told.push(long.refused, long.problems.at(-1).line > 9000); // more than one batch can hold
told.push((await client.recommendations("j2", 3)).length, (await client.export("j2")).clicks.length);
await client.erase("j1");
told.push((await client.eraseAll(["j1", "j2"])).same);
await new AdvisorClient(process.argv[2], "owl.wrong").visit("j1").catch(({ status }) => told.push(status));
console.log(JSON.stringify(told));
"""


def test_javascript(platform: tuple[Server, str], tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    server, key = platform
    shutil.copy(STATIC / "client.js", tmp_path / "client.js")
    (tmp_path / "walk.mjs").write_text(WALK.replace("./client.js", "./client.mjs"))
    (tmp_path / "client.js").rename(tmp_path / "client.mjs")
    done = subprocess.run(
        [node, "walk.mjs", server.url, key], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        True,
        404,
        "like",
        "Crowd",
        1,
        1,
        2,
        0,
        "dislike",
        None,
        1,
        12000,
        True,
        3,
        1,
        1,
        401,
    ]


def test_types_name_what_the_module_has() -> None:
    methods = re.compile(r"^  (?:async )?(\w+)\(", re.MULTILINE)
    module, types = ((STATIC / name).read_text(encoding="utf-8") for name in ("client.js", "client.d.ts"))
    assert set(methods.findall(module)) - {"super"} == set(methods.findall(types))


# --- the element in one file ------------------------------------------------------------------------------------------


def test_the_kept_element_is_the_one_that_its_sources_make() -> None:
    made = element()
    assert made.is_current(), "the element is older than its sources: make element"
    assert made.version == recveil.__version__ and made.file == f"click-advisor-{made.version}.js"
    content = (STATIC / made.file).read_bytes()
    assert len(content) == made.bytes < 45_000
    assert made.integrity == f"sha384-{b64encode(sha384(content).digest()).decode()}"


@pytest.fixture
def shop(platform: tuple[Server, str]) -> Iterator[tuple[str, list[Any]]]:
    """A platform's own server: a page with the element, and an address that saves what is confirmed, now and then."""
    server, key = platform
    client, heard, made = AdvisorClient(server.url, key), [], element()
    src = f'src="{server.url}{made.path}" integrity="{made.integrity}" crossorigin'
    page = f"""<!doctype html><html lang="en"><title>shop</title><script type="module" {src}></script>
      <click-advisor item="Niche" item-title="Niche" confirm="/clicks/"></click-advisor>"""

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            client.visit("her")
            self.answer(200, page.encode())

        def do_PUT(self) -> None:
            sign = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["sign"]
            heard.append((self.headers["Cookie"], self.headers["Idempotency-Key"]))
            if len(heard) == 1:
                return self.answer(503)
            client.click("her", unquote(self.path.removeprefix("/clicks/")), sign, self.headers["Idempotency-Key"])
            return self.answer(204)

        def do_DELETE(self) -> None:
            client.undo("her", unquote(self.path.removeprefix("/clicks/")))
            self.answer(204)

        def answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Set-Cookie", "session=hers; Path=/; HttpOnly; SameSite=Strict")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/", heard
        running.shutdown()


def test_the_element_confirms_through_the_platform(
    browser: Any, shop: tuple[str, list[Any]], platform: tuple[Server, str]
) -> None:
    url, heard = shop
    page = browser.new_page()
    page.add_init_script("addEventListener('advised-click', ({ detail }) => (globalThis.said = detail))")
    page.goto(url)
    page.get_by_role("button", name="Like Niche", exact=True).click()
    page.evaluate("document.querySelector('click-advisor').shadowRoot.querySelector('.actions button').click()")
    page.wait_for_timeout(200)
    assert heard == []  # a script cannot confirm for her
    page.get_by_role("button", name="Confirm like").click()
    page.get_by_text("Not saved").wait_for()
    assert page.evaluate("globalThis.said") is None
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("You like it").wait_for()
    assert page.evaluate("globalThis.said") == {"item": "Niche", "sign": "like"}
    assert len(heard) == 2 and len(set(heard)) == 1 and "session=hers" in heard[0][0]
    client = AdvisorClient(platform[0].url, platform[1])
    assert [(click.item, click.sign) for click in client.clicks("her")] == [("Niche", "like")]
    page.get_by_role("button", name="Undo Niche").click()
    page.get_by_role("button", name="Like Niche", exact=True).wait_for()
    assert client.clicks("her") == []
    page.close()
