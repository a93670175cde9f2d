"""The decision: the officer approves or refuses a bundle on a sheet that she has read; later it may be withdrawn.

A decision is for one bundle, one sheet, one recipient, one set of conditions, one span of time. It is a signed claim;
the sheet stays in the owner's folder, in a place that nobody writes again, and the claim commits to it with a salt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.governance import owner
from recveil.governance.sheet import Context, chosen_on_data, digest, sheet
from recveil.releases import claims
from recveil.releases.bundle import MANIFEST, placed, verified_digests
from recveil.releases.claims import APPROVED, CLAIMS, SUPERSEDED, WITHDRAWN, Checked
from recveil.releases.places import Folder, Place
from recveil.releases.signing import Signer
from recveil.report.decision import page

SHEET = ("decision.json", "decision.html")
_NOTHING: dict[str, Any] = {"until": None, "conditions": [], "reason": ""}


class NoReasonError(RecveilError):
    """An approval for which the evidence does not speak, and nobody says why."""


@dataclass(frozen=True)
class Decider:
    """Who decides, how, and why: a reason is published, and needed where the evidence does not speak for it.

    `seen`: the digest of the sheet that was read, or how it begins; else the one that stands in the owner's folder.
    """

    name: str
    role: str
    kind: str  # approved or refused
    signer: Signer
    reason: str = ""
    seen: str = ""


def decide(
    bundle: str | Path | Place, context: Context, decider: Decider | None = None, folder: Folder | None = None
) -> dict[str, Any]:
    """Write the sheet into the owner's folder; with a decider, sign the decision into the bundle's claims.

    What is signed is a sheet that was written before and read: where anything changed since, nothing is signed.
    """
    place = placed(bundle)
    manifest, digests = verified_digests(place)
    aside = folder or owner.owner_folder(place)
    made = sheet(manifest, owner.measurements(aside, digests), context)
    made |= {"bundle": digests[MANIFEST], "decision": None}
    made["digest"] = digest(made)
    if decider is None:
        _write(aside, made)
        return _answer(made, aside)
    checked = claims.check(claims.text_of(place / CLAIMS), digests)
    _may_decide(place, manifest, checked, decider, context)
    if decider.kind == APPROVED and made["verdict"]["outcome"] != "for" and not decider.reason.strip():
        raise NoReasonError(
            f"{made['verdict']['sentences'][-1]} It is approved only with a reason, which is published: --reason TEXT"
        )
    _check_read(aside, made["digest"], decider.seen)
    facts = _facts(decider, context)
    made["decision"] = _NOTHING | facts | {"kind": decider.kind}
    with owner.new_decision(aside) as kept:
        _write(kept, made)
        if (aside / owner.MEASUREMENTS).exists():
            owner.put(kept, owner.MEASUREMENTS, (aside / owner.MEASUREMENTS).read())
        facts |= {"chosen_on_data": chosen_on_data(manifest), "measured_on_data": made["measured"]}
        facts |= {"evidence": owner.commit(aside, kept)}
        claims.add(place / CLAIMS, decider.kind, digests, facts, decider.signer)
    _write(aside, made)
    return _answer(made, aside)


def withdraw(
    bundle: str | Path | Place, name: str, role: str, reason: str, signer: Signer, successor: str | Path | None = None
) -> dict[str, Any]:
    """Sign that a release no longer stands; with a successor, that another bundle takes its place. Nothing is undone:
    whoever asks `verify` is told.
    """
    if not reason.strip():
        raise RecveilError("say why it is withdrawn: --reason TEXT, which is published")
    place = placed(bundle)
    _, digests = verified_digests(place)
    _check_whole(place, claims.check(claims.text_of(place / CLAIMS), digests))
    facts = {"by": name, "role": role, "reason": reason.strip()}
    kind = WITHDRAWN
    if successor is not None:
        other = verified_digests(placed(successor))[1][MANIFEST]
        if other == digests[MANIFEST]:
            raise RecveilError(f"{successor} is the same bundle; name the one that takes its place")
        kind, facts = SUPERSEDED, facts | {"successor": other}
    claims.add(place / CLAIMS, kind, digests, facts, signer)
    return {"kind": kind, "facts": facts}


def _check_read(aside: Folder, now: str, seen: str) -> None:
    """Raise where the sheet as it stands now is not the one that was read."""
    try:
        read = seen or str(json.loads((aside / SHEET[0]).read())["digest"])
    except (OSError, ValueError, KeyError):
        raise RecveilError(
            "there is no sheet that could have been read: recveil decide BUNDLE, with the same recipient and purpose, "
            "writes it; read it, then sign"
        ) from None
    if len(read) < 8 or not now.startswith(read):
        raise RecveilError("the evidence changed since that sheet was written: write the sheet anew and read it again")


def _check_whole(place: Place, checked: Checked) -> None:
    if checked.problems:
        raise RecveilError(f"{place}: {checked.problems[0]}; nothing is signed on top of claims that do not hold")


def _may_decide(place: Place, manifest: dict[str, Any], checked: Checked, decider: Decider, context: Context) -> None:
    _check_whole(place, checked)
    if decider.kind == APPROVED and manifest["seeded"]:
        raise RecveilError(f"{place} was made with a seed: an experiment cannot be approved; release it without one")
    if context.until and context.until < datetime.now(UTC).date():
        raise RecveilError(f"--until {context.until} has passed already, by this machine's clock")
    released = [c.fingerprint for c in checked.claims if c.kind == "released"]
    if decider.kind == APPROVED and decider.signer.fingerprint in released:
        raise RecveilError(f"{place} was released with this very key: who releases does not approve; take another key")


def _write(folder: Folder, made: dict[str, Any]) -> None:
    owner.put(folder, SHEET[0], json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    owner.put(folder, SHEET[1], page(made))


def _answer(made: dict[str, Any], aside: Folder) -> dict[str, Any]:
    files = [str(aside / name) for name in SHEET]
    return {"sheet": made, "digest": made["digest"], "folder": str(aside), "files": files}


def _facts(decider: Decider, context: Context) -> dict[str, Any]:
    """What is published of a decision."""
    to = context.recipient
    facts: dict[str, Any] = {"by": decider.name, "role": decider.role, "recipient": to.title, "to": to.name}
    if context.until:
        facts["until"] = context.until.isoformat()
    facts |= {"conditions": list(context.conditions)} if context.conditions else {}
    return facts | ({"reason": decider.reason.strip()} if decider.reason.strip() else {})
