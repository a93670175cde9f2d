"""The next item: do recommenders that read the order of clicks learn from a release what they learn from the data?

Held-out people are shown up to the middle of their stream; from there on the next few items that are new to them are
asked for, each with all before it. HR@10 is how often it is among the ten best new ones, NDCG@10 also counts its place.
sequence lift is lift in NDCG@10: 1 is the real data, 0 a list of best sellers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recveil.data import Codes, Floats, Interactions, concat
from recveil.evaluation.metrics.lift import ALL, of
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders import SEQUENCERS
from recveil.evaluation.recommenders.sequential import AskedStreams, NextModel, Sequencer
from recveil.intervals import bootstrap_mean
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial

N = 10  # items on a list
MOVES = 5  # items asked for of one person, at most
CELLS = 1 << 22  # scores held at a time
NO_ORDER = "these data have no order (no time column), so there is no next item"
NO_RELEASED_ORDER = "the release has no order, so nothing that reads one can learn from it"
NO_MOVE = "no held-out person has a next item that is new to her"
POPULAR = SEQUENCERS["most-popular"]
REFEREES = tuple(SEQUENCERS[name] for name in ("session-knn", "markov"))
NETWORKS = tuple(SEQUENCERS[name] for name in ("sasrec", "gru4rec"))


class Asked(NamedTuple):
    """Places that are asked for, and whose they are."""

    streams: AskedStreams
    person: Codes


class Reached(NamedTuple):
    """What a referee reaches for each person who is asked about: the means over her places."""

    hits: Floats
    ndcg: Floats
    note: str


def next_item(trial: Trial, rng: np.random.Generator, referees: Sequence[Sequencer] = REFEREES) -> list[Measurement]:
    """HR@10 and NDCG@10 of each referee, on the release and on the real data, and sequence lift; without networks."""
    check_order(trial)
    return judged(trial, rng, referees)


def neural(trial: Trial, rng: np.random.Generator, referees: Sequence[Sequencer] = NETWORKS) -> list[Measurement]:
    """The same by networks: SASRec and GRU4Rec, which the extra `neural` brings."""
    check_order(trial)
    return judged(trial, rng, referees, together=False)


def check_order(trial: Trial) -> None:
    """Leave out what has no order to judge by, with the reason."""
    if trial.query is None or trial.result is None:
        raise SkippedError(NO_TEST_PEOPLE)
    if trial.train.time is None or trial.query.time is None:
        raise SkippedError(NO_ORDER)
    if trial.released.time is None and len(trial.released):
        raise SkippedError(NO_RELEASED_ORDER)
    if not len(asked_of(trial.query, trial.result).streams.asked):
        raise SkippedError(NO_MOVE)


def judged(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Sequencer], together: bool = True
) -> list[Measurement]:
    """For each referee what it reaches and its sequence lift; for all together (`all`), too, if wanted."""
    assert trial.query is not None and trial.result is not None
    parts = trial.query, trial.result
    popular = reached(POPULAR, trial.train, *parts)
    found = lines_of(POPULAR.name, "real", popular, rng)
    rows: list[tuple[Floats, Floats]] = []
    lifts: list[Measurement] = []
    for referee in referees:
        release, real = (reached(referee, data, *parts) for data in (trial.released, trial.train))
        found += [*lines_of(referee.name, "release", release, rng), *lines_of(referee.name, "real", real, rng)]
        rows.append((release.ndcg, real.ndcg))
        lifts += _lift(release.ndcg, real.ndcg, popular.ndcg, rng, referee.name)
    if together:
        release_mean, real_mean = np.mean(rows, axis=0)
        lifts = _lift(release_mean, real_mean, popular.ndcg, rng, ALL) + lifts
    return [*lifts, *found]


def _lift(release: Floats, real: Floats, popular: Floats, rng: np.random.Generator, name: str) -> list[Measurement]:
    params = {"referee": name, "metric": "next ndcg", "n": N}
    return of(release, real, popular, rng, params, prefix="sequence ")


def lines_of(name: str, source: str, made: Reached, rng: np.random.Generator) -> list[Measurement]:
    """What was reached, with its intervals."""
    params = {"referee": name, "trained_on": source, "n": N}
    return [
        Measurement(metric, *bootstrap_mean(values, rng), n=len(values), params=params, note=made.note)
        for metric, values in (("next hit rate", made.hits), ("next ndcg", made.ndcg))
    ]


def asked_of(query: Interactions, result: Interactions, moves: int = MOVES) -> Asked:
    """The first `moves` items of each person's result that are new to her, within her whole stream."""
    middle = np.bincount(query.user, minlength=query.n_users)
    whole = concat([query, result])
    later = np.repeat([0, 1], [len(query), len(result)])
    moments = np.zeros(len(whole)) if whole.moments is None else whole.moments
    rows = whole.take(np.lexsort((moments, later, whole.user)))
    starts = rows.starts()
    place = np.arange(len(rows)) - starts[rows.user]
    cell = rows.user.astype(np.int64) * rows.n_items + rows.item
    first = np.zeros(len(rows), dtype=bool)
    first[np.unique(cell, return_index=True)[1]] = True
    new = first & (place >= np.maximum(middle, 1)[rows.user])
    number = np.cumsum(new)
    before = np.append(0, number)[starts[rows.user]]
    asked = np.flatnonzero(new & (number - before <= moves))
    return Asked(AskedStreams(rows.item, starts[rows.user[asked]], asked, rows.n_items), rows.user[asked])


@remembered
def reached(
    referee: Sequencer, data: Interactions, query: Interactions, result: Interactions, seed: int = 0
) -> Reached:
    """Fit a referee and ask it. Remembered per data object: the real data are judged once for all releases."""
    return judge((referee if len(data) else POPULAR).fit(data, seed), query, result)


def judge(model: NextModel, query: Interactions, result: Interactions) -> Reached:
    """Ask a model for the next items of people."""
    streams, person = asked_of(query, result)
    people, who = np.unique(person, return_inverse=True)
    ranks = [np.empty(0)]
    step = max(1, CELLS // max(streams.n_items, 1))
    for at in range(0, len(streams.asked), step):
        part = streams.part(slice(at, at + step))
        ranks.append(ranked(model.scores(part), part))
    rank = np.concatenate(ranks)
    hit = rank <= N
    each = np.bincount(who, minlength=len(people))
    gain = np.where(hit, 1 / np.log2(np.where(hit, rank, 1.0) + 1), 0.0)
    return Reached(np.bincount(who, hit) / each, np.bincount(who, gain) / each, model.note)


def ranked(scores: Floats, streams: AskedStreams) -> Floats:
    """The rank of each asked item among those that its stream does not hold yet; of equal ones the lower code first.

    Infinite where the model has nothing to say of it.
    """
    from recveil.kernels.ranking import place

    sizes = streams.asked - streams.begin
    starts = np.append(0, np.cumsum(sizes))
    seen = streams.item[np.arange(starts[-1]) + np.repeat(streams.begin - starts[:-1], sizes)]
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    places: Floats = place(scores, starts.astype(np.int64), seen, streams.item[streams.asked])
    return places
