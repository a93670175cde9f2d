"""What was written once, in English, for all who read a release, in the language of a page: sentence by sentence.

A card, a promise, a reason and a ledger are English where they are kept and signed. `said.de.json` holds each of
their sentences with its German one; `{name}` stands for a figure or a name, so that both say the same figures. Where a
sentence is not among them, the English one stands.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from recveil.web.messages import LANGUAGES, figure

_SPACES = re.compile(r"\{(\w+)\}")


def said(text: str, language: str) -> str | None:
    """The text in a language; None: not every sentence of it is known there."""
    if language == LANGUAGES[0]:
        return text
    parts = [_sentence(part, language) for part in re.split(r"(?<=\.)\s+", text.strip())]
    return None if None in parts else " ".join(filter(None, parts))


@cache
def _forms(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Each sentence as a pattern, those that leave less open first, with the one of the language."""
    texts: dict[str, str] = json.loads(Path(__file__).with_name(f"said.{language}.json").read_text(encoding="utf-8"))
    pairs = sorted(texts.items(), key=lambda pair: len(_SPACES.findall(pair[0])))
    return [(re.compile(_SPACES.sub(r"(?P<\1>\\S+?)", re.escape(english).replace(r"\{", "{").replace(r"\}", "}"))), own)
            for english, own in pairs]  # fmt: skip


def _sentence(english: str, language: str) -> str | None:
    english = " ".join(english.split())
    for form, own in _forms(language):
        if found := form.fullmatch(english):
            return own.format(**{name: figure(value, language) for name, value in found.groupdict().items()})
    return None
