"""desk.toml as text: every section and every choice in it, as they are read and written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from recveil.desk.project.choices import ChoiceError, Choices


def from_toml(text: str, name: str = "desk.toml") -> Choices:
    """The choices in the text of a file; one line says what is wrong with it."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise ChoiceError(None, f"{name} cannot be read: {why}") from None
    try:
        return Choices().changed(found)
    except ChoiceError as why:
        raise ChoiceError(why.field, f"{name}: {why}") from None


def to_toml(choices: Choices) -> str:
    """The text of desk.toml."""
    parts = []
    for name, section in choices.record().items():
        lines = [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in section.items())]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_toml(key)} = {_toml(text)}" for key, text in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
