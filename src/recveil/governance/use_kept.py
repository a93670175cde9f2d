"""What is kept of the use, against the wish: the other half of a decision, beside privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recveil.governance.evidence import ENGLISH
from recveil.report.words import percent
from recveil.web.messages import Tell


def against_wish(numbers: Sequence[Mapping[str, Any]], wish: Mapping[str, float], tell: Tell = ENGLISH) -> list[Any]:
    """Each wish with what is kept of it, its interval, and whether that is enough: kept, short, open or unmeasured."""
    found: list[Any] = []
    for name, asked in wish.items():
        m, what = _measured(numbers, name), tell(f"wish.{name}")
        if m is None:
            says = tell("kept.unmeasured", what=what, asked=percent(asked))
            found.append({"what": name, "asked": asked, "verdict": "open", "sentence": says, "value": None})
            continue
        verdict = "kept" if m["low"] >= asked else "short" if m["high"] < asked else "open"
        share = f"{percent(m['value'])} [{percent(m['low'])}, {percent(m['high'])}]"
        says = tell(f"kept.{verdict}", what=what, asked=percent(asked), share=share)
        figures = {key: m[key] for key in ("value", "low", "high")}
        found.append({"what": name, "asked": asked, "verdict": verdict, "sentence": says, **figures})
    return found


def _measured(numbers: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The figure that speaks to a wish: of lift that over all referees, else the best."""
    fit = [m for m in numbers if m["name"] == name]
    whole = next((m for m in fit if m["params"].get("referee") == "all"), None)
    return whole or max(fit, key=lambda m: float(m["value"]), default=None)


def lines(numbers: Sequence[Mapping[str, Any]], tell: Tell = ENGLISH) -> list[str]:
    """What a recommender keeps, whether algorithms keep their order, what is lost and for whom."""
    said = []
    if lift := _measured(numbers, "lift"):
        said.append(
            tell("use.lift", share=f"{percent(lift['value'])} [{percent(lift['low'])}, {percent(lift['high'])}]")
        )
    if skill := _measured(numbers, "skill"):
        said.append(
            tell("use.skill", share=f"{percent(skill['value'])} [{percent(skill['low'])}, {percent(skill['high'])}]")
        )
    said += [
        tell("use.order", tau=f"{m['value']:.2f} [{m['low']:.2f}, {m['high']:.2f}]", by=m["params"].get("by", "score"))
        for m in numbers
        if m["name"] == "agreement"
    ]
    losses: dict[str, list[float]] = {}
    for m in numbers:
        if m["name"] == "damage":
            losses.setdefault(m["params"]["group"], []).append(m["value"])
    if losses:
        words = ", ".join(tell(f"group.{g}", lost=f"{sum(found) / len(found):.3f}") for g, found in losses.items())
        said.append(tell("use.losses", words=words))
    return said or [tell("use.none")]
