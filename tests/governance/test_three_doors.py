"""What an approval rests on and for whom it is, through the pages, the command line and Python: the same everywhere."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from three_doors import Door, House, door

import recveil
from recveil.desk.project.choices import Choices
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import jobs_of, standing_bundle
from recveil.desk.project.stages import perform
from recveil.evaluation.catalogue import ATTACKS
from recveil.governance.verification import verify_bundle
from recveil.releases.bundle import MANIFEST, verified_digests
from recveil.releases.keys import load_key, new_key
from recveil.releases.progress import SILENT

Run = Callable[..., Any]
WHY = "A contract binds them."
NAMES = ("pages", "command line", "Python")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A project with a release of forty people, signed by its owner; an officer's key and another's lie elsewhere."""
    room = tmp_path_factory.mktemp("released")
    rows = [f"person{u},{(u * 7 + i * i) % 30}" for u in range(40) for i in range(4 + u % 5)]
    (room / "clicks.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    project = open_project(room / "desk")
    project.change(
        {
            "data": {"source": str(room / "clicks.csv")}, "recipient": {"name": "team"}, "release": {"holdout": 0.0},
            "candidates": {"chosen": "pseudonymise"},
        }
    )  # fmt: skip
    desk = JobStore(project)
    for one in jobs_of(desk, project.read()[0], "bundle"):
        desk.ask(one)
        desk.keep(one.id, perform(project, one, SILENT))
    for name in ("hers", "other"):
        new_key(room / name / "officer.key")
    owner, hers = (load_key(room / name).fingerprint for name in ("desk/keys/owner.key", "hers/officer.key"))
    known = f'[keys.{owner}]\nname = "Shop"\nrole = "owner"\n[keys.{hers}]\nname = "Jane Roe"\nrole = "officer"\n'
    (room / "trust.toml").write_text(known)
    bundle = project.room("bundles") / standing_bundle(desk, project.read()[0])
    return House(project.folder, bundle, room / "hers" / "officer.key", room / "trust.toml")


@pytest.fixture
def house(released: House, tmp_path: Path) -> House:
    """A copy of it, to be walked through."""
    room = tmp_path / "room"
    shutil.copytree(released.folder.parent, room)
    folder = room / "desk"
    bundle = folder / released.bundle.relative_to(released.folder)
    return House(folder, bundle, room / "hers" / "officer.key", room / "trust.toml")


@pytest.fixture(params=NAMES)
def to(request: pytest.FixtureRequest, house: House, recveil: Run) -> Iterator[Door]:  # noqa: ARG001
    with door(request.param, house, request.getfixturevalue("recveil")) as opened:
        yield opened


def found(name: str, value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    measure = {"membership-auc": "membership", "lift": "utility"}.get(name, name)
    plain = {"name": name, "measure": measure, "params": {}, "value": value, "low": low, "high": high, "control": None}
    return plain | {"chance": 0.5, "n": 400} | more


def known_by(known: int, value: float = 0.01, attacker: str = "strongest", **more: Any) -> dict[str, Any]:
    params = {"known": known, "attacker": attacker, "ratings": False}
    return found("linkage", value, value, value + 0.01, params=params, **more)


def keep(house: House, *measurements: dict[str, Any], riskiest: tuple[Any, ...] = ()) -> None:
    """What was measured of the bundle."""
    house.aside.mkdir(exist_ok=True)
    kept = {"bundle": verified_digests(house.bundle)[1][MANIFEST], "measurements": measurements, "skipped": []}
    (house.aside / "measurements.json").write_text(json.dumps(kept | {"riskiest": riskiest}))


def claims(house: House) -> str:
    return (house.bundle / "claims.jsonl").read_text()


def approved(to: Door, whom: str = "team") -> None:
    assert to.sign("approved", to.sheet(whom), WHY) == ""


# --- what an approval is: A1 to A6 ----------------------------------------------------------------------------------


def test_what_was_not_measured_is_approved_with_a_published_reason_alone(to: Door, house: House) -> None:
    sheet, before = to.sheet("team"), claims(house)
    assert (sheet["measured"], sheet["verdict"]["outcome"]) == (False, "open")
    assert "nothing was measured" in to.sign("approved", sheet)
    assert claims(house) == before and to.stands("team") == "undecided"
    assert to.sign("approved", sheet, WHY) == ""
    assert to.stands("team") == "approved"
    assert verify_bundle(house.bundle).claims.claims[-1].facts["reason"] == WHY


def test_what_is_signed_is_what_was_read(to: Door, house: House) -> None:
    keep(house, known_by(16))
    read, before = to.sheet("team"), claims(house)
    keep(house, known_by(16, 0.9))
    for kind in ("approved", "refused"):
        assert "the evidence changed" in to.sign(kind, read, WHY)
    assert claims(house) == before
    assert to.sign("refused", to.sheet("team")) == ""


def test_a_page_that_was_swapped_is_not_what_was_read(to: Door, house: House) -> None:
    """The owner writes her folder: words of hers in the officer's sheet are refused, or never shown."""
    keep(house, known_by(16, 0.9))
    assert to.sign("refused", to.sheet("team")) == ""
    for file in (house.aside / "decision.html", house.aside / "decision.de.html"):
        written = file.read_text()
        file.write_text(written.replace("Speaks against", "Speaks for").replace("Spricht gegen", "Spricht für"))
        assert file.read_text() != written
        refused = to.sign("approved", json.loads((house.aside / "decision.json").read_text()), WHY)
        assert "not the sheet that the evidence gives" in refused or "Speaks against release" in to.shown()
        file.write_text(written)


def test_an_approval_is_for_one_recipient(to: Door) -> None:
    approved(to, "contractor")
    assert [to.stands(who) for who in ("contractor", "public", "team")] == ["approved", "undecided", "undecided"]


def test_only_her_own_key_decides(to: Door, house: House) -> None:
    """Neither the owner's, nor one that nobody knows, nor hers once it lies beside the owner's."""
    sheet, before = to.sheet("team"), claims(house)
    copied = house.key.parent / "copied" / "owner.key"
    copied.parent.mkdir()
    shutil.copy(house.folder / "keys" / "owner.key", copied)
    assert "only an officer whom it names decides" in to.sign("approved", sheet, WHY, key=copied)
    stranger = house.folder.parent / "other" / "officer.key"
    assert "this key is not known" in to.sign("approved", sheet, WHY, key=stranger)
    shutil.copy(house.key, copied.with_name("officer.key"))
    assert "keep the two keys apart" in to.sign("approved", sheet, WHY, key=copied.with_name("officer.key"))
    assert claims(house) == before


def test_a_later_decision_leaves_earlier_evidence_as_it_is(to: Door, house: House) -> None:
    keep(house, known_by(16))
    approved(to)
    kept = house.aside / "decisions"
    first = {path.name: path.read_bytes() for path in (kept / "0001").iterdir()}
    keep(house, known_by(16, 0.9))
    assert to.sign("refused", to.sheet("team")) == ""
    assert {path.name: path.read_bytes() for path in (kept / "0001").iterdir()} == first
    assert [c.kind for c in verify_bundle(house.bundle).claims.claims] == ["released", "approved", "refused"]
    assert not [line for line in verify_bundle(house.bundle).problems if "cannot be opened" in line]


def test_what_was_withdrawn_stands_no_longer(to: Door) -> None:
    approved(to)
    assert "reason" in to.withdraw("")
    assert to.withdraw("A linkage was found") == ""
    assert to.stands("team") == "withdrawn"


# --- what the evidence says: B7 to B13 ------------------------------------------------------------------------------


def test_what_was_not_run_is_named_with_what_runs_it(to: Door, house: House) -> None:
    keep(house, known_by(16))
    sheet = to.sheet("team")
    gaps = {gap["attack"]: gap for gap in sheet["attacks"]["not_run"]}
    assert set(gaps) == set(ATTACKS) - {"linkage"} and gaps["shadow"]["needs"] == "shadows"
    assert sheet["verdict"]["outcome"] == "open"  # linkage alone says nothing of what could be inferred
    assert sheet["page"].index("Not tried") < sheet["page"].index("Annex")
    assert Choices().red_team.shadows == 8


def test_too_few_people_cannot_tell(to: Door, house: House) -> None:
    keep(house, known_by(8), found("membership-auc", 0.528, 0.315, 0.73, n=8))
    sheet = to.sheet("public")
    (finding,) = (one for one in sheet["attacks"]["findings"] if one["attack"] == "membership")
    assert (finding["verdict"], finding["people"]) == ("cannot tell", 63)
    assert "63 people" in sheet["page"]


def test_attackers_who_knew_less_than_the_recipient_are_not_enough(to: Door, house: House) -> None:
    keep(house, known_by(8), found("membership-auc", 0.5, 0.48, 0.52))
    sheet = to.sheet("team")
    assert "knew 8 items, and this recipient is taken to know 16" in sheet["attacks"]["weaker"]
    assert sheet["verdict"]["outcome"] == "open"
    assert to.sheet("contractor")["attacks"]["weaker"] == ""


def test_the_sheet_says_that_choosing_on_the_data_is_outside_every_proof(to: Door, house: House) -> None:
    keep(house, known_by(16))
    assert any("no promise covers" in line for line in to.sheet("team")["choosing"])


def test_nobody_is_named_on_the_disk(request: pytest.FixtureRequest, to: Door, house: House) -> None:
    """Whatever each door measures: the riskiest people are shown, and written nowhere."""
    name, data = request.node.callspec.params["to"], house.folder.parent / "clicks.csv"
    if name == "pages":
        desk = JobStore(open_project(house.folder))
        for one in jobs_of(desk, desk.project.read()[0], "exposure"):
            desk.ask(one)
            desk.keep(one.id, perform(desk.project, one, SILENT))
        shown = to.owner.get("/api/exposure").json()["riskiest_users"]  # type: ignore[attr-defined]
        assert len(shown) == 10 and not any("user" in one for one in shown)
    elif name == "command line":
        run = request.getfixturevalue("recveil")
        assert "person" in run("measure", data, house.bundle, "--only", "linkage", "--keep").stdout  # for the owner
    else:
        assert recveil.measure(data, house.bundle, 1, only=["linkage"]).riskiest
    to.sheet("team")
    kept = [path for path in house.folder.rglob("*") if path.is_file() and path.suffix in (".json", ".html", ".jsonl")]
    assert not [path for path in kept if re.search(r"person\d", path.read_text(encoding="utf-8"))]


def test_what_is_of_no_use_is_not_worth_its_risk(to: Door, house: House) -> None:
    safe = (known_by(16), known_by(16, attacker="intersection"), found("membership-auc", 0.5, 0.48, 0.52))
    keep(house, *safe, found("lift", 0.26, 0.2, 0.3, params={"referee": "all"}))
    assert to.sheet("team", lift=0.2)["verdict"]["outcome"] == "for"
    sheet = to.sheet("team", lift=0.7)
    assert sheet["verdict"]["outcome"] == "against" and sheet["wish"][0]["verdict"] == "short"
    assert "26%" in sheet["page"] and "70%" in sheet["page"]


def test_what_strangers_reach_does_not_count_as_found(to: Door, house: House) -> None:
    keep(house, known_by(16, 0.5, control=0.51, control_n=400))
    (finding,) = to.sheet("team")["attacks"]["findings"]
    assert finding["verdict"] == "below the limit" and finding["gain"][0] < 0
    assert "nobody is found for certain" in finding["sentence"]
