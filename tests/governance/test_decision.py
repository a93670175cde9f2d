"""The decision sheet: evidence by criterion, held against a recipient's limits, and the claim that an officer signs."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recveil.errors import RecveilError
from recveil.evaluation.catalogue import ATTACKS, CRITERIA, MEASURES
from recveil.governance import evidence
from recveil.governance.context import Context, from_record, read_context
from recveil.governance.recipients import built_in, read_recipient
from recveil.governance.sheet import sheet
from recveil.mechanism import PublicInfo
from recveil.mechanisms.spec import parse
from recveil.releases import ledger
from recveil.report.decision import odds, page
from recveil.web.messages import figure, teller

Run = Callable[..., Any]
PROVED = {
    "status": "proved", "epsilon": 2.0, "delta": 1e-6, "rho": None, "unit": "user", "neighbours": "add or remove one",
    "given": "the catalogue", "sentence": "A promise.", "proof": "guarantees/x.md", "weakness": None,
}  # fmt: skip
NOTHING = {**PROVED, "status": "none", "epsilon": None, "delta": 0.0, "unit": None, "given": None, "proof": None}
MANIFEST = {
    "recveil": "0.1.0", "spec": "pseudonymise", "mechanism": "pseudonymise", "guarantee": PROVED, "seeded": False,
    "kind": "ratings", "unit": "user", "time": "drop", "rows": 1000, "users": 100, "items": 50,
    "schema": [{"name": "user", "type": "Int64"}, {"name": "item", "type": "Int64"}],
}  # fmt: skip


def number(name: str, value: float, low: float, high: float, **params: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "low": low, "high": high, "control": 0.01, "chance": 0.001, "params": params}


def measured(found: float = 0.02, high: float = 0.03, auc: float = 0.52) -> dict[str, Any]:
    return {
        "measurements": [
            number("linkage", found, 0.01, high, known=8, attacker="intersection", ratings=False),
            number("linkage", found, 0.01, high, known=8, attacker="strongest", ratings=True),
            number("linkage", 0.99, 0.98, 1.0, known=16, attacker="strongest", ratings=True),  # too many
            number("membership-auc", auc, auc - 0.03, auc + 0.03, score="distance") | {"chance": 0.5},
            number("lift", 0.5, 0.4, 0.6, referee="all"),
        ],
        "skipped": [{"name": "sybil", "why": "there are no likes"}],
        "riskiest": [{"ordinal": 1, "known": 4, "success": 0.3}, {"ordinal": 2, "known": 4, "success": 0.1}],
    }


def outcome(manifest: dict[str, Any], found: dict[str, Any] | None, to: str = "public") -> tuple[str, list[str]]:
    made = sheet(manifest, found, Context(read_recipient(to)))
    return made["verdict"]["outcome"], made["verdict"]["sentences"]


def test_every_attack_has_a_criterion() -> None:
    assert {MEASURES[name].criterion for name in ATTACKS} == set(CRITERIA)
    assert all(MEASURES[name].knows for name in ATTACKS)


def test_the_rule_of_the_recommendation() -> None:
    assert outcome(MANIFEST, measured())[0] == "for"
    assert outcome(MANIFEST, measured(high=0.2)) == ("open", [
        "By the rule below the evidence is not enough: linkage (all known items); linkage (best match) cannot tell."
    ])  # fmt: skip
    above = measured(auc=0.8)
    assert outcome(MANIFEST, above)[0] == "against"
    assert "membership is above its limit (80%)" in outcome(MANIFEST, above)[1][-1]
    assert outcome(MANIFEST, None)[0] == "open"
    assert "nothing was measured: run recveil measure" in outcome(MANIFEST, None)[1][-1]
    assert outcome(MANIFEST | {"guarantee": PROVED | {"epsilon": 5.0}}, measured())[0] == "against"
    assert outcome(MANIFEST | {"seeded": True}, measured())[0] == "against"
    assert outcome(MANIFEST, measured(), "team")[0] == "against"  # they know 16 items


def test_without_a_promise_the_first_sentence_says_so() -> None:
    bare = MANIFEST | {"guarantee": NOTHING}
    for to, expected in (("public", "against"), ("contractor", "for")):
        found, sentences = outcome(bare, measured(), to)
        assert found == expected or to == "contractor"
        assert sentences[0].startswith("This release carries no proved promise")
    weak = MANIFEST | {"guarantee": PROVED | {"weakness": "the unit is a bit"}}
    assert outcome(weak, measured())[1][0] == "Its promise means little: the unit is a bit."


def test_what_was_not_run_is_said_with_its_reason() -> None:
    made = sheet(MANIFEST, measured(), Context(read_recipient("public")))
    gaps = {gap["attack"]: gap["why"] for gap in made["attacks"]["not_run"]}
    assert gaps["sybil"] == "there are no likes"
    assert "was not run" in gaps["reconstruction"] and "was not run" in gaps["across"]


def test_gains_are_counted_above_the_control() -> None:
    rebuilt = number("reconstruction", 0.9, 0.89, 0.91, values="clicks") | {"control": 0.85, "control_n": 10_000}
    (finding,) = evidence.findings([rebuilt], read_recipient("public"))
    assert finding.verdict == evidence.BELOW
    (finding,) = evidence.findings([rebuilt | {"control": 0.1}], read_recipient("public"))
    assert finding.verdict == evidence.ABOVE
    assert finding.sentence == "Of her items 90% [89, 91] are guessed right; without her record 10%."


def test_too_few_people_are_no_evidence_of_safety() -> None:
    """The interval alone decides; one that reaches chance and ends above the limit cannot tell."""
    few = number("membership-auc", 0.528, 0.315, 0.73) | {"chance": 0.5, "n": 8}
    (finding,) = evidence.findings([few], read_recipient("public"))
    assert (finding.verdict, finding.limit) == ("cannot tell", 0.6)
    assert finding.people == 63  # 8 (0.202 / 0.072)^2
    _, sentences = outcome(MANIFEST, {"measurements": [few], "skipped": [], "riskiest": []})
    assert "membership cannot tell (its interval spans the limit; it would take about 63 people)" in sentences[-1]
    (finding,) = evidence.findings([few | {"high": 0.6}], read_recipient("public"))
    assert (finding.verdict, finding.people) == ("below the limit", None)
    (finding,) = evidence.findings([few | {"low": 0.61, "value": 0.7}], read_recipient("public"))
    assert finding.verdict == "above the limit"
    assert evidence.enough(0.7, 0.5, 0.9, 0.6, 10) == 40  # until it begins above the limit
    assert evidence.enough(0.6, 0.5, 0.7, 0.6, 10) is None


def test_nobody_claims_anonymity_before_the_law() -> None:
    for found in (None, measured()):
        made = sheet(MANIFEST, found, Context(read_recipient("public")))
        text = page(made | {"decision": None})
        assert "does not say that the data are anonymous in the sense of any law" in text
        assert text.lower().count("anonym") == 1
        assert "<script" not in text and "http-equiv" in text


def test_odds_are_drawn_on_the_safe_side() -> None:
    assert "at most 24%, 74%, 97% after" in odds(1.0)


def test_words_of_others_are_escaped() -> None:
    context = Context(read_recipient("public"), purpose="<script>alert(1)</script>", conditions=("<b>bold</b>",))
    assert "<script>" not in page(sheet(MANIFEST, measured(), context) | {"decision": None})


# --- recipients -------------------------------------------------------------------------------------------------


def test_three_recipients_are_built_in() -> None:
    assert list(built_in()) == ["public", "contractor", "team"]
    assert built_in()["public"].needs_promise


def test_own_recipients_by_file(tmp_path: Path) -> None:
    lines = ['title = "A court"', 'about = "Sealed."', "known_items = 2", "known_ratings = false"]
    lines += ["other_releases = false", "needs_promise = false"]
    lines += [f"most_{name} = 0.5" for name in ("epsilon", "found", "membership", "recognised", "gained")]
    (tmp_path / "court.toml").write_text("[court]\n" + "\n".join(lines) + "\n")
    court = read_recipient(str(tmp_path / "court.toml"))
    assert (court.title, court.known_items, court.mitigations) == ("A court", 2, ())
    rated = number("linkage", 0.9, 0.8, 1.0, known=2, attacker="strongest", ratings=True)
    assert not evidence.findings([rated], court)  # they know no ratings
    for text, words in [
        ("[a]\n" + "\n".join(lines[1:]), "lacks title"),
        ("[a]\n" + "\n".join([*lines, "colour = 3"]), "has no 'colour'"),
        ("[a]\n" + "\n".join([*lines[1:], "title = 3"]), "title = 3 does not fit"),
        ("[a]\n[b]\n", "holds one recipient"),
        ("x", "cannot be read as a recipient"),
    ]:
        (tmp_path / "bad.toml").write_text(text)
        with pytest.raises(RecveilError, match=words):
            read_recipient(str(tmp_path / "bad.toml"))
    (tmp_path / "lax.toml").write_text("[public]\n" + "\n".join(lines) + "\n")
    with pytest.raises(RecveilError, match="'public' is a recipient of recveil's own"):
        read_recipient(str(tmp_path / "lax.toml"))
    record = Context(read_recipient("public")).record()
    record["recipient"]["most_found"] = 1.0  # as in a dossier that somebody changed
    with pytest.raises(RecveilError, match="the sheet: 'public' is a recipient of recveil's own"):
        from_record(record)
    with pytest.raises(RecveilError, match="neither public, contractor, team nor a file"):
        read_recipient("nobody")


# --- the whole way ------------------------------------------------------------------------------------------------


@pytest.fixture
def released(recveil: Run, tmp_path: Path) -> Path:
    rows = [f"person{u},{(u * 7 + i * i) % 30}" for u in range(60) for i in range(4 + u % 5)]
    (tmp_path / "clicks.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    for key in ("owner.key", "dpo/dpo.key"):
        recveil("keys", "new", key)
    options = ("--sign", "owner.key", "--ledger", "ledger.jsonl", "--keep-map", "map.csv")
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "out", *options)
    prints = [recveil("keys", "show", key).stdout.strip() for key in ("owner.key", "dpo/dpo.key")]
    (tmp_path / "trust").write_text(f"{prints[0]} owner Shop\n{prints[1]} officer Jane Roe\n")
    return tmp_path / "out"


@pytest.mark.usefixtures("released")
def test_measured_decided_verified(recveil: Run, tmp_path: Path) -> None:
    measure = ("measure", "clicks.csv", "out", "--map", "map.csv", "--only", "linkage,popularity", "--seed", 1)
    done = recveil(*measure, "--sign", "owner.key")
    assert "stays with the owner" in done.stderr
    recveil(*measure, "--sign", "owner.key")  # again: what was signed before stays
    decide = ("decide", "out", "--as", "Jane Roe, DPO", "--key", "dpo/dpo.key", "--ledger", "ledger.jsonl")
    recveil("decide", "out", "--ledger", "ledger.jsonl")
    signed = ("--approve", "--reason", "A contract binds them", "--until", "2999-01-01")
    done = recveil(*decide, *signed, "--condition", "For the challenge only")
    assert "to be published word for word: For the challenge only" in done.stderr and "warning" in done.stderr
    found = recveil("verify", "out", "--trust", "trust", json_answer=True)
    assert [c["kind"] for c in found["claims"]] == ["released", "approved"]
    aside = tmp_path / "out.owner"
    names = {"decision.html", "decision.de.html", "decision.json", "measurements.json"}
    assert {p.name for p in aside.iterdir()} == {"claims.jsonl", "decisions", *names}
    kept = aside / "decisions" / "0001"
    assert {p.name for p in kept.iterdir()} == {"salts.json", *names}
    assert stat.S_IMODE(aside.stat().st_mode) == 0o700
    files = [p for p in aside.rglob("*") if p.is_file()]
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in files if p.name != "claims.jsonl")
    assert not re.search(r"person\d", "".join(p.read_text() for p in files))
    made = json.loads((aside / "decision.json").read_text())
    assert made["ledger"]["releases"][0]["mechanism"] == "pseudonymise"
    assert made["decision"]["conditions"] == ["For the challenge only"]
    assert (aside / "decision.html").read_text() == page(made)
    for file in (aside / "measurements.json", *(kept / name for name in names)):
        whole = file.read_text()
        file.write_text(whole.replace("0", "1", 1))
        assert file.name in recveil("verify", "out", code=3).stdout
        file.write_text(whole)
    (aside / "claims.jsonl").write_text("".join((aside / "claims.jsonl").read_text().splitlines(True)[1:]))
    assert "a claim was removed" in recveil("verify", "out", code=3).stdout


def test_what_is_published_holds_no_figure_of_the_sheet(recveil: Run, released: Path, tmp_path: Path) -> None:
    before = {p.name: p.read_bytes() for p in released.iterdir()}
    recveil("measure", "clicks.csv", "out", "--map", "map.csv", "--only", "linkage", "--sign", "owner.key", "--seed", 1)
    assert {p.name: p.read_bytes() for p in released.iterdir()} == before
    recveil("decide", "out")
    recveil("decide", "out", "--as", "Jane Roe, DPO", "--key", "dpo/dpo.key", "--refuse")
    after = {p.name: p.read_bytes() for p in released.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"claims.jsonl", "README.md"}
    claim = recveil("verify", "out", json_answer=True, code=3)["claims"][-1]
    said = {"by", "role", "recipient", "to", "sheet", "evidence", "chosen_on_data", "measured_on_data"}
    assert set(claim["facts"]) == said
    commitments = [line["commitment"] for line in claim["facts"]["evidence"]]
    from hashlib import sha256

    plain = [
        sha256((tmp_path / "out.owner" / name).read_bytes()).hexdigest() for name in ("decision.json", "decision.html")
    ]
    assert not set(plain) & set(commitments)  # a hash of a few figures could be guessed


@pytest.mark.usefixtures("released")
def test_a_draft_needs_no_key(recveil: Run, tmp_path: Path) -> None:
    done = recveil("decide", "out", "--recipient", "contractor", json_answer=True)
    assert done["sheet"]["verdict"]["outcome"] == "open"
    assert not json.loads((tmp_path / "out.owner" / "decision.json").read_text())["decision"]
    assert recveil("verify", "out", json_answer=True)["claims"][-1]["kind"] == "released"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--approve",), "a decision has a name and a key"),
        (("--approve", "--refuse"), "exclude each other"),
        (("--approve", "--as", "Jane", "--key", "dpo/dpo.key"), "a name and a role"),
        (("--as", "Jane, DPO", "--key", "dpo/dpo.key"), "say --approve or --refuse"),
        (("--approve", "--as", "Jane, DPO", "--key", "dpo/dpo.key", "--until", "2020-01-01"), "has passed already"),
        (("--approve", "--as", "Jane, DPO", "--key", "dpo/dpo.key", "--until", "soon"), "is a day"),
        (("--ledger", "none.jsonl"), "no such ledger"),
        (("--recipient", "mars"), "neither public"),
    ],
)
def test_bad_requests_sign_nothing(recveil: Run, released: Path, options: tuple[str, ...], words: str) -> None:
    before = (released / "claims.jsonl").read_bytes()
    assert words in recveil("decide", "out", *options, code=1).stderr
    assert (released / "claims.jsonl").read_bytes() == before


def test_nothing_is_signed_on_top_of_broken_claims_or_an_experiment(recveil: Run, released: Path) -> None:
    signing = ("--as", "Jane, DPO", "--key", "dpo/dpo.key", "--approve")
    recveil("release", "clicks.csv", "--with", "pseudonymise", "-o", "seeded", "--seed", 1)
    assert "an experiment cannot be approved" in recveil("decide", "seeded", *signing, code=1).stderr
    (released / "claims.jsonl").write_text("nonsense\n")
    assert "do not hold" in recveil("decide", "out", *signing, code=1).stderr


# --- gain, knowledge, use, words ----------------------------------------------------------------------------------


def test_what_strangers_reach_does_not_count_as_found() -> None:
    """5 of 100 found, and 5.4 of strangers in the same way: nobody is found beyond chance. The difference has width."""
    found = number("linkage", 0.12, 0.09, 0.15, known=8, attacker="strongest", ratings=True) | {"control": 0.13}
    (finding,) = evidence.findings([found | {"control_n": 400, "n": 400}], read_recipient("public"))
    assert finding.gain is not None and finding.gain[0] == pytest.approx(-0.01)
    assert (finding.verdict, "nobody is found" in finding.sentence) == (evidence.BELOW, True)
    (finding,) = evidence.findings([found | {"control_n": 10, "n": 400}], read_recipient("public"))
    assert finding.verdict == evidence.BETWEEN  # ten strangers tell little
    # Where of strangers claims are counted, and of people only those that are right, nothing is taken off.
    (finding,) = evidence.findings([found], read_recipient("public"))
    assert (finding.gain, finding.verdict) == (None, evidence.BETWEEN)


def test_an_attacker_who_knows_less_than_the_recipient_is_not_enough() -> None:
    found = measured()
    found["measurements"] = [m for m in found["measurements"] if m["params"].get("known") != 16]
    assert outcome(MANIFEST, found)[0] == "for"
    made = sheet(MANIFEST, found, Context(read_recipient("team")))
    assert made["verdict"]["outcome"] == "open"
    assert "knew 8 items, and this recipient is taken to know 16" in made["attacks"]["weaker"]
    assert [evidence.known_levels(read_recipient(to)) for to in ("public", "contractor", "team")] == [
        (2, 4, 8), (2, 4), (2, 4, 8, 16)
    ]  # fmt: skip


def test_use_is_the_other_half_of_a_decision() -> None:
    """Asked 70%, kept 50% [40, 60]: what is of no use is not worth what it risks."""

    def of(**wish: float) -> tuple[str, str]:
        made = sheet(MANIFEST, measured(), Context(read_recipient("public"), wish=wish))
        return made["verdict"]["outcome"], made["verdict"]["sentences"][-1]

    assert of(lift=0.7)[0] == "against" and "falls short" in of(lift=0.7)[1]
    assert of(lift=0.5)[0] == "open" and "spans the 50%" in of(lift=0.5)[1]
    assert of(lift=0.4)[0] == "for"
    assert of(skill=0.4)[0] == "open" and "was not measured" in of(skill=0.4)[1]


def test_a_changed_limit_has_a_reason_and_counts(tmp_path: Path) -> None:
    words = tmp_path / "context.toml"
    words.write_text(
        'controller = "Shop"\nreview = 2099-01-01\n[wish]\nlift = 0.3\n'
        '[limits.most_found]\nvalue = 0.02\nreason = "Health."\n'
    )
    context = Context(read_recipient("public"), **read_context(words))
    made = sheet(MANIFEST, measured(), context)
    assert made["verdict"]["outcome"] == "open"  # 2% [1, 3] against 2%
    assert any("from 0.09 to 0.02, because: Health." in line for line in made["verdict"]["rule"])
    assert made["context"]["review"] == "2099-01-01" and made["context"]["controller"] == "Shop"
    assert from_record(json.loads(json.dumps(context.record()))) == context
    for text, why in (
        ("colour = 1", "colour"),
        ("controller = 1", "are texts"),
        ("review = 'soon'", "is a day"),
        ("[wish]\nlift = 3", "a share"),
        ("[wish]\nfun = 0.3", "fun"),
        ("[limits]\nmost_found = 0.1", "a value and a reason"),
        ("[limits.most_found]\nvalue = 0.1\nreason = ' '", "a value and a reason"),
        ("[limits.most_found]\nvalue = 5\nreason = 'x'", "a share from 0 to 1"),
        ("[limits.known_items]\nvalue = 1\nreason = 'x'", "known_items"),
        ("x", "cannot be read"),
    ):
        words.write_text(text)
        with pytest.raises(RecveilError, match=why):
            read_context(words)


def test_the_german_sheet_says_the_same_under_the_same_name() -> None:
    context = Context(read_recipient("public"), wish={"lift": 0.7})
    german = sheet(MANIFEST, measured(), context, teller("sheet", "de"))
    english = sheet(MANIFEST, measured(), context)
    figures = [[{k: f[k] for k in ("attack", "value", "verdict", "gain")} for f in s["attacks"]["findings"]]
               for s in (german, english)]  # fmt: skip
    assert figures[0] == figures[1] and german["verdict"]["outcome"] == english["verdict"]["outcome"]
    text = page(german | {"decision": None}, "de")
    assert 'lang="de"' in text and "Spricht gegen die Freigabe" in text and "Speaks" not in text
    assert "1.000 Zeilen" in text and "0,020<br>[0,010; 0,030]" in text and "Epsilon 2: " in text
    assert "Wer die Freigabe sieht, erfährt etwas, in Grenzen" in text and "geübter Angreifer (Schatten)" in text


@pytest.mark.parametrize(
    "spec",
    ["pseudonymise", "mask:p=0.9", "dp-streams:epsilon=8,delta=1e-6", "dp-ratings:epsilon=8,delta=1e-6,scale=1..5",
     "dp-tags:epsilon=8,delta=1e-6", "mbrw"],
)  # fmt: skip
def test_a_german_sheet_has_no_english_field(spec: str, tmp_path: Path) -> None:
    made = parse(spec)
    ids = pl.Series(["a", "b"])
    promise = made.guarantee(PublicInfo("tags", "user", ids, ids, True))
    ledger.append(tmp_path / "ledger.jsonl", ledger.entry(made, promise))
    ledger.look(tmp_path / "ledger.jsonl", "tune", [spec], lambda: "x")
    found = measured()
    found["skipped"] = [{"name": "copies", "why": "copies needs the order of clicks, in the data and in the release"}]
    manifest = MANIFEST | {"spec": spec, "guarantee": promise.record()}
    context = Context(read_recipient("public"), ledger=str(tmp_path / "ledger.jsonl"))
    text = page(sheet(manifest, found, context, teller("sheet", "de")) | {"decision": None}, "de")
    assert 'lang="en"' not in text and "braucht die Reihenfolge der Klicks" in text
    for english in (made.card(), promise.sentence, " the ", "looked", "release", "promises"):
        assert english not in text.partition("</style>")[2].replace("sheet.release", "")
    other = manifest | {"guarantee": promise.record() | {"sentence": "Another version wrote <b>this</b>."}}
    if promise.status != "proved":
        text = page(sheet(other, found, context, teller("sheet", "de")) | {"decision": None}, "de")
        assert '<span lang="en">Another version wrote &lt;b&gt;this&lt;/b&gt;.</span>' in text


@pytest.mark.parametrize(
    ("english", "german"),
    [("11,581", "11.581"), ("0.2%", "0,2%"), ("99.5% [95, 103]", "99,5% [95; 103]"), ("-0.005", "-0,005"),
     ("1e-06", "1e-06"), ("0.1.0", "0.1.0"), ("2027-11-15", "2027-11-15"), ("mask:p=0.5", "mask:p=0.5")],
)  # fmt: skip
def test_numbers_have_the_signs_of_their_language(english: str, german: str) -> None:
    assert (figure(english, "en"), figure(english, "de")) == (english, german)
