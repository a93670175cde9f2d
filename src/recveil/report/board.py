"""The board of a court as a page: what stands in its JSON, for a screen, a phone and paper."""

from __future__ import annotations

from typing import Any

from recveil.report.page import render


def page(board: dict[str, Any]) -> str:
    """The whole page; it asks nobody for anything."""
    return render(
        "board.html",
        {"three": _three, "place": _place, "span": _span, "many": lambda n: f"{n:,}"},
        board=board,
        headline=headline(board),
    )


def headline(board: dict[str, Any]) -> str:
    """Who leads by the first metric, in a sentence; ties are said as ties."""
    rows = board["tables"][0]["rows"] if board["tables"] else []
    metric = board["tables"][0]["metric"] if board["tables"] else ""
    if not rows:
        return "Nothing has been scored yet."
    if len(rows) == 1:
        return f"{rows[0]['name']} is the only one so far, with {metric} {_three(rows[0]['value'])}."
    best = [row["name"] for row in rows if row["first"] == 1]
    if len(best) == 1:
        return f"{best[0]} leads by {metric}, by more than the noise explains."
    names = ", ".join(best[:4]) + (f" and {len(best) - 4} more" if len(best) > 4 else "")
    return f"A tie for the first place by {metric}: {names}."


def _three(value: float) -> str:
    return f"{value:.3f}"


def _place(row: dict[str, Any]) -> str:
    return str(row["first"]) if row["first"] == row["last"] else f"{row['first']} to {row['last']}, tied"


def _span(value: float, half: float, top: float) -> str:
    """Where an interval lies on a scale from 0 to top, as style: left and width in percent."""
    low, high = max(0.0, value - half), min(top, value + half)
    return f"left:{100 * low / top:.1f}%;width:{max(0.4, 100 * (high - low) / top):.1f}%"
