"""What we say of dp-streams, held against the open benchmark: ahead, behind, or not told apart, split by split."""

from __future__ import annotations

from collections.abc import Sequence

from making.markdown import cell, table
from making.open_results import SHOWN_AT, Results, name_of, span

OURS = ("dp_streams_items", "dp_streams")  # with the file of items where there is one
OTHERS = {
    "popular": None, "public_items": None, "dpals": SHOWN_AT, "dp_sgd": SHOWN_AT, "transformer": None,
}  # fmt: skip


def differences(one: Results, method: str, epsilon: float | None) -> tuple[str, list[float]]:
    """By which of ours, and how far it is ahead on each split that has both."""
    figure = f"best {one.hits}"
    theirs = {c["split"]: c["figures"][figure] for c in one.of(method, epsilon) if c["status"] == "done"}
    for ours in OURS:
        mine = {c["split"]: c["figures"][figure] for c in one.of(ours, SHOWN_AT) if c["status"] == "done"}
        if mine:
            return ours, [mine[k] - theirs[k] for k in sorted(mine.keys() & theirs.keys())]
    return "", []


def verdict(ahead: Sequence[float]) -> str:
    if not ahead:
        return "-"
    mean, low, high = span(ahead)
    if len(ahead) < 3:
        return f"{mean:+.3f} (too few splits)"
    said = "ahead" if low > 0 else "behind" if high < 0 else "not told apart"
    return f"{said}, {mean:+.3f} ± {high - mean:.3f}"


def checked(found: Sequence[Results]) -> str:
    """A row for each data set, a column for each opponent."""
    rows = []
    for one in found:
        cells = [differences(one, method, epsilon) for method, epsilon in OTHERS.items()]
        ours = next((name for name, _ in cells if name), "")
        if ours:
            rows.append([cell(one.content["title"]), name_of(ours), *(verdict(values) for _, values in cells)])
    return table(["data set", "ours", *(f"against {name_of(method)}" for method in OTHERS)], rows)
