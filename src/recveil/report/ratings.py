"""What a release keeps of ratings, in a sentence: skill beside its floor, and the order of predictors inside it."""

from __future__ import annotations

from recveil.report.table import Entry, Report
from recveil.report.words import percent, with_interval

SKILL, ORDER = "rating skill", "in-house order"


def skill_sentence(report: Report, entry: Entry) -> str:
    """Of the predictor that is best on the real data; nothing where that was not measured."""
    of = report.named(SKILL, entry.spec)
    if len(of) < 2:
        return ""
    floor, best = of[0], of[1]
    return (
        f"Its rating skill is {with_interval(best)} ({best.params['referee']}; items' averages have 0, the real data "
        f"100%, a person's own mean without any release {percent(floor.value)})."
    )


def order_sentence(report: Report, entry: Entry) -> str:
    """Whether those who have the release alone rank predictors as the owner does."""
    of = report.named(ORDER, entry.spec)
    if not of:
        return ""
    m = of[0]
    return (
        f"Ranked inside it, {m.params['algorithms']} rating predictors keep their order with tau {m.value:.2f} "
        f"[{m.low:.2f}, {m.high:.2f}]."
    )
