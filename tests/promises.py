"""Checks that a Synthesis keeps what its proof rests on. Each raises AssertionError where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, concat, from_ids
from recveil.dp.vocabulary import Selected
from recveil.evaluation.audit.watching import law_facts, tables
from recveil.mechanism import PublicInfo, Sums, Synthesis
from recveil.randomness import seeded

REPEATS = 150
UNIT = 2**16  # the norm of a person in a table of integers
ITEMS = 14
LEARNED = (
    "effect",
    "phi",
    "psi",
    "popularity",
    "vectors",
    "duel",
    "paired",
    "standing",
    "unasked",
)  # of noisy tables, for later rounds


def little_world(tags: bool, ratings: bool = False) -> Interactions:
    """A few people, some with a row twice; items and tags that nobody has stand in the lists too."""
    rng = np.random.default_rng(4)
    user = np.repeat(np.arange(50), 5)
    item = np.concatenate([rng.choice(ITEMS - 4, 5, replace=False) for _ in range(50)])
    tag = pl.Series([f"t{t}" for t in item % 4]) if tags else None
    rating = rng.integers(1, 6, len(user)) if ratings else None
    data = from_ids(pl.Series(user), pl.Series(item), rating, np.arange(len(user)), tag)
    data = data.over_items(pl.Series(range(ITEMS)))
    return data.over_tags(pl.Series([f"t{t}" for t in range(6)])) if tags else data


def public_of(data: Interactions) -> PublicInfo:
    sessions = data.session is not None
    return PublicInfo(
        data.kind, data.unit, data.items, data.tags, True, ("tags", "users"), data.users, sessions=sessions
    )


def rounds(mechanism: Synthesis, data: Interactions) -> list[tuple[Any, tuple[Any, ...]]]:
    """Of every round what is counted, and what was published before: totals so large that nothing falls out."""
    public, published, found = public_of(data), (), []
    for number in range(mechanism.rounds_for(public)):
        counts = mechanism.count(data, published, public)
        found.append((counts, published))
        made = mechanism.publish(counts, published, public, seeded(9).derive(number))
        published = (*published, enlarged(made))
    return found


def enlarged(made: Any) -> dict[str, Any]:
    """Noisy counts so large that nothing falls out; what was learned from them stays."""
    return {name: table if name in LEARNED else np.full(np.shape(table), 2**40) for name, table in made.items()}


def noisy_tables(mechanism: Synthesis, made: Any, published: tuple[Any, ...], public: PublicInfo) -> dict[str, Any]:
    """The tables with noise. All else that is handed on is a function of these alone, and is shown to be."""
    noisy = {name: table for name, table in made.items() if name not in LEARNED}
    if len(noisy) < len(made):
        again = mechanism._learned((*published, noisy), public)  # type: ignore[attr-defined]
        assert all(np.array_equal(made[name], again[name]) for name in made if name in LEARNED)
    return noisy


def residuals(mechanism: Synthesis, data: Interactions) -> dict[str, np.ndarray]:
    """Published less counted, table by table: releases x cells, with the chance of other releases each time."""
    public, seen = public_of(data), {}
    for counts, published in rounds(mechanism, data):
        for repeat in range(REPEATS):
            made = mechanism.publish(counts, published, public, seeded(repeat).derive("publish", len(published)))
            made = noisy_tables(mechanism, made, published, public)
            truth = tables(counts, made)
            assert set(truth) == set(made), "what is published has its place among the counts"
            for name, table in made.items():
                seen.setdefault(name, []).append(np.asarray(table).astype(np.float64).ravel() - truth[name])
    return {name: np.array(noise) for name, noise in seen.items()}


def noise_in_every_cell(mechanism: Synthesis, data: Interactions, laws: Any = None) -> None:
    """Every cell, also a zero one, has the stated variance, and no two tables or cells share their noise."""
    stated = laws or mechanism.laws(public_of(data))  # type: ignore[attr-defined]
    scaled = {}
    for name, noise in residuals(mechanism, data).items():
        variance, untouched = law_facts(stated[name])
        heavy = 5.0 if stated[name].kind == "laplace" else 2.0
        share = (noise**2).mean(axis=0) / variance
        assert share.min() > 0.3, f"{name}: cell {share.argmin()} has {share.min():.2f} of its variance"
        assert share.max() < 1 + 8 * np.sqrt(heavy / REPEATS), f"{name}: cell {share.argmax()} has too much"
        error = np.sqrt(heavy / noise.size)
        assert abs(share.mean() - 1) < 6 * error, f"{name} has {share.mean():.3f} of its variance"
        still = (noise == 0).mean(axis=0)
        assert still.max() < untouched + 0.25, f"{name}: cell {still.argmax()} often stays as it was"
        scaled[name] = noise / np.sqrt(variance)
    names = list(scaled)
    for k, one in enumerate(names):
        for other in names[k:]:
            _uncorrelated(one, scaled[one], other, scaled[other])


def _uncorrelated(one: str, a: np.ndarray, other: str, b: np.ndarray) -> None:
    """At no distance between cells does the noise of one table follow that of another (or its own)."""
    if one == other and a.shape[1] < 2:
        return
    n = a.shape[1] + b.shape[1]
    product = np.fft.rfft(a, n, axis=1) * np.conj(np.fft.rfft(b, n, axis=1))
    by_lag = np.fft.irfft(product.mean(axis=0), n)
    if one == other:
        by_lag[0] = 0.0
    bound = 7 * np.sqrt(min(a.shape[1], b.shape[1]) / REPEATS)
    assert np.abs(by_lag).max() < bound, f"the noise of {one} and {other} is the same, {np.abs(by_lag).argmax()} apart"


def moved_by(mechanism: Synthesis, data: Interactions, person: Interactions) -> float:
    """How far a person moves all tables together, as a share of what the guarantee reckons with."""
    public = public_of(data)
    laws, promise = mechanism.laws(public), mechanism.guarantee(public)  # type: ignore[attr-defined]
    whole = concat([data, person]).over_items(data.items)
    whole = whole.over_tags(data.tags) if data.tags is not None else whole
    spent, norms, published = 0.0, {}, ()
    for number in range(mechanism.rounds_for(public)):
        sides = [mechanism.count(side.canonical(), published, public) for side in (whole, data)]
        handed = mechanism.publish(sides[1], published, public, seeded(9).derive(number))
        made = noisy_tables(mechanism, handed, published, public)
        one, other = (tables(side, made) for side in sides)
        for name in made:
            gap, size = one[name] - other[name], float(laws[name].size)
            spent += gap @ gap / (2 * size) if laws[name].kind == "gaussian" else np.abs(gap).sum() / size
            table = "pairs" if name == "lengths" and laws[name] == laws["pairs"] else name  # then these two are one
            norms[table] = norms.get(table, 0.0) + (gap @ gap if laws[name].kind == "gaussian" else 0.0)
        published = (*published, enlarged(handed))
    return max(float(spent / (promise.rho or promise.epsilon)), *(n / UNIT**2 for n in norms.values()))


def contributions_are_bounded(mechanism: Synthesis, data: Interactions) -> None:
    """A person with everything, with two items, with one: at user level nobody moves the tables farther than stated."""
    for n in (len(data.items), 3, 2, 1):
        items = data.items[:n]
        tag = None if data.tags is None else pl.Series([data.tags[k % len(data.tags)] for k in range(n)])
        rating = None if data.rating is None else np.where(np.arange(n) % 3, 1.0, 5.0)
        person = from_ids(pl.Series([10**6] * n), items, rating, np.arange(n), tag)
        for case in [person] if data.session is None else in_sessions(person):
            share = moved_by(mechanism, data, case)
            assert share <= 1 + 1e-9, f"a person with {n} items moves the tables {share:.6f} times as far as stated"


def in_sessions(person: Interactions) -> list[Interactions]:
    """The same person with all of it in one session, in sessions of two, and all of it again and again."""
    n, often = len(person), 20
    again = concat([person] * often)
    return [
        replace(rows, session=session.astype(np.uint64))
        for rows, session in (
            (person, np.zeros(n)),
            (person, np.arange(n) // 2),
            (again, np.arange(often * n) // n),
        )
    ]


def repeated_rows_change_nothing(mechanism: Synthesis, data: Interactions) -> None:
    """The same row twice counts once."""
    twice, public = concat([data, data.take(np.arange(40))]).canonical(), public_of(data)
    twice = twice.over_items(data.items)
    twice = twice.over_tags(data.tags) if data.tags is not None else twice
    once, again = (mechanism.count(side, (), public) for side in (data.canonical(), twice))
    made = noisy_tables(mechanism, mechanism.publish(once, (), public, seeded(1)), (), public)
    one, other = tables(once, made), tables(again, made)
    for name in made:
        assert np.array_equal(one[name], other[name]), f"{name} counts a repeated row twice"


def tables_have_the_size_of_the_lists(mechanism: Synthesis, data: Interactions) -> None:
    """What nobody has is published like everything else: the size of a table is public."""
    public = public_of(data)
    first = mechanism.publish(mechanism.count(data, (), public), (), public, seeded(1))
    size = {"items": len(data.items), "item": len(data.items), "tag": data.n_tags, "user": len(data.users)}
    size |= dict.fromkeys(("have", "like", "effect"), len(data.items))
    for name, table in first.items():
        assert len(table) == size[name], f"{name} has {len(table)} cells, and {size[name]} ids are public"


def selection_keeps_its_delta(mechanism: Synthesis, data: Interactions) -> None:
    """Where ids are selected, those that one person alone has pass with their part of delta at most, however many."""
    sessions = mechanism.reads_sessions and data.session is not None
    public = PublicInfo(data.kind, data.unit, data.items, data.tags, False, ("users",), data.users, sessions=sessions)
    by_record = getattr(mechanism, "unit", "user") == "record"
    for n in (1,) if by_record else (1, 2, 500, 501, 5000):
        hers = _alone(data, n)
        both = concat([data, hers])
        coded = [_over(side, both) for side in (data, hers)]
        many, alone = (mechanism.count(side, (), public) for side in coded)
        counts = _sum(many, 2**24, alone)
        kept = next(t for t in mechanism.publish(counts, (), public, seeded(3)).values() if isinstance(t, Selected))
        name = "tag" if kept.column == "tags" else next(k for k in ("items", "have") if k in mechanism.laws(public))  # type: ignore[attr-defined]
        added = alone[name] if isinstance(alone, Sums) else alone
        added = added[added > 0]
        chance = sum(_exceeds(mechanism.laws(public)[name], kept.cut - int(w)) for w in np.unique(added)  # type: ignore[attr-defined]
                     for _ in range(int((added == w).sum())))  # fmt: skip
        stated = mechanism.selection_delta(public)  # type: ignore[attr-defined]
        assert 0 < chance <= stated * (1 + 1e-6), (
            f"of {n} ids that one person has one passes with {chance / stated:.4f} of its delta"
        )


def _alone(data: Interactions, n: int) -> Interactions:
    """A person with n items (and tags) that nobody else has; in sessions of 40, where the data have sessions."""
    rating = None if data.rating is None else np.where(np.arange(n) % 2, 5.0, 1.0)
    tag = None if data.tags is None else pl.Series([f"new-{k}" for k in range(n)])
    session = None if data.session is None else pl.Series(np.arange(n) // 40)
    items = pl.Series(10**6 + np.arange(n))
    return from_ids(pl.Series([10**6] * n), items, rating, np.arange(n), tag, session=session)


def _over(side: Interactions, both: Interactions) -> Interactions:
    side = side.over_items(both.items)
    return (side if both.tags is None else side.over_tags(both.tags)).canonical()


def _sum(many: Any, factor: int, alone: Any) -> Any:
    if isinstance(many, Sums):
        return Sums({name: factor * table + alone[name] for name, table in many.items()})
    return factor * many + alone


def _exceeds(law: Any, x: int) -> float:
    """The chance of noise above an integer."""
    from scipy.stats import norm

    if law.kind == "laplace":
        return float(np.exp(-(x + 1) / float(law.size)) / (1 + np.exp(-1 / float(law.size))))
    return float(norm.sf((x + 0.5) / law.deviation))


def selections_have_their_noise(mechanism: Synthesis, data: Interactions) -> None:
    """Of ids so frequent that no noise loses them, the noise that was added to their counts has the stated variance."""
    public = PublicInfo(data.kind, data.unit, data.items, data.tags, False, ("users",), data.users)
    many = mechanism.count(data.canonical(), (), public)
    counts = _sum(many, 2**24, many)
    for column, name in (("items", "items"), ("items", "have"), ("tags", "tag")):
        seen = []
        for repeat in range(REPEATS):
            found = mechanism.publish(counts, (), public, seeded(repeat)).get(name)
            if isinstance(found, Selected) and found.column == column:
                truth = counts[name] if isinstance(counts, Sums) else counts
                seen.append(found.values - truth[found.codes])
        if seen:
            share = np.concatenate(seen).astype(float).var() / law_facts(mechanism.laws(public)[name])[0]
            assert 0.8 < share < 1.2, f"{name} has {share:.3f} of the variance that is stated"
