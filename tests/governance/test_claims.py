"""Keys and claims: who said what about a bundle, checked by us and by a few lines that are not ours."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.governance.trust import read_trust
from recveil.mechanisms import Pseudonymise
from recveil.releases import claims
from recveil.releases.bundle import save, verified_digests
from recveil.releases.keys import load_key, new_key
from recveil.releases.places import Folder
from recveil.releases.release import release
from recveil.releases.signing import Signer, seal

Run = Callable[..., Any]


@pytest.fixture
def owner(tmp_path: Path) -> Signer:
    new_key(tmp_path / "owner.key")
    return load_key(tmp_path / "owner.key")


@pytest.fixture
def officer(tmp_path: Path) -> Signer:
    new_key(tmp_path / "dpo.key")
    return load_key(tmp_path / "dpo.key")


@pytest.fixture
def signed(tmp_path: Path, owner: Signer, officer: Signer) -> Path:
    """A bundle released by one key and approved by another, with a trust file beside it."""
    made_bundle(tmp_path / "out", owner)
    decide(tmp_path / "out", officer, "approved", until="2999-01-01")
    lines = [f"{owner.fingerprint} owner Example Shop  # we", f"{officer.fingerprint} officer Jane Roe"]
    (tmp_path / "trust").write_text("# whom we know\n\n" + "\n".join(lines) + "\n")
    return tmp_path / "out"


def made_bundle(path: Path, signer: Signer, first: int = 0) -> None:
    rows = from_ids(pl.Series([1, 1, 2, 3]), pl.Series([first, 5, 6, 7]))
    save(release(rows, Pseudonymise()), path, sign=signer)


def decide(bundle: Path, signer: Signer, kind: str, **facts: Any) -> None:
    said = {"by": "Jane Roe", "role": "data protection officer", **facts}
    claims.add(Folder(bundle / "claims.jsonl"), kind, verified_digests(bundle)[1], said, signer)


def lines_of(bundle: Path) -> list[str]:
    return (bundle / "claims.jsonl").read_text().splitlines()


def put_lines(bundle: Path, lines: list[str]) -> None:
    (bundle / "claims.jsonl").write_text("".join(f"{line}\n" for line in lines))


def broken(recveil: Run, *options: object) -> str:
    """What verify says where something does not hold; the same in JSON, with the same exit code."""
    found = recveil("verify", "out", *options, json_answer=True, code=3)
    assert found["verified"] is False
    told = recveil("verify", "out", *options, code=3).stdout
    assert all(problem in told for problem in found["problems"])
    return "\n".join(found["problems"])


def test_signed_by_one_key_and_approved_by_another(signed: Path, recveil: Run) -> None:
    found = recveil("verify", signed, "--trust", "trust", json_answer=True)
    assert found["verified"] is True
    assert [(c["kind"], c["name"]) for c in found["claims"]] == [("released", "Example Shop"), ("approved", "Jane Roe")]
    unknown = recveil("verify", signed)
    assert "(not known)" in unknown.stdout and "name those that you trust with --trust" in unknown.stdout


def test_a_second_implementation_verifies_the_envelopes(signed: Path, officer: Signer) -> None:
    """DSSE and in-toto by their documents, with `cryptography` alone."""
    previous = None
    for line in lines_of(signed):
        envelope = json.loads(line)
        payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"]
        (signature,) = envelope["signatures"]
        statement = json.loads(payload)
        public = base64.b64decode(statement["predicate"]["signer"])
        assert sha256(public).hexdigest() == signature["keyid"]
        said = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
        Ed25519PublicKey.from_public_bytes(public).verify(base64.b64decode(signature["sig"]), said)
        assert (statement["_type"], kind) == ("https://in-toto.io/Statement/v1", "application/vnd.in-toto+json")
        for subject in statement["subject"]:
            assert subject["digest"] == {"sha256": sha256((signed / subject["name"]).read_bytes()).hexdigest()}
        assert {s["name"] for s in statement["subject"]} == {p.name for p in signed.iterdir()} - {"claims.jsonl"}
        assert statement["predicate"]["previous"] == previous
        previous = sha256(line.encode()).hexdigest()
    assert signature["keyid"] == officer.fingerprint


@pytest.mark.parametrize("name", ["data.parquet", "README.md", "croissant.json", "manifest.json"])
def test_a_changed_byte_is_named(signed: Path, recveil: Run, name: str) -> None:
    content = bytearray((signed / name).read_bytes())
    content[content.index(b"e" if name != "data.parquet" else b"P")] ^= 2
    (signed / name).write_bytes(content)
    said = broken(recveil, "--trust", "trust")
    assert name in said or "speaks of other files" in said


def test_every_changed_byte_of_the_claims_is_found(signed: Path, owner: Signer, officer: Signer) -> None:
    whole = (signed / "claims.jsonl").read_bytes()
    digests = verified_digests(signed)[1]
    trust = {owner.fingerprint: claims.Known("owner", "O"), officer.fingerprint: claims.Known("officer", "D")}
    assert not claims.check(whole.decode(), digests, trust).problems
    for place in range(0, len(whole) - 1, 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        assert claims.check(changed.decode("latin-1"), digests, trust).problems, place


def test_a_removed_claim_is_named(signed: Path, recveil: Run) -> None:
    lines = lines_of(signed)
    put_lines(signed, lines[1:])
    assert "follows a claim that is not here" in broken(recveil)
    put_lines(signed, lines[:1])
    assert "no claim by the officer: it was never made, or it was removed" in broken(recveil, "--trust", "trust")
    put_lines(signed, lines[::-1])
    assert "a claim was removed or moved" in broken(recveil)
    (signed / "claims.jsonl").unlink()
    assert "no claim by the owner" in broken(recveil, "--trust", "trust")
    assert "nobody signed it" in recveil("verify", "out").stdout


def test_a_claim_of_another_bundle_is_named(signed: Path, recveil: Run, owner: Signer, officer: Signer) -> None:
    other = signed.with_name("other")
    made_bundle(other, owner, first=4)
    decide(other, officer, "approved")
    put_lines(signed, [lines_of(signed)[0], lines_of(other)[1]])
    assert "claim 2 (approved) speaks of other files" in broken(recveil, "--trust", "trust")
    put_lines(signed, lines_of(other))
    assert broken(recveil).count("speaks of other files") == 2


def test_an_expired_approval_and_a_refusal_are_named(signed: Path, recveil: Run, officer: Signer) -> None:
    decide(signed, officer, "approved", until="2020-02-02")
    assert "claim 3 (approved) expired on 2020-02-02" in broken(recveil)
    decide(signed, officer, "refused")
    assert "the officer refused this release" in broken(recveil, "--trust", "trust")
    decide(signed, officer, "approved")
    assert recveil("verify", "out", "--trust", "trust", json_answer=True)["verified"]


def test_unknown_keys_and_wrong_roles_are_named(
    signed: Path, recveil: Run, owner: Signer, officer: Signer, tmp_path: Path
) -> None:
    (tmp_path / "few").write_text(f"{owner.fingerprint} owner Example Shop\n")
    assert f"signed by a key that is not known: {officer.fingerprint}" in broken(recveil, "--trust", "few")
    decide(signed, owner, "approved")
    said = broken(recveil, "--trust", "trust")
    assert "claim 3 (approved) is signed by Example Shop, owner; only the officer can say that" in said


def test_clocks_that_disagree_are_remarked(signed: Path, recveil: Run, officer: Signer, monkeypatch: Any) -> None:
    class Late(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(days=2)

    class Early(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) - timedelta(days=2)

    for clock, words in ((Late, "which this clock has not reached"), (Early, "two clocks disagree")):
        with monkeypatch.context() as changed:
            changed.setattr(claims, "datetime", clock)
            decide(signed, officer, "approved")
        found = recveil("verify", "out", "--trust", "trust", json_answer=True)
        assert any(words in remark for remark in found["remarks"])


def test_half_a_line_is_named_and_nothing_is_added_to_it(signed: Path, recveil: Run, officer: Signer) -> None:
    whole = (signed / "claims.jsonl").read_text()
    (signed / "claims.jsonl").write_text(whole[:-100])
    assert "claim 2 is half a line" in broken(recveil)
    with pytest.raises(RecveilError, match="half a line"):
        decide(signed, officer, "approved")
    assert (signed / "claims.jsonl").read_text() == whole[:-100]
    (signed / "claims.jsonl").write_text(whole + "{}\nnonsense\n[1]\n")
    assert broken(recveil).count("is not a whole envelope") == 3


def test_signed_nonsense_is_no_claim(signed: Path, recveil: Run, owner: Signer) -> None:
    strange = {"_type": "x", "subject": 3, "predicateType": "urn:recveil:claim:released:1", "predicate": {"date": 1}}
    put_lines(signed, [*lines_of(signed), seal(strange, owner)])
    assert "claim 3 is signed, but is no claim that this version knows" in broken(recveil)


@pytest.mark.parametrize(
    "facts",
    [{"conditions": 5}, {"conditions": [1]}, {"evidence": "x"}, {"evidence": [1]}, {"evidence": [{"name": 1}]},
     {"successor": 5}, {"by": {"a": 1}}, {"until": 7}, {"until": "2999-99-99"}],
)  # fmt: skip
def test_a_decision_of_other_things_than_words_is_no_claim(
    signed: Path, recveil: Run, officer: Signer, facts: dict[str, Any]
) -> None:
    (signed.parent / "out.owner").mkdir()
    decide(signed, officer, "superseded", **facts)
    assert "claim 3 is signed, but is no claim that this version knows" in broken(recveil)


def test_words_of_others_move_no_cursor(signed: Path, recveil: Run, officer: Signer) -> None:
    decide(signed, officer, "approved", reason="fine\x1b[2J\nverified", conditions=["\x1b[1A none"])
    said = recveil("verify", "out", "--trust", "trust").stdout
    assert "\x1b" not in said and "reason: fine [2J verified" in said and "on condition:  [1A none" in said


def test_an_older_bundle_is_read_and_said(recveil: Run, tmp_path: Path) -> None:
    save(release(from_ids(pl.Series([1, 2]), pl.Series([1, 2])), Pseudonymise()), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["files"] = [entry for entry in manifest["files"] if entry["name"] != "croissant.json"]
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | {"publishable": True}))
    (tmp_path / "out" / "croissant.json").unlink()
    assert "an older bundle" in recveil("verify", "out").stdout


# --- keys -----------------------------------------------------------------------------------------------------


def test_keys_are_for_their_owner_alone(recveil: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recveil("keys", "new", "a.key", json_answer=True)
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    assert recveil("keys", "show", "a.key").stdout.strip() == made["fingerprint"]
    assert "never overwritten" in recveil("keys", "new", "a.key", code=1).stderr
    (tmp_path / "a.key").chmod(0o644)
    assert "can be read by others" in recveil("keys", "show", "a.key", code=1).stderr
    (tmp_path / "no.key").write_text("-----BEGIN PRIVATE KEY-----\nMC4\n-----END PRIVATE KEY-----\n")
    (tmp_path / "no.key").chmod(0o600)
    assert "is not an Ed25519 key" in recveil("keys", "show", "no.key", code=1).stderr
    assert "cannot be read" in recveil("keys", "show", "none.key", code=1).stderr
    monkeypatch.setenv("RECVEIL_PASSPHRASE", "correct horse")
    recveil("keys", "new", "b.key", "--passphrase")
    recveil("keys", "show", "b.key")
    monkeypatch.setenv("RECVEIL_PASSPHRASE", "wrong horse")
    assert "not its passphrase" in recveil("keys", "show", "b.key", code=1).stderr
    monkeypatch.delenv("RECVEIL_PASSPHRASE")
    assert "needs its passphrase" in recveil("keys", "show", "b.key", code=1).stderr


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    other = generate_private_key(SECP256R1())
    text = other.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    (tmp_path / "ec.key").write_bytes(text)
    (tmp_path / "ec.key").chmod(0o600)
    with pytest.raises(RecveilError, match="not an Ed25519 key"):
        load_key(tmp_path / "ec.key")


def test_release_signs_and_spends_nothing_on_a_bad_key(recveil: Run, tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("user,item\n1,1\n1,2\n2,2\n")
    (tmp_path / "bad.key").write_text("no key")
    (tmp_path / "bad.key").chmod(0o600)
    options = ("release", "clicks.csv", "--with", "pseudonymise", "-o", "out", "--ledger", "ledger.jsonl")
    recveil(*options, "--sign", "bad.key", code=1)
    assert not (tmp_path / "ledger.jsonl").exists() and not (tmp_path / "out").exists()
    recveil("keys", "new", "owner.key")
    recveil(*options, "--sign", "owner.key", "--licence", "cc-by-4.0")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["licence"] == "CC-BY-4.0"
    assert recveil("verify", "out", json_answer=True)["claims"][0]["kind"] == "released"
    everything = b"".join(p.read_bytes() for p in (tmp_path / "out").iterdir())
    for secret in (str(tmp_path).encode(), (tmp_path / "owner.key").read_bytes()):
        assert secret not in everything
    words = b" ".join(p.read_bytes() for p in (tmp_path / "out").iterdir() if p.suffix != ".parquet")
    assert os.uname().nodename not in re.split(r"[^\w.-]+", words.decode())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no key"),
        ("abc owner Shop", "line 1: a line has a fingerprint"),
        (f"{'a' * 64} boss Shop", "boss"),
        (f"{'a' * 64} owner", "line 1: a line has a fingerprint"),
        (f"{'a' * 64} owner Shop\n{'a' * 64} officer Shop", "line 2: this key has another role above"),
    ],
)
def test_a_bad_trust_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "trust").write_text(text)
    with pytest.raises(RecveilError, match=words):
        read_trust(tmp_path / "trust")
    with pytest.raises(RecveilError, match="cannot be read"):
        read_trust(tmp_path / "none")


def test_dates_are_in_utc(signed: Path) -> None:
    statement = json.loads(base64.b64decode(json.loads(lines_of(signed)[0])["payload"]))
    when = datetime.fromisoformat(statement["predicate"]["date"])
    assert abs(datetime.now(UTC) - when) < timedelta(minutes=5)


def test_a_bundle_may_be_moved(signed: Path, recveil: Run, tmp_path: Path) -> None:
    shutil.move(signed, tmp_path / "elsewhere")
    assert recveil("verify", "elsewhere", "--trust", "trust", json_answer=True)["verified"]
