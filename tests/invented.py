"""A report made of invented measurements of a realistic size: what renderers are tested on."""

from __future__ import annotations

import math
from dataclasses import replace

from recveil.evaluation.advice import Advice
from recveil.evaluation.catalogue import attackers
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
    ("microaggregation:k=5", 0.0008, 0.55, nothing("Groups of five alike people share a profile.")),
    ("laplace-ratings:scale=1", 0.3, 0.8, nothing("Who rated what stays.")),
]
REAL = {"ease": 0.31, "item-knn": 0.28, "user-knn": 0.275, "bpr": 0.26, "als": 0.243}
TILT = {"ease": -0.012, "item-knn": 0.0, "user-knn": 0.02, "bpr": -0.03, "als": 0.018}
POPULAR = 0.19


def around(name: str, value: float, half: float, spec: str, **params: object) -> Measurement:
    return Measurement(name, value, value - half, value + half, 1000, params=params, mechanism=spec)


def linkage(spec: str, rise: float) -> list[Measurement]:
    found = []
    for known in (1, 2, 3, 4, 6, 8, 12, 16):
        for attacker, strength in (("intersection", 1.0), ("score", 0.9)):
            value = strength * (1 - math.exp(-rise * known**1.45))
            half = 0.003 + 0.04 * math.sqrt(value * (1 - value))
            params = {"known": known, "ratings": rise > 0.1, "items": "random", "attacker": attacker}
            low, high = max(0.0, value - half), min(1.0, value + half)
            found.append(Measurement("linkage", value, low, high, 900, 0.001, 0.001, params, spec, measure="linkage"))
    return found


def utility(spec: str, keeps: float, defined: bool) -> list[Measurement]:
    found = [around("ndcg", POPULAR, 0.01, spec, referee="most-popular", trained_on="real", n=10)]
    for place, (referee, real) in enumerate(REAL.items()):
        kept = keeps + (0 if keeps == 1.0 else 5 * TILT[referee] * (1 - keeps))
        reached = POPULAR + kept * (real - POPULAR)
        found.append(around("ndcg", reached, 0.011, spec, referee=referee, trained_on="release", n=10))
        found.append(around("ndcg", real, 0.011, spec, referee=referee, trained_on="real", n=10))
        ahead = around("advantage", real - POPULAR, 0.012, spec, referee=referee, metric="ndcg", n=10)
        if defined:
            half = 0.0 if keeps == 1.0 else 0.06 + 0.01 * place
            found += [ahead, around("lift", kept, half, spec, referee=referee, metric="ndcg", n=10)]
        else:
            found.append(replace(ahead, note="lift is undefined: the real data do not beat most-popular"))
    for group, less in (("light users", 0.05), ("heavy users", -0.04), ("head items", -0.02), ("tail items", 0.15)):
        found.append(around("damage", 0.2 * (1 - keeps + less), 0.02, spec, referee="ease", group=group, n=10))
    tau = 1.0 if keeps == 1.0 else max(-1.0, keeps)
    return [*found, Measurement("agreement", tau, tau - 0.1, min(1.0, tau + 0.1), 5, mechanism=spec)]


def invented(mechanisms: int = 6, lift: bool = True) -> Report:
    """A report of the first so many mechanisms; without lift where the real data do not beat most-popular."""
    chosen = MECHANISMS[:mechanisms]
    found: list[Measurement] = []
    for spec, rise, keeps, _ in chosen:
        found += linkage(spec, rise)
        area = around("membership-auc", 0.5 + min(0.45, rise * 2), 0.02, spec, score="distance")
        found += [replace(area, control=0.5, chance=0.5, measure="membership"), *utility(spec, keeps, lift)]
    done = "User ids were replaced by random tokens. Every row of every person is as it was."
    return Report(
        data={"source": "sample:films", "kind": "ratings", "rows": 47_120, "users": 1000, "items": 600, "unit": "user"},
        entries=tuple(Entry(spec, promise, done, 47_000, 900) for spec, _, _, promise in chosen),
        measurements=tuple(found),
        advice=(
            Advice("dp-streams", True, "For publication: synthetic people drawn from noisy statistics."),
            Advice("pseudonymise", True, "A baseline only: new ids do not hide anyone whose items are partly known."),
            Advice("dp-tags", False, "It needs a tag column, and the data have none."),
        ),
        skipped=("reconstruction of mbrw: it draws new people, so there is no masked value to recover",),
        meta={"version": "0.1.0", "held_out": 100, "trained": 900, "splits": 1, "seeded": True},
        words=Words("film", "viewer"),
        attackers=attackers(("linkage", "membership")),
    )
