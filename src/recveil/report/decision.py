"""The decision sheet as a page, in a language: one sheet to sign, and an annex with everything that it rests on."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

from recveil.report.page import markup, render
from recveil.report.words import percent
from recveil.web.messages import Tell, figure, teller
from recveil.web.messages.said import said

WIDTH, HEIGHT = 240, 150
DOTS, STEP = 20, 11  # a hundred dots in rows of twenty
BRIEF = 220  # letters of what somebody wrote that stand on the page to sign; the annex has all of it
FINGERPRINT = 16  # characters of a digest that are printed
DECLARED = ("title", "controller", "contact", "legal_basis", "necessity", "retention", "controls", "trust_model")


def page(sheet: dict[str, Any], language: str = "en") -> str:
    """The whole page; it asks nobody for anything. `sheet` speaks the same language."""
    tell = teller("sheet", language)
    groups = [
        (criterion, list(rows))
        for criterion, rows in groupby(sheet["attacks"]["findings"], key=lambda row: row["criterion"])
    ]
    promise = sheet["guarantee"]
    drawn = promise["status"] in ("proved", "experiment") and promise["epsilon"] is not None
    right = math.ceil(100 * believed_after(0.5, promise["epsilon"]) - 1e-9) if drawn else 100
    return render(
        "decision.html",
        {
            "percent": lambda x: figure(percent(x), language),
            "number": lambda x: figure(_number(x), language),
            "plain": lambda x: figure(f"{x:g}", language),
            "raised": lambda text: text[:1].upper() + text[1:],
            "brief": lambda text, most=BRIEF: _brief(text, most, tell),
            "said": lambda text: _said(text, language),
        },
        sheet=sheet,
        language=language,
        between=", " if language == "en" else "; ",
        groups=groups,
        label=lambda name, **values: tell(f"label.{name}", **values),
        tell=tell,
        bars=[(row, markup(bar(_counted(row), row["limit"], over=True))) for row in sheet["attacks"]["findings"]],
        kept=[(row, markup(bar(_figures(row), row["asked"], over=False))) for row in sheet["wish"]],
        marks=(sheet.get("bundle", "")[:FINGERPRINT], sheet.get("digest", "")[:FINGERPRINT]),
        declared=DECLARED,
        dots=markup(hundred(right, tell("label.dots", n=right))) if drawn else "",
        right=right,
        long=_long(sheet),
        odds=markup(odds(promise["epsilon"], tell)) if drawn else "",
        likely=_most(believed_after(0.5, promise["epsilon"])) if drawn else "",
    )


def _said(text: str, language: str) -> Any:
    """What is kept in English, in the page's language; what is not known there stays, marked as English."""
    from markupsafe import Markup

    own = said(text, language)
    return Markup('<span lang="en">{}</span>').format(text) if own is None else own


def _brief(text: str, most: int, tell: Tell) -> str:
    """As much as the page to sign has place for; where the rest of it stands."""
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({tell('label.annex')})"


def _long(sheet: dict[str, Any]) -> list[tuple[str, str]]:
    """What the page to sign has no place for, whole; the controller stands in the annex anyway."""
    said, decision = sheet["context"], sheet.get("decision") or {}
    terms = "; ".join(decision.get("conditions") or ())
    written = (("to", said["about"]), ("purpose", said["purpose"]), ("opinion", decision.get("opinion") or ""))
    return [(name, text) for name, text in (*written, ("conditions", terms)) if len(text) > BRIEF]


def _at(share: float) -> str:
    """Where a share stands on the line of a bar."""
    return f"{2 + 196 * min(max(share, 0.0), 1.0):.1f}"


def bar(figures: tuple[float, float, float] | None, limit: float, over: bool) -> str:
    """A value with its interval and its limit on a line from 0 to 1; `over`: beyond the limit is bad, else below."""
    tick = f'<path d="M{_at(limit)} 0V18" class="tick"/>'
    track = '<rect x="2" y="6" width="196" height="6" class="track"/>'
    if figures is None:
        return f'<svg class="bar-of" viewBox="0 0 200 18" aria-hidden="true">{track}{tick}</svg>'
    value, low, high = figures
    bad = low > limit if over else high < limit
    good = high <= limit if over else low >= limit
    kind = "bad" if bad else "good" if good else "open"
    return (
        f'<svg class="bar-of {kind}" viewBox="0 0 200 18" aria-hidden="true">{track}'
        f'<rect x="2" y="6" width="{196 * min(max(value, 0.0), 1.0):.1f}" height="6" class="value"/>'
        f'<path d="M{_at(low)} 9H{_at(high)}M{_at(low)} 5V13M{_at(high)} 5V13" class="whisker"/>{tick}</svg>'
    )


def _counted(row: dict[str, Any]) -> tuple[float, float, float]:
    """What is held against the limit: the gain over strangers, where it is known."""
    gain = row["gain"] or (row["value"], row["low"], row["high"])
    return gain[0], gain[1], gain[2]


def _figures(row: dict[str, Any]) -> tuple[float, float, float] | None:
    return None if row["value"] is None else (row["value"], row["low"], row["high"])


def hundred(right: int, says: str) -> str:
    """A hundred guesses, and how many of them may be right."""
    circles = "".join(
        f'<circle cx="{STEP * (k % DOTS + 0.5)}" cy="{STEP * (k // DOTS + 0.5)}" r="4" '
        f'class="{"right" if k < 50 else "more" if k < right else "wrong"}"/>'
        for k in range(100)
    )
    return f'<svg class="dots" viewBox="0 0 {DOTS * STEP} {5 * STEP}" role="img" aria-label="{says}">{circles}</svg>'


def odds(epsilon: float, tell: Tell | None = None) -> str:
    """A small picture: what an attacker may believe after the release, by what she believed before."""
    tell = tell or teller("sheet", "en")
    points = [(p / 40, believed_after(p / 40, epsilon)) for p in range(41)]
    bound = " ".join(f"{30 + x * 200:.1f},{130 - y * 120:.1f}" for x, y in points)
    after = ", ".join(_most(believed_after(p, epsilon)) for p in (0.1, 0.5, 0.9))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{tell("label.picture", after=after)}">'
        '<path d="M30 10V130H230" class="axis"/><path d="M30 130L230 10" class="same"/>'
        f'<polyline points="{bound}" class="bound"/>'
        f'<text x="130" y="147" text-anchor="middle">{tell("label.axis")}</text>'
        f'<text x="10" y="70" text-anchor="middle" transform="rotate(-90 10 70)">{tell("label.axis_after")}</text>'
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
