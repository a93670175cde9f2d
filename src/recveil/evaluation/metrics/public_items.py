"""Public items, no private data: what the item file teaches by itself, and what a release adds to it.

The same test people are served from the file alone (recommenders/items_alone.py). Its lists stand beside those of the
referees; `public items lift` is its place on the scale of lift, and `beyond public items` how far a referee trained on
the release is ahead of it, person by person. A release that is not ahead for certain adds nothing to what is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.lift import ALL, METRIC, of
from recveil.evaluation.metrics.next_item import POPULAR as NEXT_POPULAR
from recveil.evaluation.metrics.next_item import REFEREES as NEXT_REFEREES
from recveil.evaluation.metrics.next_item import check_order, judge, lines_of, reached
from recveil.evaluation.metrics.ranking import REFEREES, N, Outcome, arms, evaluate, liked, relevant
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders.items_alone import NAME, NextItemsAlone, items_alone
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.ids import union
from recveil.intervals import bootstrap_mean, paired_difference
from recveil.items import PublicItems
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial

NO_FILE = "no file of items was given (--items), so what it teaches without any private data is not known"
NOTHING = "the file of items tells nothing apart: it has no feature that some items share and others do not"
LIFT, BEYOND = f"{NAME} lift", f"beyond {NAME}"


def public_items(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Ranker] = REFEREES, n: int = N
) -> list[Measurement]:
    """What the file alone reaches; its lift, and what the release adds to it, by each referee and by all together."""
    if trial.query is None or trial.result is None:
        raise SkippedError(NO_TEST_PEOPLE)
    if trial.items is None or not trial.items.tells:
        raise SkippedError(NO_FILE if trial.items is None else NOTHING)
    control = served(trial.items, trial.query, trial.result, liked(trial.train), n)
    found = []
    for metric, values in control.values.items():
        known = values[np.isfinite(values)]
        params = {"referee": NAME, "trained_on": "items"} | ({} if metric == "auc" else {"n": n})
        found += [Measurement(metric, *bootstrap_mean(known, rng), n=len(known), params=params)] if len(known) else []
    rows = [[s.values[METRIC] for s in arms(trial, ranker, n)] for ranker in referees]
    alone = control.values[METRIC]
    for name, scores in zip((ALL, *(r.name for r in referees)), (np.mean(rows, axis=0), *rows), strict=True):
        release, real, popular = scores
        found += _against(alone, release, real, popular, rng, {"referee": name, "metric": METRIC, "n": n})
    return [*found, *_of_the_order(trial, rng)]


def _against(
    alone: Floats, release: Floats, real: Floats, popular: Floats, rng: np.random.Generator, params: dict[str, object]
) -> list[Measurement]:
    """The control's lift, where that is defined, and how far the release is ahead of the control."""
    lifts = [m for m in of(alone, real, popular, rng, params, prefix=f"{NAME} ") if m.name == LIFT]
    note = f"release {release.mean():.3f}, {NAME} {alone.mean():.3f}"
    ahead = Measurement(BEYOND, *paired_difference(release, alone, rng), n=len(alone), params=params, note=note)
    return [*(replace(m, note=note) for m in lifts), ahead]


def _of_the_order(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """The same of the next item, where there is an order."""
    try:
        check_order(trial)
    except SkippedError:
        return []
    assert trial.items is not None and trial.query is not None and trial.result is not None
    query, result, facts = _over_all(trial.items, trial.query, trial.result)
    alone = judge(NextItemsAlone(items_alone(facts)), query, result)
    found = lines_of(NAME, "items", alone, rng)
    parts = trial.query, trial.result
    popular = reached(NEXT_POPULAR, trial.train, *parts).ndcg
    for referee in NEXT_REFEREES:
        release, real = (reached(referee, data, *parts).ndcg for data in (trial.released, trial.train))
        params: dict[str, object] = {"referee": referee.name, "metric": "next ndcg", "n": N}
        found += _against(alone.ndcg, release, real, popular, rng, params)
    return found


@remembered
def served(facts: PublicItems, query: Interactions, result: Interactions, like: float | None, n: int) -> Outcome:
    """The test people served from the file alone: all its items are candidates, whether or not anybody has them."""
    query, result, facts = _over_all(facts, query, result)
    return evaluate(items_alone(facts), query, relevant(query, result, like), n)


def _over_all(
    facts: PublicItems, query: Interactions, result: Interactions
) -> tuple[Interactions, Interactions, PublicItems]:
    """All over the items of the file and those of the test people."""
    items = union(facts.items, query.items)
    return query.over_items(items), result.over_items(items), facts.over(items)
