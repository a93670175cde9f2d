"""The reference of commands, from the command line itself: what it takes, with defaults, as --help says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from making.markdown import cell, table


def pages() -> Iterator[tuple[str, str]]:
    from recveil.cli import app

    lines = [
        "# Every command and option",
        "",
        "Made from the command line itself; `recveil COMMAND --help` says the same. Examples with their reasons are in "
        "[Commands](commands.md).",
        "",
    ]
    for name in sorted(app.commands):
        lines += _command(f"recveil {name}", app.commands[name], 2)
    yield "reference/options.md", "\n".join(lines) + "\n"


def _command(name: str, command: Any, level: int) -> Iterator[str]:
    yield from ("#" * level + f" {name}", "")
    for paragraph in (command.help or "").replace("\f", "").split("\n\n"):
        text = " ".join(paragraph.split())
        if text.startswith("Example: "):
            yield from ("```text", text.removeprefix("Example: "), "```", "")
        elif text:
            yield from (cell(text), "")
    taken = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    if taken:
        rows = [[f"`{_names(p)}`", cell(getattr(p, "help", None) or ""), _default(p)] for p in taken]
        yield from (table(["name", "meaning", "if not given"], rows), "")
    for sub, below in sorted(getattr(command, "commands", {}).items()):
        yield from _command(f"{name} {sub}", below, level + 1)


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {parameter.metavar or _kind(parameter)}"
    return (names + value).replace("|", "/")


def _kind(parameter: Any) -> str:
    """What stands for its value where the option names nothing: as --help has it."""
    return "TEXT" if parameter.type.name == "text" else "NUMBER"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    return f"`{value}`" if isinstance(value, str | int | float) and value is not False else ""
