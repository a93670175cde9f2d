"""What makes a declaration look wrong, or a release too large: for the owner's own screen, and for nothing else.

A release with a proof goes on whatever they say, with the same exit code, and its bundle knows nothing of them.
"""

from __future__ import annotations

from math import floor, log10

from recveil.data import Interactions
from recveil.mechanism import Mechanism
from recveil.releases.catalogue import Catalogue, looks_read_off
from recveil.scales import outside_scale

LARGE = 10_000_000  # rows of a release that stand for nothing in the data
ROW_BYTES = 36  # of memory for each of them


def doubts(mechanism: Mechanism, data: Interactions, given: Catalogue) -> list[str]:
    """Lines about a large release, a public list that looks read off the data, ratings outside the declared scale."""
    size = size_line(mechanism, data, given)
    found = [] if size is None else [size]
    if mechanism.is_proved and (line := looks_read_off(given, data)):
        found.append(line)
    levels = mechanism.declared_levels(data)
    if levels and data.rating is not None and (many := outside_scale(data.rating, levels)):
        found.append(outside_line(many, len(data), levels))
    return found


def outside_line(outside: int, ratings: int, levels: tuple[float, ...]) -> str:
    return (
        f"{outside:,} of {ratings:,} ratings lie outside the declared scale, {levels[0]:g} to {levels[-1]:g}, and "
        "count as its nearest end: is it the right one? recveil inspect proposes a scale"
    )


def size_line(mechanism: Mechanism, data: Interactions, given: Catalogue) -> str | None:
    """How much a mechanism will write that invents rows, and with what it would be a tenth; None where it is little."""
    over = given.over(data)
    if (rows := mechanism.invented_rows(over)) < LARGE:
        return None
    many = (
        f"about {rows / 1e6:,.0f} million rows will be invented for {over.n_users:,} people and {over.n_items:,} items"
        f", {(rows + len(data)) * ROW_BYTES / 1e9:.1f} GB of memory"
    )
    if (kept := mechanism.kept_bits) is None:
        return f"{many}; a shorter public list of items (--items) makes it less"
    tenth = (1 - kept) / 10
    less = round(1 - tenth, 2 - floor(log10(tenth)))
    return f"{many}; p={less:g} in place of {kept:g}, or a public list of a tenth of the items (--items), a tenth of it"
