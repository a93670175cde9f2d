"""How a chart becomes a picture: colours, SVG and PNG files, and SVG inside a page.

Charts are drawn in the light colours below. Inside a page each colour becomes a CSS variable, so that one picture
serves a light page, a dark page and paper.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

INK = {
    "paper": "#fefefe",
    "ink": "#1b1f24",
    "muted": "#5b6470",
    "faint": "#8a939f",
    "line": "#dfe3e8",
    "good": "#e7f2ec",
    "s0": "#b3403a",
    "s1": "#2463b5",
    "s2": "#147a5c",
    "s3": "#8a5a00",
    "s4": "#7b43a8",
    "s5": "#a12f74",
    "s6": "#0f7186",
    "s7": "#57606b",
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")
FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"


def series(number: int) -> dict[str, str]:
    """Colour and shape of the mechanism with this number; they come round again after eight."""
    return {"colour": INK[f"s{number % 8}"], "shape": SHAPES[number % 8]}


def dress(chart: Any, width: int, height: int, padding: float = 4) -> Any:
    """The chart at its size, in our type and colours; `padding` is room for text that a page's font makes wider."""
    axis = {
        "labelColor": INK["muted"],
        "titleColor": INK["muted"],
        "gridColor": INK["line"],
        "domainColor": INK["faint"],
        "tickColor": INK["faint"],
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    }
    return chart.properties(width=width, height=height).configure(
        background="transparent",
        font=FONT,
        axis=axis,
        view={"stroke": None},
        padding={"left": padding, "right": padding, "top": 4, "bottom": 4},
    )


def svg(chart: Any) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_on_white(chart)))


def png(chart: Any) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_on_white(chart), scale=2))


def inline(chart: Any, label: str) -> str:
    """The picture for a page, with a label that says what a blind reader must know."""
    import vl_convert

    picture = vl_convert.vegalite_to_svg(chart.to_dict())
    for name, colour in INK.items():
        picture = picture.replace(f'"{colour}"', f'"var(--{name})"')
    picture = re.sub(r' (?:aria-[a-z]+|role|class)="[^"]*"', "", picture)
    picture = re.sub(r"(\d\.\d\d)\d+", r"\1", picture)
    return picture.replace("<svg ", f'<svg role="img" aria-label="{escape(label, quote=True)}" ', 1)


def _on_white(chart: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = chart.to_dict()
    return {**drawn, "config": {**drawn["config"], "background": "#ffffff"}}
