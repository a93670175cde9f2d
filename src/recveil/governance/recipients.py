"""Recipients: to whom a release goes, what they are taken to know, which figures speak against it. Data, not code."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError


@dataclass(frozen=True)
class Recipient:
    """A profile. known_*: what an attacker among them knows of a person. most_*: the limits, each as docs say."""

    name: str
    title: str
    about: str
    known_items: int
    known_ratings: bool
    other_releases: bool
    needs_promise: bool
    most_epsilon: float
    most_found: float
    most_membership: float
    most_recognised: float
    most_gained: float
    mitigations: tuple[str, ...] = ()
    monitoring: str = ""

    def rules(self) -> list[str]:
        """The rule of the recommendation, in words."""
        promise = (
            f"there is a proved promise with epsilon of at most {self.most_epsilon:g}"
            if self.needs_promise
            else f"a proved promise, where there is one, has epsilon of at most {self.most_epsilon:g}"
        )
        return [
            f"an attacker who knows {self.known_items} items finds at most {self.most_found:.0%} of the people",
            f"the AUC of membership is at most {self.most_membership:g}, and at one false alarm in 100 at most "
            f"{self.most_recognised:.0%} are recognised",
            f"with her record at most {self.most_gained:.0%} more is learnt about a person than without it",
            promise,
        ]


def built_in() -> dict[str, Recipient]:
    """The three profiles that come with recveil."""
    text = files("recveil.governance").joinpath("recipients.toml").read_text(encoding="utf-8")
    return {name: from_values(name, given, "recipients.toml") for name, given in tomllib.loads(text).items()}


def read_recipient(name: str) -> Recipient:
    """A profile by its name, or from a file of the same form that holds one."""
    known = built_in()
    if name in known:
        return known[name]
    try:
        found = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecveilError(f"recipient {name!r} is neither {', '.join(known)} nor a file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise RecveilError(f"{name} cannot be read as a recipient: {why}") from None
    if len(found) != 1 or not isinstance(given := next(iter(found.values())), dict):
        raise RecveilError(f"{name}: a file holds one recipient, as [name] with its lines below")
    return not_ours(from_values(next(iter(found)), given, name), name)


def not_ours(given: Recipient, where: str) -> Recipient:
    """A recipient from a file, who does not bear the name of one of ours with other limits."""
    ours = built_in().get(given.name)
    if ours not in (None, given):
        raise RecveilError(
            f"{where}: {given.name!r} is a recipient of recveil's own, with other lines; give yours another name, "
            "or change a limit with a reason"
        )
    return given


def from_values(name: str, given: dict[str, Any], where: str) -> Recipient:
    """A profile from plain values, or one line that says which does not fit."""
    kinds = {f.name: str(f.type) for f in fields(Recipient)}
    for key, value in given.items():
        if key not in kinds or key == "name":
            raise RecveilError(f"{where}: a recipient has no {key!r}")
        kind = kinds[key]
        fits = {
            "str": isinstance(value, str) and (value.strip() != "" or key == "monitoring"),
            "bool": isinstance(value, bool),
            "int": isinstance(value, int) and not isinstance(value, bool) and value > 0,
            "float": isinstance(value, int | float) and not isinstance(value, bool) and value >= 0,
        }.get(kind, isinstance(value, list | tuple) and all(isinstance(line, str) for line in value))
        if not fits:
            raise RecveilError(f"{where}: {key} = {value!r} does not fit; see `recveil decide` in the documentation")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    try:
        return Recipient(name, **values)
    except TypeError:
        missing = [f.name for f in fields(Recipient) if f.name not in {*values, "name", "mitigations", "monitoring"}]
        raise RecveilError(f"{where}: the recipient lacks {', '.join(missing)}") from None
