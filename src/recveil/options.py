"""Options: what is asked of an action, spelled once.

A field of a request with its help is an option of the command, a keyword in Python, and a part of the command that a
screen shows. A face that asks for more, such as where its page goes, names that as a parameter in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, field, fields
from typing import Any


class Option:
    """Names on the command line (else that of the field), a placeholder for its value, and a help; `once`: why it may
    not be given twice; `facts`: what the command line alone asks, such as bounds.
    """

    def __init__(self, *names: str, help: str = "", metavar: str | None = None, once: str = "", **facts: Any) -> None:
        self.names, self.help, self.metavar, self.once, self.facts = names, help, metavar, once, facts

    def spelled(self, name: str) -> str:
        """Its name on the command line."""
        return max(self.names, key=len) if self.names else f"--{name.replace('_', '-')}"


class Argument(Option):
    """The same, known by its position."""


def option(default: Any = MISSING, *names: str, **told: Any) -> Any:
    """A field of a request that is an option."""
    return _field(default, Option(*names, **told))


def argument(default: Any = MISSING, **told: Any) -> Any:
    """A field of a request that is an argument."""
    return _field(default, Argument(**told))


def part(of: type, *names: str, default: Any = MISSING) -> Any:
    """A field that is a request itself, of which these fields, or all, are asked for."""
    return _field(default, (of, names))


def _field(default: Any, spelling: Any) -> Any:
    kept: Any = {"metadata": {"option": spelling}}
    return field(**kept) if default is MISSING else field(default=default, **kept)


def options_of(request: Any) -> Iterator[tuple[Field[Any], Option]]:
    """The fields of a request that are asked for, those of its parts among them."""
    for one in fields(request):
        spelling = one.metadata.get("option")
        if isinstance(spelling, Option):
            yield one, spelling
        elif spelling is not None:
            yield from _of_part(*spelling)


def _of_part(of: Any, names: tuple[str, ...]) -> Iterator[tuple[Field[Any], Option]]:
    yield from ((one, spelling) for one, spelling in options_of(of) if not names or one.name in names)


def made(request: Any, given: dict[str, Any]) -> Any:
    """The request out of what was given for its options, and for those of its parts."""
    values = {}
    for one in fields(request):
        spelling = one.metadata.get("option")
        if isinstance(spelling, Option):
            values[one.name] = given[one.name]
        elif spelling is not None:
            asked = {found.name for found, _ in _of_part(*spelling)}
            values[one.name] = made_part(spelling[0], {name: given[name] for name in asked})
    return request(**values)


def made_part(of: Any, given: dict[str, Any]) -> Any:
    return of(**given)
