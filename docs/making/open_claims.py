"""What we say of dp-streams, held against the open benchmark, split by split; and what was searched for each method."""

from __future__ import annotations

from collections.abc import Sequence

from making.markdown import cell, table
from making.open_results import SHOWN_AT, Results, name_of, span

OURS = ("dp_streams", "dp_streams_items")
OTHERS = {
    "popular": None, "public_items": None, "dp_streams": SHOWN_AT, "dpals": SHOWN_AT, "dp_sgd": SHOWN_AT,
    "transformer": None,
}  # fmt: skip
SEARCHED = (
    "What is searched is chosen by the search people, apart from the test people, and every setting has the whole "
    "budget, a choice in favour of whoever is searched: of DPALS nine settings (at most 8, 32 or 64 items of a person, "
    "each with three shrinkages), of transformers, plain and by DP-SGD, two recipes each. All others, ours too, have "
    "their own settings or the ones that their line names. Judges are searched in the same way for every method, the "
    "real rows too. Networks of others and transformers were measured under an earlier protocol: "
    "[rivals](../explanation/rivals.md).\n\n"
    "Before that, the grid of DPALS was laid out on another split of Yahoo and MovieLens 1M; constants of dp-ratings "
    "were set on MovieLens 1M and Jester, those of dp-streams on MovieLens 1M and #nowplaying, and with a file of "
    "items on other splits of MovieLens, diginetica, Beauty and anime "
    "([dp-streams](../explanation/dp_streams.md), [dp-ratings](../explanation/dp_ratings.md)). People of those splits "
    "are among those here, which flatters these methods there. Nothing was set on Toys, Gowalla or dunnhumby, and "
    "nothing of dp-streams' rows without an order on Yahoo or Jester."
)


def differences(one: Results, ours: str, method: str, epsilon: float | None) -> list[float]:
    """How far ours is ahead on each split that has both."""
    figure = f"best {one.hits}"
    theirs = {c["split"]: c["figures"][figure] for c in one.of(method, epsilon) if c["status"] == "done"}
    mine = {c["split"]: c["figures"][figure] for c in one.of(ours, SHOWN_AT) if c["status"] == "done"}
    return [mine[k] - theirs[k] for k in sorted(mine.keys() & theirs.keys())]


def verdict(ahead: Sequence[float]) -> str:
    if not ahead:
        return "-"
    mean, low, high = span(ahead)
    if len(ahead) < 3:
        return f"{mean:+.3f} (too few splits)"
    said = "ahead" if low > 0 else "behind" if high < 0 else "not told apart"
    return f"{said}, {mean:+.3f} ± {high - mean:.3f}"


def checked(found: Sequence[Results]) -> str:
    """A row for each data set with and without its file of items, a column for each opponent."""
    rows = []
    for one in found:
        for ours in OURS:
            if one.values(ours, SHOWN_AT, f"best {one.hits}"):
                against = {m: [] if m == ours else differences(one, ours, m, e) for m, e in OTHERS.items()}
                rows.append([cell(one.content["title"]), name_of(ours), *map(verdict, against.values())])
    return table(["data set", "ours", *(f"against {name_of(method)}" for method in OTHERS)], rows)
