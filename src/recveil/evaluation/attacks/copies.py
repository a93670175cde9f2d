"""copies: whose clicks does a stream begin with? For releases in which the order of clicks is kept.

The attacker does not know how long a copied beginning is. He looks for the longest beginning of a stream that occurs in
somebody's clicks, one after the other. Linkage: of those who have it, one is guessed; control is the share of streams
for which one single person who is not in the data would be named. Membership: a person's score is
the longest beginning of any stream that occurs in her clicks.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import share
from recveil.measurement import Measurement, SkippedError, Trial

LONGEST = 12  # clicks: longer runs tell no more
TARGETS = 5000

Run = tuple[int, ...]


def copies(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """The chance of naming the person whose clicks a stream begins with; AUC of telling members by such beginnings."""
    if trial.train.time is None or trial.released.time is None:
        raise SkippedError("copies needs the order of clicks, in the data and in the release")
    real, streams = clickstreams(trial.train), clickstreams(trial.released)
    held = None if trial.holdout is None else clickstreams(trial.holdout)
    found = []
    if trial.owner is not None:
        asked = rng.permutation(np.flatnonzero(trial.owner >= 0))[:TARGETS]
        begin = [streams[i] for i in asked]
        right = named(real, begin, trial.owner[asked].tolist())
        control = None if held is None else float(np.mean([len(s) == 1 for s in suspects(held, begin)]))
        chance = 1 / len(np.unique(trial.train.user))
        found.append(measured("copies-linkage", share(right), len(right), chance=chance, control=control, params={}))
    if held is not None:
        begun = beginnings(streams)
        inside, outside = (_scores(people, begun, rng) for people in (real, held))
        if len(inside) and len(outside) > 3:
            control = auc(outside[::2], outside[1::2])[0]
            found.append(
                measured("copies-auc", auc(inside, outside), len(inside), chance=0.5, control=control, params={})
            )
    if not found:
        raise SkippedError("copies needs to know who is behind a stream, or people who are not in the data")
    return found


def clickstreams(data: Interactions) -> list[Run]:
    """Everybody's items in order, by user code."""
    rows = data.ordered()
    return [tuple(part.tolist()) for part in np.split(rows.item, rows.starts("user")[1:-1])]


def named(real: list[Run], streams: list[Run], owner: list[int]) -> Floats:
    """For each stream the probability that a guess among those who have its longest copied beginning is right."""
    found = zip(suspects(real, streams), owner, strict=True)
    return np.array([(person in people) / len(people) if people else 0.0 for people, person in found])


def suspects(real: list[Run], streams: list[Run]) -> list[set[int]]:
    """For each stream those who have its longest copied beginning; nobody where not even its first click is known."""
    wanted = beginnings(streams)
    who: defaultdict[Run, set[int]] = defaultdict(set)
    for person, clicks in enumerate(real):
        for at in range(len(clicks)):
            for n in range(1, min(LONGEST, len(clicks) - at) + 1):
                run = clicks[at : at + n]
                if run not in wanted:  # then no longer one is
                    break
                who[run].add(person)
    found = []
    for stream in streams:
        n = 0
        while n < min(len(stream), LONGEST) and stream[: n + 1] in who:
            n += 1
        found.append(who[stream[:n]] if n else set())
    return found


def beginnings(streams: list[Run]) -> set[Run]:
    return {stream[:n] for stream in streams for n in range(1, min(len(stream), LONGEST) + 1)}


def longest_run(clicks: Run, begun: set[Run]) -> int:
    """The longest beginning of any stream that occurs in the clicks."""
    best = 0
    for at in range(len(clicks)):
        while at + best < len(clicks) and clicks[at : at + best + 1] in begun:
            best += 1
    return best


def _scores(people: list[Run], begun: set[Run], rng: np.random.Generator) -> Floats:
    """Of people with any click, some at random."""
    active = [clicks for clicks in people if clicks]
    chosen = rng.permutation(len(active))[:TARGETS]
    return np.array([longest_run(active[i], begun) for i in chosen], dtype=np.float64)
