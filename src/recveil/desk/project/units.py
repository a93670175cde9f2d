"""What can be protected in these data, as sentences to choose from."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from recveil.data import Interactions
from recveil.governance.evidence import ENGLISH
from recveil.mechanisms import known_mechanisms

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
            "means": ENGLISH(f"unit.{unit}"),
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


def with_unit(spec: str, unit: str) -> str:
    """A spec that promises something about the unit that was chosen, where its mechanism leaves a choice."""
    made = known_mechanisms().get(spec.partition(":")[0])
    if made is None or "unit" not in {field.name for field in fields(made)} or "unit=" in spec:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}unit={'user' if unit == 'user' else 'record'}"
