"""The decision: the officer approves or refuses a bundle on a sheet that she has read; later it may be withdrawn.

A decision is for one bundle, one sheet, one recipient, one set of conditions, one span of time. It is a signed claim;
the sheet stays in the owner's folder, in a place that nobody writes again, and the claim commits to it with a salt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.governance import owner
from recveil.governance.context import Context, from_record
from recveil.governance.decision_card import put_decision
from recveil.governance.sheet import chosen_on_data, digest, sheet
from recveil.releases import claims
from recveil.releases.bundle import MANIFEST, placed, verified_digests
from recveil.releases.claims import APPROVED, CLAIMS, DECISIONS, OFFICER, REFUSED, SUPERSEDED, WITHDRAWN, Checked, Known
from recveil.releases.keys import unlocked_beside
from recveil.releases.places import Folder, Place, os_errors
from recveil.releases.signing import Signer
from recveil.report.decision import page
from recveil.web.messages import LANGUAGES, teller

SHEET = ("decision.json", "decision.html")
PAGES = {language: SHEET[1] if language == "en" else f"decision.{language}.html" for language in LANGUAGES}
MOST_LETTERS = 2000  # of a line that is published
_NOTHING: dict[str, Any] = {"until": None, "conditions": [], "reason": "", "opinion": ""}


class NoReasonError(RecveilError):
    """An approval for which the evidence does not speak, and nobody says why."""


@dataclass(frozen=True)
class Decider:
    """Who decides, how, and why: a reason is published, and needed where the evidence does not speak for it.

    `seen`: the digest of the sheet that was read, or how it begins; else the one that stands in the owner's folder.
    `after`: how many decisions she had seen by then. `opinion`: her own words, for the sheet alone. `trust`: the keys
    that count; hers must be an officer's among them.
    """

    name: str
    role: str
    kind: str  # approved or refused
    signer: Signer
    reason: str = ""
    seen: str = ""
    opinion: str = ""
    trust: Mapping[str, Known] | None = None
    after: int | None = None


def decide(
    bundle: str | Path | Place, context: Context, decider: Decider | None = None, folder: Folder | None = None
) -> dict[str, Any]:
    """Write the sheet into the owner's folder; with a decider, sign the decision into the bundle's claims.

    What is signed is a sheet that was written before and read: where anything changed since, nothing is signed.
    """
    place = placed(bundle)
    manifest, digests = verified_digests(place)
    aside = folder or owner.owner_folder(place)
    spoken = draft(place, context, aside)
    made = spoken[LANGUAGES[0]]
    if decider is None:
        _write(aside, spoken)
        return _answer(made, aside)
    checked = claims.check(claims.text_of(place / CLAIMS), digests)
    _may_decide(place, manifest, checked, decider, context)
    if decider.kind == APPROVED and made["verdict"]["outcome"] != "for" and not decider.reason.strip():
        said = " ".join(made["verdict"]["sentences"])
        raise NoReasonError(f"{said} It is approved only with a reason, which is published: --reason TEXT")
    after = _check_read(place, context, aside, made["digest"], decider)
    if forged := owner.unsigned(aside, digests):
        raise RecveilError(f"{forged[0]}; nothing is signed on figures that somebody changed: measure the bundle again")
    _check_words(facts := _facts(decider, context))
    decision = _NOTHING | facts | {"kind": decider.kind, "opinion": decider.opinion.strip()}
    spoken = {language: one | {"decision": decision, "signed": one["signed"] + 1} for language, one in spoken.items()}
    with owner.new_decision(aside) as kept:
        if after not in (None, _signed(place, digests)):
            raise RecveilError("somebody decided or withdrew since that sheet was read: read it again, then sign")
        _write(kept, spoken)
        if (aside / owner.MEASUREMENTS).exists():
            owner.put(kept, owner.MEASUREMENTS, (aside / owner.MEASUREMENTS).read())
        facts |= {"chosen_on_data": chosen_on_data(manifest), "measured_on_data": made["measured"]}
        facts |= owner.commit(aside, kept, made["digest"])
        _sign(place, (manifest, digests), decider.kind, facts, decider.signer)
    with suppress(RecveilError):  # a full disk: it is signed, and kept whole in its own place
        _write(aside, spoken)
    return _answer(spoken[LANGUAGES[0]], aside)


def draft(bundle: str | Path | Place, context: Context, folder: Folder | None = None) -> dict[str, dict[str, Any]]:
    """The sheet as the evidence stands, in every language, under the name of the English one; nothing is written."""
    place = placed(bundle)
    manifest, digests = verified_digests(place)
    measured = owner.measurements(folder or owner.owner_folder(place), digests)
    spoken = {language: sheet(manifest, measured, context, teller("sheet", language)) for language in LANGUAGES}
    plain: dict[str, Any] = {"bundle": digests[MANIFEST], "decision": None}
    name = digest(spoken[LANGUAGES[0]] | plain)
    plain |= {"digest": name, "signed": _signed(place, digests)}
    return {language: one | plain for language, one in spoken.items()}


def _signed(place: Place, digests: dict[str, str]) -> int:
    """How many decisions there are by now."""
    return sum(c.kind in DECISIONS for c in claims.check(claims.text_of(place / CLAIMS), digests).claims)


def withdraw(
    bundle: str | Path | Place, name: str, role: str, reason: str, signer: Signer, successor: str | Path | None = None
) -> dict[str, Any]:
    """Sign that a release no longer stands; with a successor, that another bundle takes its place. Nothing is undone:
    whoever asks `verify` is told.
    """
    if not reason.strip():
        raise RecveilError("say why it is withdrawn: --reason TEXT, which is published")
    place = placed(bundle)
    manifest, digests = verified_digests(place)
    _check_whole(place, claims.check(claims.text_of(place / CLAIMS), digests))
    facts = {"by": name, "role": role, "reason": reason.strip()}
    _check_words(facts)
    kind = WITHDRAWN
    if successor is not None:
        other = verified_digests(placed(successor))[1][MANIFEST]
        if other == digests[MANIFEST]:
            raise RecveilError(f"{successor} is the same bundle; name the one that takes its place")
        kind, facts = SUPERSEDED, facts | {"successor": other}
    _sign(place, (manifest, digests), kind, facts, signer)
    return {"kind": kind, "facts": facts}


def _sign(
    place: Place, of: tuple[dict[str, Any], dict[str, str]], kind: str, facts: Mapping[str, Any], signer: Signer
) -> None:
    """Sign it into the claims, which is what counts; the card repeats it."""
    manifest, digests = of
    claims.add(place / CLAIMS, kind, digests, facts, signer)
    with suppress(RecveilError):  # a full disk: verify remarks that the card is older
        put_decision(place, manifest, claims.check(claims.text_of(place / CLAIMS), digests))


def _check_read(place: Place, context: Context, aside: Folder, now: str, decider: Decider) -> int | None:
    """Raise where the sheet as it stands now is not the one that was read, or that could be read in the folder.

    The number of decisions by then, where it is known.
    """
    seen = decider.seen
    try:
        there = {} if seen else json.loads((aside / SHEET[0]).read())
        read = seen or str(there["digest"])
        hers = {} if seen else {name: getattr(from_record(there["asked"]), name) for name in ("until", "conditions")}
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError(
            "there is no sheet that could have been read: recveil decide BUNDLE, with the same recipient and purpose, "
            "writes it; read it, then sign"
        ) from None
    if len(read) < 8 or not now.startswith(read):
        raise RecveilError("the evidence changed since that sheet was written: write the sheet anew and read it again")
    said = (owner.last_decision(aside) or {}).get("decision") if there.get("decision") else None
    for language, one in draft(place, replace(context, **hers), aside).items() if there else ():
        written = page(one | {"date": there.get("date"), "decision": said}, language)
        with os_errors(shown := aside / PAGES[language]):
            if shown.exists() and shown.read() != written:
                raise RecveilError(
                    f"{shown} is not the sheet that the evidence gives: write the sheet anew and read it again"
                )
    return there.get("signed") if there else decider.after


def _check_whole(place: Place, checked: Checked) -> None:
    if checked.problems:
        raise RecveilError(f"{place}: {checked.problems[0]}; nothing is signed on top of claims that do not hold")


def _check_words(facts: Mapping[str, Any]) -> None:
    """Raise where what is to be published for ever is no line of words."""
    if not all(str(facts.get(name, "")).strip() for name in ("by", "role")):
        raise RecveilError('whoever decides or withdraws has a name and a role: --as "Jane Roe, DPO"')
    for name, said in facts.items():
        for text in [said] if isinstance(said, str) else said:
            if not text.isprintable() or len(text) > MOST_LETTERS:
                raise RecveilError(f"{name}: what is published is one line of at most {MOST_LETTERS:,} letters")


def _may_decide(place: Place, manifest: dict[str, Any], checked: Checked, decider: Decider, context: Context) -> None:
    if decider.kind not in (APPROVED, REFUSED):
        raise RecveilError(f"an officer approves or refuses; {decider.kind!r} is no decision on a sheet")
    _check_whole(place, checked)
    if decider.kind == APPROVED and manifest["seeded"]:
        raise RecveilError(f"{place} was made with a seed: an experiment cannot be approved; release it without one")
    if context.until and context.until < datetime.now(UTC).date():
        raise RecveilError(f"--until {context.until} has passed already, by this machine's clock")
    _check_key(place, checked, decider)


def _check_key(place: Place, checked: Checked, decider: Decider) -> None:
    """Raise where the key is not an officer's alone: another's by the trust file, the owner's, or lying beside it."""
    signer = decider.signer
    if decider.trust is not None:
        known = decider.trust.get(signer.fingerprint)
        if known is None or known.role != OFFICER or not known.signed(datetime.now(UTC).date()):
            who = "is not known" if known is None else f"is that of {known.name}, {known.role}, or its days are over"
            raise RecveilError(f"the trust file says: this key {who}; only an officer whom it names decides")
    if decider.kind != APPROVED:
        return
    released = {c.fingerprint for c in checked.claims if c.kind == "released"}
    if signer.fingerprint in released:
        raise RecveilError(f"{place} was released with this very key: who releases does not approve; take another key")
    beside = unlocked_beside(signer.source) if signer.source else {}
    if both := released & set(beside):
        raise RecveilError(
            f"{signer.source} lies beside {beside[both.pop()]}, which released this bundle: whoever opens that folder "
            "is owner and officer at once; keep the two keys apart"
        )


def _write(folder: Folder, spoken: Mapping[str, dict[str, Any]]) -> None:
    plain = spoken[LANGUAGES[0]]
    owner.put(folder, SHEET[0], json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    for language, made in spoken.items():
        owner.put(folder, PAGES[language], page(made, language))


def _answer(made: dict[str, Any], aside: Folder) -> dict[str, Any]:
    files = [str(aside / name) for name in (SHEET[0], *PAGES.values())]
    return {"sheet": made, "digest": made["digest"], "folder": str(aside), "files": files}


def _facts(decider: Decider, context: Context) -> dict[str, Any]:
    """What is published of a decision."""
    to = context.recipient
    facts: dict[str, Any] = {"by": decider.name, "role": decider.role, "recipient": to.title, "to": to.name}
    if context.until:
        facts["until"] = context.until.isoformat()
    if context.review:
        facts["review"] = context.review.isoformat()
    facts |= {"conditions": list(context.conditions)} if context.conditions else {}
    facts |= {name: said for name in ("title", "controller", "contact") if (said := getattr(context.declared, name))}
    return facts | ({"reason": decider.reason.strip()} if decider.reason.strip() else {})
