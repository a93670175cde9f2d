"""Evidence: measurements of a release by the three criteria, held against a recipient's limits, in sentences.

Where the same was counted for people who are not in the data, what counts is the gain over them, with the interval of
that difference. Elsewhere it is the value: what strangers are mistaken for says nothing about how many are found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from recveil.evaluation.catalogue import ATTACKS, CRITERIA, INFERENCE, LINKABILITY, MEASURES, SINGLING_OUT
from recveil.governance.recipients import Recipient
from recveil.intervals import Estimate, difference, wilson
from recveil.report.words import percent
from recveil.web.messages import Tell, teller
from recveil.web.messages.said import said

BELOW, ABOVE, BETWEEN = "below the limit", "above the limit", "cannot tell"
UNJUDGED = ("nearest", "sybil")  # held against no limit
Row = Mapping[str, Any]  # a measurement as plain data
ENGLISH = teller("sheet", "en")


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
    gain: Estimate | None = None  # over strangers, with its interval, where the same was counted for them

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"gain": None if self.gain is None else list(self.gain)}


def findings(measurements: Sequence[Row], recipient: Recipient, tell: Tell = ENGLISH) -> list[Finding]:
    """For each kind of attack the strongest result within what the recipient is taken to know."""
    found = []
    for criterion, attack, matches, limit, words in _KINDS:
        fit = [m for m in measurements if matches(m, recipient)]
        if not fit:
            continue
        m = max(fit, key=lambda one: counted(one)[0])
        value, low, high = counts = counted(m)
        most = getattr(recipient, limit)
        verdict = BELOW if high <= most else ABOVE if low > most else BETWEEN
        figures = (m["value"], m["low"], m["high"], m["control"], m["chance"])
        people = enough(value, low, high, most, m.get("n") or 0) if verdict == BETWEEN else None
        gain = counts if over_strangers(m) else None
        says = words(m, tell) + (f" {tell('nobody')}" if gain and gain[1] <= 0 else "")
        found.append(Finding(criterion, attack, *figures, most, verdict, says, people, gain))
    return sorted(found, key=lambda finding: list(CRITERIA).index(finding.criterion))


def over_strangers(m: Row) -> bool:
    """Whether the same was counted for people who are not in the data."""
    return m["control"] is not None and bool(m.get("control_n"))


def counted(m: Row) -> Estimate:
    """What is held against the limit, with its interval: the gain over strangers, where that can be said."""
    value = (m["value"], m["low"], m["high"])
    if not over_strangers(m):
        return value
    control, n = min(max(m["control"], 0.0), 1.0), m["control_n"]
    return difference(value, (control, *wilson(control * n, n)))


def enough(value: float, low: float, high: float, limit: float, n: int) -> int | None:
    """About how many people it would take until an interval around this value ends before the limit.

    Its width falls with the root of their number. None where the value is the limit, or their number is not known.
    """
    side = high - value if value < limit else value - low
    if not n or value == limit or side <= 0:
        return None
    return ceil(n * (side / abs(limit - value)) ** 2)


def not_run(found: Sequence[Finding], skipped: Sequence[Row], tell: Tell = ENGLISH) -> list[dict[str, str]]:
    """What was not attacked, or is held against no limit, each with its reason and what would run it."""
    reasons = {gap["name"]: gap["why"] for gap in skipped}
    done = {finding.attack.partition(" ")[0] for finding in found}
    done |= {"shadow"} if any("shadows" in finding.attack for finding in found) else set()
    done |= {"across"} if any(finding.attack.startswith("across") for finding in found) else set()
    return [
        {
            "criterion": MEASURES[attack].criterion,
            "attack": attack,
            "name": tell(f"tried.{attack}"),
            "why": _why(attack, reasons.get(attack), tell),
            "needs": MEASURES[attack].brought,
            "asked": "yes" if attack in reasons or attack in UNJUDGED else "",
        }
        for attack in ATTACKS
        if attack not in done
    ]


def _why(attack: str, reason: str | None, tell: Tell) -> str:
    """Why an attack has no figure here; what an owner must bring first is said in the sheet's own words."""
    if reason is None:
        return tell(f"unjudged.{attack}" if attack in UNJUDGED else "not_run")
    brought = MEASURES[attack].brought
    return tell(f"needs.{brought}") if brought and reason.startswith(f"{attack} needs ") else own(reason, tell)


def own(text: str, tell: Tell) -> str:
    """What is kept in English, in the language of a page, where that is known."""
    return said(text, tell("language")) or text


def uncovered(found: Sequence[Finding]) -> list[str]:
    """The criteria that no attack speaks to."""
    return [criterion for criterion in CRITERIA if criterion not in {f.criterion for f in found}]


def known_levels(recipient: Recipient) -> tuple[int, ...]:
    """How many items the attackers are given, so that the last of them knows what this recipient is taken to know."""
    return tuple(sorted({n for n in (2, 4, 8) if n < recipient.known_items} | {recipient.known_items}))


def weaker_than(recipient: Recipient, measurements: Sequence[Row]) -> int | None:
    """How much the best-informed attacker that was run knew, where this recipient is taken to know more.

    `asked`: so much was to be known, and nobody has as many items.
    """
    params = [m["params"] for m in measurements if m["name"] == "linkage"]
    most = max((max(p["known"], p.get("asked", 0)) for p in params), default=recipient.known_items)
    return max(p["known"] for p in params) if most < recipient.known_items else None


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


def _found(m: Row, tell: Tell) -> str:
    ratings = f" {tell('with_ratings')}" if m["params"].get("ratings") else ""
    says = tell("found", n=m["params"]["known"], ratings=ratings, **_shares(m))
    if m["control"] is None:
        return says
    key = "strangers.same" if m.get("control_n") else "strangers.named"
    return f"{says} {tell(key, share=percent(m['control']))}"


def _in_words(key: str) -> Callable[[Row, Tell], str]:
    return lambda m, tell: tell(key, **_shares(m))


def _recognised(m: Row, tell: Tell) -> str:
    return tell("recognised", often=round(1 / m["params"]["fpr"]), **_shares(m))


def _attribute(m: Row, tell: Tell) -> str:
    return tell("attribute", attribute=m["params"]["attribute"], **_shares(m))


def _rebuilt(m: Row, tell: Tell) -> str:
    what = "ratings" if m["params"].get("values") == "ratings" else "items"
    return tell(f"rebuilt.{what}", without=percent(m["control"] or 0.0), **_shares(m))


def _shares(m: Row) -> dict[str, str]:
    low, high = (percent(m[side]).removesuffix("%") for side in ("low", "high"))
    return {"share": f"{percent(m['value'])} [{low}, {high}]", "hundred": _of_hundred(m["value"])}


def _of_hundred(share: float) -> str:
    """As people count: 5, or 0.2, of 100."""
    return f"{100 * share:.0f}" if 100 * share >= 9.5 or not share else f"{100 * share:.1f}".removesuffix(".0")


Words = Callable[[Row, Tell], str]
# Criterion, attack, which measurements, the recipient's limit, the sentence.
_KINDS: list[tuple[str, str, Callable[[Row, Recipient], bool], str, Words]] = [
    (SINGLING_OUT, "linkage (all known items)", _linkage("intersection"), "most_found", _found),
    (SINGLING_OUT, "copies (whose stream)", _named("copies-linkage"), "most_found", _in_words("copied")),
    (LINKABILITY, "linkage (best match)", _linkage("strongest"), "most_found", _found),
    (INFERENCE, "membership (shadows)", _named("shadow-auc"), "most_membership", _in_words("member")),
    (INFERENCE, "membership (shadows, few false alarms)", _named("shadow-tpr"), "most_recognised", _recognised),
    (INFERENCE, "attributes", _named("attributes-attributable"), "most_gained", _attribute),
    (LINKABILITY, "across two releases", _named("across-linkage"), "most_found", _found),
    (INFERENCE, "membership", _named("membership-auc"), "most_membership", _in_words("member")),
    (INFERENCE, "membership (few false alarms)", _named("membership-tpr"), "most_recognised", _recognised),
    (INFERENCE, "copies (membership)", _named("copies-auc"), "most_membership", _in_words("member")),
    (INFERENCE, "reconstruction", _named("reconstruction"), "most_gained", _rebuilt),
]
