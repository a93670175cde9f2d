"""The gate: a decision holds for one bundle, one sheet, one recipient, one span, by one officer; later words count."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recveil as recveil_
from recveil.actions.assess import AssessRequest, run_assess
from recveil.desk.project import views
from recveil.desk.project.choices import Choices
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import jobs_of
from recveil.desk.project.stages import perform
from recveil.errors import RecveilError
from recveil.governance import owner
from recveil.governance.context import Context
from recveil.governance.decision import Decider, decide, withdraw
from recveil.governance.recipients import read_recipient
from recveil.governance.standing import standing
from recveil.governance.trust import read_trust
from recveil.governance.verification import verify_bundle
from recveil.releases import claims
from recveil.releases.bundle import verified_digests
from recveil.releases.inputs import Input
from recveil.releases.keys import load_key, new_key
from recveil.releases.places import Folder
from recveil.releases.progress import SILENT
from recveil.releases.signing import Signer

Run = Callable[..., Any]
PUBLIC = Context(read_recipient("public"))
TEAM = Context(read_recipient("team"))
JANE = ("--as", "Jane Roe, DPO", "--key", "dpo/dpo.key")
WHY = "A contract binds them."


@pytest.fixture
def bundle(recveil: Run, tmp_path: Path) -> Path:
    rows = [f"person{u},{(u * 7 + i * i) % 30}" for u in range(40) for i in range(4 + u % 5)]
    (tmp_path / "clicks.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    for name in ("owner", "dpo", "second"):
        new_key(tmp_path / name / f"{name}.key")
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "out", "--sign", "owner/owner.key")
    known = {
        name: (load_key(tmp_path / name / f"{name}.key").fingerprint, role)
        for name, role in (("owner", "owner"), ("dpo", "officer"), ("second", "officer"))
    }
    (tmp_path / "trust.toml").write_text(
        "".join(f'[keys.{print_}]\nname = "{name}"\nrole = "{role}"\n' for name, (print_, role) in known.items())
    )
    return tmp_path / "out"


def by(bundle: Path, name: str = "dpo") -> Signer:
    return load_key(bundle.parent / name / f"{name}.key")


def signed(bundle: Path, kind: str = "approved", context: Context = PUBLIC, **more: Any) -> dict[str, Any]:
    decide(bundle, context)
    who = by(bundle, more.pop("key", "dpo"))
    return decide(bundle, context, Decider("Jane Roe", "DPO", kind, who, reason=more.pop("reason", WHY), **more))


def said(bundle: Path) -> list[claims.SignedClaim]:
    return list(claims.check(claims.text_of(Folder(bundle) / "claims.jsonl"), verified_digests(bundle)[1]).claims)


# --- A1, A2: nothing unmeasured, nothing unread -------------------------------------------------------------------


def test_nothing_unmeasured_is_approved_without_a_reason_that_stands_in_the_claim(recveil: Run, bundle: Path) -> None:
    recveil("decide", "out")
    before = (bundle / "claims.jsonl").read_bytes()
    refused = recveil("decide", "out", *JANE, "--approve", code=1).stderr
    assert "this recipient needs a proved promise" in refused
    assert "--reason" in refused
    recveil("decide", "out", "--recipient", "contractor")
    refused = recveil("decide", "out", "--recipient", "contractor", *JANE, "--approve", code=1).stderr
    assert "nothing was measured" in refused
    assert (bundle / "claims.jsonl").read_bytes() == before
    assert not (bundle.parent / "out.owner" / "decisions").exists()
    done = recveil("decide", "out", "--recipient", "contractor", *JANE, "--approve", "--reason", WHY)
    assert f"to be published word for word: {WHY}" in done.stderr
    found = recveil("verify", "out", json_answer=True)
    assert found["decision"]["reason"] == WHY
    assert (found["decision"]["outcome"], found["decision"]["to"]) == ("approved", "contractor")
    assert found["claims"][-1]["facts"]["measured_on_data"] is False
    told = recveil("verify", "out").stdout
    assert "by Jane Roe, DPO, for" in told
    assert WHY in told


def test_what_is_signed_is_the_sheet_that_was_read(recveil: Run, bundle: Path) -> None:
    refusing = ("decide", "out", *JANE, "--refuse")
    assert "there is no sheet that could have been read" in recveil(*refusing, code=1).stderr
    read = recveil("decide", "out", json_answer=True)
    recveil("measure", "clicks.csv", "out", "--only", "popularity", "--keep")
    assert "the evidence changed since that sheet" in recveil(*refusing, code=1).stderr
    assert "the evidence changed" in recveil(*refusing, "--sheet", read["digest"], code=1).stderr
    read = recveil("decide", "out", json_answer=True)
    assert "the evidence changed" in recveil(*refusing, "--recipient", "team", code=1).stderr
    assert "the evidence changed" in recveil(*refusing, "--sheet", read["digest"][:4], code=1).stderr
    recveil(*refusing, "--sheet", read["digest"][:16], "--until", "2999-01-01", "--condition", "none")
    kept = json.loads((bundle.parent / "out.owner" / "decisions" / "0001" / "decision.json").read_text())
    assert kept["digest"] == read["digest"]
    assert read["digest"] not in (bundle / "claims.jsonl").read_text()  # figures could be guessed from a plain hash


# --- A3: one recipient --------------------------------------------------------------------------------------------


def test_an_approval_is_for_one_recipient(recveil: Run, bundle: Path) -> None:
    signed(bundle, context=TEAM)
    trusted = ("verify", "out", "--trust", "trust.toml")
    recveil(*trusted, "--approved")
    recveil(*trusted, "--approved", "--for", "team")
    other = recveil(*trusted, "--approved", "--for", "public", code=3).stdout
    assert "undecided for public" in other


# --- A4: whose key ------------------------------------------------------------------------------------------------


def test_who_releases_does_not_approve(bundle: Path) -> None:
    decide(bundle, PUBLIC)
    with pytest.raises(RecveilError, match="released with this very key"):
        signed(bundle, key="owner")


@pytest.mark.usefixtures("bundle")
def test_a_folder_with_both_keys_approves_nothing(recveil: Run, tmp_path: Path) -> None:
    recveil("decide", "out")
    shutil.copy(tmp_path / "dpo" / "dpo.key", tmp_path / "owner" / "dpo.key")
    both = ("decide", "out", "--as", "Jane Roe, DPO", "--key", "owner/dpo.key")
    assert "keep the two keys apart" in recveil(*both, "--approve", "--reason", WHY, code=1).stderr
    recveil(*both, "--refuse")  # which nobody needs to be kept from
    (tmp_path / "owner" / "owner.key").unlink()
    recveil(*both, "--approve", "--reason", WHY)


def test_only_an_officer_of_the_trust_file_decides(recveil: Run, bundle: Path, tmp_path: Path) -> None:
    recveil("decide", "out")
    new_key(tmp_path / "intern" / "intern.key")
    decide_ = ("decide", "out", "--trust", "trust.toml", "--as", "Nobody, Intern", "--approve", "--reason", WHY)
    assert "this key is not known" in recveil(*decide_, "--key", "intern/intern.key", code=1).stderr
    text = (tmp_path / "trust.toml").read_text()
    (tmp_path / "trust.toml").write_text(text.replace('name = "dpo"\n', 'name = "dpo"\nuntil = 2020-01-01\n'))
    assert "its days are over" in recveil(*decide_, "--key", "dpo/dpo.key", code=1).stderr
    with pytest.raises(RecveilError, match="only an officer"):
        recveil_.decide(bundle, approve=False, by=("A", "B"), key="intern/intern.key", trust="trust.toml")
    (tmp_path / "trust.toml").write_text(text)
    recveil(*decide_, "--key", "dpo/dpo.key")


def test_an_approval_by_the_key_that_released_counts_nowhere(bundle: Path) -> None:
    """Somebody with other tools could write such a line; without a trust file it is no approval either."""
    digests = verified_digests(bundle)[1]
    claims.add(Folder(bundle / "claims.jsonl"), "approved", digests, {"by": "J", "role": "r"}, by(bundle, "owner"))
    assert verify_bundle(bundle).standing.outcome == "undecided"


def test_approved_asks_whose_key_it_is(recveil: Run, bundle: Path, tmp_path: Path) -> None:
    assert "undecided" in recveil("verify", "out", "--trust", "trust.toml", code=3).stdout  # an officer never spoke
    recveil("verify", "out")
    assert "undecided" in recveil("verify", "out", "--approved", code=3).stdout
    signed(bundle)
    assert "nobody's approval counts" in recveil("verify", "out", "--approved", code=3).stdout
    recveil("verify", "out", "--approved", "--trust", "trust.toml")
    text = (tmp_path / "trust.toml").read_text()
    (tmp_path / "swapped.toml").write_text(text.replace('"officer"', '"owner"'))
    assert (
        "only the officer can say that"
        in recveil("verify", "out", "--approved", "--trust", "swapped.toml", code=3).stdout
    )


def test_a_key_signs_in_its_days_alone(bundle: Path, tmp_path: Path) -> None:
    signed(bundle)
    text = (tmp_path / "trust.toml").read_text()
    for line, holds in (("until = 2020-01-01", False), ("since = 2999-01-01", False), ("since = 2020-01-01", True)):
        changed = text.replace('name = "dpo"\n', f'name = "dpo"\n{line}\n')
        (tmp_path / "days.toml").write_text(changed)
        found = verify_bundle(bundle, read_trust(tmp_path / "days.toml"), approved=True)
        assert (not found.problems) == holds
        assert holds or any("signs from" in problem for problem in found.problems)


def test_two_officers_where_the_policy_asks_for_two(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text("approvers = 2\n" + (tmp_path / "trust.toml").read_text())
    trust = read_trust(tmp_path / "two.toml")
    signed(bundle)
    signed(bundle)  # twice the same is one
    found = verify_bundle(bundle, trust, approved=True)
    assert "1 more must approve it" in found.problems[0]
    signed(bundle, key="second", context=TEAM)
    assert verify_bundle(bundle, trust, approved=True).problems  # for others
    signed(bundle, key="second")
    signed(bundle)
    assert not verify_bundle(bundle, trust, approved=True).problems


def test_two_officers_approve_the_same_or_nothing(bundle: Path, tmp_path: Path) -> None:
    """Another sheet, other conditions or another last day are another approval."""
    (tmp_path / "two.toml").write_text("approvers = 2\n" + (tmp_path / "trust.toml").read_text())
    trust, last = read_trust(tmp_path / "two.toml"), datetime.now(UTC).date() + timedelta(days=9)

    def missing() -> int:
        return verify_bundle(bundle, trust, approved=True).standing.missing

    signed(bundle, context=replace(PUBLIC, conditions=("Nobody joins it",)))
    signed(bundle, key="second")
    assert missing() == 1
    signed(bundle, context=replace(PUBLIC, until=last))
    assert missing() == 1
    digests = verified_digests(bundle)[1]
    kept = {"bundle": digests["manifest.json"], "measurements": [], "skipped": [], "riskiest": []}
    (bundle.parent / "out.owner" / "measurements.json").write_text(json.dumps(kept))
    signed(bundle, key="second", context=replace(PUBLIC, until=last))
    assert missing() == 1  # the first had another sheet before her
    signed(bundle, context=replace(PUBLIC, until=last))
    assert missing() == 0
    assert (bundle / "README.md").read_text().count("- Decision:") == 2


def test_a_revoked_key_signs_nothing_by_an_earlier_date(bundle: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """What names the hash of a later line was not signed before it."""
    today = datetime.now(UTC).date()
    text = (tmp_path / "trust.toml").read_text()
    revoked = text.replace('name = "dpo"\n', f'name = "dpo"\nuntil = {today - timedelta(days=10)}\n')
    (tmp_path / "trust.toml").write_text(revoked)

    class Back(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(days=20)

    said = {"by": "Jane Roe", "role": "DPO", "recipient": "The public", "to": "public"}
    withdraw(bundle, "Second", "DPO", "Withdrawn for good", by(bundle, "second"))
    monkeypatch.setattr(claims, "datetime", Back)
    claims.add(Folder(bundle / "claims.jsonl"), "approved", verified_digests(bundle)[1], said, by(bundle))
    monkeypatch.undo()
    found = verify_bundle(bundle, read_trust(tmp_path / "trust.toml"))
    assert found.standing.outcome == "withdrawn"
    assert any("the key of dpo signs from" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("until = 2020-01-01\n", "ended on 2020-01-01"),
        ("approvers = 0\n", "whole number from 1"),
        ("colour = 1\n", "colour"),
        ("[keys.abc]\nname='a'\nrole='owner'\n", "fingerprint"),
        (f"[keys.{'a' * 64}]\nname='a'\nrole='boss'\n", "boss"),
        (f"[keys.{'a' * 64}]\nname='a'\n", "a name and a role"),
        (f"[keys.{'a' * 64}]\nname='a'\nrole='owner'\nsince='soon'\n", "since is a day"),
        ("keys = [", "cannot be read"),
        ("", "names no key"),
    ],
)
def test_a_bad_trust_toml_is_one_clear_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "trust.toml").write_text(text)
    with pytest.raises(RecveilError, match=words):
        read_trust(tmp_path / "trust.toml")


# --- A5: nothing is written again ---------------------------------------------------------------------------------


def test_every_decision_keeps_its_evidence_for_ever(recveil: Run, bundle: Path) -> None:
    signed(bundle)
    aside = bundle.parent / "out.owner" / "decisions"
    first = {p.name: p.read_bytes() for p in (aside / "0001").iterdir()}
    recveil("measure", "clicks.csv", "out", "--only", "popularity", "--keep")
    signed(bundle, "refused")
    signed(bundle, context=TEAM)
    assert {p.name: p.read_bytes() for p in (aside / "0001").iterdir()} == first
    assert sorted(p.name for p in aside.iterdir()) == ["0001", "0002", "0003"]
    assert (aside / "0002" / "measurements.json").exists()
    recveil("verify", "out")
    for number in ("0001", "0002", "0003"):
        sheet = aside / number / "decision.json"
        whole = sheet.read_text()
        sheet.write_text(whole.replace("0", "1", 1))
        assert f"{number}/decision.json is not the sheet" in recveil("verify", "out", code=3).stdout
        sheet.unlink()
        assert "cannot be opened" in recveil("verify", "out", code=3).stdout
        sheet.write_text(whole)
    recveil("verify", "out")


def test_two_decisions_at_once_and_a_full_disk_leave_nothing_half(bundle: Path, monkeypatch: Any) -> None:
    decide(bundle, PUBLIC)
    before, aside = (bundle / "claims.jsonl").read_bytes(), Folder(bundle.parent / "out.owner")
    with owner.new_decision(aside), pytest.raises(RecveilError, match="somebody decides on this bundle just now"):
        signed(bundle)
    (aside.path / "decisions" / "0001").rmdir()

    def full(*_: Any) -> None:
        raise RecveilError("claims.jsonl cannot be written: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(claims, "add", full)
        with pytest.raises(RecveilError, match="No space left"):
            signed(bundle)
    assert (bundle / "claims.jsonl").read_bytes() == before
    assert not list((aside.path / "decisions").iterdir())
    signed(bundle)
    assert [p.name for p in (aside.path / "decisions").iterdir()] == ["0001"]


def test_whoever_signs_at_once_loses_nothing(bundle: Path) -> None:
    digests, place = verified_digests(bundle)[1], Folder(bundle / "claims.jsonl")

    def sign(name: str) -> None:
        claims.add(place, "withdrawn", digests, {"by": name, "role": "r", "reason": name}, by(bundle))

    with ThreadPoolExecutor(8) as at_once:
        list(at_once.map(sign, (f"number {k}" for k in range(24))))
    found = verify_bundle(bundle).claims
    assert len(found.claims) == 25 and not found.problems


def test_what_is_signed_is_signed_although_the_disk_is_full_then(bundle: Path, monkeypatch: Any) -> None:
    decide(bundle, PUBLIC)
    add, whole = claims.add, owner.put

    def full(*arguments: Any) -> str:
        raise RecveilError(f"{arguments[0]} cannot be written: No space left on device")

    def then_full(*arguments: Any) -> None:
        add(*arguments)
        monkeypatch.setattr(owner, "put", full)

    monkeypatch.setattr(claims, "add", then_full)
    decide(bundle, PUBLIC, Decider("Jane Roe", "DPO", "refused", by(bundle)))
    monkeypatch.setattr(owner, "put", whole)
    assert verify_bundle(bundle).standing.outcome == "refused"
    assert not [line for line in verify_bundle(bundle).problems if "opened" in line]


def test_whoever_read_before_somebody_else_decided_reads_again(bundle: Path) -> None:
    """Two tabs, or two officers: an approval does not undo a withdrawal that nobody saw."""
    read = decide(bundle, PUBLIC)
    decide(bundle, PUBLIC, Decider("Jane Roe", "DPO", "refused", by(bundle)))
    withdraw(bundle, "Second", "DPO", "For good", by(bundle, "second"))
    before = (bundle / "claims.jsonl").read_bytes()
    for decider in (
        Decider("Jane Roe", "DPO", "approved", by(bundle), WHY),
        Decider("Jane Roe", "DPO", "approved", by(bundle), WHY, seen=read["digest"], after=1),
    ):
        with pytest.raises(RecveilError, match="somebody decided or withdrew since that sheet was read"):
            decide(bundle, PUBLIC, decider)
    assert (bundle / "claims.jsonl").read_bytes() == before
    assert [path.name for path in (bundle.parent / "out.owner" / "decisions").iterdir()] == ["0001"]
    signed(bundle)


# --- A6: withdrawn, superseded, expired -----------------------------------------------------------------------------


def test_a_withdrawal_is_told_to_everybody(recveil: Run, bundle: Path) -> None:
    signed(bundle)
    recveil("verify", "out", "--trust", "trust.toml", "--approved")
    recveil("withdraw", "out", *JANE, "--reason", "A linkage was found")
    for options in ((), ("--trust", "trust.toml"), ("--trust", "trust.toml", "--approved")):
        told = recveil("verify", "out", *options, code=3).stdout
        assert "this release was withdrawn: A linkage was found" in told
    assert "say why" in recveil("withdraw", "out", *JANE, "--reason", " ", code=1).stderr
    signed(bundle)  # a new decision, on a sheet that was read
    recveil("verify", "out", "--trust", "trust.toml", "--approved")


def test_a_bundle_is_superseded_by_another(recveil: Run, bundle: Path) -> None:
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "new", "--sign", "owner/owner.key")
    signed(bundle)
    owners = ("--as", "Example Shop, owner", "--key", "owner/owner.key", "--reason", "A better one")
    assert "the same bundle" in recveil("withdraw", "out", *owners, "--superseded-by", "out", code=1).stderr
    recveil("withdraw", "out", *owners, "--superseded-by", "new")
    told = recveil("verify", "out", "--trust", "trust.toml", code=3).stdout
    assert "another bundle took its place" in told
    assert verified_digests(bundle.parent / "new")[1]["manifest.json"][:16] in told


def test_refused_and_expired_do_not_hold(recveil: Run, bundle: Path) -> None:
    signed(bundle, "refused")
    assert "the officer refused this release" in recveil("verify", "out", code=3).stdout
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    signed(bundle, context=Context(PUBLIC.recipient, until=tomorrow))
    recveil("verify", "out", "--trust", "trust.toml", "--approved")


def test_a_clock_set_back_brings_no_approval_back(bundle: Path, monkeypatch: Any) -> None:
    digests = verified_digests(bundle)[1]
    last = (datetime.now(UTC) - timedelta(days=3)).date()
    place = Folder(bundle / "claims.jsonl")
    claims.add(place, "approved", digests, {"by": "J", "role": "r", "until": last.isoformat()}, by(bundle))
    found = claims.check(claims.text_of(place), digests)
    assert standing(found).outcome == "expired"

    class Back(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(days=30)

    import recveil.governance.standing as module

    monkeypatch.setattr(module, "datetime", Back)
    assert standing(found).outcome == "expired"


def test_decisions_travel_as_files_between_two_machines(bundle: Path, tmp_path: Path, recveil: Run) -> None:
    """The officer has a copy of bundle and owner's folder; what comes back is claims.jsonl and her decision."""
    decide(bundle, PUBLIC)
    hers = tmp_path / "hers"
    hers.mkdir()
    shutil.copytree(bundle, hers / "out")
    shutil.copytree(bundle.parent / "out.owner", hers / "out.owner")
    decide(hers / "out", PUBLIC, Decider("Jane Roe", "DPO", "approved", by(bundle), WHY))
    shutil.copy(hers / "out" / "claims.jsonl", bundle / "claims.jsonl")
    assert "cannot be opened" in recveil("verify", "out", code=3).stdout
    shutil.copytree(hers / "out.owner" / "decisions", bundle.parent / "out.owner" / "decisions")
    recveil("verify", "out", "--trust", "trust.toml", "--approved", "--for", "public")


def test_an_officer_approves_or_refuses_in_lines_of_words(bundle: Path) -> None:
    before = (bundle / "claims.jsonl").read_bytes()
    for kind in ("withdrawn", "superseded", "released", ""):
        with pytest.raises(RecveilError, match="approves or refuses"):
            signed(bundle, kind)
    for reason in ("x" * 3000, "one\ntwo", "a\x00b", "right to left \u202e"):
        with pytest.raises(RecveilError, match="one line of at most"):
            signed(bundle, "refused", reason=reason)
        with pytest.raises(RecveilError, match="one line of at most"):
            withdraw(bundle, "Jane Roe", "DPO", reason, by(bundle))
    with pytest.raises(RecveilError, match="conditions: what is published"):
        signed(bundle, context=replace(PUBLIC, conditions=("fine", "not\tfine")))
    assert (bundle / "claims.jsonl").read_bytes() == before
    assert not list((bundle.parent / "out.owner" / "decisions").glob("*"))


def test_figures_that_somebody_changed_are_no_ground_for_a_decision(recveil: Run, bundle: Path) -> None:
    recveil("measure", "clicks.csv", "out", "--only", "linkage", "--seed", 1, "--keep", "--sign", "owner/owner.key")
    file = bundle.parent / "out.owner" / "measurements.json"
    found = json.loads(file.read_text())
    for one in found["measurements"]:
        one |= {"value": 0.0, "low": 0.0, "high": 0.0}
    file.write_text(json.dumps(found))
    for kind in ("refused", "approved"):
        with pytest.raises(RecveilError, match="figures that somebody changed: measure the bundle again"):
            signed(bundle, kind)
    assert not (bundle / "claims.jsonl").read_text().count("\n") > 1
    recveil("measure", "clicks.csv", "out", "--only", "linkage", "--seed", 1, "--keep", "--sign", "owner/owner.key")
    signed(bundle, "refused")


@pytest.mark.parametrize(("name", "role"), [("", "DPO"), ("  ", "DPO"), ("Jane Roe", " ")])
def test_nobody_decides_or_withdraws_without_a_name(bundle: Path, name: str, role: str) -> None:
    read = decide(bundle, PUBLIC)["digest"]
    with pytest.raises(RecveilError, match="has a name and a role"):
        decide(bundle, PUBLIC, Decider(name, role, "refused", by(bundle), "", read))
    with pytest.raises(RecveilError, match="has a name and a role"):
        withdraw(bundle, name, role, "why", by(bundle))


def test_withdrawing_over_broken_claims_is_refused(bundle: Path) -> None:
    (bundle / "claims.jsonl").write_text("nonsense\n")
    with pytest.raises(RecveilError, match="do not hold"):
        withdraw(bundle, "Jane Roe", "DPO", "why", by(bundle))


# --- B11: nobody is named on the disk -------------------------------------------------------------------------------


def test_the_riskiest_are_shown_by_their_rows_and_written_nowhere(bundle: Path, tmp_path: Path) -> None:
    project, source = open_project(tmp_path / "desk"), bundle.parent / "clicks.csv"
    project.put(Choices().changed({"data": {"source": str(source)}}))
    desk, choices = JobStore(project), project.read()[0]
    for one in jobs_of(desk, choices, "exposure"):
        desk.ask(one)
        desk.keep(one.id, perform(project, one, SILENT))
    written = "".join(path.read_text() for path in (tmp_path / "desk").rglob("*.json"))
    assert not re.search(r"person\d", written)
    shown = views.exposure(project)["riskiest_users"]
    named = views.exposure(project, names=True)["riskiest_users"]
    assert len(shown) == len(named) == 10
    assert not any("user" in one or "row" in one for one in shown)
    lines = source.read_text().splitlines()[1:]
    people = run_assess(AssessRequest(Input(str(source)), seed=0))["riskiest_users"]
    first = [next(n for n, line in enumerate(lines, 1) if line.startswith(f"{p['user']},")) for p in people]
    assert [one["row"] for one in named] == first


def test_python_decides_and_withdraws_the_same(bundle: Path, tmp_path: Path) -> None:
    import recveil as package

    by_jane: dict[str, Any] = {"by": ("Jane Roe", "DPO"), "key": tmp_path / "dpo" / "dpo.key"}
    with pytest.raises(RecveilError, match="no sheet that could have been read"):
        package.decide(bundle, "team", approve=False, **by_jane)
    read = package.decide(bundle, "team")
    with pytest.raises(RecveilError, match="--reason"):
        package.decide(bundle, "team", approve=True, **by_jane)
    package.decide(bundle, "team", approve=True, reason=WHY, sheet=read["digest"], **by_jane)
    trust = tmp_path / "trust.toml"
    assert package.standing(bundle, trust)["decision"]["outcome"] == "approved"
    assert not package.standing(bundle, trust, recipient="public")["verified"]
    package.withdraw(bundle, reason="A linkage was found", **by_jane)
    found = package.standing(bundle, trust)
    assert (found["decision"]["outcome"], found["verified"]) == ("withdrawn", False)
    with pytest.raises(RecveilError, match="a name, a role and a key"):
        package.decide(bundle, "team", approve=False)


def test_the_recipient_sets_the_attacks_at_every_door(recveil: Run, bundle: Path) -> None:
    asked = ("measure", "clicks.csv", "out", "--only", "linkage", "--seed", 1, "--recipient", "team")
    found = recveil(*asked, "--keep", json_answer=True)["measurements"]
    assert {m["params"]["asked"] for m in found} == {read_recipient("team").known_items} == {16}  # nobody has as many
    in_python = recveil_.measure(bundle.parent / "clicks.csv", bundle, 1, only=["linkage"], recipient="team")
    assert [m.record() for m in in_python.measurements] == found
    few = recveil(*asked, "--known", "2", json_answer=True)["measurements"]
    assert {m["params"]["known"] for m in few} == {2}
    refused = recveil("measure", "clicks.csv", "out", "--recipient", "nobody", code=1)
    assert "recipient 'nobody' is neither" in refused.stderr
