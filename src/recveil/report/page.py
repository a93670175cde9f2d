"""A page from one of our templates: everything escaped, the style inside, nothing left undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any


def render(template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """The template filled; `style` is there in every one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("recveil.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    env.filters.update(filters)
    style = files("recveil.report").joinpath("style.css").read_text(encoding="utf-8")
    return env.get_template(template).render(style=markup(style), **values)


def markup(text: str) -> Any:
    """Text that is HTML already: our own style and pictures, never words of a user."""
    from markupsafe import Markup

    return Markup(text)
