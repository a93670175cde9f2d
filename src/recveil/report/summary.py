"""A release in about ten lines: each question with its figure and what that means."""

from __future__ import annotations

from recveil.measurement import Measurement
from recveil.report.controls import CONTROL, adds_nothing, alone, nothing_sentence, row
from recveil.report.table import Entry, Report
from recveil.report.verdict import COIN, MEMBERSHIP, losses
from recveil.report.words import STATUS, percent, privacy, utility, with_interval

Line = tuple[str, str, str]  # what is asked, the figure, what it means


def summary(report: Report) -> list[str]:
    """Lines for a terminal; a warning comes first."""
    entry = report.entries[0]
    warning = report.meta.get("warning")
    rows = [("", "", ""), *lines(report, entry)]
    widths = [max(len(line[i]) for line in rows) for i in range(2)]
    shown = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows[1:]]
    first = nothing_sentence(report, entry)
    return [*([f"WARNING: {warning}"] if warning else []), *([first] if first else []), *shown]


def lines(report: Report, entry: Entry) -> list[Line]:
    """What was measured, strong evidence before weak; what was not is left to the list of what is left out."""
    promise = entry.guarantee
    bound = "" if promise.epsilon is None else f"epsilon {promise.epsilon:g} for one {promise.unit}"
    found = [("promise", STATUS[promise.status], promise.weakness or bound)]
    if (m := report.found(entry)) is not None:
        says = "points at a drawn record" if entry.drawn else "finds her record"
        found.append((f"knows {m.params['known']} {report.words.items}, {says}", with_interval(m), privacy(m)))
    if (m := report.membership(entry)) is not None:
        kind = "distance, weak evidence" if report.weak(m) else "shadow attack"
        found.append((f"is she in the data? ({kind})", _area(m), _membership(m)))
    found += [
        ("her record in two releases", with_interval(m), privacy(m))
        for m in report.named("across-matched", entry.spec)[:1]
    ]
    for m in _largest(report.named("attributes-auc", entry.spec), "attribute"):
        found.append((f"{m.params['attribute']}, from her record", _area(m), f"by one who is {m.params['trained']}"))
    for m in _largest(report.named("reconstruction", entry.spec), "values"):
        blind = "" if m.control is None else f"without her record {percent(m.control)}"
        found.append((f"her {m.params.get('values', 'items')}, guessed from her record", with_interval(m), blind))
    for m in _largest(
        [m for m in report.named("lists-auc", entry.spec) if m.params["trained_on"] == "release"], "trained_on"
    ):
        found.append(("is she in it? (lists of a recommender)", _area(m), _membership(m)))
    if (m := report.lift(entry)) is not None:
        found.append(("a recommender keeps", with_interval(m), utility(m)))
        adds = "" if alone(report) is None else "so the release adds nothing certain" * adds_nothing(report, entry)
        found.append((CONTROL, row(report), adds))
    if (pair := report.rating(entry)) is not None:
        real, released = pair
        found.append(("predicted ratings are off by", f"{released.value:.2f}", f"from the real data {real.value:.2f}"))
    lost = losses(report, entry)
    return [*found, *([("lost", "; ".join(lost), "")] if lost else [])]


def _area(m: Measurement) -> str:
    return f"AUC {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]"


def _membership(m: Measurement) -> str:
    if m.low <= COIN:
        return "no better than a coin toss"
    says = "can be told" if m.low > MEMBERSHIP else "better than a coin toss"
    ceiling = m.params.get("ceiling")
    return says + (f"; its promise allows {ceiling:.2f}" if ceiling else "")


def _largest(found: list[Measurement], by: str) -> list[Measurement]:
    """Of each value of a parameter the largest measurement."""
    best: dict[object, Measurement] = {}
    for m in found:
        key = m.params.get(by)
        if key not in best or m.value > best[key].value:
            best[key] = m
    return list(best.values())
