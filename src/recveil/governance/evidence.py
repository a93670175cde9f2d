"""Evidence: measurements of a release by the three criteria, held against a recipient's limits, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from recveil.evaluation.catalogue import ATTACKS, CRITERIA, INFERENCE, LINKABILITY, MEASURES, SINGLING_OUT
from recveil.governance.recipients import Recipient
from recveil.report.words import percent

BELOW, ABOVE, BETWEEN = "below the limit", "above the limit", "cannot tell"
UNJUDGED = {
    "nearest": "a similarity to real records, which is no figure of privacy; see measurements.json",
    "sybil": "its control is guessing what is popular, not people outside the data; see measurements.json",
}
Row = Mapping[str, Any]  # a measurement as plain data


@dataclass(frozen=True)
class Finding:
    """One attack: its strongest result that this recipient could reach, and what it means for one person."""

    criterion: str
    attack: str
    value: float
    low: float
    high: float
    control: float | None
    chance: float | None
    limit: float
    verdict: str
    sentence: str
    people: int | None = None  # where it cannot tell: about how many people it would take

    def record(self) -> dict[str, Any]:
        return asdict(self)


def findings(measurements: Sequence[Row], recipient: Recipient) -> list[Finding]:
    """For each kind of attack the strongest result within what the recipient is taken to know."""
    found = []
    for criterion, attack, matches, limit, gained, words in _KINDS:
        fit = [m for m in measurements if matches(m, recipient)]
        if not fit:
            continue
        off = [(m["control"] or 0.0) if gained else 0.0 for m in fit]
        best = max(range(len(fit)), key=lambda k: fit[k]["value"] - off[k])
        m, most = fit[best], getattr(recipient, limit)
        low, high = m["low"] - off[best], m["high"] - off[best]
        verdict = BELOW if high <= most else ABOVE if low > most else BETWEEN
        figures = (m["value"], m["low"], m["high"], m["control"], m["chance"])
        people = enough(m["value"] - off[best], low, high, most, m.get("n") or 0) if verdict == BETWEEN else None
        found.append(Finding(criterion, attack, *figures, most, verdict, words(m), people))
    return sorted(found, key=lambda finding: list(CRITERIA).index(finding.criterion))


def enough(value: float, low: float, high: float, limit: float, n: int) -> int | None:
    """About how many people it would take until an interval around this value ends before the limit.

    Its width falls with the root of their number. None where the value is the limit, or their number is not known.
    """
    side = high - value if value < limit else value - low
    if not n or value == limit or side <= 0:
        return None
    return ceil(n * (side / abs(limit - value)) ** 2)


def not_run(found: Sequence[Finding], skipped: Sequence[Row]) -> list[dict[str, str]]:
    """What was not attacked, or is held against no limit, each with its reason."""
    reasons = {gap["name"]: gap["why"] for gap in skipped}
    done = {finding.attack.partition(" ")[0] for finding in found}
    return [
        {
            "criterion": MEASURES[attack].criterion,
            "attack": attack,
            "why": reasons.get(attack) or UNJUDGED.get(attack, "was not run on this bundle"),
        }
        for attack in ATTACKS
        if attack not in done
    ]


def uncovered(found: Sequence[Finding]) -> list[str]:
    """The criteria that no attack speaks to."""
    return [criterion for criterion in CRITERIA if criterion not in {f.criterion for f in found}]


def _linkage(attacker: str) -> Callable[[Row, Recipient], bool]:
    def matches(m: Row, recipient: Recipient) -> bool:
        params = m["params"]
        return (
            m["name"] == "linkage"
            and params.get("attacker") == attacker
            and params["known"] <= recipient.known_items
            and (recipient.known_ratings or not params.get("ratings"))
        )

    return matches


def _named(name: str) -> Callable[[Row, Recipient], bool]:
    return lambda m, _: bool(m["name"] == name)


def _found(m: Row) -> str:
    known, ratings = m["params"]["known"], " with the ratings" if m["params"].get("ratings") else ""
    says = f"Who knows {known} thing{'s' * (known != 1)} she did{ratings} names her record with {_share(m)}"
    if m["control"] is not None:
        says += f"; of people who are not in the data a record is named in error for {percent(m['control'])}"
    return says + "."


def _copied(m: Row) -> str:
    return f"Who sees a released stream names the person whose clicks begin it with {_share(m)}."


def _member(m: Row) -> str:
    return (
        f"Shown her and somebody who is not in the data, the attacker says rightly who is in them in "
        f"{_share(m)} of cases; a coin does so in 50%."
    )


def _recognised(m: Row) -> str:
    return (
        f"If one in {round(1 / m['params']['fpr'])} may be accused falsely, that she is in the data is recognised with "
        f"{_share(m)}."
    )


def _attribute(m: Row) -> str:
    return (
        f"That she is {m['params']['attribute']} is told better by {_share(m)} of AUC because she is in the release, "
        "beyond what it teaches about anybody."
    )


def _rebuilt(m: Row) -> str:
    what = "ratings" if m["params"].get("values") == "ratings" else "items"
    return f"Of her {what} {_share(m)} are guessed right; without her record {percent(m['control'] or 0.0)}."


def _share(m: Row) -> str:
    low, high = (percent(m[side]).removesuffix("%") for side in ("low", "high"))
    return f"{percent(m['value'])} [{low}, {high}]"


# Criterion, attack, which measurements, the recipient's limit, whether the control is taken off first, the sentence.
_KINDS: list[tuple[str, str, Callable[[Row, Recipient], bool], str, bool, Callable[[Row], str]]] = [
    (SINGLING_OUT, "linkage (all known items)", _linkage("intersection"), "most_found", False, _found),
    (SINGLING_OUT, "copies (whose stream)", _named("copies-linkage"), "most_found", False, _copied),
    (LINKABILITY, "linkage (best match)", _linkage("strongest"), "most_found", False, _found),
    (INFERENCE, "membership (shadows)", _named("shadow-auc"), "most_membership", False, _member),
    (INFERENCE, "membership (shadows, few false alarms)", _named("shadow-tpr"), "most_recognised", False, _recognised),
    (INFERENCE, "attributes", _named("attributes-attributable"), "most_gained", False, _attribute),
    (LINKABILITY, "across two releases", _named("across-linkage"), "most_found", False, _found),
    (INFERENCE, "membership", _named("membership-auc"), "most_membership", False, _member),
    (INFERENCE, "membership (few false alarms)", _named("membership-tpr"), "most_recognised", False, _recognised),
    (INFERENCE, "copies (membership)", _named("copies-auc"), "most_membership", False, _member),
    (INFERENCE, "reconstruction", _named("reconstruction"), "most_gained", True, _rebuilt),
]
