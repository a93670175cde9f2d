"""compare(): several mechanisms on the same people, with the same seeds, attacked and put to use alike.

Some people are held out: no mechanism sees them. They are the strangers of the attacks, and of what each of them did a
part is shown to recommenders trained on a release (the query) and the rest is what these should find (the result).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from recveil.advice import advise
from recveil.cache import Cache, fingerprint
from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.guarantee import Guarantee
from recveil.inspection import inspect
from recveil.measurement import Measure, Measurement, measure, trial
from recveil.mechanism import Mechanism
from recveil.release import release
from recveil.report.table import Entry, Report, Words
from recveil.spec import parse, text
from recveil.splits import holdout_users, vertical

HELD_OUT = 0.2
FEWEST = 10  # people on either side of the split
QUICK_REFEREES = ("item-knn", "user-knn", "ease")
SLOW = ("agreement",)  # of which one split is not enough; left to a run of its own unless asked for by name


@dataclass(frozen=True)
class Split:
    """Whom the mechanisms see, and whom they do not. All parts are coded over the items of the whole data."""

    train: Interactions
    holdout: Interactions
    query: Interactions
    result: Interactions


Step = Callable[[str], None]  # told what has just been done


def compare(
    data: Interactions,
    specs: Sequence[str],
    *,
    seed: int = 0,
    share: float = HELD_OUT,
    only: Sequence[str] | None = None,
    quick: bool = False,
    cache: Cache = Cache(None),  # noqa: B008
    step: Step = lambda done: None,  # noqa: ARG005
    source: str = "data",
    words: Words | None = None,
) -> Report:
    """A Report on the mechanisms named by `specs`; `only` names measures, `quick` takes the quick referees."""
    mechanisms = check(data, specs)
    chosen = measures(only, quick)
    parts = split(data, share, seed)
    key = (fingerprint(data), share, seed, quick)
    entries: list[Entry] = []
    found: list[Measurement] = []
    left_out: list[str] = []
    for mechanism in mechanisms:
        entry, numbers, missing = _one(mechanism, parts, chosen, seed, cache, key, step)
        entries.append(entry)
        found += numbers
        left_out += missing
    from recveil import __version__

    return Report(
        data={"source": source, **inspect(data)},
        entries=tuple(entries),
        measurements=tuple(found),
        advice=advise(data),
        left_out=tuple(left_out),
        meta={
            "version": __version__,
            "seed": seed,
            "seeded": True,
            "splits": 1,
            "quick": quick,
            "held_out": parts.holdout.n_users,
            "trained": parts.train.n_users,
        },
        words=words or Words(person="session" if data.unit == "session" else "person"),
    )


def check(data: Interactions, specs: Sequence[str]) -> list[Mechanism]:
    """The mechanisms, each once; all of them fit the data, or the first that does not is named."""
    if not specs:
        raise RecveilError("nothing to compare; name at least one mechanism with --with")
    mechanisms = [parse(spec) for spec in specs]
    for mechanism in mechanisms:
        mechanism.fits(data)
    return list({text(m): m for m in mechanisms}.values())


def measures(only: Sequence[str] | None = None, quick: bool = False) -> dict[str, Measure]:
    """Attacks and metrics by name: those named, or all but the slow ones; with the quick referees if wanted."""
    from recveil.attacks import ATTACKS
    from recveil.metrics import METRICS
    from recveil.recommenders import RANKERS

    known: dict[str, Measure] = {**ATTACKS, **METRICS}
    for name in only or ():
        if name not in known:
            raise unknown("measure", name, known)
    if quick:
        few = tuple(RANKERS[name] for name in QUICK_REFEREES)
        judged: Mapping[str, Any] = {name: partial(known[name], referees=few) for name in _WITH_REFEREES if name in known}
        known = {name: judged.get(name, m) for name, m in known.items() if name not in _NOT_QUICK}
    names = [n for n in only if n in known] if only else [n for n in known if n not in SLOW]
    return {name: known[name] for name in names}


_WITH_REFEREES = ("lift", "ranking", "exposure", "damage")
_NOT_QUICK = ("ratings",)


def split(data: Interactions, share: float, seed: int) -> Split:
    """The people who are released, those held out, and what the latter did before and after."""
    rng = np.random.default_rng([seed, *b"split"])
    train, holdout = (part.compact().over_items(data.items) for part in holdout_users(data, share, rng))
    if min(train.n_users, holdout.n_users) < FEWEST:
        raise RecveilError(
            f"{data.n_users} {data.unit}s are too few to compare on: {FEWEST} at least must be held out, and as many stay"
        )
    shown = holdout if holdout.time is not None else holdout.take(rng.permutation(len(holdout)))
    query, result = vertical(shown, 0.5)
    return Split(train, holdout, query, result)


def _one(
    mechanism: Mechanism,
    parts: Split,
    chosen: Mapping[str, Measure],
    seed: int,
    cache: Cache,
    key: tuple[object, ...],
    step: Step,
) -> tuple[Entry, list[Measurement], list[str]]:
    """One mechanism, released once and measured; what the cache knows is not done again."""
    spec = text(mechanism)
    known = {name: cache.get(*key, spec, name) for name in chosen}
    facts = cache.get(*key, spec, "entry")
    if facts is None or None in known.values():
        made = release(parts.train, mechanism, seed=seed)
        facts = Entry(spec, made.guarantee, mechanism.card(), len(made.data), made.data.n_users).record()
        cache.put(facts, *key, spec, "entry")
        step(spec)
        against = trial(
            parts.train,
            made.data,
            holdout=parts.holdout,
            id_map=made.id_map,
            query=parts.query,
            result=parts.result,
        )
        for name, function in chosen.items():
            if known[name] is None:
                known[name] = _measured(partial(measure, against, {name: function}, seed, spec))
                cache.put(known[name], *key, spec, name)
            step(f"{spec}: {name}")
    else:
        for name in ("release", *chosen):
            step(f"{spec}: {name}")
    numbers = [_measurement(record) for name in chosen for record in known[name]["measurements"]]
    missing = [f"{name} of {spec}: {known[name]['why']}" for name in chosen if known[name]["why"]]
    return _entry(facts), numbers, missing


def _measured(run: Callable[[], list[Measurement]]) -> dict[str, Any]:
    """The records of a measure; where it says in one line why it cannot be computed, that line."""
    try:
        return {"measurements": [m.record() for m in run()], "why": ""}
    except RecveilError as reason:
        return {"measurements": [], "why": str(reason)}


def _measurement(record: Mapping[str, Any]) -> Measurement:
    return Measurement(**record)


def _entry(facts: Mapping[str, Any]) -> Entry:
    return Entry(**{**facts, "guarantee": Guarantee(**facts["guarantee"])})
