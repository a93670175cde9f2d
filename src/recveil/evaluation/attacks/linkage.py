"""linkage: the attacker knows r items of a person and picks the released record that is hers.

`intersection` keeps the records that hold all known items and guesses among them: success is 1/candidates. With no
candidate left it guesses among all records. The others score records (scorings.py), pick the best one, and claim to
have found her where it stands out from the second best by its eccentricity. `strongest` is the best of them all: for
either half of the people the one that does best on the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.attacks.knowledge import Choice, commonness, learn
from recveil.evaluation.attacks.outcomes import Attacker, LinkageOutcome, Side, per_person, strongest
from recveil.evaluation.attacks.scorings import SCORINGS, Scoring
from recveil.evaluation.attacks.truth import Truth, closest, truth
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import share
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.records import Postings, Records, postings, records

ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)
STRONGEST = "strongest"
KNOWN = (1, 2, 4, 8, 16)
ECCENTRICITY = 1.5  # of Narayanan and Shmatikov: below it they name nobody
TOUCHES = 1_000_000_000  # records that the attack on all targets may look at; of a larger release fewer are attacked
FEWEST_TARGETS = 200
_LUCKY = 10  # records drawn per person by one who saw nothing


class Facts(NamedTuple):
    """What the attacker knows of each target, item by item, and after how many of them he tries."""

    known: NDArray[np.int32]
    ratings: NDArray[np.float64]
    asked: NDArray[np.bool_]


def linkage(
    trial: Trial,
    rng: np.random.Generator,
    *,
    known: Sequence[int] | None = None,
    ratings: bool | None = None,
    items: Choice = "random",
    attackers: Sequence[Attacker] = ATTACKERS,
    tolerance: float = 0.0,
    theta: float | None = 0.7,
    targets: int = 2000,
    draws: int = 1,
    trusted: pl.Series | None = None,
) -> list[Measurement]:
    """The success of each attacker for each number of known items, and, if `theta` is given, the (Theta, omega) figure.

    ratings: whether the attacker knows the ratings too, within `tolerance` (default: both ways, if there are any), of
    all items or of the `trusted` ones alone. Targets are drawn without repeats, and each is attacked `draws` times; a
    release is large where that would look at more than TOUCHES records: then fewer people are attacked.
    control: for people who are not in the data, the share of whom the attacker claims to have found one record.
    """
    train, released = records(trial.train), records(trial.released)
    whose = truth(train, released, trial.owner)
    levels = levels_of(known, train.lengths[whose.people])
    all_of_it = {"asked": max(known)} if known and max(known) > max(levels) else {}
    index, crowd = postings(released), released.people
    targets = min(targets, max(FEWEST_TARGETS, TOUCHES // touched(index, max(levels))))
    members = _members(trial.train, train, whose, targets, draws, rng)
    sides = [members, *_others(trial, released, targets, rng)]
    scorings = {name: SCORINGS[name](released) for name in attackers if name in SCORINGS}
    found: list[Measurement] = []
    fought: dict[tuple[Attacker, bool], list[tuple[Side, LinkageOutcome]]] = {}
    ways = ways_of(ratings, trial)
    blind = _blind(members, released, crowd, theta, rng) if theta is not None else 0.0
    for rated in ways:
        known_of = [_learn(side, levels, items, rated, trusted, trial, rng) for side in sides]
        for attacker in attackers:
            attacked = [
                (side, _attack(attacker, scorings.get(attacker), index, crowd, side, facts, tolerance, rng))
                for side, facts in zip(sides, known_of, strict=True)
            ]
            fought[attacker, rated] = attacked
            params: dict[str, Any] = {"ratings": rated, "items": items, "attacker": attacker, **all_of_it}
            if rated and tolerance:
                params["tolerance"] = tolerance
            for r in levels:
                row = {"known": r, **params}
                found.append(linked(row, attacked, whose, len(crowd)))
                if theta is not None and rated == ways[0]:
                    found.append(_similar({"theta": theta, **row}, attacked, released, crowd, blind, rng))
    if len(attackers) > 1:
        for rated in ways:
            able = [sides for (_, knows), sides in fought.items() if rated or not knows]
            for r in levels:
                row = {"known": r, "ratings": rated, "items": items, "attacker": STRONGEST, **all_of_it}
                found.append(linked(row, strongest(able, r, rng), whose, len(crowd)))
    return found


def touched(index: Postings, known: int) -> int:
    """About how many records hold one of so many items of a person, counted once for each."""
    holders = np.diff(index.starts).astype(np.float64)
    return int(known * (holders @ holders) / max(holders.sum(), 1.0)) + 1


def exposure(
    trial: Trial,
    rng: np.random.Generator,
    *,
    known: int,
    ratings: bool = False,
    items: Choice = "random",
    draws: int = 20,
    most: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The people (codes in trial.train) who have `known` items and a record in the release, and how surely
    the intersection attacker finds each of them. `most`: of more people, those whose items are rarest."""
    train, released = records(trial.train), records(trial.released)
    whose = truth(train, released, trial.owner)
    levels_of([known], train.lengths[whose.people])
    eligible = whose.people[train.lengths[whose.people] >= known]
    index = postings(released)
    if most is not None and most < len(eligible):
        eligible = np.sort(
            eligible[np.argsort(commonness(train, np.diff(index.starts))[eligible], kind="stable")[:most]]
        )
    side, found = Side(trial.train, train, whose, eligible), np.zeros(len(eligible))
    for _ in range(draws):
        facts = _learn(side, [known], items, ways_of(ratings, trial)[0], None, trial, rng)
        outcome = _attack("intersection", None, index, released.people, side, rarest_first(facts, index), 0.0, rng)
        found += outcome.success[:, known - 1]
    return eligible, found / draws


def rarest_first(facts: Facts, index: Postings) -> Facts:
    """The same facts in another order: where all of them are used, the rarest item leaves the fewest to compare."""
    holders = np.append(np.diff(index.starts), np.iinfo(np.int64).max)  # unknown ones, -1, last
    order = np.argsort(holders[facts.known], axis=1, kind="stable")
    row = np.arange(len(order))[:, None]
    return Facts(facts.known[row, order], facts.ratings[row, order], facts.asked)


def _members(data: Interactions, of: Records, whose: Truth, targets: int, draws: int, rng: np.random.Generator) -> Side:
    people = whose.people
    if not len(people):
        raise SkippedError("nobody of the data has a record in the release")
    chosen = rng.permutation(people)[:targets]
    return Side(data, of, whose, np.repeat(chosen, draws))


def _others(trial: Trial, released: Records, targets: int, rng: np.random.Generator) -> list[Side]:
    if trial.holdout is None:
        return []
    of = records(trial.holdout)
    return [Side(trial.holdout, of, closest(of, released), rng.permutation(of.people)[:targets])]


def levels_of(known: Sequence[int] | None, lengths: NDArray[np.int64]) -> list[int]:
    """How many items the attacker knows: as asked, at most as many as anybody has, or as many as half of them have."""
    if known is None:
        return [r for r in KNOWN if r == 1 or 2 * np.count_nonzero(lengths >= r) >= len(lengths)]
    if (least := min(known)) < 1:
        raise RecveilError(f"an attacker knows at least 1 item, not {least}")
    if least > (longest := int(lengths.max(initial=0))):
        raise RecveilError(f"nobody has {least} items to be known: the longest profile has {longest}")
    return sorted({min(r, longest) for r in known})  # who is to know more than anybody has, knows all of it


def ways_of(ratings: bool | None, trial: Trial) -> list[bool]:
    """With and without ratings; the better informed first."""
    missing = [n for n in ("train", "released") if getattr(trial, n).rating is None]
    if ratings and missing:
        what = "the release has" if missing == ["released"] else "the data have"
        raise RecveilError(f"the attacker is to know ratings, and {what} none")
    return [bool(ratings)] if ratings is not None else ([False] if missing else [True, False])


def _learn(
    side: Side,
    levels: Sequence[int],
    items: Choice,
    rated: bool,
    trusted: pl.Series | None,
    trial: Trial,
    rng: np.random.Generator,
) -> Facts:
    known, ratings = learn(side.data, side.records, side.people, max(levels), items, rng)
    if not rated:
        ratings = np.full_like(ratings, np.nan)
    elif trusted is not None:
        told = trial.train.items.is_in(trusted.cast(trial.train.items.dtype).implode()).to_numpy()
        ratings = np.where(told[known], ratings, np.nan)
    return Facts(known, ratings, np.isin(np.arange(1, max(levels) + 1), levels))


def _attack(
    attacker: Attacker,
    scoring: Scoring | None,
    index: Postings,
    crowd: NDArray[np.int64],
    side: Side,
    facts: Facts,
    tolerance: float,
    rng: np.random.Generator,
) -> LinkageOutcome:
    known, ratings, asked = facts
    starts, hers = side.truth.of(side.people)
    luck = rng.random(known.shape)
    if attacker == "intersection":
        sizes, hits, picks = kernels.linkage.intersect(*index, known, ratings, tolerance, starts, hers, luck)
        claims = sizes == 1
    elif scoring is not None:
        spread = float(np.nanstd(index.ratings)) if np.isfinite(index.ratings).any() else 1.0
        sizes, hits, picks, far = kernels.linkage.score(
            index, scoring, known, ratings, spread or 1.0, starts, hers, luck, asked
        )
        claims = far >= ECCENTRICITY
    else:
        raise unknown("attacker", attacker, ATTACKERS)
    weight = side.truth.weight[side.people][:, None]
    blind = np.diff(starts)[:, None] * weight / len(crowd)
    success = np.where(sizes > 0, hits * weight / np.maximum(sizes, 1), blind)
    fewer = sizes < 0
    return LinkageOutcome(np.where(fewer, np.nan, success), np.where(fewer, np.nan, claims), picks)


def linked(
    params: dict[str, Any], sides: list[tuple[Side, LinkageOutcome]], whose: Truth, n_records: int
) -> Measurement:
    """The success of an attack on its targets, with the attack on others as its control."""
    side, outcome = sides[0]
    r = params["known"] - 1
    people, success = per_person(side.people, outcome.success[:, r])
    claims = outcome.claims[:, r] == 1.0
    control, strangers = None, None
    if len(sides) > 1:
        others, other = sides[1]
        counted = other.success if whose.how == "closest" else other.claims
        if (asked := np.isfinite(counted[:, r])).any():
            control = float(counted[asked, r].mean())
            if whose.how == "closest":  # else of strangers claims are counted, of people only right ones
                strangers = len(np.unique(others.people[asked]))
    right = float(outcome.success[claims, r].mean()) if claims.any() else 0.0
    words = [whose.note] if whose.note else []
    words.append(f"claims to have found {np.nanmean(outcome.claims[:, r]):.1%}, and is right in {right:.1%} of these")
    blind = np.diff(whose.starts)[people] * whose.weight[people] / n_records
    return measured(
        "linkage",
        share(success),
        len(people),
        chance=float(blind.mean()),
        control=control,
        control_n=strangers,
        params=params,
        note="; ".join(words),
    )


def _similar(
    params: dict[str, Any],
    sides: list[tuple[Side, LinkageOutcome]],
    released: Records,
    crowd: NDArray[np.int64],
    blind: float,
    rng: np.random.Generator,
) -> Measurement:
    """(Theta, omega): how often the record picked is at least Theta similar to hers, whoever it belongs to."""
    r = params["known"] - 1
    reached = []
    for side, outcome in sides:
        able = np.isfinite(outcome.success[:, r])
        picks = np.where(outcome.picks[:, r] >= 0, outcome.picks[:, r], rng.choice(crowd, size=len(able)))
        reached.append((side.people[able], _reach(side, side.people[able], picks[able], released, params["theta"])))
    people, hits = per_person(*reached[0])
    control = float(reached[1][1].mean()) if len(reached) > 1 and len(reached[1][1]) else None
    words = "share of people for whom the record picked is at least this similar to theirs"
    estimate = share(hits)
    if control is not None and estimate[1] <= control:
        words += "; no better than on people who are not in the data"
    return measured("theta-omega", estimate, len(people), chance=blind, control=control, params=params, note=words)


def _blind(side: Side, released: Records, crowd: NDArray[np.int64], theta: float, rng: np.random.Generator) -> float:
    """How often a record picked blindly is at least Theta similar to hers."""
    people = np.tile(np.unique(side.people), _LUCKY)
    return float(_reach(side, people, rng.choice(crowd, size=len(people)), released, theta).mean())


def _reach(
    side: Side, people: NDArray[np.int64], picks: NDArray[np.int64], released: Records, theta: float
) -> NDArray[np.float64]:
    pairs = np.stack([people, picks], axis=1)
    cosine = kernels.record_search.cosines(*side.records.sets, *released.sets, pairs)
    return np.asarray(cosine >= theta - 1e-12, dtype=np.float64)
