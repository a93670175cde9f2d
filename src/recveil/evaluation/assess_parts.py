"""assess(), of a log whose rows never stand in memory together: its parts hold whole people over the items of all.

What adds up over parts is that of everybody: counts, and from how many released records an attacker by intersection
cannot tell hers. Attackers who score records are measured in a crowd, some people drawn by a hash, whose size every
figure names: among fewer people each of them is found more easily.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.evaluation import crowd as drawing
from recveil.evaluation.assess import itself, rng_of, summary
from recveil.evaluation.attacks.knowledge import learn
from recveil.evaluation.attacks.linkage import Facts, levels_of, linkage, linked, ways_of
from recveil.evaluation.attacks.outcomes import LinkageOutcome, Side
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.crowd import Parts, Sought, Survey, rarest_people, riskiest_of, seekers
from recveil.evaluation.facts import LogFacts
from recveil.measurement import Measurement
from recveil.views.records import records


def assess_parts(parts: Parts, seed: int, known: tuple[int, ...] | None = None) -> tuple[LogFacts, dict[str, Any]]:
    """What `assess` says, in three passes over the parts; the same however many there are. The facts beside it."""
    seen = Survey(rng_of(seed, "crowd"))
    for part in parts():
        seen.add(part)
    crowd = seen.crowd.people
    assert crowd is not None
    lengths = np.concatenate(seen.lengths)
    drawn = seen.crowd.first(drawing.TARGETS)
    levels = levels_of(known, lengths)
    told = _told(drawn, levels, rng_of(seed, "linkage"))
    rare = rarest_people(parts, seen.holders)
    exposed = seekers(rare, seen.holders, int(lengths.max()), rng_of(seed, "riskiest"))
    sought = [*(Sought(drawn.users, facts) for facts in told.values()), exposed]
    for part in parts():
        for one in sought:
            one.seek(part)
    curve = [
        m for rated, one in zip(told, sought, strict=False) for m in _curve(drawn, one, rated, levels, len(lengths))
    ]
    scored = linkage(itself(crowd), rng_of(seed, "crowd linkage"), known=known)
    curve += [replace(m, params={**m.params, "crowd": crowd.n_users}) for m in scored]
    return seen.all_facts, summary(seen.all_facts, seen.holders, lengths, crowd.items, curve, riskiest_of(exposed))


def _told(drawn: Interactions, levels: list[int], rng: np.random.Generator) -> dict[bool, Facts]:
    """What the attacker knows of people, with and without ratings."""
    of = records(drawn)
    asked = np.isin(np.arange(1, max(levels) + 1), levels)
    found = {}
    for rated in ways_of(None, itself(drawn)):
        known, ratings = learn(drawn, of, np.arange(len(of)), max(levels), "random", rng)
        found[rated] = Facts(known, ratings if rated else np.full_like(ratings, np.nan), asked)
    return found


def _curve(drawn: Interactions, sought: Sought, rated: bool, levels: list[int], crowd: int) -> list[Measurement]:
    """The attacker by intersection among all records. Of a stranger he would claim what fits beside her own record."""
    of = records(drawn)
    side = Side(drawn, of, truth(of, of, np.arange(len(of), dtype=np.int32)), np.arange(len(of)))
    none = sought.facts.known < 0
    claims, lone = (np.where(none, np.nan, left == 1) for left in (sought.sizes, sought.sizes - sought.hits))
    nobody = np.full(none.shape, -1)
    attacked = [(side, LinkageOutcome(sought.success, how, nobody)) for how in (claims, lone)]
    params = {"ratings": rated, "items": "random", "attacker": "intersection"}
    return [linked({"known": r, **params}, attacked, side.truth, crowd) for r in levels]
