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
SCRATCH_BYTES = 12  # out of core, in which form they lie on the disk before they are the bundle's


def doubts(mechanism: Mechanism, data: Interactions, given: Catalogue) -> list[str]:
    """Lines about a large release, a public list that looks read off the data, ratings outside the declared scale."""
    over = given.over(data)
    size = size_line(mechanism, over.n_users, over.n_items, len(data))
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


def size_line(mechanism: Mechanism, people: int, items: int, rows: int, on_disk: bool = False) -> str | None:
    """How much a mechanism will write that invents rows, and with what it would be a tenth; None where it is little."""
    if (more := mechanism.invented_rows(people, items)) < LARGE:
        return None
    needs = (more + rows) * (SCRATCH_BYTES if on_disk else ROW_BYTES) / 1e9
    many = (
        f"about {more / 1e6:,.0f} million rows will be invented for {people:,} people and {items:,} items"
        f", {needs:.1f} GB of {'scratch' if on_disk else 'memory'}"
    )
    if (kept := mechanism.kept_bits) is None:
        return f"{many}; a shorter public list of items (--items) makes it less"
    tenth = (1 - kept) / 10
    less = round(1 - tenth, 2 - floor(log10(tenth)))
    return f"{many}; p={less:g} in place of {kept:g}, or a public list of a tenth of the items (--items), a tenth of it"
