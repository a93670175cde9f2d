"""Behind a real proxy with https, as deploy/ sets it up: who asks is known, and the limits are theirs."""

from __future__ import annotations

import getpass
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from serving import API, running

NGINX = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text(encoding="utf-8")
SITE = "advisor.example"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int, Path]]:
    """nginx with deploy/nginx.conf before a server: ports of https and http, and the folder with the certificate."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None or shutil.which("openssl") is None:
        pytest.skip(
            "nginx or openssl is not installed: no test with a real proxy (apt-get install nginx-light openssl)"
        )
    folder = tmp_path_factory.mktemp("nginx")
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={SITE} -addext subjectAltName=DNS:{SITE}"
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", *made.split(), *files], check=True, capture_output=True)
    secure, plain = free_port(), free_port()
    options = ("sample:films?users=60,items=50", "--database", str(folder / "db.sqlite"), "--accounts", "2")
    with running(*options, "--behind-proxy", "--site", SITE) as (_, url):
        site = NGINX.replace("listen 443 ssl http2", f"listen 127.0.0.1:{secure} ssl http2")
        site = site.replace("listen 80", f"listen 127.0.0.1:{plain}").replace("http://127.0.0.1:8000", url.rstrip("/"))
        for name, file in (("fullchain", "cert"), ("privkey", "key")):
            site = site.replace(f"/etc/letsencrypt/live/{SITE}/{name}.pem", str(folder / f"{file}.pem"))
        paths = "".join(
            f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"daemon off; user {getpass.getuser()}; pid {folder}/pid; error_log {folder}/error.log;"
            f"events {{ worker_connections 256; }} http {{ {paths} {site} }}"
        )
        with subprocess.Popen(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.PIPE
        ) as nginx:
            for _ in range(100):
                with socket.socket() as knock:
                    if knock.connect_ex(("127.0.0.1", secure)) == 0:
                        break
                assert nginx.poll() is None, nginx.stderr.read() if nginx.stderr else ""
                time.sleep(0.05)
            yield secure, plain, folder
            nginx.terminate()


@dataclass(frozen=True)
class Someone:
    """Who asks from an address of this machine, and holds the proxy to its certificate."""

    proxied: tuple[int, int, Path]
    address: str
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, content: bytes | None = None) -> Any:
        secure, _, folder = self.proxied
        trust = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        way = httpx.HTTPTransport(verify=trust, local_address=self.address)
        with httpx.Client(transport=way, base_url=f"https://127.0.0.1:{secure}", timeout=20) as client:
            told = {"Host": SITE, **self.headers, **(headers or {})}
            return client.request(method, path, headers=told, content=content, extensions={"sni_hostname": SITE})


def test_https_is_told_to_browsers_and_cookies_are_held_to_it(proxied: tuple[int, int, Path]) -> None:
    her = Someone(proxied, "127.0.0.9")
    ready = her.ask("GET", f"{API}/ready")
    assert ready.status_code == 200 and ready.headers["strict-transport-security"] == "max-age=31536000"
    assert "default-src 'none'" in ready.headers["content-security-policy"]
    browser = {"X-Recveil-Request": "1", "Origin": f"https://{SITE}"}
    joined = her.ask("POST", f"{API}/people", headers=browser)
    assert joined.status_code == 201
    cookie = joined.headers["set-cookie"]
    assert cookie.startswith("__Host-recveil=") and "Secure" in cookie and "HttpOnly" in cookie
    _, plain, _ = proxied
    moved = httpx.get(f"http://127.0.0.1:{plain}/", headers={"Host": SITE})
    assert (moved.status_code, moved.headers["location"]) == (301, f"https://{SITE}/")
    assert Someone(proxied, "127.0.0.9", {"Host": "other.example"}).ask("GET", f"{API}/health").status_code == 421


def test_limits_are_those_of_who_asks_and_not_of_the_proxy(proxied: tuple[int, int, Path]) -> None:
    first = Someone(proxied, "127.0.0.2")
    assert [first.ask("POST", f"{API}/people").status_code for _ in range(3)] == [201, 201, 429]
    liar = Someone(proxied, "127.0.0.2", {"X-Forwarded-For": "198.51.100.7"})  # the proxy says who it really was
    assert liar.ask("POST", f"{API}/people").status_code == 429
    assert Someone(proxied, "127.0.0.3").ask("POST", f"{API}/people").status_code == 201


def test_what_is_too_large_ends_at_the_proxy_or_behind_it(proxied: tuple[int, int, Path]) -> None:
    her = Someone(proxied, "127.0.0.4")
    assert her.ask("GET", f"{API}/health", headers={"X-Long": "x" * 40_000}).status_code in (400, 431)
    # 502: refused, and the connection closed, while the proxy was still sending
    assert her.ask("PUT", f"{API}/people/me/strategy", content=b"x" * 20_000).status_code in (401, 413, 502)
    assert her.ask("GET", f"{API}/health").status_code == 200  # which tells it from a server that is gone
    assert her.ask("PUT", f"{API}/items", content=b"x" * (9 << 20)).status_code == 413
    log = (proxied[2] / "error.log").read_text()
    assert "clicks/" not in log
