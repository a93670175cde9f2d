"""What can be protected in these data, as sentences to choose from; and the scale of ratings, as owners write it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.desk.decision import UNITS

MOST_LEVELS = 21
SENTENCES = {"user": "a person with everything she did", "session": "one session", "record": "one record"}


def units(rows: Interactions, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each unit with its sentence, what it means, and whether these data allow it."""
    alone = rows.unit == "session"
    column = next((c["name"] for c in columns if c["role"] == "session"), None)
    reasons = {
        "user": "no column says whose sessions these are; name it as user on the first screen" if alone else "",
        "session": "" if alone else _session(column),
        "record": "" if rows.tag is not None else "only mechanisms for tags promise something about one record",
    }
    return [
        {
            "unit": unit,
            "sentence": SENTENCES[unit],
            "means": UNITS[unit],
            "possible": not reasons[unit],
            "why": reasons[unit],
            "columns": {"user": column} if unit == "session" and column else None,
        }
        for unit in SENTENCES
    ]


def _session(column: str | None) -> str:
    if column is None:
        return "the data have no sessions"
    if not re.sub(r"[^a-z]", "", column.casefold()).startswith("session"):
        return f"rename the column {column} to session, so that it can stand for the people"
    return ""


def scale_of(rows: Interactions) -> str | None:
    """The scale on which these ratings seem to be, such as 1..5 or 0.5..5/0.5; the owner says whether it is that."""
    if rows.rating is None or not len(rows):
        return None
    levels = np.unique(rows.rating)
    if not 2 <= len(levels) <= MOST_LEVELS:
        return None
    step = float(np.diff(levels).min())
    if not np.allclose((levels - levels[0]) / step, np.round((levels - levels[0]) / step)):
        return None
    low, high = f"{levels[0]:g}", f"{levels[-1]:g}"
    return f"{low}..{high}" + ("" if step == 1 else f"/{step:g}")


def told_scale(spec: str, scale: str | None) -> str:
    """A spec whose scale of ratings is that of the data."""
    return spec if scale is None else re.sub(r"scale=[^,]+", f"scale={scale}", spec)


def with_unit(spec: str, unit: str) -> str:
    """A spec that promises something about the unit that was chosen, where its mechanism leaves a choice."""
    if not spec.startswith("dp-tags") or "unit=" in spec:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}unit={'user' if unit == 'user' else 'record'}"
