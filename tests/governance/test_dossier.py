"""Two people, two folders, and files between them: own, hand over, decide, take back, publish, verify."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
WHY = ("--reason", "A contract binds them.")


@pytest.fixture
def house(recveil: Run, tmp_path: Path) -> Path:
    """The owner's folder, with a bundle and its sheet; the officer's has her key alone."""
    rows = [f"person{u},{(u * 7 + i * i) % 30}" for u in range(40) for i in range(4 + u % 5)]
    (tmp_path / "clicks.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    recveil("keys", "new", "ours/owner.key")
    recveil("keys", "new", "hers/dpo.key")
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "ours/out", "--sign", "ours/owner.key",
            "--ledger", "ledger.jsonl")  # fmt: skip
    recveil("measure", "clicks.csv", "ours/out", "--only", "popularity", "--keep")
    recveil("decide", "ours/out", "--recipient", "team", "--purpose", "A course", "--ledger", "ledger.jsonl")
    return tmp_path


@pytest.mark.usefixtures("house")
def test_own_decide_publish_and_verify_with_files_alone(recveil: Run, tmp_path: Path) -> None:
    recveil("dossier", "pack", "ours/out", "-o", "for-officer.zip", "--ledger", "ledger.jsonl")
    with zipfile.ZipFile("for-officer.zip") as made:
        assert not [n for n in made.namelist() if "key" in n]
    recveil("dossier", "open", "for-officer.zip", "-o", "hers/case")
    asked = ("decide", "hers/case/bundle", "--recipient", "team", "--purpose", "A course", "--ledger",
             "hers/case/ledger.jsonl")  # fmt: skip
    recveil(*asked, "--as", "Jane Roe, DPO", "--key", "hers/dpo.key", "--approve", *WHY)
    recveil("dossier", "pack", "hers/case/bundle", "--answer", "-o", "answer.zip")
    shutil.rmtree("hers/case")  # all that she made is in her answer
    said = recveil("dossier", "take", "answer.zip", "ours/out").stdout
    assert "approved" in said and "Jane Roe" in said
    prints = {who: recveil("keys", "show", f"{who}.key").stdout.strip() for who in ("ours/owner", "hers/dpo")}
    Path("trust.toml").write_text(
        f'[keys.{prints["ours/owner"]}]\nname = "Shop"\nrole = "owner"\n'
        f'[keys.{prints["hers/dpo"]}]\nname = "Jane"\nrole = "officer"\n'
    )
    recveil("verify", "ours/out", "--trust", "trust.toml", "--approved", "--for", "team")
    # The same answer again, another bundle's, or one that was cut: one line each, and nothing changes.
    before = Path("ours/out/claims.jsonl").read_bytes()
    assert "nothing new" in recveil("dossier", "take", "answer.zip", "ours/out", code=1).stderr
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "ours/new", "--sign", "ours/owner.key")
    assert "not the beginning" in recveil("dossier", "take", "answer.zip", "ours/new", code=1).stderr
    Path("half.zip").write_bytes(Path("answer.zip").read_bytes()[:400])
    assert "no dossier" in recveil("dossier", "take", "half.zip", "ours/out", code=1).stderr
    assert Path("ours/out/claims.jsonl").read_bytes() == before
    assert not list(tmp_path.rglob("*part*"))


@pytest.mark.usefixtures("house")
def test_what_is_no_dossier_is_one_clear_line(recveil: Run) -> None:
    for name, text in (("../evil", "x"), ("bundle/../../evil", "x"), ("other/file", "x")):
        with zipfile.ZipFile("bad.zip", "w") as made:
            made.writestr(name, text)
        assert "is no dossier" in recveil("dossier", "open", "bad.zip", "-o", "case", code=1).stderr
        assert not Path("case").exists() and not Path("evil").exists()
    with zipfile.ZipFile("bad.zip", "w") as made:
        made.write("ours/out/manifest.json", "bundle/manifest.json")
    recveil("dossier", "open", "bad.zip", "-o", "case", code=1)
    assert not Path("case").exists()
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "bare")
    assert "no sheet yet" in recveil("dossier", "pack", "bare", "-o", "a.zip", code=1).stderr
    assert "must end in .zip" in recveil("dossier", "pack", "ours/out", "-o", "a.tar", code=1).stderr


@pytest.mark.usefixtures("house")
def test_neither_a_swapped_sheet_nor_half_an_answer_is_taken(recveil: Run) -> None:
    asked = ("--recipient", "team", "--purpose", "A course", "--as", "Jane Roe, DPO", "--key", "hers/dpo.key")
    recveil("decide", "ours/out", "--recipient", "team", "--purpose", "A course")
    recveil("dossier", "pack", "ours/out", "-o", "for-officer.zip")
    recveil("dossier", "open", "for-officer.zip", "-o", "case")
    page = Path("case/bundle.owner/decision.html")
    written = page.read_text()
    page.write_text(written.replace("Not enough", "Quite enough"))
    assert page.read_text() != written
    refused = recveil("decide", "case/bundle", *asked, "--approve", *WHY, code=1).stderr
    assert "decision.html is not the sheet that the evidence gives" in refused
    page.write_text(written)
    recveil("decide", "case/bundle", *asked, "--approve", *WHY)
    recveil("dossier", "pack", "case/bundle", "--answer", "-o", "answer.zip")
    with zipfile.ZipFile("answer.zip") as whole, zipfile.ZipFile("half.zip", "w") as made:
        for name in (name for name in whole.namelist() if "decisions" not in name):
            made.writestr(name, whole.read(name))
    before = Path("ours/out/claims.jsonl").read_bytes()
    refused = recveil("dossier", "take", "half.zip", "ours/out", code=1).stderr
    assert "cannot be opened; nothing was taken" in refused
    assert Path("ours/out/claims.jsonl").read_bytes() == before
    recveil("dossier", "take", "answer.zip", "ours/out")
