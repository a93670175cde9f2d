"""What makes a declaration look wrong, once the data are read: for the owner's own screen, and for nothing else.

A release with a proof goes on whatever they say, with the same exit code, and its bundle knows nothing of them.
"""

from __future__ import annotations

from recveil.data import Interactions
from recveil.mechanism import Mechanism
from recveil.releases.catalogue import Catalogue, looks_read_off
from recveil.scales import outside_scale


def doubts(mechanism: Mechanism, data: Interactions, given: Catalogue) -> list[str]:
    """Lines about a public list that looks read off the data, and about ratings outside the declared scale."""
    found = []
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
