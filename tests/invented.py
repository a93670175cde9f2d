"""A report made of invented measurements of a realistic size: what renderers are tested on."""

from __future__ import annotations

import math

from recveil.advice import Advice
from recveil.guarantee import Guarantee, nothing
from recveil.measurement import Measurement
from recveil.report.table import Entry, Report, Words

PRIVATE = Guarantee(
    "Whatever an attacker knows, one person more or less changes the odds of any release by at most a factor e^4.",
    status="experiment",
    epsilon=4.0,
    delta=1e-6,
    unit="user",
    neighbours="one user added or removed",
    given="the catalogue of items",
)
CLAIMED = Guarantee(
    "The paper claims epsilon 1 for one tag; a tag used by one person alone appears in the release.",
    status="refuted",
    epsilon=1.0,
    unit="record",
    neighbours="one record changed",
)
# spec, how fast linkage rises with the items known, lift, guarantee
MECHANISMS = [
    ("pseudonymise", 0.68, 1.0, nothing("Linkage is not prevented: whoever knows a few items can find her record.")),
    (
        "random-ratings",
        0.066,
        0.97,
        nothing("Which items she rated stays, and that alone is enough to find most people."),
    ),
    ("shuffle-nnn:theta=0.4,k=40", 0.12, 0.95, nothing("Who rated what is not hidden.")),
    ("mbrw", 0.018, 0.61, nothing("Each stream begins with a copied piece of a real one.")),
    ("dp-streams:epsilon=4,delta=1e-6", 0.0006, 0.66, PRIVATE),
    ("pritop:epsilon=1", 0.004, -0.3, CLAIMED),
]
REAL = {"ease": 0.31, "item-knn": 0.28, "user-knn": 0.275, "bpr": 0.26, "als": 0.243}
TILT = {"ease": -0.012, "item-knn": 0.0, "user-knn": 0.02, "bpr": -0.03, "als": 0.018}
POPULAR = 0.19


def _around(name: str, value: float, half: float, **more: object) -> Measurement:
    return Measurement(name, value, value - half, value + half, 1000, **more)  # type: ignore[arg-type]


def invented(mechanisms: int = len(MECHANISMS), lift: bool = True) -> Report:
    """A report of the first so many mechanisms; without lift where the real data do not beat most-popular."""
    chosen = MECHANISMS[:mechanisms]
    found = [_around("ndcg@10", POPULAR, 0.01, params={"referee": "most-popular"})]
    found += [_around("ndcg@10", v, 0.011, params={"referee": r}) for r, v in REAL.items()]
    for spec, rise, keeps, _ in chosen:
        for known in (1, 2, 3, 4, 6, 8, 12, 16):
            for attacker, weaker in (("intersection", 1.0), ("score", 0.9)):
                value = weaker * (1 - math.exp(-rise * known**1.45))
                half = 0.003 + 0.04 * math.sqrt(value * (1 - value))
                params = {"known": known, "ratings": rise > 0.1, "items": "random", "attacker": attacker}
                found.append(
                    Measurement(
                        "linkage",
                        value,
                        max(0.0, value - half),
                        min(1.0, value + half),
                        900,
                        0.001,
                        0.001,
                        params,
                        spec,
                    )
                )
        found.append(
            _around(
                "membership",
                0.5 + min(0.45, rise * 2),
                0.02,
                control=0.5,
                chance=0.5,
                mechanism=spec,
                params={"score": "nearest"},
            )
        )
        for n, (referee, real) in enumerate(REAL.items()):
            kept = keeps + (0 if keeps == 1.0 else 1.5 * TILT[referee] * (1 - keeps) / 0.3)
            found.append(
                _around(
                    "ndcg@10", POPULAR + kept * (real - POPULAR), 0.011, mechanism=spec, params={"referee": referee}
                )
            )
            if lift:
                half = 0.0 if keeps == 1.0 else 0.06 + 0.01 * n
                found.append(
                    _around("lift", kept, half, mechanism=spec, params={"referee": referee, "metric": "ndcg@10"})
                )
        tau = 1.0 if keeps == 1.0 else max(-1.0, keeps)
        found.append(Measurement("agreement", tau, tau - 0.1, min(1.0, tau + 0.1), 5, mechanism=spec))
        for group, less in (("light users", 0.05), ("heavy users", -0.04), ("head items", -0.02), ("tail items", 0.15)):
            found.append(
                _around(
                    "recall@10", 0.2 * (keeps - less), 0.02, mechanism=spec, params={"group": group, "referee": "ease"}
                )
            )
    entries = tuple(
        Entry(
            spec,
            promise,
            "Synthetic people were drawn from noisy statistics."
            if "dp" in spec
            else "User ids were replaced by random tokens. Every row of every person is as it was.",
            47_000,
            900,
        )
        for spec, _, _, promise in chosen
    )
    return Report(
        data={"source": "sample:films", "kind": "ratings", "rows": 47_120, "users": 1000, "items": 600, "unit": "user"},
        entries=entries,
        measurements=tuple(found),
        advice=(
            Advice(
                "dp-streams",
                True,
                "For publication: synthetic people drawn from noisy statistics, with a proof per person.",
            ),
            Advice("pseudonymise", True, "A baseline only: new ids do not hide anyone whose items are partly known."),
            Advice("dp-tags", False, "It needs a tag column, and the data have none."),
        ),
        left_out=("reconstruction: the release draws new people, so there is no masked value to recover",),
        meta={"version": "0.1.0", "held_out": 100, "trained": 900, "splits": 1, "metric": "ndcg@10", "seeded": True},
        words=Words("film", "viewer"),
    )
