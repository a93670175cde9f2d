"""Parameters of mechanisms: fields with what they mean and which values they take."""

from __future__ import annotations

import math
from dataclasses import MISSING, Field, dataclass, field
from typing import Any

from recveil.errors import RecveilError


@dataclass(frozen=True)
class Within:
    """An interval that a parameter must lie in; a bound is inclusive unless said otherwise."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
            return False
        above = value > self.low if self.open_low else value >= self.low
        return above and (value < self.high if self.open_high else value <= self.high)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{'>' if self.open_low else '>='} {self.low:g}"
        if self.low == -math.inf:
            return f"{'<' if self.open_high else '<='} {self.high:g}"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


def parameter(default: Any = MISSING, *, about: str, rule: Within | tuple[str, ...] | None = None) -> Any:
    """A dataclass field for a parameter: its default (none: required), what it means, and which values it takes."""
    metadata = {"about": about, "rule": rule}
    if default is MISSING:
        return field(metadata=metadata, kw_only=True)
    return field(default=default, metadata=metadata)


def check(owner: str, f: Field[Any], value: Any) -> None:
    """One parameter against its rule."""
    rule = f.metadata.get("rule")
    if rule is None or (value is None and f.default is None) or value in rule:
        return
    says = str(rule) if isinstance(rule, Within) else f"one of {', '.join(rule)}"
    raise RecveilError(f"{owner}: parameter {f.name} must be {says}, not {value}")
