"""The design of a comparison: who is held out, how often, with which measures and referees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.catalogue import MEASURES, MeasureEntry
from recveil.items import PublicItems
from recveil.measurement import Measure, Trial, trial
from recveil.options import asked, option
from recveil.releases.asked import SEED
from recveil.releases.release import Release
from recveil.splits import before_and_after, holdout_users

JUDGES = 5000  # held-out people whose lists are judged: more cost hours and hardly narrow an interval
FEWEST = 10  # people on either side of the split
QUICK_RANKERS = ("item-knn", "user-knn", "ease")
QUICK_RATERS = ("item-average", "user-average", "item-knn", "slope-one")


@dataclass(frozen=True)
class Design:
    """How to compare: `holdout` is the share of people kept out, `splits` are for the order of algorithms alone.

    `shadows`: releases of halves that the shadow attack learns from; 0: none.
    """

    seed: int = asked(SEED, 0)
    holdout: float = option(0.2, help="The share of people held out as strangers and judges.")
    splits: int = option(1, help="For the order of algorithms; 5 or more to trust it.")
    quick: bool = option(False, "--quick", help="The quick referees: for a first look.")
    only: tuple[str, ...] | None = option(None, metavar="NAMES", help="Measures, such as linkage,lift.")
    shadows: int | None = option(
        None, help="Releases of halves to learn an attack from; else 16, 8 with --quick; 0: none."
    )

    @property
    def n_shadows(self) -> int:
        """Releases of halves from which the shadow attack learns: as asked, else 16, or 8 for a first look."""
        return (8 if self.quick else 16) if self.shadows is None else self.shadows

    def __post_init__(self) -> None:
        if not 0 < self.holdout < 1:
            raise RecveilError(f"holdout must be strictly between 0 and 1, not {self.holdout:g}")
        if self.splits < 1:
            raise RecveilError(f"splits must be at least 1, not {self.splits}")


@dataclass(frozen=True)
class HeldOut:
    """Whom the mechanisms see, and whom they do not. All parts are coded over the items of the whole data."""

    train: Interactions
    holdout: Interactions
    query: Interactions
    result: Interactions
    items: PublicItems | None = None

    def trial(self, made: Release) -> Trial:
        parts = {"holdout": self.holdout, "query": self.query, "result": self.result}
        return replace(trial(self.train, made.data, id_map=made.id_map, **parts), items=self.items)


def measures(design: Design, attributes: bool = False, items: bool = False) -> dict[str, Measure]:
    """Attacks and metrics by name: those named, or all; with the quick referees if wanted.

    attributes: whether it is known what people are. items: whether a public file tells what items are.
    """
    for name in design.only or ():
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    there = {"", *["attributes"] * attributes, *["items"] * items, *["shadows"] * bool(design.n_shadows)}
    able = [name for name, e in MEASURES.items() if e.brought in there and not (design.quick and e.long)]
    return {name: _quick(MEASURES[name]) if design.quick else MEASURES[name].run for name in design.only or able}


def _quick(entry: MeasureEntry) -> Measure:
    """A measure that asks the quick referees alone."""
    from recveil.evaluation.recommenders import RANKERS, RATERS

    few = {
        "rankers": tuple(RANKERS[name] for name in QUICK_RANKERS),
        "raters": tuple(RATERS[name] for name in QUICK_RATERS),
    }
    return partial(entry.run, **{keyword: few[who] for keyword, who in entry.asks.items()})


def split(data: Interactions, share: float, seed: Sequence[int], items: PublicItems | None = None) -> HeldOut:
    """The people who are released, those held out, and what the latter did before and after; and public items."""
    rng = np.random.default_rng([*seed, *b"split"])
    train, holdout = (part.compact().over_items(data.items) for part in holdout_users(data, share, rng))
    if min(train.n_users, holdout.n_users) < FEWEST:
        raise RecveilError(
            f"{data.n_users} {data.unit}s are too few to compare on: {FEWEST} at least are held out, and {FEWEST} stay"
        )
    judges = holdout
    if holdout.n_users > JUDGES:
        few = np.sort(rng.choice(holdout.n_users, JUDGES, replace=False))
        judges = holdout.take_users(few).compact().over_items(data.items)
    return HeldOut(train, holdout, *before_and_after(judges, rng), items)
