"""The decision sheet: what is known about a bundle, held against a recipient's limits, for the officer to read.

It follows the order of ISO/IEC 27559 and speaks in the three criteria of the European opinion on anonymisation. It
holds figures that were computed on private data, so it stays in the owner's folder. Nothing here claims that data are
anonymous before any law.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as day
from hashlib import sha256
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.governance import evidence
from recveil.governance.evidence import ABOVE, BETWEEN, Finding
from recveil.governance.recipients import Recipient
from recveil.guarantee import CHOSEN_ON_DATA, DECIDED_ON_DATA, NOT_ON_RECORD, from_record, strength
from recveil.mechanisms.spec import parse
from recveil.releases import ledger
from recveil.report.words import percent

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


def sheet(manifest: dict[str, Any], measured: dict[str, Any] | None, context: Context) -> dict[str, Any]:
    """All that the sheet says, as plain data, from what was measured; nothing is measured here."""
    numbers = measured["measurements"] if measured else []
    skipped = measured["skipped"] if measured else []
    found = evidence.findings(numbers, context.recipient)
    missing = evidence.not_run(found, skipped)
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
        "choosing": [CHOSEN_ON_DATA[chosen_on_data(manifest)], *([DECIDED_ON_DATA] if measured else [])],
        "use": _use(numbers),
        "residual": _residual(manifest, found, missing, context),
        "ledger": _ledger(context),
        "measured": measured is not None,
    }


def digest(made: dict[str, Any]) -> str:
    """The name of a sheet: of all that speaks for or against, whatever the day and the officer's own terms."""
    context = {key: text for key, text in made["context"].items() if key not in ("until", "conditions")}
    said = {key: part for key, part in made.items() if key not in ("date", "decision", "digest")} | {"context": context}
    return sha256(json.dumps(said, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()).hexdigest()


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
    elif weakness := from_record(promise).weakness:
        sentences.append(f"Its promise means little: {weakness}.")
    against = [f"{f.attack} is above its limit ({percent(f.value)})" for f in above]
    if recipient.needs_promise and not proved:
        against.append("this recipient needs a proved promise")
    if proved and promise["epsilon"] > recipient.most_epsilon:
        against.append(f"epsilon {promise['epsilon']:g} is above the limit of {recipient.most_epsilon:g}")
    if manifest["seeded"]:
        against.append("it was made with a seed, for an experiment")
    unsure = [f"{f.attack} cannot tell" + (f" ({_takes(f)})" if f.people else "") for f in between]
    unsure += [f"nothing was measured about {criterion}" for criterion in gaps]
    if against:
        return "against", [*sentences, f"By the rule below the evidence speaks against it: {'; '.join(against)}."]
    if unsure:
        why = "; ".join(unsure) if measured else "nothing was measured: run recveil measure DATA BUNDLE --keep"
        return "open", [*sentences, f"By the rule below the evidence is not enough: {why}."]
    return "for", [*sentences, "By the rule below the evidence speaks for it: every figure is below its limit."]


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


def _takes(found: Finding) -> str:
    return f"its interval spans the limit; it would take about {found.people:,} people"


def chosen_on_data(manifest: dict[str, Any]) -> str:
    """Whether mechanism and parameters were chosen on the data; bundles of older versions do not say."""
    return str(manifest.get("chosen_on_data", NOT_ON_RECORD))


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
