"""The page of one's own history as one file: its modules, its look and the public table stand in it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from recveil.web.advisor.publication import Snapshot

HERE = Path(__file__).parent
MODULES = ("dom.js", "advice.js", "words.js", "exports.js", "history.js")  # each after those it imports from


@lru_cache(maxsize=1)
def script() -> str:
    """All modules as one: names that one exports are known to the next."""
    sources = [(HERE / "static" / name).read_text(encoding="utf-8") for name in MODULES]
    plain = [
        re.sub(r"^import .*?;\n", "", re.sub(r"^export ", "", source, flags=re.M), flags=re.M) for source in sources
    ]
    return "\n".join(plain).replace("</", "<\\/")


def offline_page(table: Snapshot) -> bytes:
    """One HTML file that asks nobody for anything."""
    known: dict[str, Any] = {
        "items": list(table.titles.items()),
        "profiles": table.profiles,
        "people": table.people,
    }
    data = json.dumps(known, ensure_ascii=False).replace("<", "\\u003c")
    templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
    style = (HERE / "static" / "app.css").read_text(encoding="utf-8")
    parts = {"embedded": Markup(data), "style": Markup(style), "script": Markup(script())}
    return templates.get_template("history.html").render(**parts).encode()
