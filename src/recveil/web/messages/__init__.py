"""The words of our pages: one JSON file for each app and language, for templates here and for modules in the browser.

`files/advisor.de.json` holds texts under names; `{name}` in a text is filled in. A name that ends in .one and .other
has a form for one and one for more, chosen by the value `n`. English is what everything falls back to.
`files/messages.js` does the same in the browser; an app mounts FILES at `/static/messages`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError

if TYPE_CHECKING:
    from markupsafe import Markup

FILES = Path(__file__).parent / "files"
LANGUAGES = ("en", "de")  # the same as in files/messages.js
Tell = Callable[..., str]  # a text by its name, with values filled in
LONGEST = 200  # characters of a wish that are read
SIGNS = {"de": str.maketrans(".,", ",.")}  # of decimals and thousands, where they are not those of English
_NUMBER = r"[<-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?%?"
_FIGURE = re.compile(rf"{_NUMBER}(?: \[{_NUMBER}, {_NUMBER}\])?")


@cache
def catalogue(app: str, language: str) -> dict[str, str]:
    """All texts of an app in a language."""
    try:
        found: dict[str, str] = json.loads((FILES / f"{app}.{language}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecveilError(f"there are no messages {app}.{language}.json ({type(error).__name__})") from None
    return found


def chosen(accepted: str | None) -> str:
    """The language that a browser likes best (its Accept-Language) among ours; else English."""
    wishes = []
    for place, part in enumerate((accepted or "")[:LONGEST].lower().split(",")):
        tag, _, rest = part.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", rest) if rest else None
        wishes.append((-(float(weight[1]) if weight else 1.0), place, tag.strip().partition("-")[0]))
    liked = (tag for weight, _, tag in sorted(wishes) if weight < 0 and tag in LANGUAGES)
    return next(liked, LANGUAGES[0])


def speaker(app: str, language: str) -> Callable[..., Markup]:
    """`say(name, **values)` for a template: the text with its values filled in, both escaped unless Markup."""
    from markupsafe import Markup, escape

    def say(name: str, /, **values: Any) -> Markup:
        return Markup(escape(_text(app, language, name, values))).format(**values)

    return say


def teller(app: str, language: str) -> Tell:
    """`tell(name, **values)`: the text as it is, for what is no page."""

    def tell(name: str, /, **values: Any) -> str:
        written = {key: figure(v, language) if isinstance(v, str) else v for key, v in values.items()}
        return _text(app, language, name, values).format(**written)

    return tell


def figure(text: str, language: str) -> str:
    """A number, or one with its interval, with the signs of a language; any other text as it is."""
    if language not in SIGNS or not _FIGURE.fullmatch(text):
        return text
    return text.replace(", ", "; ").translate(SIGNS[language])


def _text(app: str, language: str, name: str, values: Mapping[str, Any]) -> str:
    texts = catalogue(app, language)
    text = texts.get(name) or texts.get(f"{name}.{'one' if values.get('n') == 1 else 'other'}")
    if text is None:
        raise KeyError(f"{app}.{language}.json has no {name}")
    return text


def differences(app: str) -> list[str]:
    """Where the languages of an app do not fit together: a name that one lacks, other placeholders. None is right."""
    wanted = catalogue(app, LANGUAGES[0])
    found = []
    for language in LANGUAGES[1:]:
        texts = catalogue(app, language)
        found += [f"{language}: {name} is missing" for name in wanted.keys() - texts.keys()]
        found += [f"{language}: {name} is not in {LANGUAGES[0]}" for name in texts.keys() - wanted.keys()]
        both = wanted.keys() & texts.keys()
        found += [
            f"{language}: {name} fills in others" for name in both if _places(wanted[name]) != _places(texts[name])
        ]
    return sorted(found)


def _places(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))
