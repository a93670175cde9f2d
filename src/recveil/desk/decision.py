"""The decision: a sheet of evidence for the officer, and the claim by which she approves or refuses.

The sheet follows the order of ISO/IEC 27559 and speaks in the three criteria of the European opinion on anonymisation.
It holds figures that were computed on private data, so it goes into the owner's folder; the published claim carries a
salted commitment to it, and nothing else of it. Nothing here claims that data are anonymous before any law.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as day
from pathlib import Path
from typing import Any

from recveil.desk import claims, evidence, ledger, owner
from recveil.desk.bundle import placed, verified_digests
from recveil.desk.claims import CLAIMS
from recveil.desk.evidence import ABOVE, BETWEEN, Finding
from recveil.desk.places import Folder, Place
from recveil.desk.recipients import Recipient
from recveil.desk.signing import Signer
from recveil.errors import RecveilError
from recveil.guarantee import strength
from recveil.mechanisms.spec import parse
from recveil.report.decision import page
from recveil.report.words import percent

SHEET = ("decision.json", "decision.html")
NO_LAW = (
    "This sheet is evidence for a decision that a person takes. It does not say that the data are anonymous in the "
    "sense of any law."
)
UNITS = {
    "user": "one person with everything she did",
    "session": "one session with everything in it; a person with several has as many times epsilon",
    "record": "one record: one thing that one person did; a person with k of them has k times epsilon",
    "tag": "which tag stands on one post; the posts themselves are public",
    "bit": "whether one person has one item; a person with k of them has k times epsilon",
}
_NOTHING: dict[str, Any] = {"until": None, "conditions": []}
TIMES = {"drop": "times", "order": "times (their order is kept)", "keep": ""}


@dataclass(frozen=True)
class Context:
    """What is decided on: to whom, why, until when, on which terms, and which ledger counts."""

    recipient: Recipient
    purpose: str = ""
    contract: str = ""
    until: day | None = None
    conditions: tuple[str, ...] = ()
    ledger: str | None = None


@dataclass(frozen=True)
class Decider:
    """Who decides, and how."""

    name: str
    role: str
    kind: str  # approved or refused
    signer: Signer


def decide(
    bundle: str | Path | Place, context: Context, decider: Decider | None = None, folder: Folder | None = None
) -> dict[str, Any]:
    """Write the sheet into the owner's folder; with a decider, sign the decision into the bundle's claims."""
    place = placed(bundle)
    manifest, digests = verified_digests(place)
    aside = folder or owner.owner_folder(place)
    standing = claims.check(claims.text_of(place / CLAIMS), digests)
    if decider is not None:
        _may_decide(place, manifest, standing.problems, decider, context)
    made = sheet(manifest, owner.measurements(aside, digests), context)
    made["decision"] = None if decider is None else _NOTHING | _facts(decider, context) | {"kind": decider.kind}
    made["bundle"] = digests["manifest.json"]
    owner.put(aside, SHEET[0], json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    owner.put(aside, SHEET[1], page(made))
    if decider is not None:
        facts = _facts(decider, context) | {"evidence": owner.commit(aside, SHEET)}
        claims.add(place / CLAIMS, decider.kind, digests, facts, decider.signer)
    return {"sheet": made, "folder": str(aside), "files": [str(aside / name) for name in SHEET]}


def sheet(manifest: dict[str, Any], measured: dict[str, Any] | None, context: Context) -> dict[str, Any]:
    """All that the sheet says, as plain data, from what was measured; nothing is measured here."""
    numbers = measured["measurements"] if measured else []
    left_out = measured["left_out"] if measured else []
    found = evidence.findings(numbers, context.recipient)
    missing = evidence.not_run(found, left_out, context.recipient)
    outcome, sentences = recommend(manifest, found, context.recipient, measured is not None)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "recveil": manifest["recveil"],
        "verdict": {"outcome": outcome, "sentences": sentences, "rule": context.recipient.rules(), "law": NO_LAW},
        "context": _context(manifest, context),
        "data": _data(manifest),
        "attacks": {
            "findings": [f.record() for f in found],
            "not_run": missing,
            "riskiest": _riskiest(measured),
        },
        "guarantee": _guarantee(manifest),
        "use": _use(numbers),
        "residual": _residual(manifest, found, missing, context),
        "ledger": _ledger(context),
    }


def recommend(
    manifest: dict[str, Any], found: Sequence[Finding], recipient: Recipient, measured: bool
) -> tuple[str, list[str]]:
    """for, against or open, and why; the first sentence says where there is no promise."""
    promise = manifest["guarantee"]
    proved = promise["status"] == "proved"
    above = [f for f in found if f.verdict == ABOVE]
    between = [f for f in found if f.verdict == BETWEEN]
    gaps = evidence.uncovered(found)
    sentences = []
    if not proved:
        sentences.append(
            "This release carries no proved promise: all that speaks for it is attacks that failed, and an attack that "
            "fails proves nothing about the next one; a release with a promise is to be preferred where it serves."
        )
    elif promise.get("little"):
        sentences.append(f"Its promise means little: {promise['little']}.")
    against = [f"{f.attack} is above its limit ({percent(f.value)})" for f in above]
    if recipient.needs_promise and not proved:
        against.append("this recipient needs a proved promise")
    if proved and promise["epsilon"] > recipient.most_epsilon:
        against.append(f"epsilon {promise['epsilon']:g} is above the limit of {recipient.most_epsilon:g}")
    if manifest["seeded"]:
        against.append("it was made with a seed, for an experiment")
    unsure = [f"the interval of {f.attack} spans its limit" for f in between]
    unsure += [f"nothing was measured about {criterion}" for criterion in gaps]
    if against:
        return "against", [*sentences, f"By the rule below the evidence speaks against it: {'; '.join(against)}."]
    if unsure:
        why = "; ".join(unsure) if measured else "nothing was measured: run recveil measure DATA BUNDLE --keep"
        return "open", [*sentences, f"By the rule below the evidence is not enough: {why}."]
    return "for", [*sentences, "By the rule below the evidence speaks for it: every figure is below its limit."]


def _may_decide(
    place: Place, manifest: dict[str, Any], problems: Sequence[str], decider: Decider, context: Context
) -> None:
    broken = [problem for problem in problems if "expired" not in problem]
    if broken:
        raise RecveilError(f"{place}: {broken[0]}; nothing is signed on top of claims that do not hold")
    if decider.kind == "approved" and manifest["seeded"]:
        raise RecveilError(f"{place} was made with a seed: an experiment cannot be approved; release it without one")
    if context.until and context.until < datetime.now(UTC).date():
        raise RecveilError(f"--until {context.until} has passed already, by this machine's clock")


def _facts(decider: Decider, context: Context) -> dict[str, Any]:
    """What is published of a decision."""
    facts: dict[str, Any] = {"by": decider.name, "role": decider.role, "recipient": context.recipient.title}
    if context.until:
        facts["until"] = context.until.isoformat()
    return facts | ({"conditions": list(context.conditions)} if context.conditions else {})


def _context(manifest: dict[str, Any], context: Context) -> dict[str, Any]:
    to = context.recipient
    knows = f"{to.known_items} items of a person" + (" with her ratings" if to.known_ratings else "")
    return {
        "what": f"{manifest['rows']:,} rows of {manifest['kind']}, {manifest['users']:,} {manifest['unit']}s, "
        f"{manifest['items']:,} items, released by {manifest['spec']}",
        "to": to.title,
        "about": to.about,
        "knows": knows + (", and other releases of the same people" if to.other_releases else ""),
        "purpose": context.purpose or "not stated",
        "until": context.until.isoformat() if context.until else "no end stated",
        "contract": context.contract or "none stated",
        "conditions": list(context.conditions),
    }


def _data(manifest: dict[str, Any]) -> dict[str, Any]:
    try:
        done = parse(manifest["spec"]).card()
    except RecveilError:  # of another version
        done = f"Released by {manifest['spec']}."
    removed = ["user ids (random tokens stand for them)"] + [gone for gone in (TIMES[manifest["time"]],) if gone]
    return {
        "who": f"Real people whose {manifest['kind']} the owner keeps; in the release {manifest['users']:,} "
        f"{manifest['unit']}s stand for them.",
        "columns": [column["name"] for column in manifest["schema"]],
        "unit": UNITS.get(manifest["guarantee"]["unit"] or "", "nobody: nothing is promised about any unit"),
        "removed": removed,
        "done": " ".join(done.split()),
    }


def _guarantee(manifest: dict[str, Any]) -> dict[str, Any]:
    promise = dict(manifest["guarantee"])
    holds = promise["epsilon"] is not None and promise["status"] in ("proved", "experiment")
    return promise | {"odds": strength(promise["epsilon"], promise["delta"]) if holds else None}


def _use(numbers: Sequence[dict[str, Any]]) -> list[str]:
    """What a recommender keeps, whether algorithms keep their order, what is lost and for whom."""
    lines = []
    lift = next((m for m in numbers if m["name"] == "lift" and m["params"].get("referee") == "all"), None)
    lift = lift or max((m for m in numbers if m["name"] == "lift"), key=lambda m: m["value"], default=None)
    if lift:
        lines.append(
            f"A recommender trained on it keeps {percent(lift['value'])} [{percent(lift['low'])}, "
            f"{percent(lift['high'])}] of what the real data teach beyond popularity."
        )
    lines += [
        f"The order of algorithms agrees with that on the real data: tau {m['value']:.2f} [{m['low']:.2f}, "
        f"{m['high']:.2f}] (by {m['params'].get('by', 'score')})."
        for m in numbers
        if m["name"] == "agreement"
    ]
    losses: dict[str, list[float]] = {}
    for m in numbers:
        if m["name"] == "damage":
            losses.setdefault(m["params"]["group"], []).append(m["value"])
    if losses:
        words = ", ".join(f"{group} {sum(found) / len(found):.3f}" for group, found in losses.items())
        lines.append(f"What is lost in recall, on average over the referees: {words}.")
    return lines or ["Its use was not measured."]


def _riskiest(measured: dict[str, Any] | None) -> str:
    people = measured["riskiest"] if measured else []
    if not people:
        return "Nobody is named: the release does not say whose record is whose, or nothing was measured."
    return (
        f"The most exposed person is found with {percent(people[0]['success'])} by {people[0]['known']} random items, "
        f"number {people[-1]['ordinal']} with {percent(people[-1]['success'])}."
    )


def _residual(
    manifest: dict[str, Any], found: Sequence[Finding], missing: Sequence[dict[str, str]], context: Context
) -> dict[str, Any]:
    promise = manifest["guarantee"]
    risks = [f"{f.criterion}: {f.attack}, {f.verdict}." for f in found if f.verdict in (ABOVE, BETWEEN)]
    if promise["given"]:
        risks.append(f"The promise takes as public: {promise['given']}. Where that is wrong, it does not cover it.")
    if promise["status"] == "proved" and promise["unit"] not in ("user", None):
        risks.append(f"The promise is about {UNITS[promise['unit']]}.")
    if missing:
        risks.append(f"Not attacked, or not judged: {', '.join(dict.fromkeys(gap['attack'] for gap in missing))}.")
    risks.append("Attacks that nobody has thought of yet" + (", within the promise." if promise["epsilon"] else "."))
    return {
        "risks": risks,
        "mitigations": list(context.recipient.mitigations),
        "monitoring": context.recipient.monitoring,
    }


def _ledger(context: Context) -> dict[str, Any]:
    if not context.ledger:
        return {"lines": ["No ledger was named, so earlier releases about the same people are not counted here."]}
    if not Path(context.ledger).exists():
        raise RecveilError(f"{context.ledger}: there is no such ledger; leave --ledger out, or name the right one")
    name = f"{context.ledger}, "
    lines = [line.removeprefix(name).removeprefix(f"{context.ledger}: ") for line in ledger.summary(context.ledger)]
    return {
        "lines": lines or ["The ledger has no release yet."],
        "releases": ledger.registry(context.ledger)["releases"],
    }
