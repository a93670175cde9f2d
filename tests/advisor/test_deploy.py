"""What stands in deploy/ is read and used: settings by file and variable, JSON logs, metrics."""

from __future__ import annotations

import configparser
import json
import logging
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from serving import ADMIN, API, client_of, join, opened, running

from recveil.advisor.logs import REQUEST, JsonLines
from recveil.cli import app

DEPLOY = Path(__file__).parents[2] / "deploy"
FILMS = "sample:films?users=60,items=50"


def options() -> set[str]:
    command = app.commands["advisor"].commands["serve"]
    return {parameter.name for parameter in command.params}


def test_every_setting_in_deploy_is_an_option() -> None:
    text = "".join((DEPLOY / name).read_text() for name in ("Containerfile", "compose.yaml", "README.md"))
    named = {name.lower() for name in re.findall(r"RECVEIL_SERVE_([A-Z_]+)", text)}
    assert {"database", "site", "trust_proxy", "host", "log"} <= named <= options()


def test_the_files_can_be_read() -> None:
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(compose["services"]) == {"database", "advisor", "proxy"}
    trusted = compose["services"]["advisor"]["environment"]["RECVEIL_SERVE_TRUST_PROXY"]
    assert compose["networks"]["inside"]["ipam"]["config"] == [{"subnet": trusted}]
    assert "ports" not in compose["services"]["advisor"] and "ports" not in compose["services"]["database"]
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "recveil-advisor.service")
    assert "recveil advisor serve --config" in unit["Service"]["ExecStart"]
    instructions = re.findall(r"^([A-Z]+) ", (DEPLOY / "Containerfile").read_text(), re.M)
    assert instructions[0] == "FROM" and "USER" in instructions and instructions[-1] == "ENTRYPOINT"


@pytest.mark.parametrize("unit", ["recveil-advisor.service", "recveil-backup.service", "recveil-backup.timer"])
def test_systemd_takes_the_units(unit: str, tmp_path: Path) -> None:
    """By its own validator; the program that they start is not there, and stands in for itself."""
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd is not installed")
    for path in DEPLOY.glob("recveil-*"):
        text = path.read_text(encoding="utf-8").replace("/opt/recveil/bin/recveil", "/bin/true")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [verify, "verify", str(tmp_path / unit)], capture_output=True, text=True, timeout=60, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "recveil" in line]
    assert ours == [], done.stderr


def test_caddy_takes_its_file() -> None:
    """By its own validator, which also wants it formatted; nginx is started with its file in test_deploy_proxy."""
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("Caddy is not installed (apt-get install caddy)")
    file = str(DEPLOY / "Caddyfile")
    for command in (["validate", "--config", file, "--adapter", "caddyfile"], ["fmt", "--diff", file]):
        environment = {"SITE": "advisor.example", "HOME": "/nonexistent", "PATH": ""}
        done = subprocess.run(
            [caddy, *command], capture_output=True, text=True, timeout=60, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr


def test_passwords_may_have_any_characters() -> None:
    yaml = pytest.importorskip("yaml")
    advisor = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["advisor"]["environment"]
    assert "PASSWORD" not in advisor["RECVEIL_SERVE_DATABASE"] and advisor["PGPASSWORD"] == "${DATABASE_PASSWORD}"


def test_settings_come_from_options_then_variables_then_the_file(tmp_path: Path) -> None:
    settings = tmp_path / "advisor.toml"
    settings.write_text(
        (DEPLOY / "advisor.toml").read_text() + f'database = "{tmp_path}/file.sqlite"\nmin-people = 90\n'
    )
    variables = {"RECVEIL_SERVE_MIN_PEOPLE": "70", "RECVEIL_SERVE_EPSILON": "1"}
    with running(FILMS, "--config", str(settings), "--epsilon", "3", environment=variables) as (_, url):
        table = httpx.get(f"{url}{API[1:]}/profiles").json()
        assert (table["min_people"], table["budget"]["epsilon"]) == (70, 3.0)
        assert httpx.get(url, headers={"Host": "advisor.example"}).status_code == 200
    assert (tmp_path / "file.sqlite").exists()


def test_a_settings_file_that_is_wrong_is_one_line(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("min-peopel = 3\n")
    (tmp_path / "broken.toml").write_text("min-people = \n")
    for name, reason in (("wrong", "no option min_peopel"), ("broken", "cannot read"), ("missing", "cannot read")):
        said = recveil("advisor", "serve", "--config", f"{name}.toml", code=1).stderr.strip()
        assert said.startswith("recveil: ") and reason in said and "\n" not in said


def test_metrics_are_the_admins_and_name_nobody(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        who = join(server)
        server.get(f"{API}/people/me/clicks", headers=who)
        server.delete(f"{API}/people/me/clicks/item-1", headers=who)
        server.request("BREW", f"{API}/nowhere/item-1")
        assert server.get(f"{API}/metrics").status_code == 401
        told = server.get(f"{API}/metrics", headers={"Authorization": f"Bearer {ADMIN}"}).text
    assert 'route="/api/v1/people/me/clicks/{item:path}",status="404"} 1' in told
    assert 'method="other",route="(no route)",status="404"} 1' in told
    assert "item-1" not in told and "BREW" not in told
    for line in told.splitlines():
        assert line.startswith("# TYPE") or re.fullmatch(
            r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+.\dinfe]+', line
        )


def test_the_log_can_be_json() -> None:
    record = logging.LogRecord("recveil", logging.INFO, "", 0, REQUEST, ("GET", "/", 200, 1.234), None)
    told = json.loads(JsonLines().format(record))
    assert {name: told[name] for name in ("method", "route", "status", "ms")} == {
        "method": "GET", "route": "/", "status": 200, "ms": 1.2
    }  # fmt: skip
    other = logging.LogRecord("recveil", logging.WARNING, "", 0, "%s failed: %s", ("learning", "X"), None)
    assert json.loads(JsonLines().format(other))["message"] == "learning failed: X"
