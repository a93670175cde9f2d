"""Pictures as inline SVG: they follow the colours of the page, light or dark, and need nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 660
ROW = 24
LEFT = 210  # where the axis begins; labels stand before it
TOP = 34
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Mark:
    """A point with its interval; `series` chooses its colour and shape."""

    value: float
    low: float
    high: float
    series: int = 0


@dataclass(frozen=True)
class Dot:
    """A named point; `series` chooses its colour and shape."""

    name: str
    x: float
    y: float
    series: int = 0


def intervals(
    rows: Sequence[tuple[str, Sequence[Mark]]],
    title: str,
    series: Sequence[str] = (),
    span: tuple[float, float] = (0, 1),
) -> str:
    """A row for each label: points with their intervals, as shares on one axis. What lies outside is cut."""
    high = TOP + ROW * len(rows)
    low, top = span

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (min(max(value, low), top) - low) / (top - low)

    drawn = [
        f'<line class="grid" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="{TOP - 6}" y2="{high}"/>'
        f'<text class="tick" x="{x(t):.1f}" y="{high + 16}" text-anchor="middle">{100 * t:.0f}%</text>'
        for t in (low + t * (top - low) for t in TICKS)
    ]
    for number, (label, marks) in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        drawn.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        for mark in marks:
            kind = f"s{mark.series}"
            drawn.append(
                f'<line class="{kind}" x1="{x(mark.low):.1f}" x2="{x(mark.high):.1f}" y1="{y}" y2="{y}"/>'
                + _shape(mark.series, x(mark.value), y)
            )
    at = float(LEFT)
    for number, name in enumerate(series):
        drawn.append(f'{_shape(number, at, 14)}<text x="{at + 10:.1f}" y="18">{escape(name)}</text>')
        at += 26 + 9.4 * len(name)  # room for the larger letters of a phone
    return _figure(drawn, high + 24, title)


def _shape(series: int, x: float, y: float) -> str:
    """Told apart by shape as well as by colour."""
    if series % 4 == 0:
        return f'<circle class="s{series}" cx="{x:.1f}" cy="{y}" r="5"/>'
    if series % 4 == 1:
        return f'<rect class="s{series}" x="{x - 4.5:.1f}" y="{y - 4.5}" width="9" height="9"/>'
    drawn = "l6 11h-12z" if series % 4 == 2 else "l6 6l-6 6l-6 -6z"
    return f'<path class="s{series}" d="M{x:.1f} {y - 6}{drawn}"/>'


def stacked(parts: Mapping[str, int], title: str, colours: Sequence[str]) -> str:
    """One bar cut into parts, each with its number; the names stand below. A name has its colour on every page."""
    total = sum(parts.values()) or 1
    drawn, at = [], 0.0
    for number, (name, count) in enumerate(parts.items()):
        wide, colour = WIDTH * count / total, colours.index(name)
        drawn.append(f'<rect class="v{colour}" x="{at:.1f}" y="0" width="{max(wide - 1.5, 1):.1f}" height="26"/>')
        if wide > 26:
            drawn.append(f'<text class="on" x="{at + wide / 2:.1f}" y="18" text-anchor="middle">{count}</text>')
        x, y = 330 * (number % 2), 50 + 22 * (number // 2)
        drawn.append(f'<rect class="v{colour}" x="{x}" y="{y - 11}" width="12" height="12"/>')
        drawn.append(f'<text x="{x + 18}" y="{y}">{count} {escape(name)}</text>')
        at += wide
    return _figure(drawn, 50 + 22 * ((len(parts) + 1) // 2), title)


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], title: str, axes: tuple[str, str]) -> str:
    """Curves in the unit square, each named where it ends."""
    side, left, top = 360, 60, 10

    def place(x: float, y: float) -> str:
        return f"{left + side * x:.1f},{top + side * (1 - y):.1f}"

    drawn = _square(side, left, top, axes)
    for number, (name, points) in enumerate(lines.items()):
        drawn.append(f'<polyline class="c{number}" points="{" ".join(place(*p) for p in points)}"/>')
        y = top + 20 + 24 * number
        drawn.append(f'<line class="c{number}" x1="{left + side + 20}" x2="{left + side + 50}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{left + side + 58}" y="{y + 4}">{escape(name)}</text>')
    return _figure(drawn, top + side + 48, title)


def scatter(dots: Sequence[Dot], title: str, axes: tuple[str, str]) -> str:
    """Points in the unit square, numbered; the names stand beside it. What lies outside is cut."""
    side, left, top = 330, 60, 20

    def cut(value: float) -> float:
        return min(max(value, 0.0), 1.0)

    drawn = _square(side, left, top, axes)
    numbers: dict[tuple[float, float], list[int]] = {}  # those that stand in one place are named together
    for number, dot in enumerate(dots, 1):
        x, y = left + side * cut(dot.x), top + side * (1 - cut(dot.y))
        drawn.append(_shape(dot.series, x, y))
        near = next((place for place in numbers if abs(place[0] - x) < 14 and abs(place[1] - y) < 14), (x, y))
        numbers.setdefault(near, []).append(number)
        at = top + 8 + 21 * (number - 1)
        drawn.append(_shape(dot.series, left + side + 22, at))
        drawn.append(f'<text x="{left + side + 32}" y="{at + 4}">{number} {escape(dot.name)}</text>')
    for (x, y), some in numbers.items():
        named = ", ".join(map(str, some))
        drawn.append(f'<text class="tick" x="{x + 7:.1f}" y="{y - 5:.1f}">{named}</text>')
    return _figure(drawn, top + side + 48, title)


def _square(side: float, left: float, top: float, axes: tuple[str, str]) -> list[str]:
    """The unit square with its ticks, and what the axes are."""
    drawn = [f'<rect class="frame" x="{left}" y="{top}" width="{side}" height="{side}"/>']
    for t in TICKS:
        px, py = left + side * t, top + side * (1 - t)
        drawn.append(f'<text class="tick" x="{px}" y="{top + side + 16}" text-anchor="middle">{100 * t:.0f}%</text>')
        drawn.append(f'<text class="tick" x="{left - 6}" y="{py + 4}" text-anchor="end">{100 * t:.0f}%</text>')
    middle = top + side / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    drawn.append(f'<text x="{left + side / 2}" y="{top + side + 38}" text-anchor="middle">{escape(axes[0])}</text>')
    drawn.append(f'<text x="14" y="{middle}" text-anchor="middle" {turned}>{escape(axes[1])}</text>')
    return drawn


def _figure(drawn: Sequence[str], height: float, title: str) -> str:
    """Scrolls by itself on a narrow screen; the title is what a screen reader says."""
    return (
        f'<div class="picture" tabindex="0" role="group" aria-label="{escape(title)}">'
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(drawn)}</svg></div>'
    )


def raw(html: str) -> str:
    """A block of html in a page."""
    return f"```{{raw}} html\n{html}\n```\n"
