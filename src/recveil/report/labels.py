"""Where labels of points go, so that none covers another or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Widths of the characters from the blank to "~" in twentieths of the font's size, A for one: those of DejaVu Sans Bold,
# the widest font that a page falls back to, so what is reserved suffices in every other.
WIDTHS = "GJKQNURGJJKQHIHHNNNNNNNNNNHHQQQLTPPOQNNQQHHPMTQRORPONQPWPOOJHJQJJNOLONIOOGGNGUONOOJLJONSMNLOHOQ"
LINE = 17.0  # pixels from one line of text to the next
GAP = 13.0  # from a point to its label

Spot = tuple[float, float, str]  # x, y, and how the text is aligned there
Box = tuple[float, float, float, float]  # left, top, right, bottom


def text_width(text: str, size: float) -> float:
    """How many pixels a text takes at most, at this size."""
    units = (ord(WIDTHS[at]) - 64 if 0 <= (at := ord(letter) - 32) < len(WIDTHS) else 22 for letter in text)
    return size * sum(units) / 20


def spread(
    points: list[tuple[float, float, float]],
    width: float,
    height: float,
    taken: Sequence[Box] = (),
    *,
    column: bool = False,
) -> list[Spot]:
    """A place for the label of each point (x, y, label width), in pixels from the top left.

    In a `column` all labels stand at one x and are pushed apart. Else each takes the free place nearest to its point:
    beside it, then above and below.
    """
    if column:
        return _column([y for _, y, _ in points], height)
    covered = [*taken, *((x - 8, y - 8, x + 8, y + 8) for x, y, _ in points)]
    places: list[Spot] = [(0.0, 0.0, "left")] * len(points)
    for number in sorted(range(len(points)), key=lambda i: points[i][1]):
        tried = list(_around(*points[number], width))
        free = (p for p in tried if _within(p[1], width, height) and not any(_touch(p[1], c) for c in covered))
        place, box = next(free, tried[0])
        places[number] = place
        covered.append(box)
    return places


def _around(x: float, y: float, size: float, width: float) -> Iterator[tuple[Spot, Box]]:
    for step in range(24):
        level = y + LINE * (step + 1) // 2 * (1 if step % 2 else -1) if step else y
        for side in ("left", "right") if x + GAP + size <= width else ("right", "left"):
            at = x + GAP if side == "left" else x - GAP
            begin = at if side == "left" else at - size
            yield (at, level, side), (begin, level - 8, begin + size, level + 8)


def _column(levels: list[float], height: float) -> list[Spot]:
    order = sorted(range(len(levels)), key=lambda i: levels[i])
    placed = [levels[i] for i in order]
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + LINE)
    if placed and placed[-1] > height:
        placed[-1] = height
        for k in range(len(placed) - 2, -1, -1):
            placed[k] = min(placed[k], placed[k + 1] - LINE)
    found: list[Spot] = [(0.0, 0.0, "left")] * len(levels)
    for i, level in zip(order, placed, strict=True):
        found[i] = (0.0, level, "left")
    return found


def _within(box: Box, width: float, height: float) -> bool:
    return box[0] >= 0 and box[2] <= width + 4 and box[1] >= 0 and box[3] <= height


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
