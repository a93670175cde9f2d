"""The page of one's own history as one file: its modules, its words, its look and the public table stand in it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from recveil.advisor.publication import Snapshot
from recveil.web import messages

HERE = Path(__file__).parent
STATIC = HERE / "static"
MODULES = (  # each after those it imports from
    STATIC / "dom.js",
    STATIC / "advice.js",
    messages.FILES / "messages.js",
    STATIC / "words.js",
    STATIC / "exports.js",
    STATIC / "history.js",
)


@lru_cache(maxsize=1)
def script() -> str:
    """All modules as one: names that one exports are known to the next."""
    sources = [path.read_text(encoding="utf-8") for path in MODULES]
    plain = [
        re.sub(r"^import .*?;\n", "", re.sub(r"^export ", "", source, flags=re.M), flags=re.M) for source in sources
    ]
    return "\n".join(plain).replace("</", "<\\/")


class OfflinePages:
    """The file in each language, made once for each public table."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[str, str], bytes]] = {}

    def of(self, table: Snapshot, language: str) -> bytes:
        version = (table.whole.version, table.catalogue.document.version)
        made = self._made.get(language)
        if made is None or made[0] != version:
            made = self._made[language] = (version, offline_page(table, language))
        return made[1]


def offline_page(table: Snapshot, language: str) -> bytes:
    """One HTML file that asks nobody for anything."""
    public = json.loads(table.whole.body)
    known = {name: public[name] for name in ("profiles", "people", "deviation", "people_deviation")}
    known["items"] = list(table.titles.items())
    templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
    parts = {
        "language": language,
        "say": messages.speaker("advisor", language),
        "embedded": _data(known),
        "texts": _data(messages.catalogue("advisor", language)),
        "style": Markup((STATIC / "app.css").read_text(encoding="utf-8")),
        "script": Markup(script()),
    }
    return templates.get_template("history.html").render(**parts).encode()


def _data(document: dict[str, Any]) -> Markup:
    return Markup(json.dumps(document, ensure_ascii=False).replace("<", "\\u003c"))
