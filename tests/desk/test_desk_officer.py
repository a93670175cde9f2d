"""Two doors: the officer reads and signs at hers, with her own key; a hostile walk ends in a refusal that says why."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from browser import CONTRAST
from chromium import Chromium, Keyboard
from desks import JANE, RunningDesk, decides, officers_key

from recveil.desk.project import views
from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.commands import commands
from recveil.desk.project.deciding import take_answer, withdraw_bundle
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.officer import OfficersCase
from recveil.desk.project.plan import jobs_of, publish_job, standing_bundle
from recveil.desk.project.stages import perform
from recveil.errors import RecveilError
from recveil.governance.dossier import pack, unpack
from recveil.governance.verification import verify_bundle
from recveil.releases.keys import load_key, new_key
from recveil.releases.progress import SILENT

AXE = Path(sys.prefix) / "axe" / "axe.min.js"
SMALL = "sample:films?users=150,items=60"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose release was made and attacked, for a team in the house."""
    project = open_project(tmp_path_factory.mktemp("measured") / "desk")
    project.change(
        {
            "data": {"source": SMALL},
            "recipient": {"name": "team", "purpose": "a course"},
            "candidates": {"chosen": "pseudonymise"},
            "red_team": {"measures": ["linkage"], "shadows": 0},
        }
    )
    desk = JobStore(project)
    for kind in ("bundle", "red-team"):
        for one in jobs_of(desk, project.read()[0], kind):
            desk.ask(one)
            desk.keep(one.id, perform(project, one, SILENT))
    return project.folder


@pytest.fixture
def house(measured: Path, tmp_path: Path) -> Path:
    """A copy of it, to be walked through."""
    shutil.copytree(measured, tmp_path / "desk")
    return tmp_path / "desk"


def bundle_of(folder: Path) -> Path:
    project = open_project(folder)
    return project.room("bundles") / standing_bundle(JobStore(project), project.read()[0])


def publish(folder: Path) -> None:
    """What the page does with Publish."""
    project = open_project(folder)
    desk = JobStore(project)
    one = publish_job(desk, project.read()[0])
    desk.ask(one)
    desk.keep(one.id, perform(project, one, SILENT))


def test_the_command_beside_decide_writes_the_sheet_of_the_page(
    house: Path, recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = open_project(house)
    project.change(
        {
            "recipient": {
                "name": "team", "purpose": "a 'course'", "contract": "No 5", "controller": 'The "Shop" \\ Sons',
                "review": "2999-01-02", "limits": {"most_found": "0.05: the data are about health"},
            },
            "use": {"what": "recommend", "keep": 0.65},
            "officer": {"until": "2999-01-01", "conditions": ["no joining"]},
        }
    )  # fmt: skip
    page = views.sheet(project)
    desk, choices = JobStore(project), project.read()[0]
    command = shlex.split(commands(desk, choices, standing_bundle(desk, choices))["decide"][0])
    monkeypatch.chdir(house)
    made = recveil(*command[1:], json_answer=True)
    assert made["digest"] == page["digest"] and made["sheet"]["asked"] == json.loads(json.dumps(page["asked"]))
    assert page["context"]["controller"] == 'The "Shop" \\ Sons' and page["wish"][0]["asked"] == 0.65


def test_the_recipient_sets_what_the_attackers_know(measured: Path) -> None:
    found = views.red_team(open_project(measured))
    assert found["knowledge"]["known"] == [2, 4, 8, 16] and found["weaker"] is None
    assert {gap["attack"] for gap in found["not_run"]} >= {"shadow", "membership"}
    assert next(gap["needs"] for gap in found["not_run"] if gap["attack"] == "shadow") == "shadows"


def test_a_hostile_walk_ends_in_a_refusal_that_names_the_reason(house: Path, tmp_path: Path) -> None:
    project, bundle, key = open_project(house), bundle_of(house), officers_key(house)
    case = OfficersCase(house, str(key))
    with pytest.raises(ChoiceError, match="nobody has approved it"):
        publish(house)
    # The owner's key, and one that lies in the owner's folder.
    owners = OfficersCase(house, str(house / "keys" / "owner.key"))
    with pytest.raises(RecveilError, match="lies in the owner's folder"):
        owners.sign({**JANE, "decision": "approved", "sheet": case.state()["digest"]}, lambda: None)
    shutil.copy(house / "keys" / "owner.key", tmp_path / "copied.key")
    with pytest.raises(RecveilError, match="released with this very key"):
        OfficersCase(house, str(tmp_path / "copied.key")).sign(
            {**JANE, "decision": "approved", "sheet": case.state()["digest"]}, lambda: None
        )
    # The sheet was read; then the recipient changed, then what was measured was replaced.
    read = case.state()["digest"]
    project.change({"recipient": {"name": "public"}})
    with pytest.raises(RecveilError, match="the evidence changed"):
        decides(house, sheet=read)
    project.change({"recipient": {"name": "team"}})
    aside = bundle.with_name(f"{bundle.name}.owner")
    kept = (aside / "measurements.json").read_text()
    found = json.loads(kept)
    for one in found["measurements"]:
        one |= {"value": 0.0, "low": 0.0, "high": 0.01}
    (aside / "measurements.json").write_text(json.dumps(found))
    with pytest.raises(RecveilError, match="the evidence changed"):
        decides(house, sheet=read)
    (aside / "measurements.json").write_text("nonsense")
    with pytest.raises(RecveilError, match="cannot be read"):
        decides(house, sheet=read)
    (aside / "measurements.json").write_text(kept)
    # No sheet at all, and one of another bundle.
    with pytest.raises(ChoiceError, match="sheet that was read"):
        decides(house, sheet="")
    with pytest.raises(RecveilError, match="the evidence changed"):
        decides(house, sheet="ab" * 32)
    assert decides(house)["standing"]["outcome"] == "approved"
    # Two tabs: the second signs on the same sheet, which stands; then the first withdraws.
    publish(house)
    assert list((house / "published").iterdir())
    before = (bundle / "claims.jsonl").read_text()
    case.withdraw({**JANE, "reason": "A linkage was found"}, lambda: None)
    assert not list((house / "published").iterdir()) and list((house / "withdrawn").iterdir())
    with pytest.raises(ChoiceError, match="it was withdrawn"):
        publish(house)
    # Old claims put back: the file ends before the withdrawal, and what was decided does not fit any more.
    after = (bundle / "claims.jsonl").read_text()
    (bundle / "claims.jsonl").write_text(after.splitlines(keepends=True)[0] + after.splitlines(keepends=True)[-1])
    assert any("was removed or moved" in line for line in verify_bundle(bundle).problems)
    with pytest.raises(RecveilError, match="do not hold"):
        decides(house)
    (bundle / "claims.jsonl").write_text(after)
    assert before != after
    # A released file replaced after the approval.
    data = next(bundle.glob("data.*"))
    whole = data.read_bytes()
    data.write_bytes(whole[:-1])
    with pytest.raises(RecveilError, match=r"data\."):
        case.state()
    data.write_bytes(whole)


def test_the_trust_file_of_a_project_rules(house: Path, tmp_path: Path) -> None:
    hers, other = officers_key(house), tmp_path / "other" / "other.key"
    new_key(other)
    prints = [load_key(path).fingerprint for path in (house / "keys" / "owner.key", hers, other)]
    known = zip(prints, ("Shop", "Jane Roe", "Second"), ("owner", "officer", "officer"), strict=True)
    lines = [f'[keys.{print_}]\nname = "{name}"\nrole = "{role}"\n' for print_, name, role in known]
    (house / "trust.toml").write_text("approvers = 2\n" + "".join(lines))
    assert OfficersCase(house, str(hers)).state()["who"]["name"] == "Jane Roe"
    assert "1 more must approve" in decides(house)["standing"]["sentence"]
    with pytest.raises(ChoiceError, match="nobody has approved it"):
        publish(house)
    second = OfficersCase(house, str(other))
    second.sign({**JANE, "name": "Second", "decision": "approved", "sheet": second.state()["digest"]}, lambda: None)
    publish(house)
    (house / "trust.toml").write_text("".join(lines[:1]))
    with pytest.raises(RecveilError, match="this key is not known"):
        decides(house)
    with pytest.raises(ChoiceError, match="nobody has approved it"):
        publish(house)
    (house / "trust.toml").write_text("until = 2020-01-01\n" + "".join(lines))
    with pytest.raises(RecveilError, match="ended on 2020-01-01"):
        decides(house)


def test_a_dossier_goes_to_her_machine_and_comes_back(house: Path, tmp_path: Path) -> None:
    bundle, key = bundle_of(house), officers_key(house)
    views.sheet(open_project(house))
    pack(bundle, tmp_path / "dossier.zip")
    unpack(tmp_path / "dossier.zip", tmp_path / "case")
    case = OfficersCase(tmp_path / "case", str(key))
    assert case.state()["dossier"] and case.state()["standing"]["outcome"] == "undecided"
    case.sign({**JANE, "decision": "approved", "sheet": case.state()["digest"], "opinion": "Fine."}, lambda: None)
    assert "Fine." in case.sheet_page("de")
    said = take_answer(open_project(house), bundle.name, case.answer())
    assert "approved" in said[0] and "Jane Roe" in said[0]
    publish(house)
    card = next((house / "published").rglob("README.md")).read_text()
    assert "Recipient: A team in the house" in card and "Jane Roe" in card
    withdraw_bundle(open_project(house), open_project(house).read()[0], bundle.name, ("Shop", "owner"), "A fault")
    assert not list((house / "published").iterdir())
    assert verify_bundle(bundle).standing.outcome == "withdrawn"


def test_watch_asks_for_a_new_look(house: Path) -> None:
    project = open_project(house)
    project.change({"recipient": {"review": "2020-01-01"}})
    decides(house)
    assert views.watch(project)["alarms"] == [{"kind": "review", "date": "2020-01-01"}]
    bundle = bundle_of(house)
    aside = bundle.with_name(f"{bundle.name}.owner")
    found = json.loads((aside / "measurements.json").read_text())
    found["measurements"].append({"name": "shadow-auc", "measure": "shadow", "params": {}, "value": 0.99, "low": 0.98,
                                  "high": 1.0, "control": 0.5, "chance": 0.5, "n": 100})  # fmt: skip
    (aside / "measurements.json").write_text(json.dumps(found))
    assert {"kind": "attack", "attack": "membership (shadows)"} in views.watch(project)["alarms"]


def test_a_release_is_attacked_although_the_tab_was_closed(tmp_path: Path) -> None:
    with RunningDesk(tmp_path / "desk", SMALL) as desk:
        desk.until_idle()
        desk.choose(
            candidates={"chosen": "pseudonymise"}, recipient={"name": "team"},
            red_team={"measures": ["linkage"], "shadows": 0},
        )  # fmt: skip
        desk.work("red-team")  # one press, and the page is closed
        desk.client.close()
        project = open_project(desk.folder)
        end = time.monotonic() + 240
        while time.monotonic() < end:
            if any(
                one.kind == "red-team" and JobStore(project).state(one.id) == "done" for one in JobStore(project).jobs()
            ):
                break
            time.sleep(0.2)
        assert views.sheet(project)["measured"]


def test_a_tab_comes_back_after_a_restart_and_no_page_shows_json(tmp_path: Path) -> None:
    html = {"Accept": "text/html"}
    with RunningDesk(tmp_path / "desk") as first:
        cookies, base = dict(first.client.cookies), first.base
        for path in ("/nothing", "/api/sheet/page", "/api/dossier", "/api/candidates/report", "/api/odds?epsilon=x"):
            answer = first.client.get(path, headers=html)
            assert answer.status_code >= 400 and "<h1>" in answer.text, path
            assert first.client.get(path).headers["content-type"] == "application/problem+json"
    with RunningDesk(tmp_path / "desk") as again:
        assert again.base == base
        with httpx.Client(base_url=base, cookies=cookies) as old:
            assert old.get("/start").status_code == 200
        with httpx.Client(base_url=base) as stranger:
            turned = stranger.get("/start", headers=html, follow_redirects=True)
            assert turned.status_code == 403 and "<h1>" in turned.text
            assert stranger.get("/api/state").status_code == 401
            assert "<h1>" in stranger.get("/start", headers=html | {"Host": "evil.example"}).text
    assert (tmp_path / "desk" / ".desk.address").stat().st_mode & 0o077 == 0


# --- her page ---------------------------------------------------------------------------------------------------


@pytest.fixture
def door(house: Path) -> Iterator[RunningDesk]:
    with RunningDesk(house, "--as", "officer", "--key", str(officers_key(house))) as running:
        yield running


def test_her_door_has_one_page_and_changes_nothing_but_the_claims(door: RunningDesk, house: Path) -> None:
    before = {p: p.read_bytes() for p in house.rglob("*") if p.is_file()}
    assert door.client.get("/case").status_code == 200
    began = time.monotonic()
    case = door.get("/api/case")
    assert door.client.get("/api/sheet/page?lang=de").text.count("Seite") >= 1
    print(f"case and sheet: {time.monotonic() - began:.2f} s")
    assert {p: p.read_bytes() for p in house.rglob("*") if p.is_file()} == before
    for method, path in (
        ("POST", "/api/work"),
        ("PATCH", "/api/project"),
        ("POST", "/api/start"),
        ("GET", "/api/exposure"),
    ):
        assert door.client.request(method, path, json={}).status_code == 404
    bare = door.client.post("/api/decide", json={"name": "J", "role": "r", "decision": "approved"})
    assert bare.json()["field"] == "officer.sheet"
    refused = door.client.post(
        "/api/decide", json={**JANE, "reason": "", "decision": "approved", "sheet": case["digest"]}
    )
    assert refused.json()["field"] == "officer.reason"
    tabs = {**JANE, "sheet": case["digest"], "signed": 0}  # of two, both opened before anything was signed
    assert door.client.post("/api/decide", json={**tabs, "decision": "refused"}).status_code == 200
    late = door.client.post("/api/decide", json={**tabs, "decision": "approved"})
    assert "somebody decided or withdrew since" in late.json()["detail"]
    assert door.get("/api/case")["standing"]["outcome"] == "refused"


STEPS_AT_MOST = 10


def test_the_officers_walk_takes_few_steps(browser: Any, door: RunningDesk) -> None:
    """From a measured bundle to a signed refusal, an approval, a withdrawal."""
    steps = 0

    def step(do: Any, *arguments: Any) -> None:
        nonlocal steps
        steps += 1
        do(*arguments)

    her = Chromium(browser, door)
    step(her.open, "case")
    her.wait("iframe.sheet")
    step(her.fill, "#field-officer-name", "Jane Roe")
    step(her.fill, "#field-officer-role", "DPO")
    step(her.fill, "#field-officer-reason", "A contract binds them")
    step(her.click, "#refuse")
    her.click("#sure")  # the same step, confirmed
    her.wait(".banner.refused")
    step(her.click, "#approve")
    her.click("#sure")
    her.wait(".banner.approved")
    step(her.click, "#withdraw")
    her.click("#sure")
    her.wait(".banner.withdrawn")
    her.close()
    assert steps <= STEPS_AT_MOST
    assert [line.split()[0] for line in door.get("/api/case")["signed"]] == ["refused", "approved", "withdrawn"]


def test_she_decides_by_keyboard_alone_at_400_percent(browser: Any, door: RunningDesk) -> None:
    her = Keyboard(browser, door, locale="de", viewport={"width": 320, "height": 256})
    her.open("case")
    her.wait("iframe.sheet")
    for field, text in (("name", "Jane Roe"), ("role", "DPO"), ("reason", "Ein Vertrag"), ("until", "2999-01-31")):
        her.fill(f"#field-officer-{field}", text)
    her.click("#refuse")
    her.wait("dialog.sure[open]")
    her.page.keyboard.press("Escape")  # not yet
    assert her.number("dialog.sure[open]") == 0 and her.number("#refuse:focus") == 1
    her.click("#approve")
    her.click("#sure")
    her.wait(".banner.approved")
    her.close()
    assert "until 2999-01-31" in door.get("/api/case")["standing"]["sentence"]


def test_a_sheet_that_changes_under_her_eyes_is_said(browser: Any, door: RunningDesk, house: Path) -> None:
    her = Chromium(browser, door)
    her.open("case")
    her.wait("iframe.sheet")
    assert her.number("#changed:not([hidden])") == 0
    her.click("#refuse")
    assert "a name and a role" in her.text("#problem") and her.number("dialog[open]") == 0
    her.fill("#field-officer-name", "Jane Roe")
    her.fill("#field-officer-role", "DPO")
    her.click("#approve")
    assert "only with a reason" in her.text("#problem") and her.number("dialog[open]") == 0
    her.click("#refuse")
    her.wait("dialog.sure[open]")
    open_project(house).change({"recipient": {"purpose": "another one"}})
    her.page.evaluate("dispatchEvent(new Event('focus'))")  # she comes back to the tab
    her.wait("#changed:not([hidden])")
    assert her.number("dialog[open]") == 0
    her.click("#refuse")
    her.click("#sure")
    her.wait(".banner.refused")
    assert her.number("#changed:not([hidden])") == 0
    her.close()


@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(1280, "light", "en"), (390, "dark", "de"), (640, "light", "de")]
)
def test_everybody_can_use_her_page(browser: Any, door: RunningDesk, width: int, scheme: str, language: str) -> None:
    """640 is a window of 1280 at 200%."""
    her = Chromium(
        browser, door, viewport={"width": width, "height": 900}, color_scheme=scheme, locale=language, bypass_csp=True
    )
    her.open(f"case?lang={language}")
    her.wait("iframe.sheet")
    assert her.page.evaluate("document.documentElement.lang") == language
    assert her.page.evaluate("document.documentElement.scrollWidth") <= width
    assert her.page.evaluate(CONTRAST) == []
    if AXE.exists():
        her.page.evaluate(AXE.read_text(encoding="utf-8"))
        run = "axe.run({iframes: false}).then(found => found.violations.map(v => [v.id, v.nodes[0].html]))"
        assert her.page.evaluate(run) == []
    her.close()
