"""The verdict in plain words. Every sentence is made of measurements with their intervals; none is free text."""

from __future__ import annotations

from recveil.measurement import Measurement
from recveil.report.table import Entry, Report

FEW = 0.10  # fewer than one in ten found: the attacker mostly fails
MOST = 0.50
MEMBERSHIP = 0.75  # an AUC from which on membership counts as told

STATUS = {
    "proved": "proved",
    "claimed": "claimed by a paper",
    "refuted": "refuted",
    "none": "no promise",
    "experiment": "proved, but seeded here",
}


def percent(value: float) -> str:
    """As many digits as the size deserves: 66%, 3.2%, 0.1%."""
    shown = 100 * value
    if shown and abs(shown) < 0.05:
        return "<0.1%" if shown > 0 else "-0.0%"
    return f"{shown:.0f}%" if abs(shown) >= 9.95 or shown == 0 else f"{shown:.1f}%"


def with_interval(m: Measurement) -> str:
    """66% [64, 68]."""
    low, high = (percent(x).removesuffix("%") for x in (m.low, m.high))
    return f"{percent(m.value)} [{low}, {high}]"


def beyond_chance(m: Measurement) -> bool:
    """Does the attacker do better than one who saw nothing?

    Strangers are no yardstick here: of them it is counted how often a record is claimed in error, and an attacker who
    finds every fifth person leaks, however many others she points at.
    """
    return m.low > (m.chance or 0.0)


def privacy(m: Measurement | None) -> str:
    """How an attacker fares, as a short label."""
    if m is None:
        return "not measured"
    if not beyond_chance(m):
        return "no better than a blind guess"
    if m.high <= FEW:
        return "finds few"
    return "finds most" if m.low >= MOST else "finds some"


def utility(m: Measurement | None) -> str:
    """What a recommender learns, as a short label."""
    if m is None:
        return "undefined"
    if m.high < 0:
        return "worse than most-popular"
    if m.low <= 0:
        return "no better than most-popular"
    if m.low >= 0.8:
        return "close to the real data"
    return "worth training on" if m.low >= 0.4 else "teaches a little"


def attack_sentence(report: Report, entry: Entry) -> str:
    """What an attacker finds, beside the same for people who are not in the data."""
    m = report.found(entry)
    if m is None:
        return "Linkage was not measured."
    words = report.words
    known = m.params["known"]
    things = words.item if known == 1 else words.items
    knows = f"{known} {things} of a {words.person}" + (", with the ratings," if m.params.get("ratings") else "")
    says = f"An attacker who knows {knows} finds her record with {with_interval(m)}"
    if not beyond_chance(m):
        says += ", no better than a blind guess"
    if m.control is not None:
        says += f"; on data she is not in: {percent(m.control)}"
        if m.control > m.value / 10:
            says += " (a record claimed in error)"
    return says + "."


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


def membership_sentence(report: Report, entry: Entry) -> str:
    """Whether it can be told that a person was in the data at all; nothing where that was not measured."""
    m = report.membership(entry)
    if m is None:
        return ""
    area = f"AUC {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]"
    if m.low <= 0.5:
        return f"Whether she is in the data cannot be told by our attacks ({area}; a coin toss has 0.50)."
    how = "can be told" if m.low > MEMBERSHIP else "can be guessed better than by a coin toss"
    return f"Whether she is in the data at all {how} ({area}; a coin toss has 0.50)."


def sentence(report: Report, entry: Entry) -> str:
    """All that the verdict says of a release."""
    parts = (attack_sentence, membership_sentence, utility_sentence, rating_sentence)
    little = f"Its promise means little: {entry.guarantee.little}." if entry.guarantee.little else ""
    return " ".join(filter(None, (little, *(part(report, entry) for part in parts))))


def means_something(entry: Entry) -> bool:
    """Whether its promise, if it has one, is more than nominal; the verdict names no other release."""
    return entry.guarantee.little is None


def hides(report: Report, entry: Entry) -> bool:
    """Few are found, and that somebody is in the data cannot be told for sure."""
    found, member = report.found(entry), report.membership(entry)
    if found is None or (member is not None and member.low > MEMBERSHIP):
        return False
    return found.high <= FEW or not beyond_chance(found)


def teaches(report: Report, entry: Entry) -> bool:
    """A recommender learns something certain from it, beyond popularity."""
    lift = report.lift(entry)
    return lift is not None and lift.low > 0


def best(report: Report) -> Entry | None:
    """Of the releases that hide people and teach, the one that teaches most."""
    fit = [
        (m.value, e)
        for e in report.entries
        if means_something(e) and hides(report, e) and teaches(report, e) and (m := report.lift(e))
    ]
    return max(fit, key=lambda pair: pair[0])[1] if fit else None


def closest(report: Report) -> Entry | None:
    """Where no release does both: of those that teach, the one in which fewest are found."""
    fit = [(m.value, e) for e in report.entries if means_something(e) and teaches(report, e) and (m := report.found(e))]
    return min(fit, key=lambda pair: pair[0])[1] if fit else None


def headline(report: Report) -> str:
    """The first line of the report."""
    chosen = best(report)
    if chosen is not None:
        name = report.name(chosen)
        return f"{name} is the release to consider: few are found in it, and it still teaches a recommender."
    if all(report.found(e) is None or report.lift(e) is None for e in report.entries):
        return "Too little was measured for a verdict on these data."
    return "None of these releases both hides people and teaches a recommender."
