"""Limits that the owner changed: each a number and the reason for it, in one text as desk.toml holds it."""

from __future__ import annotations

from collections.abc import Mapping

from recveil.desk.project.choices import ChoiceError
from recveil.errors import RecveilError
from recveil.governance.context import changed_limits

FIELD = "recipient.limits"


def limits_of(given: Mapping[str, str]) -> dict[str, tuple[float, str]]:
    """By name the number and the reason; one that cannot be is named at its field."""
    found: dict[str, tuple[float, str]] = {}
    for name, text in given.items():
        value, _, reason = text.partition(":")
        try:
            said = {"value": float(value), "reason": reason}
        except ValueError:
            raise ChoiceError(f"{FIELD}.{name}", f"a changed limit is 0.05: and the reason, not {text!r}") from None
        try:
            found |= changed_limits({name: said}, FIELD)
        except RecveilError as why:
            raise ChoiceError(f"{FIELD}.{name}", str(why)) from None
    return found
