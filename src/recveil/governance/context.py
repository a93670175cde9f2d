"""What is decided on: to whom a release goes, why, under whose responsibility, until when, and what it must keep.

Everything that a person says and nothing can measure stands here, as plain data that travels with the bundle's dossier.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date as day
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError, unknown
from recveil.governance.recipients import Recipient, from_values, not_ours

LIMITS = ("most_epsilon", "most_found", "most_membership", "most_recognised", "most_gained")


@dataclass(frozen=True)
class Declared:
    """What officers expect of who answers for the data; words. The first three are published with the decision."""

    title: str = ""
    controller: str = ""
    contact: str = ""
    legal_basis: str = ""
    necessity: str = ""
    retention: str = ""
    controls: str = ""  # what keeps the recipient from misuse
    trust_model: str = ""


@dataclass(frozen=True)
class Context:
    """To whom, why, until when, on which terms, which ledger counts; `review`: the day on which to look again.

    wish: how much of which use must be kept, such as {"lift": 0.7}. limits: limits of the recipient that were changed
    for this release, each with its reason.
    """

    recipient: Recipient
    purpose: str = ""
    contract: str = ""
    until: day | None = None
    conditions: tuple[str, ...] = ()
    ledger: str | None = None
    review: day | None = None
    wish: Mapping[str, float] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)

    @property
    def to(self) -> Recipient:
        """The recipient with the limits that hold for this release."""
        changed: dict[str, Any] = {name: value for name, (value, _) in self.limits.items()}
        return replace(self.recipient, **changed)

    def record(self) -> dict[str, Any]:
        """As plain data, without the ledger, which is a file of its own."""
        days = {name: str(value) if (value := getattr(self, name)) else None for name in ("until", "review")}
        limits = {name: list(changed) for name, changed in self.limits.items()}
        plain = {"recipient": asdict(self.recipient), "declared": asdict(self.declared), "wish": dict(self.wish)}
        words = {"purpose": self.purpose, "contract": self.contract, "conditions": list(self.conditions)}
        return {**words, **days, **plain, "limits": limits}


def from_record(found: Mapping[str, Any], ledger: str | None = None) -> Context:
    """A context as a sheet keeps it."""
    given = dict(found["recipient"])
    to = not_ours(from_values(given.pop("name"), given, "the sheet"), "the sheet")
    days: dict[str, Any] = {
        name: day.fromisoformat(found[name]) if found.get(name) else None for name in ("until", "review")
    }
    limits = {name: (float(value), str(why)) for name, (value, why) in found["limits"].items()}
    words: dict[str, Any] = {name: found[name] for name in ("purpose", "contract")}
    words["conditions"] = tuple(found["conditions"])
    return Context(
        to, **words, **days, ledger=ledger, wish=found["wish"], declared=Declared(**found["declared"]), limits=limits
    )


def read_context(path: str | Path) -> dict[str, Any]:
    """What a file of words says: review, wish, declared and limits of a Context, by name.

    controller = "Example Shop"
    review = 2027-11-15
    [wish]
    lift = 0.7
    [limits.most_found]
    value = 0.05
    reason = "The data are about health."
    """
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise RecveilError(f"{path} cannot be read as a context: {getattr(why, 'strerror', None) or why}") from None
    words = {f.name for f in fields(Declared)}
    for name in set(found) - words - {"review", "wish", "limits"}:
        raise unknown(f"{path}: line", name, (*words, "review", "wish", "limits"))
    if any(not isinstance(found.get(name, ""), str) for name in words):
        raise RecveilError(f"{path}: {', '.join(sorted(words))} are texts")
    if "review" in found and type(found["review"]) is not day:
        raise RecveilError(f"{path}: review is a day such as 2027-11-15")
    declared = Declared(**{name: found[name].strip() for name in words if name in found})
    limits = changed_limits(found.get("limits", {}), str(path))
    return {"review": found.get("review"), "wish": wished(found.get("wish", {}), str(path)), "declared": declared,
            "limits": limits}  # fmt: skip


def context_file(context: Context) -> str:
    """The file that `read_context` reads, of what a context says."""
    said = {name: text for name, text in asdict(context.declared).items() if text}
    lines = [f"{name} = {_toml(text)}" for name, text in said.items()]
    lines += [f"review = {context.review}"] * bool(context.review)
    lines += ["[wish]", *(f"{name} = {share}" for name, share in context.wish.items())]
    for name, (value, reason) in context.limits.items():
        lines += [f"[limits.{name}]", f"value = {value}", f"reason = {_toml(reason)}"]
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def wished(given: Any, where: str) -> dict[str, float]:
    """How much of what must be kept; a share each."""
    if not isinstance(given, Mapping) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) and 0 < v <= 1 for v in given.values()
    ):
        raise RecveilError(f"{where}: a wish is a share, such as lift = 0.7")
    for name in set(given) - {"lift", "skill", "agreement"}:
        raise unknown(f"{where}: wish", str(name), ("lift", "skill", "agreement"))
    return {name: float(value) for name, value in given.items()}


def changed_limits(given: Any, where: str) -> dict[str, tuple[float, str]]:
    """Limits that hold in place of the recipient's, each with a reason."""
    if not isinstance(given, Mapping):
        raise RecveilError(f"{where}: limits are tables, such as [limits.most_found]")
    found = {}
    for name, said in given.items():
        if name not in LIMITS:
            raise unknown(f"{where}: limit", str(name), LIMITS)
        value, reason = (said.get("value"), said.get("reason")) if isinstance(said, Mapping) else (None, None)
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
        if not number or not isinstance(reason, str) or not reason.strip():
            raise RecveilError(f"{where}: a limit is changed with a value and a reason ({name})")
        # 5 for 5%: no figure would ever be above it
        if name != "most_epsilon" and float(value) > 1:  # type: ignore[arg-type]
            raise RecveilError(f"{where}: {name} is a share from 0 to 1, such as 0.05 for 5 of 100, not {value:g}")
        found[name] = (float(value), reason.strip())  # type: ignore[arg-type]
    return found
