"""Claims: who says what about a bundle. One line a claim, each sealed, each naming the hash of the one before it.

A claim is an in-toto statement whose subjects are the hashes of the bundle's files. `released` and the decisions
(`approved`, `refused`, `withdrawn`, `superseded`) stand in the bundle's claims.jsonl; `attacked` and `used` were
computed on private data, and stand in the owner's folder beside it (owner.py). Whose keys count, a trust file says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from datetime import date as day
from hashlib import sha256
from itertools import accumulate
from typing import Any

from recveil.errors import RecveilError
from recveil.releases.places import Place, alone, os_errors, replace_text
from recveil.releases.signing import BrokenEnvelopeError, Opened, Signer, seal, unseal

CLAIMS = "claims.jsonl"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:recveil:claim:{kind}:1"
OWNER, OFFICER = "owner", "officer"
APPROVED, REFUSED, WITHDRAWN, SUPERSEDED = DECISIONS = ("approved", "refused", "withdrawn", "superseded")
SAID_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("released", "attacked", "used", "judged"), (OWNER,)),
    **dict.fromkeys((APPROVED, REFUSED), (OFFICER,)),
    **dict.fromkeys((WITHDRAWN, SUPERSEDED), (OFFICER, OWNER)),
}
TERMS = ("sheet", "to", "recipient", "conditions", "until")  # what an approval is for
WORDS = (*TERMS[:3], "by", "role", "until", "review", "reason", "title", "controller", "contact", "successor")
PUBLISHED = ("released", *DECISIONS)
SKEW = timedelta(minutes=5)  # of two clocks that agree

Digests = Mapping[str, str]  # the SHA-256 of files by name


@dataclass(frozen=True)
class Known:
    """A key of the trust file, and the days from which and until which it could sign."""

    role: str
    name: str
    since: day | None = None
    until: day | None = None

    def signed(self, when: day, no_earlier: day | None = None) -> bool:
        """Whether the key could sign on that day; `no_earlier`: where the date that is told cannot be true."""
        last = max(when, no_earlier or when)
        return (self.since is None or when >= self.since) and (self.until is None or last <= self.until)


@dataclass(frozen=True)
class SignedClaim:
    """A line whose signature holds."""

    number: int
    kind: str
    facts: dict[str, Any]
    subjects: dict[str, str]
    fingerprint: str
    date: datetime
    previous: str | None

    @property
    def until(self) -> day | None:
        text = self.facts.get("until")
        return day.fromisoformat(text) if text else None

    def __str__(self) -> str:
        return f"claim {self.number} ({self.kind})"


@dataclass(frozen=True)
class Checked:
    """The claims that could be read, what does not hold, and what a reader should know."""

    claims: tuple[SignedClaim, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    known: Mapping[str, Known] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Who said what, in a line each."""
        return [self._says(claim) for claim in self.claims]

    def record(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": c.kind, "date": c.date.isoformat(), "key": c.fingerprint,
                "name": self.known[c.fingerprint].name if c.fingerprint in self.known else None, "facts": c.facts,
            }
            for c in self.claims
        ]  # fmt: skip

    def _says(self, claim: SignedClaim) -> str:
        who = self.known.get(claim.fingerprint)
        signer = f"{who.name} ({who.role})" if who else f"key {claim.fingerprint[:16]}… (not known)"
        words = f"{claim.kind} on {claim.date:%Y-%m-%d} by {signer}"
        if claim.facts.get("by"):
            words += f", as {claim.facts['by']}, {claim.facts['role']}"
        if claim.facts.get("recipient"):
            words += f", for {claim.facts['recipient']}"
        return words + (f", until {claim.until}" if claim.until else "")


def claim(kind: str, digests: Digests, facts: Mapping[str, Any], signer: Signer, before: str = "") -> str:
    """A new line about files, to be added to the text of the claims `before` it."""
    lines = _lines(before)
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())],
        "predicateType": PREDICATE.format(kind=kind),
        "predicate": {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "previous": sha256(lines[-1].encode()).hexdigest() if lines else None,
            "facts": dict(facts),
        },
    }
    return seal(statement, signer)


def add(place: Place, kind: str, digests: Digests, facts: Mapping[str, Any], signer: Signer) -> None:
    """Put a claim at the end of a claims.jsonl; nothing that stood there is lost, whatever fails or comes meanwhile."""
    with os_errors(place), alone(place):
        before = text_of(place)
        if before and not before.endswith("\n"):
            raise RecveilError(f"{place} ends in half a line; put back the whole file before anything is added to it")
        replace_text(place, before + claim(kind, digests, facts, signer, before) + "\n")


def text_of(place: Place) -> str:
    """What a claims.jsonl holds; nothing where there is none."""
    try:
        return place.read() if place.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise RecveilError(f"{place} cannot be read") from None


def check(
    text: str, digests: Digests, trust: Mapping[str, Known] | None = None, kinds: tuple[str, ...] = PUBLISHED
) -> Checked:
    """All claims of a file about these files: signatures, chain, subjects, keys, roles, dates."""
    lines = _lines(text)
    problems: list[str] = []
    claims: list[SignedClaim] = []
    for number, line in enumerate(lines, 1):
        try:
            claims.append(_claim(number, unseal(line)))
        except BrokenEnvelopeError as why:
            half = number == len(lines) and not text.endswith("\n")
            problems.append(f"claim {number} {'is half a line' if half else why}")
    problems += _chain(lines, claims)
    for c in claims:
        if c.kind not in kinds:
            problems.append(f"{c} does not belong in this file")
        if any(digests.get(name) != digest for name, digest in c.subjects.items()) or not c.subjects:
            problems.append(f"{c} speaks of other files: it was made for another bundle, or a file was changed")
        elif missing := sorted(set(digests) - set(c.subjects)):
            problems.append(f"{c} does not speak of {', '.join(missing[:3])}")
    if trust is not None:
        problems += _keys(claims, trust)
    return Checked(tuple(claims), tuple(problems), tuple(_clocks(claims)), trust or {})


def no_earlier(claims: Sequence[SignedClaim]) -> list[day]:
    """The day before which each cannot have been signed, whatever its own date: it names the hash of the one above."""
    return list(accumulate((c.date.date() for c in claims), max))


def together(said: Sequence[SignedClaim]) -> list[SignedClaim]:
    """The last decision; of approvals all that came with it, by other keys, on the same sheet and terms."""
    found = [said[-1]]
    for c in reversed(said[:-1]):
        if c.kind != APPROVED or any(c.facts.get(name) != said[-1].facts.get(name) for name in TERMS):
            break
        if c.fingerprint not in {one.fingerprint for one in found}:
            found.append(c)
    return found[::-1] if said[-1].kind == APPROVED else found[:1]


def required(checked: Checked, trust: Mapping[str, Known]) -> list[str]:
    """Roles of the trust file that must have spoken and have not."""
    spoken = {trust[c.fingerprint].role for c in checked.claims if c.fingerprint in trust}
    return [
        f"no claim by the {role}: it was never made, or it was removed"
        for role in dict.fromkeys(known.role for known in trust.values())
        if role not in spoken
    ]


def _lines(text: str) -> list[str]:
    """Only a newline ends a line: whatever else looks like an end is a change."""
    return text.removesuffix("\n").split("\n") if text else []


def _claim(number: int, opened: Opened) -> SignedClaim:
    try:
        statement, predicate = opened.statement, opened.statement["predicate"]
        kind = str(statement["predicateType"]).split(":")[-2]
        if statement["_type"] != STATEMENT or statement["predicateType"] != PREDICATE.format(kind=kind):
            raise ValueError
        subjects = {str(s["name"]): str(s["digest"]["sha256"]) for s in statement["subject"]}
        when = datetime.fromisoformat(predicate["date"])
        facts = {name: _printable(said) for name, said in dict(predicate["facts"]).items()}
        found = SignedClaim(number, kind, facts, subjects, opened.fingerprint, when, predicate["previous"])
        found.until  # noqa: B018  (a date, or no claim)
        if kind not in SAID_BY or when.tzinfo is None or (kind in DECISIONS and not _speaks(found.facts)):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise BrokenEnvelopeError("is signed, but is no claim that this version knows") from None
    return found


def _printable(said: Any) -> Any:
    """Words of others move no cursor."""
    if isinstance(said, list):
        return [_printable(one) for one in said]
    return "".join(c if c.isprintable() else " " for c in said) if isinstance(said, str) else said


def _speaks(facts: Mapping[str, Any]) -> bool:
    """Whether the facts of a decision are such as ours: words, lists of words, and names with commitments."""
    evidence = facts.get("evidence", [])
    pairs = [pair for one in evidence for pair in (one["name"], one["commitment"])] if evidence else []
    words = [facts[name] for name in WORDS if facts.get(name) is not None]
    return all(isinstance(text, str) for text in (*words, *list(facts.get("conditions") or []), *pairs))


def _chain(lines: list[str], claims: list[SignedClaim]) -> list[str]:
    problems = []
    for c in claims:
        above = sha256(lines[c.number - 2].encode()).hexdigest() if c.number > 1 else None
        if c.previous != above:
            where = "the file begins with it" if c.number == 1 else f"claim {c.number - 1} is not that one"
            problems.append(f"{c} follows a claim that is not here ({where}): a claim was removed or moved")
    return problems


def _keys(claims: list[SignedClaim], trust: Mapping[str, Known]) -> list[str]:
    problems = []
    for c, by in zip(claims, no_earlier(claims), strict=True):
        known = trust.get(c.fingerprint)
        if known is None:
            problems.append(f"{c} is signed by a key that is not known: {c.fingerprint}")
        elif known.role not in SAID_BY[c.kind]:
            who = " or the ".join(SAID_BY[c.kind])
            problems.append(f"{c} is signed by {known.name}, {known.role}; only the {who} can say that")
        elif not known.signed(c.date.date(), by):
            span = f"{known.since or 'the beginning'} to {known.until or 'today'}"
            problems.append(f"{c} is dated {by}, and the key of {known.name} signs from {span} alone")
    return problems


def _clocks(claims: list[SignedClaim]) -> list[str]:
    """Where clocks disagree."""
    now = datetime.now(UTC)
    remarks: list[str] = []
    for above, c in zip((None, *claims), claims, strict=False):
        if c.date > now + SKEW:
            remarks.append(f"{c} is dated {c.date.isoformat()}, which this clock has not reached: one clock is wrong")
        if above is not None and c.date < above.date - SKEW:
            remarks.append(f"{c} is dated before {above}, which it follows: two clocks disagree")
    return remarks
