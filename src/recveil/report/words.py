"""Numbers and labels in plain words: what the page, the terminal and the verdict call the same thing."""

from __future__ import annotations

from recveil.guarantee import EXPERIMENT, Guarantee
from recveil.measurement import Measurement

FEW = 0.10  # fewer than one in ten found: the attacker mostly fails
MOST = 0.50

STATUS = {
    "proved": "proved",
    "claimed": "claimed by a paper",
    "refuted": "refuted",
    "none": "no promise",
    "experiment": "proved",  # of the release that the owner will make: those of a comparison are seeded
}


def standing(promise: Guarantee) -> str:
    """How a promise stands, in a word or two for a table."""
    word = STATUS[promise.status]
    return f"{word}, means little" if promise.weakness and promise.epsilon is not None else word


def percent(value: float) -> str:
    """As many digits as the size deserves: 66%, 3.2%, 0.1%."""
    shown = 100 * value
    if shown and abs(shown) < 0.05:
        return "<0.1%" if shown > 0 else "-0.0%"
    return f"{shown:.0f}%" if abs(shown) >= 9.95 or shown == 0 else f"{shown:.1f}%"


def counted(number: int, things: str, thing: str | None = None) -> str:
    """1 film, 1,200 films."""
    return f"{number:,} {thing if number == 1 and thing else things}"


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


def promise_sentence(g: Guarantee) -> str:
    """What a release made without a seed promises; that those of a comparison are seeded is said once, by the page."""
    return g.sentence.removeprefix(EXPERIMENT)


def utility(m: Measurement | None) -> str:
    """What a recommender learns, as a short label."""
    if m is None:
        return "undefined"
    if m.high < 0:
        return "worse than most-popular"
    if m.low <= 0:
        return "not for certain better than most-popular"
    if m.low >= 0.8:
        return "close to the real data"
    return "worth training on" if m.low >= 0.4 else "teaches a little"
