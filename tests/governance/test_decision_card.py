"""The card ends with what was decided, which follows from the signed claims; the hash of the rest holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of decisions")

from recveil.errors import RecveilError
from recveil.governance.context import Context, Declared
from recveil.governance.decision import Decider, decide, withdraw
from recveil.governance.export import export
from recveil.governance.recipients import read_recipient
from recveil.governance.verification import verify_bundle
from recveil.releases.bundle import load
from recveil.releases.card import DECIDED
from recveil.releases.keys import load_key, new_key

Run = Callable[..., Any]
HOUSE = Declared(title="Ratings of a shop", controller="Shop <b>Ltd</b>", contact="data@shop.example")
CONTEXT = Context(
    read_recipient("team"), until=date(2999, 1, 1), conditions=("no joining", "deleted in May"), declared=HOUSE
)


@pytest.fixture
def bundle(recveil: Run, tmp_path: Path) -> Path:
    rows = [f"person{u},{(u * 7 + i * i) % 30}" for u in range(40) for i in range(4 + u % 5)]
    (tmp_path / "clicks.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    for name in ("owner", "dpo", "second"):
        new_key(tmp_path / name / f"{name}.key")
    keys = ("--sign", "owner/owner.key", "--licence", "CC-BY-4.0")
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "out", *keys)
    return tmp_path / "out"


def signed(bundle: Path, who: str = "dpo", kind: str = "approved") -> None:
    decide(bundle, CONTEXT)
    key = load_key(bundle.parent / who / f"{who}.key")
    decide(bundle, CONTEXT, Decider(who, "DPO", kind, key, reason="a contract"))


def test_the_card_carries_what_was_decided_and_every_export_does(bundle: Path, tmp_path: Path) -> None:
    before = (bundle / "README.md").read_text()
    signed(bundle)
    card = (bundle / "README.md").read_text()
    assert card.startswith(before + DECIDED)
    says = card.partition(DECIDED)[2]
    for words in ("approved on", "by dpo, DPO", "A team in the house", "no joining; deleted in May", "2999-01-01",
                  "Title: Ratings of a shop", r"Shop \<b\>Ltd\</b\>", "data@shop.example", "CC-BY-4.0"):  # fmt: skip
        assert words in says, words
    assert load(bundle).manifest["licence"] == "CC-BY-4.0" and not verify_bundle(bundle).problems
    for to in ("csv", "huggingface", "recbole"):
        export(bundle, to, tmp_path / to)
        assert (tmp_path / to / "README.md").read_text() == card


def test_words_that_nobody_signed_are_named(bundle: Path, tmp_path: Path) -> None:
    signed(bundle, kind="refused")
    card = (bundle / "README.md").read_text()
    for forged in (card.replace("refused on", "approved on"), card + "Anonymous before the law.\n", card + "\n"):
        (bundle / "README.md").write_text(forged)
        assert any("what it says was decided" in line for line in verify_bundle(bundle).problems)
        with pytest.raises(RecveilError, match="what it says was decided"):
            export(bundle, "csv", tmp_path / "csv")
    for changed in (card.replace("What is promised", "What is proved"), card.replace("\n", "\r\n"), card[1:]):
        (bundle / "README.md").write_text(changed, newline="")
        assert any("README.md is not the file" in line for line in verify_bundle(bundle).problems)
    (bundle / "README.md").write_text(card.partition(DECIDED)[0])  # a card as it was released says nothing wrong
    assert [line for line in verify_bundle(bundle).problems if "README" in line] == []


def test_a_card_that_is_older_than_the_claims_is_remarked_and_mended(bundle: Path) -> None:
    signed(bundle)
    old = (bundle / "README.md").read_text()
    withdraw(bundle, "dpo", "DPO", "a fault", load_key(bundle.parent / "dpo" / "dpo.key"))
    assert "withdrawn on" in (bundle / "README.md").read_text()
    (bundle / "README.md").write_text(old)
    found = verify_bundle(bundle)
    assert any("earlier decision" in line for line in found.remarks)
    assert len(found.problems) == 1 and "withdrawn" in found.problems[0]
    signed(bundle)
    assert "approved on" in (bundle / "README.md").read_text() and not verify_bundle(bundle).problems


def test_two_officers_stand_in_it_together(bundle: Path) -> None:
    signed(bundle)
    signed(bundle, "second")
    says = (bundle / "README.md").read_text().partition(DECIDED)[2]
    assert says.count("- Decision: approved on") == 2
    assert not verify_bundle(bundle).problems


def test_a_full_disk_after_the_signature_loses_the_card_s_line_alone(bundle: Path, monkeypatch: Any) -> None:
    import recveil.governance.decision_card as module

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "replace_text", full)
    signed(bundle)
    monkeypatch.undo()
    found = verify_bundle(bundle)
    assert found.standing.outcome == "approved" and not found.problems
    assert DECIDED not in (bundle / "README.md").read_text()
    shutil.rmtree(bundle.parent / "out.owner")
