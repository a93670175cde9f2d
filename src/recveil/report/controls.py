"""The control of every table of use: what the public file of items teaches by itself, with no private data at all."""

from __future__ import annotations

from recveil.measurement import Measurement
from recveil.report.table import Entry, Report
from recveil.report.words import with_interval

CONTROL = "public items, no private data"
NO_FILE = "no item file was given (--items)"


def alone(report: Report) -> Measurement | None:
    """The lift of the file alone, for the same people and on the same scale as that of the releases."""
    return next((m for e in report.entries if (m := report.judged("public items lift", e))), None)


def row(report: Report) -> str:
    """What stands in the row of the control."""
    if (m := alone(report)) is not None:
        return with_interval(m)
    return "undefined" if any(report.judged("beyond public items", e) for e in report.entries) else NO_FILE


def adds_nothing(report: Report, entry: Entry) -> bool:
    """Whether a recommender trained on the release is not for certain ahead of the file of items alone."""
    ahead = report.judged("beyond public items", entry)
    return ahead is not None and ahead.low <= 0


def nothing_sentence(report: Report, entry: Entry) -> str:
    """Of a release that adds nothing to what is public; empty for any other."""
    if not adds_nothing(report, entry):
        return ""
    m, control = report.lift(entry), alone(report)
    figures = f" (lift {with_interval(m)} against {with_interval(control)})" if m and control else ""
    return f"It adds nothing certain to your public file of items, which teaches as much with no private data{figures}."
