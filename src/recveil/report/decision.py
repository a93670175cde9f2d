"""The decision sheet as a page: what stands in decision.json, for a screen and for two or three sheets of paper."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

from recveil.report.page import markup, render
from recveil.report.words import STATUS, percent

OUTCOMES = {"for": "Speaks for release", "against": "Speaks against release", "open": "Not enough evidence"}
WIDTH, HEIGHT = 240, 150


def page(sheet: dict[str, Any]) -> str:
    """The whole page; it asks nobody for anything."""
    groups = [
        (criterion, list(rows))
        for criterion, rows in groupby(sheet["attacks"]["findings"], key=lambda row: row["criterion"])
    ]
    promise = sheet["guarantee"]
    drawn = promise["status"] in ("proved", "experiment") and promise["epsilon"] is not None
    return render(
        "decision.html",
        {"percent": percent, "number": _number},
        sheet=sheet,
        groups=groups,
        outcome=OUTCOMES[sheet["verdict"]["outcome"]],
        status=STATUS[promise["status"]],
        odds=markup(odds(promise["epsilon"])) if drawn else "",
        likely=_most(believed_after(0.5, promise["epsilon"])) if drawn else "",
    )


def odds(epsilon: float) -> str:
    """A small picture: what an attacker may believe after the release, by what she believed before."""
    points = [(p / 40, believed_after(p / 40, epsilon)) for p in range(41)]
    bound = " ".join(f"{30 + x * 200:.1f},{130 - y * 120:.1f}" for x, y in points)
    after = ", ".join(_most(believed_after(p, epsilon)) for p in (0.1, 0.5, 0.9))
    label = f"Believed before at 10, 50 and 90 percent, at most {after} after"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        '<path d="M30 10V130H230" class="axis"/><path d="M30 130L230 10" class="same"/>'
        f'<polyline points="{bound}" class="bound"/>'
        '<text x="130" y="147" text-anchor="middle">believed before</text>'
        '<text x="10" y="70" text-anchor="middle" transform="rotate(-90 10 70)">at most after</text>'
        '<text x="27" y="14" text-anchor="end">1</text><text x="27" y="133" text-anchor="end">0</text></svg>'
    )


def believed_after(before: float, epsilon: float) -> float:
    """How sure an attacker can be at most after a release, who was so sure before."""
    if before in (0.0, 1.0):
        return before
    return 1 / (1 + (1 - before) / before * math.exp(-epsilon))


def _most(share: float) -> str:
    """A bound is rounded up."""
    return f"{math.ceil(100 * share - 1e-9)}%"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
