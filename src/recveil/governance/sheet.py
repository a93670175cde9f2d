"""The decision sheet: what is known about a bundle, held against a recipient's limits, for the officer to read.

It follows the order of ISO/IEC 27559 and speaks in the three criteria of the European opinion on anonymisation. It
holds figures that were computed on private data, so it stays in the owner's folder. Nothing here claims that data are
anonymous before any law. The same sheet exists in every language; its name is the digest of the English one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.governance import evidence, use_kept
from recveil.governance.context import Context
from recveil.governance.evidence import ABOVE, BETWEEN, ENGLISH, Finding
from recveil.guarantee import LESS, NOT_ON_RECORD, factor, from_record, grade
from recveil.mechanisms.spec import parse
from recveil.releases import ledger
from recveil.report.words import percent
from recveil.web.messages import Tell

CHOSEN = {"yes": "yes", "within a budget": "budget", NOT_ON_RECORD: "unknown"}  # words of the manifest, and of ours


def sheet(
    manifest: dict[str, Any], measured: dict[str, Any] | None, context: Context, tell: Tell = ENGLISH
) -> dict[str, Any]:
    """All that the sheet says, as plain data, from what was measured; nothing is measured here."""
    numbers = measured["measurements"] if measured else []
    skipped = measured["skipped"] if measured else []
    found = evidence.findings(numbers, context.to, tell)
    missing = evidence.not_run(found, skipped, tell)
    weaker = evidence.weaker_than(context.to, numbers)
    kept = use_kept.against_wish(numbers, context.wish, tell)
    outcome, sentences = recommend(manifest, found, context, tell, measured=measured is not None, weaker=weaker)
    outcome, sentences = _with_use(outcome, sentences, kept, tell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "recveil": manifest["recveil"],
        "verdict": {"outcome": outcome, "sentences": sentences, "rule": rules(context, tell), "law": tell("law")},
        "asked": context.record(),
        "context": _context(manifest, context, tell),
        "data": _data(manifest, tell),
        "attacks": {
            "findings": [f.record() for f in found],
            "not_run": missing,
            "weaker": tell("weaker", ran=weaker, n=context.to.known_items) if weaker else "",
            "riskiest": _riskiest(measured, tell),
        },
        "guarantee": _guarantee(manifest, tell),
        "choosing": [
            tell(f"chosen.{CHOSEN.get(chosen_on_data(manifest), 'unknown')}"),
            *([tell("decided_on_data")] if measured else []),
        ],
        "use": use_kept.lines(numbers, tell),
        "wish": kept,
        "residual": _residual(manifest, found, missing, context, tell),
        "ledger": _ledger(context, tell),
        "measured": measured is not None,
    }


def digest(made: dict[str, Any]) -> str:
    """The name of a sheet: of all that speaks for or against, whatever the day and the officer's own terms."""
    hers = ("until", "conditions")
    said = {key: part for key, part in made.items() if key not in ("date", "decision", "digest")}
    said |= {part: {key: text for key, text in made[part].items() if key not in hers} for part in ("context", "asked")}
    return sha256(json.dumps(said, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()).hexdigest()


def rules(context: Context, tell: Tell = ENGLISH) -> list[str]:
    """The rule of the recommendation, in words; a limit that was changed says why."""
    to = context.to
    lines = [
        tell("rule.found", n=to.known_items, share=percent(to.most_found)),
        tell("rule.membership", auc=f"{to.most_membership:g}", share=percent(to.most_recognised)),
        tell("rule.gained", share=percent(to.most_gained)),
        tell("rule.promise" if to.needs_promise else "rule.promise_if", epsilon=f"{to.most_epsilon:g}"),
    ]
    lines += [tell("rule.wish", what=tell(f"wish.{name}"), share=percent(s)) for name, s in context.wish.items()]
    return lines + [
        tell("rule.changed", name=tell(f"limit.{name}"), now=f"{now:g}", usual=f"{getattr(context.recipient, name):g}",
             reason=reason) for name, (now, reason) in context.limits.items()
    ]  # fmt: skip


def recommend(
    manifest: dict[str, Any], found: Sequence[Finding], context: Context, tell: Tell, *, measured: bool,
    weaker: int | None,
) -> tuple[str, list[str]]:  # fmt: skip
    """for, against or open, and why; the first sentence says where there is no promise."""
    promise, to = manifest["guarantee"], context.to
    proved = promise["status"] == "proved"
    sentences = []
    if not proved:
        sentences.append(tell("no_promise"))
    elif weakness := from_record(promise).weakness:
        weak = "; ".join(evidence.own(reason, tell) for reason in weakness.split("; "))
        sentences.append(tell("weak_promise", weakness=weak))
    above = [f for f in found if f.verdict == ABOVE]
    against = [tell("above", attack=tell(f"attack.{f.attack}"), share=percent(f.value)) for f in above]
    against += [tell("needs_promise")] * (to.needs_promise and not proved)
    if proved and promise["epsilon"] > to.most_epsilon:
        against.append(tell("epsilon_above", epsilon=f"{promise['epsilon']:g}", most=f"{to.most_epsilon:g}"))
    against += [tell("seeded")] * bool(manifest["seeded"])
    unsure = _unsure([f for f in found if f.verdict == BETWEEN], tell)
    unsure += [tell("weaker", ran=weaker, n=to.known_items).rstrip(".")] * bool(weaker)
    unsure += [tell("uncovered", criterion=tell(f"criterion.{name}")) for name in evidence.uncovered(found)]
    if against:
        return "against", [*sentences, tell("speaks_against", why="; ".join(against))]
    if unsure:
        why = "; ".join(unsure) if measured else tell("unmeasured")
        return "open", [*sentences, tell("not_enough", why=why)]
    return "for", [*sentences, tell("speaks_for")]


def _unsure(found: Sequence[Finding], tell: Tell) -> list[str]:
    """The attacks that cannot tell, in one phrase, and about how many people it would take for all of them."""
    if not found:
        return []
    names, needed = [tell(f"attack.{f.attack}") for f in found], [f.people or 0 for f in found]
    key = ("cannot_tell_people" if all(needed) else "cannot_tell") + ("_all" if len(found) > 1 else "")
    return [tell(key, attack="; ".join(names), people=f"{max(needed):,}")]


def _with_use(outcome: str, sentences: list[str], kept: list[dict[str, Any]], tell: Tell) -> tuple[str, list[str]]:
    """Privacy alone is half of it: what is of no use is not worth what it risks."""
    if not kept:
        return outcome, sentences
    if short := [one["sentence"] for one in kept if one["verdict"] == "short"]:
        return "against", [*sentences, tell("use_short", why=_in_turn(short))]
    if open_ := [one["sentence"] for one in kept if one["verdict"] == "open"]:
        return ("open" if outcome == "for" else outcome), [*sentences, tell("use_open", why=_in_turn(open_))]
    return outcome, [*sentences, tell("use_kept", why=_in_turn([one["sentence"] for one in kept]))]


def _in_turn(sentences: Sequence[str]) -> str:
    """The first goes on where a sentence has begun; each of the others is one of its own."""
    return " ".join([*sentences[:1], *(text[:1].upper() + text[1:] for text in sentences[1:])])


def _context(manifest: dict[str, Any], context: Context, tell: Tell) -> dict[str, Any]:
    to = context.recipient
    known = to.title and f"recipient.{to.name}"
    own = to.name in ("public", "contractor", "team") and tell(f"{known}.title")
    return {
        "what": tell("what", rows=f"{manifest['rows']:,}", kind=tell(f"kind.{manifest['kind']}"),
                     users=f"{manifest['users']:,}", unit=tell(f"units.{manifest['unit']}"),
                     items=f"{manifest['items']:,}", spec=manifest["spec"]),
        "to": own or to.title,
        "about": tell(f"{known}.about") if own else to.about,
        "knows": tell("knows_ratings" if to.known_ratings else "knows", n=to.known_items)
        + (tell("knows_releases") if to.other_releases else ""),
        "purpose": context.purpose or tell("not_stated"),
        "until": context.until.isoformat() if context.until else tell("no_end"),
        "review": context.review.isoformat() if context.review else tell("not_stated"),
        "contract": context.contract or tell("not_stated"),
        "conditions": list(context.conditions),
        **{name: words or tell("not_stated") for name, words in asdict(context.declared).items()},
    }  # fmt: skip


def _data(manifest: dict[str, Any], tell: Tell) -> dict[str, Any]:
    try:
        done = parse(manifest["spec"]).card()
    except RecveilError:  # of another version
        done = f"Released by {manifest['spec']}."
    times = {"drop": [tell("removed.times")], "order": [tell("removed.order")]}.get(manifest["time"], [])
    return {
        "who": tell("who", kind=tell(f"kind.{manifest['kind']}"), users=f"{manifest['users']:,}",
                    unit=tell(f"units.{manifest['unit']}")),
        "columns": [column["name"] for column in manifest["schema"]],
        "unit": tell(f"unit.{manifest['guarantee']['unit'] or 'none'}"),
        "removed": [tell("removed.ids"), *times],
        "done": " ".join(done.split()),
    }  # fmt: skip


def chosen_on_data(manifest: dict[str, Any]) -> str:
    """Whether mechanism and parameters were chosen on the data; bundles of older versions do not say."""
    return str(manifest.get("chosen_on_data", NOT_ON_RECORD))


def _guarantee(manifest: dict[str, Any], tell: Tell) -> dict[str, Any]:
    promise = dict(manifest["guarantee"])
    holds = promise["epsilon"] is not None and promise["status"] in ("proved", "experiment")
    people = manifest["users"]
    facts = manifest.get("series")
    return promise | {
        "given": promise["given"] and evidence.own(promise["given"], tell),
        "words": _promised(promise, tell) if holds else "",
        "series": facts and tell("series", window=facts["window"], begin=facts["begin"], end=facts["end"],
                                 windows=facts["windows"], last=facts["period_end"], name=facts["name"],
                                 epsilon=f"{facts['window_epsilon']:g}", delta=f"{facts['window_delta']:g}"),
        "odds": tell("odds_delta" if promise["delta"] else "odds", epsilon=f"{promise['epsilon']:g}",
                     delta=f"{promise['delta']:g}", times=factor(promise["epsilon"])) if holds else None,
        "delta_people": tell("delta_people", delta=f"{promise['delta']:g}", people=f"{people:,}",
                             share=f"{promise['delta'] * people:.2g}") if holds and promise["delta"] else "",
    }  # fmt: skip


def _promised(promise: dict[str, Any], tell: Tell) -> str:
    """The promise in the words of the sheet's language; the manifest's own are English."""
    epsilon, unit = promise["epsilon"], promise["unit"]
    says = tell(f"words.{grade(epsilon)}", whom=tell(f"whom.{unit}"), epsilon=f"{epsilon:g}", times=factor(epsilon))
    return says + (f" {tell(f'less.{unit}')}" if unit in LESS else "")


def _riskiest(measured: dict[str, Any] | None, tell: Tell) -> str:
    people = measured["riskiest"] if measured else []
    if not people:
        return tell("riskiest.none")
    first, last = people[0], people[-1]
    return tell("riskiest", share=percent(first["success"]), known=first["known"], number=last["ordinal"],
                last=percent(last["success"]))  # fmt: skip


def _residual(
    manifest: dict[str, Any], found: Sequence[Finding], missing: Sequence[dict[str, str]], context: Context, tell: Tell
) -> dict[str, Any]:
    promise = manifest["guarantee"]
    risks = [
        tell("risk", criterion=tell(f"criterion.{f.criterion}"), attack=tell(f"attack.{f.attack}"),
             verdict=tell(f"verdict.{f.verdict}")) for f in found if f.verdict in (ABOVE, BETWEEN)
    ]  # fmt: skip
    if promise["given"]:
        risks.append(tell("risk.given", given=evidence.own(promise["given"], tell)))
    if promise["status"] == "proved" and promise["unit"] not in ("user", None):
        risks.append(tell("risk.unit", unit=tell(f"unit.{promise['unit']}")))
    if "series" in manifest:
        risks.append(tell("risk.series", last=manifest["series"]["period_end"]))
    if missing:
        risks.append(tell("risk.missing", names=", ".join(dict.fromkeys(gap["name"] for gap in missing))))
    risks.append(tell("risk.unknown_within" if promise["epsilon"] else "risk.unknown"))
    to = context.recipient
    own = to.name in ("public", "contractor", "team")
    return {
        "risks": risks,
        "mitigations": [tell(f"recipient.{to.name}.mitigation.{k}") for k in (1, 2)] if own else list(to.mitigations),
        "monitoring": tell(f"recipient.{to.name}.monitoring") if own else to.monitoring,
    }


def _ledger(context: Context, tell: Tell) -> dict[str, Any]:
    if not context.ledger:
        return {"lines": [tell("ledger.none")]}
    if not Path(context.ledger).exists():
        raise RecveilError(f"{context.ledger}: there is no such ledger; leave --ledger out, or name the right one")
    name = f"{context.ledger}, "
    lines = [line.removeprefix(name).removeprefix(f"{context.ledger}: ") for line in ledger.summary(context.ledger)]
    lines = [evidence.own(line, tell) for line in lines]
    return {
        "lines": lines or [tell("ledger.empty")],
        "releases": ledger.registry(context.ledger)["releases"],
    }
