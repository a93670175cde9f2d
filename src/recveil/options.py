"""Options: what is asked of an action, spelled once.

A field of a request with its help is an option of the command, a keyword in Python, and a part of the command that a
screen shows. A face that asks for more, such as where its page goes, names that as a parameter in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from shlex import quote
from typing import Any


class Option:
    """Names on the command line (else that of the field), a placeholder for its value, and a help.

    `many`: it takes several values, or may be given several times. `once`: it may not, and what to say then of the
    number of times. `facts`: what the command line alone asks, such as bounds.
    """

    def __init__(
        self, *names: str, help: str = "", metavar: str | None = None, many: bool = False, once: str = "", **facts: Any
    ) -> None:
        self.names, self.help, self.metavar, self.many, self.once, self.facts = names, help, metavar, many, once, facts

    def spelled(self, name: str) -> str:
        """Its name on the command line."""
        long = (one for one in self.names if one.startswith("--"))
        return next(long, f"--{name.replace('_', '-')}")


class Argument(Option):
    """The same, known by its position."""


class Request:
    """Beside the name of a request's class: the module that has it, loaded when a command is called."""

    def __init__(self, module: str) -> None:
        self.module = module


def option(default: Any = MISSING, *names: str, **told: Any) -> Any:
    """A field of a request that is an option."""
    return asked(Option(*names, **told), default)


def argument(default: Any = MISSING, **told: Any) -> Any:
    """A field of a request that is an argument."""
    return asked(Argument(**told), default)


def part(of: type, *names: str, default: Any = MISSING) -> Any:
    """A field that is a request itself, of which these fields, or all, are asked for."""
    return asked((of, names), default)


def asked(spelling: Any, default: Any = MISSING) -> Any:
    """A field with an option that several requests have."""
    kept: Any = {"metadata": {"option": spelling}}
    return field(**kept) if default is MISSING else field(default=default, **kept)


def options_of(request: Any) -> Iterator[tuple[Field[Any], Option]]:
    """The fields of a request that are asked for, those of its parts among them."""
    for one in fields(request):
        spelling = one.metadata.get("option")
        if isinstance(spelling, Option):
            yield one, spelling
        elif spelling is not None:
            yield from part_of(*spelling)


def part_of(of: Any, names: tuple[str, ...]) -> Iterator[tuple[Field[Any], Option]]:
    yield from ((one, spelling) for one, spelling in options_of(of) if not names or one.name in names)


def made(request: Any, given: Mapping[str, Any]) -> Any:
    """The request out of what was given for its fields, and for those of its parts; the rest is as it says."""
    values = {}
    for one in fields(request):
        spelling = one.metadata.get("option")
        if one.name in given:
            values[one.name] = given[one.name]
        elif isinstance(spelling, tuple):
            own = {found.name: given[found.name] for found, _ in part_of(*spelling) if found.name in given}
            if own or one.default is MISSING:
                values[one.name] = made(spelling[0], own)
    return request(**values)


def command_line(command: str, request: Any, **given: Any) -> str:
    """What does the same in a shell: the command with all that was given and is not as it would be anyway."""
    arguments, wishes = [f"recveil {command}"], []
    for one, spelling in options_of(request):
        value = given.pop(one.name, one.default)
        if value is MISSING or value is None or (value == one.default and not isinstance(spelling, Argument)):
            continue
        several = list(value) if spelling.many and isinstance(value, list | tuple) else [value]
        if isinstance(spelling, Argument):
            arguments += [_text(each) for each in several]
        elif isinstance(value, bool):
            wishes.append(_flag(spelling.spelled(one.name), value))
        else:
            wishes += [f"{spelling.spelled(one.name)} {_text(each)}" for each in several]
    assert not given, f"recveil {command} has no {', '.join(given)}"
    return " ".join([*arguments, *wishes])


def _flag(name: str, value: bool) -> str:
    """--ratings/--no-ratings has a name for each of both."""
    return name.split("/")[0 if value else -1]


def _text(value: Any) -> str:
    return quote(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
