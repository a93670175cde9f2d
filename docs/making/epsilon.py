"""Pictures and tables of what epsilon means, computed from its definition; they take the place of marks in pages."""

from __future__ import annotations

import math

from making.figures import curves, raw
from making.kept import share
from making.markdown import table

EPSILONS = (0.5, 1.0, 2.0, 4.0, 10.0)
BEFORE = (0.001, 0.01, 0.1, 0.5)
POINTS = 200


def after(before: float, epsilon: float) -> float:
    """The most that one may believe after a release: odds grow by e^epsilon at most. Delta is taken to be 0."""
    odds = before / (1 - before) * math.exp(epsilon)
    return odds / (1 + odds)


def named(false: float, epsilon: float) -> float:
    """The largest share named rightly where a share is accused falsely (Kairouz, Oh and Viswanath 2015, delta 0)."""
    return min(1.0, math.exp(epsilon) * false, 1 - math.exp(-epsilon) * (1 - false))


def belief_picture() -> str:
    steps = [k / POINTS for k in range(POINTS + 1)]
    lines = {
        f"epsilon {e:g}": [(b, after(b, e) if b < 1 else 1.0) for b in steps] for e in EPSILONS[1:]
    } | {"no release": [(0.0, 0.0), (1.0, 1.0)]}  # fmt: skip
    return raw(
        curves(
            lines,
            "What may be believed after a release, by what was believed before",
            ("believed before", "at most after"),
        )
    )


def belief_table() -> str:
    rows = [[share(b), *(share(after(b, e)) for e in EPSILONS)] for b in BEFORE]
    return table(["he believed before", *(f"epsilon {e:g}" for e in EPSILONS)], rows)


def accused_picture() -> str:
    steps = [k / POINTS for k in range(POINTS + 1)]
    lines = {f"epsilon {e:g}": [(f, named(f, e)) for f in steps] for e in EPSILONS[1:]} | {
        "a coin": [(0.0, 0.0), (1.0, 1.0)]
    }
    return raw(
        curves(lines, "Named rightly, at most, by the share accused falsely", ("accused falsely", "named rightly"))
    )


PLACES = {"belief picture": belief_picture, "belief table": belief_table, "accused picture": accused_picture}
