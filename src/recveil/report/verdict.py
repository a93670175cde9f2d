"""The verdict in plain words. Every sentence is made of measurements with their intervals; none is free text.

One rule for the headline, the shaded corner and the badges: a release is named if few are found in it, if no attack
tells for sure who is in the data, and if a recommender certainly learns something from it beyond popularity. Of those
with a promise that means something, and of those without one, the one that teaches most is named, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

from recveil.report.controls import adds_nothing, nothing_sentence
from recveil.report.table import Advice, Entry, Report
from recveil.report.words import FEW, beyond_chance, percent, with_interval

MEMBERSHIP = 0.75  # an AUC from which on membership counts as told
COIN = 0.52  # an AUC up to here is called a coin toss: a smaller lead helps nobody


def attack_sentence(report: Report, entry: Entry) -> str:
    """What an attacker finds, beside the same for people who are not in the data."""
    m = report.found(entry)
    if m is None:
        return "Linkage was not measured."
    words = report.words
    known = m.params["known"]
    things = words.item if known == 1 else words.items
    knows = f"{known} {things} of a {words.person}" + (", with the ratings," if m.params.get("ratings") else "")
    finds = "points at the drawn record most like hers" if entry.drawn else "finds her record"
    among = f" in a crowd of {m.params['crowd']:,} {words.people}, drawn," if "crowd" in m.params else ""
    says = f"An attacker who knows {knows} {finds}{among} with {with_interval(m)}"
    if not beyond_chance(m):
        says += ", no better than a blind guess"
    if m.control is not None:
        says += f"; on data she is not in: {percent(m.control)}"
        if m.control > m.value / 10:
            says += " (a record claimed in error)"
    return says + "."


def membership_sentence(report: Report, entry: Entry) -> str:
    """Whether it can be told that a person was in the data at all; nothing where that was not measured."""
    m = report.membership(entry)
    if m is None:
        return ""
    area = f"AUC {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]" + (", weak evidence" if report.weak(m) else "")
    if m.low <= COIN:
        return f"Whether she is in the data cannot be told by our attacks ({area}; a coin toss has 0.50)."
    how = "can be told" if m.low > MEMBERSHIP else "can be guessed better than by a coin toss"
    return f"Whether she is in the data at all {how} ({area}; a coin toss has 0.50)."


def utility_sentence(report: Report, entry: Entry) -> str:
    """What a recommender learns from the release, beyond popularity."""
    m = report.lift(entry)
    if m is None:
        ahead = report.advantage(entry)
        if ahead is None:
            return "What a recommender learns was not measured."
        return f"{ahead.note[:1].upper()}{ahead.note[1:]}."
    keeps = f"keeps {with_interval(m)} of what the real data teach beyond popularity"
    if m.high < 0:
        keeps = f"does worse than naming the most popular {report.words.items} (lift {with_interval(m)})"
    elif m.low <= 0:
        keeps = f"learns nothing certain beyond popularity (lift {with_interval(m)})"
    return f"A recommender trained on this release {keeps}."


def rating_sentence(report: Report, entry: Entry) -> str:
    """How far predicted ratings are off; nothing where there are no ratings."""
    pair = report.rating(entry)
    if pair is None:
        return ""
    real, released = pair
    off = f"{released.value:.2f} [{released.low:.2f}, {released.high:.2f}]"
    return f"Ratings predicted from it are off by {off} (RMSE), from the real data by {real.value:.2f}."


def loss_sentence(report: Report, entry: Entry) -> str:
    """What is not in the release any more; nothing where all is."""
    lost = losses(report, entry)
    return f"{lost[0][:1].upper()}{'; '.join(lost)[1:]}." if lost else ""


def losses(report: Report, entry: Entry) -> list[str]:
    """What was lost, in short phrases: items first, then whole columns."""
    found = list(entry.lost)
    if entry.items < entry.items_of:
        found.insert(0, f"{entry.items:,} of {entry.items_of:,} {report.words.items} are left")
    return found


def sentence(report: Report, entry: Entry) -> str:
    """All that the verdict says of a release."""
    parts = (attack_sentence, membership_sentence, utility_sentence, rating_sentence, loss_sentence)
    little = f"Its promise means little: {entry.guarantee.weakness}." if entry.guarantee.weakness else ""
    nothing = nothing_sentence(report, entry)
    return " ".join(filter(None, (nothing, little, *(part(report, entry) for part in parts))))


def means_something(entry: Entry) -> bool:
    """Whether its promise, if it has one, is more than nominal; the verdict names no other release."""
    return entry.guarantee.weakness is None


def promising(entry: Entry) -> bool:
    """Whether there is a proof, of a promise that means something."""
    return entry.guarantee.status in ("proved", "experiment") and means_something(entry)


def hides(report: Report, entry: Entry) -> bool:
    """Few are found, and that somebody is in the data cannot be told for sure."""
    found, member = report.found(entry), report.membership(entry)
    if found is None or (member is not None and member.low > MEMBERSHIP):
        return False
    return found.high <= FEW or not beyond_chance(found)


def teaches(report: Report, entry: Entry) -> bool:
    """A recommender learns something certain from it, beyond popularity and beyond the public file of items."""
    lift = report.lift(entry)
    return lift is not None and lift.low > 0 and not adds_nothing(report, entry)


def best(report: Report, promise: bool) -> Entry | None:
    """Of the releases that hide people and teach, with or without a promise, the one that teaches most.

    One whose promise means little is named on neither side: it would be chosen for a number that bounds nothing.
    """
    fit = [
        (m.value, e)
        for e in report.entries
        if promising(e) == promise
        and means_something(e)
        and hides(report, e)
        and teaches(report, e)
        and (m := report.lift(e))
    ]
    return max(fit, key=lambda pair: pair[0])[1] if fit else None


def named(report: Report) -> dict[str, Entry]:
    """What the verdict names, by its badge; the release with a promise first."""
    sides = {"best with a promise": best(report, True), "best without a promise": best(report, False)}
    return {badge: entry for badge, entry in sides.items() if entry is not None}


def closest(report: Report) -> Entry | None:
    """Where no release does both: of those that teach, the one in which fewest are found."""
    fit = [(m.value, e) for e in report.entries if means_something(e) and teaches(report, e) and (m := report.found(e))]
    return min(fit, key=lambda pair: pair[0])[1] if fit else None


def signpost(advice: Sequence[Advice]) -> str:
    """Which mechanism with a proof keeps most of what an owner wants; nothing where there is only one."""
    ways = [f"for {a.best_for} take {a.mechanism}" for a in advice if a.fits and a.best_for]
    return f"With a proof: {', '.join(ways)}." if len(ways) > 1 else ""


def headline(report: Report) -> str:
    """The first sentence: the best release with a promise and the best without, side by side, and what each costs."""
    sure, unsure = best(report, True), best(report, False)
    idle = [e for e in report.entries if adds_nothing(report, e)]
    if idle and sure is None and unsure is None:
        who = "This release adds" if len(report.entries) == 1 else "None of these releases adds"
        who = who if len(idle) == len(report.entries) else f"{' and '.join(report.name(e) for e in idle)} add"
        what = "nothing" if who != "None of these releases adds" else "anything"
        return f"{who} {what} certain to the public file of items, which needs no private data at all."
    if len(report.entries) == 1 and (one := sure or unsure):
        return f"{_told(report, one)}: it hides people from our attacks, and teaches a recommender."
    if sure is None and unsure is None:
        if all(report.found(e) is None or report.lift(e) is None for e in report.entries):
            return "Too little was measured for a verdict on these data."
        both = "None of these releases both hides" if len(report.entries) > 1 else "This release does not both hide"
        return f"{both} people and teach{'es' * (len(report.entries) > 1)} a recommender."
    first = "No release here with a promise that means something both hides people and teaches a recommender"
    if sure is not None:
        first = f"Best with a promise: {_told(report, sure)}"
    if unsure is None:
        return f"{first}."
    return f"{first}; best without one: {_told(report, unsure)}, and nothing bounds an attack that was not tried."


def _told(report: Report, entry: Entry) -> str:
    """Its name, what its promise is about, and what it keeps."""
    promise, lift = entry.guarantee, report.lift(entry)
    unit = {"user": "person"}.get(promise.unit or "", promise.unit)
    about = f" (epsilon {promise.epsilon:g} for a {unit})" if promising(entry) else ""
    keeps = [f"{percent(lift.value)} of what the data teach"] if lift else []
    if entry.items < entry.items_of:
        keeps.append(f"{entry.items:,} of {entry.items_of:,} {report.words.items}")
    lost = f" ({'; '.join(entry.lost)})" if entry.lost else ""
    return f"{report.name(entry)}{about}" + (f", which keeps {' and '.join(keeps)}" if keeps else "") + lost
