"""Measurement: one number with its interval, its control and chance. Trial: what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Codes, Interactions, align
from recveil.errors import NO_MEMORY, RecveilError, not_installed
from recveil.ids import places
from recveil.items import PublicItems


@dataclass(frozen=True)
class Measurement:
    """A value with its 95% interval.

    control: the same number for people who are not in the data. chance: the same for one who saw nothing. `note` says
    in words what a reader must know to read the number right. `measure`: the key of what made it in the catalogue.
    control_n: how many people the control is about, where it counts the same as the value and may be taken off it.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    control: float | None = None
    chance: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mechanism: str | None = None
    note: str = ""
    measure: str = ""
    control_n: int | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.low <= self.high):
            raise ValueError(f"{self.name}: a measurement is a number with an interval, not {self.value}")

    def record(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "measure": self.measure,
            "params": dict(self.params),
            "mechanism": self.mechanism,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "control": self.control,
            "chance": self.chance,
            "n": self.n,
            "note": self.note,
        } | ({"control_n": self.control_n} if self.control_n else {})


def frame_of(measurements: Sequence[Measurement]) -> pl.DataFrame:
    """A row for each measurement; its parameters as one text, such as known=4 items=random."""
    rows = [
        {
            **replace(m, control_n=None).record(),
            "params": " ".join(f"{name}={value}" for name, value in m.params.items()),
        }
        for m in measurements
    ]
    number = dict.fromkeys(("value", "low", "high", "control", "chance"), pl.Float64)
    schema = {
        "name": pl.String,
        "measure": pl.String,
        "params": pl.String,
        "mechanism": pl.String,
        **number,
        "n": pl.Int64,
        "note": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


class SkippedError(RecveilError):
    """One measure cannot be made of what was given (no held-out people, no id map); others still can.

    The one way to say so: a measure never returns nothing, and never a 0 that stands for nothing.
    """


NO_TEST_PEOPLE = "there are no test people: nobody is known to be held out of the release"
NO_OWNERS = "nobody knows which record is whose; give the id map of the release"


@dataclass(frozen=True, eq=False)
class Shadows:
    """Releases by one mechanism of people whose membership is known: to learn from, and to be attacked.

    population: the people whom the attacker knows, with their rows. people: codes of those who are asked about.
    inside[r, p]: whether person p is in release r. The first `learnt` releases are for learning, 2k and 2k + 1 each
    other's complement; the rest are attacked. made(r) gives a release, or raises where the mechanism refuses.
    ceiling: the AUC that a proved guarantee for persons allows.
    """

    population: Interactions
    people: NDArray[np.int64]
    inside: NDArray[np.bool_]
    learnt: int
    made: Callable[[int], Interactions]
    plan: Literal["pool", "strict"] = "pool"
    target: Literal["halves", "bundle"] = "halves"
    ceiling: float | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class SecondRelease:
    """Another release of the same people, over the items of the Trial; owner as there.

    kept: with which probability either release left a bit as it was, where both are known to have flipped bits.
    newcomers: codes in train.users of those who are in the release of the Trial and not in this one, where it is known.
    """

    released: Interactions
    owner: Codes | None = None
    kept: tuple[float, float] | None = None
    newcomers: NDArray[np.int64] | None = None


FEWEST_LABELLED = 20  # people with an attribute, and without it, for a question to be asked
Labels = tuple[NDArray[np.int8], NDArray[np.int8] | None]  # of the people of train, and of holdout; -1: unknown


@dataclass(frozen=True)
class Trial:
    """Data and what was released of them, over one item vocabulary.

    train: the rows that the mechanism saw. released: what it gave out. holdout: people whom it never saw. owner: for
    each released user the code in train.users of the person whose record it is or was seeded by, -1 where unknown;
    None where nobody knows. query and result: what test people did before and after the moment of recommendation.
    shadows: releases by the same mechanism to learn from, if any were made. also: another release of the same people.
    attributes: who has which attribute, by its name. items: what a public file tells of items.
    """

    train: Interactions
    released: Interactions
    holdout: Interactions | None = None
    owner: Codes | None = None
    query: Interactions | None = None
    result: Interactions | None = None
    shadows: tuple[Shadows, ...] = ()
    also: SecondRelease | None = None
    attributes: Mapping[str, Labels] = field(default_factory=dict)
    items: PublicItems | None = None


Measure = Callable[[Trial, np.random.Generator], list[Measurement]]


def trial(
    train: Interactions,
    released: Interactions,
    *,
    holdout: Interactions | None = None,
    id_map: pl.DataFrame | None = None,
    query: Interactions | None = None,
    result: Interactions | None = None,
) -> Trial:
    """A Trial with all parts over the union of their items; `id_map` has the columns original and released."""
    given = {"train": train, "released": released, "holdout": holdout, "query": query, "result": result}
    if not np.any(places(released.items, train.items) >= 0):
        raise RecveilError("the release and the data have no item in common: it is not a release of these data")
    named = {name: part for name, part in given.items() if part is not None}
    aligned: dict[str, Any] = dict(zip(named, align(*named.values()), strict=True))
    owner = None if id_map is None else owners(train, released, id_map)
    return Trial(**aligned, owner=owner)


def measure(
    trial: Trial, measures: Mapping[str, Measure], seed: int, mechanism: str | None = None
) -> list[Measurement]:
    """Every measure on a trial, each with a stream of its own, so that leaving one out does not change another."""
    found: list[Measurement] = []
    for name, function in measures.items():
        rng = np.random.default_rng([seed, *name.encode()])
        found += [replace(m, mechanism=mechanism, measure=name) for m in function(trial, rng)]
    return found


def attempt(
    trial: Trial, name: str, function: Measure, seed: int, mechanism: str | None = None
) -> tuple[list[Measurement], str]:
    """A measure that may not be possible: its measurements, or none and in one line why not.

    What a measure lacks (held-out people, ratings, memory, an extra that is not installed) never loses what others
    found.
    """
    try:
        found = measure(trial, {name: function}, seed, mechanism)
    except RecveilError as reason:
        return [], str(reason)
    except ModuleNotFoundError as missing:
        return [], not_installed(missing)
    except MemoryError:
        return [], NO_MEMORY
    return found, "" if found else "there is nothing to measure in these data"


def skipped_in(record: Mapping[str, Any]) -> Any:
    """What a kept record of measurements could not measure; until version 0.2 it was written `left_out`."""
    return record["skipped"] if "skipped" in record else record["left_out"]


def owners(train: Interactions, released: Interactions, id_map: pl.DataFrame) -> Codes:
    """Of each released user whose record it is, as a code in train.users, by the private map; -1: it does not say."""
    original = id_map["original"].cast(train.users.dtype, strict=False)
    token = id_map["released"].cast(released.users.dtype, strict=False)
    codes = pl.DataFrame({"original": original, "released": token}).join(
        pl.DataFrame({"original": train.users, "code": np.arange(train.n_users, dtype=np.int32)}), on="original"
    )
    owner = pl.DataFrame({"released": released.users}).join(
        codes.unique("released"), on="released", how="left", maintain_order="left"
    )["code"]
    return owner.fill_null(-1).to_numpy().astype(np.int32)
