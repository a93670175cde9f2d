"""Shadow membership: kernels against their twins, planted leaks and planted mistakes, plans, ceilings, refusals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import naive
import numpy as np
import polars as pl
import pytest
from attacked import people, published, shadowed

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.attacks import roc
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.shadow import Placebo, breaches, collect, realised, score, shadow
from recveil.evaluation.attacks.traces import names, suspects, traces
from recveil.evaluation.shadows import Halves, of_bundle, of_halves
from recveil.guarantee import Guarantee, nothing
from recveil.kernels.membership import closeness, pair_traces
from recveil.measurement import Measurement, Shadows, SkippedError, Trial
from recveil.views.bits import columns
from recveil.views.records import postings, records


def sets(data: Interactions) -> list[set[int]]:
    return [set(data.item[data.user == u].tolist()) for u in range(data.n_users)]


def attacked(given: Shadows, seed: int = 0) -> dict[str, Measurement]:
    found = shadow(Trial(given.population, given.population, shadows=(given,)), np.random.default_rng(seed))
    return {m.name: m for m in reversed(found)}


@pytest.mark.kernel
def test_kernels_equal_their_twins() -> None:
    known, made = people(12, 0, items=20, size=5), people(9, 1, items=20, size=4).over_items(pl.Series(range(20)))
    known = known.over_items(pl.Series(range(20)))
    made = replace(made, item=np.where(made.user == 3, made.item // 10, made.item).astype(np.int32))  # a short record
    of, released = records(known), records(made)
    weights = 1.0 / np.log(2.0 + of.popularity())
    index = postings(released)
    weighted = np.add.reduceat(weights[released.items], released.starts[:-1])
    near = closeness(*of.sets, index.starts, index.records, released.lengths, weights, weighted)
    pairs = pair_traces(*of.sets, columns(made).pairs(), columns(known).pairs(), 9 / 12)
    for x, person in enumerate(sets(known)):
        assert near[x] == pytest.approx(naive.closeness(person, sets(made), weights.tolist()))
        assert pairs[x] == pytest.approx(naive.pair_traces(person, sets(made), sets(known)))


def test_runs_of_clicks_are_counted_as_they_stand() -> None:
    known, made = people(10, 0, items=8, size=4), people(7, 1, items=8, size=4)
    made = made.over_items(known.items)
    found = traces(suspects(known, np.arange(10), True), made)
    at = {name: column for column, name in enumerate(names(True))}
    streams, others = (
        [data.ordered().item[data.ordered().user == u].tolist() for u in range(data.n_users)] for data in (known, made)
    )
    usual = Counter(pair for s in streams for pair in pairwise(s))
    counted = Counter(pair for s in others for pair in pairwise(s))
    begun = Counter((s[0], s[1]) for s in others)
    for x, stream in enumerate(streams):
        mine = list(pairwise(stream))
        assert found[x, at["run2"]] == pytest.approx(np.mean([counted[g] / usual[g] for g in mine]))
        assert found[x, at["start2"]] == pytest.approx(sum(begun[g] / usual[g] for g in set(mine)))
        lone = [i for i in set(stream) if i not in set(made.item.tolist())]
        assert found[x, at["missing"]] == len(lone)
    assert len(names(True)) == found.shape[1] and len(names(False)) == found.shape[1] - 6


def leaky(share: float, seed: int = 0) -> Shadows:
    """Strangers are released, and of each person who is in, with this chance, an exact copy."""
    data = people(120, seed, uniform=True, items=60)

    def make(half: Interactions, number: int) -> Interactions:
        rng = np.random.default_rng(number)
        lucky = half.take_users(rng.random(half.n_users) < share).compact()
        strangers = people(60, int(rng.integers(2**31)), uniform=True, items=60, first=10_000)
        rows = pl.concat([part.frame() for part in (lucky, strangers)])
        return from_ids(rows["user"], rows["item"], time=np.arange(len(rows)))

    return of_halves(data, make, Halves(8, seed=seed))


def test_a_planted_leak_is_found_and_as_large_as_it_is() -> None:
    found = attacked(leaky(0.4))["shadow-auc"]
    assert found.value == pytest.approx(0.7, abs=0.06)  # those copied are told, the others guessed: .4 + .6 / 2
    assert found.control == pytest.approx(0.5, abs=0.1) and found.low > 0.55
    none = attacked(leaky(0.0))["shadow-auc"]
    assert none.low <= 0.5 <= none.high and "no better than chance" in none.note


def test_a_released_shadow_among_the_targets_would_show() -> None:
    """The placebo of the pipeline: labels that have nothing to do with the releases are not learnt."""
    given = shadowed(people(120, 0))
    table, _ = collect(given)
    rng = np.random.default_rng(0)
    halves = rng.random((6, 1, 120)) < 0.5
    coins = np.concatenate([halves, ~halves], axis=1).reshape(12, 120)
    scores, own = score(table, coins, 8, rng)
    values = [auc(s[i], s[~i])[0] for s, i in zip(scores, coins[8:], strict=True)]
    assert np.mean(values) == pytest.approx(0.5, abs=0.05)
    learnt = [auc(s[i], s[~i])[0] for s, i in zip(own, coins[:8], strict=True)]
    assert np.mean(learnt) < 0.75  # standardised out of fold: in sample it would be far higher


def test_the_placebo_would_show_a_score_that_knows_who_was_learnt_from() -> None:
    rng = np.random.default_rng(0)
    inside, learnt = rng.random((4, 200)) < 0.5, rng.random((8, 200)) < 0.5
    blind, memory = rng.random((4, 200)), np.repeat(learnt[::2].sum(axis=0)[None].astype(float), 4, axis=0)
    assert Placebo(blind, inside, learnt).auc() == pytest.approx(0.5, abs=0.05)
    assert Placebo(memory, inside, learnt).auc() > 0.7


def test_everybody_is_in_half_of_the_shadows_and_no_seed_comes_twice() -> None:
    seeds: list[int] = []
    data = people(90, 0)

    def make(half: Interactions, number: int) -> Interactions:
        seeds.append(number)
        return half

    for plan in ("pool", "strict"):
        given = of_halves(data, make, Halves(8, plan))  # type: ignore[arg-type]
        assert np.all(given.inside[:8].sum(axis=0) == 4)
        assert np.all(given.inside[0:12:2] != given.inside[1:12:2])
        collect(given)
    assert len(set(seeds)) == 12 and len(seeds) == 24


def test_strict_attackers_know_nobody_else_of_the_release() -> None:
    data = people(90, 0)
    given = of_halves(data, lambda half, _: half, Halves(8, "strict"))
    learnt, hit = given.made(0), given.made(8)
    known = set(given.population.users.gather(np.unique(given.population.user)))
    assert set(learnt.users) <= known
    others = set(hit.users) - set(data.users.gather(given.people))
    assert others and not others & known
    assert attacked(given)["shadow-auc"].value > 0.95


def test_a_bundle_is_attacked_itself() -> None:
    data = people(120, 0)
    members, strangers = data.take_users(np.arange(80)).compact(), data.take_users(np.arange(80, 120)).compact()
    released = published(members)[0]
    given = of_bundle(members, released, strangers, lambda half, n: published(half, n)[0], Halves(8))
    assert len(given.people) == 80 and given.made(8) is released
    assert given.made(0).n_users == members.n_users
    found = attacked(given)["shadow-auc"]
    assert found.low > 0.9 and found.params["target"] == "bundle" and "people alone" in found.note


def test_ceilings() -> None:
    words = {"sentence": "x", "status": "proved", "neighbours": "y", "unit": "user"}
    gaussian = Guarantee(epsilon=4.0, delta=1e-6, rho=0.31, **words)  # type: ignore[arg-type]
    assert roc.ceiling(gaussian) == pytest.approx(0.5 * (1 + math.erf(math.sqrt(0.31 / 2))))
    assert roc.ceiling(gaussian.as_experiment()) == roc.ceiling(gaussian)
    pure = Guarantee(epsilon=1.0, **words)  # type: ignore[arg-type]
    assert roc.ceiling(pure) == pytest.approx(math.e / (1 + math.e))
    assert roc.ceiling(replace(pure, unit="bit")) is None and roc.ceiling(nothing("none")) is None


def test_a_broken_promise_is_told_from_a_kept_one() -> None:
    """Exact copies under a promise that allows an AUC of .6; and strangers under the same promise."""
    promise = Guarantee("x", status="proved", epsilon=0.4, unit="user", neighbours="add or remove one user")
    for share, broken in ((1.0, True), (0.0, False)):
        given = leaky(share)
        found = shadow(
            Trial(given.population, given.population, shadows=(replace(given, ceiling=roc.ceiling(promise)),)),
            np.random.default_rng(0),
        )
        assert bool(breaches(found)) is broken
        between = next(m for m in found if m.name == "shadow-auc-between")
        assert ("ABOVE" in between.note) is broken and between.params["ceiling"] == pytest.approx(0.5987)


def test_refusals_are_outputs() -> None:
    """A mechanism that refuses whenever one person is in tells on her."""
    data = people(60, 0)

    def make(half: Interactions, _: int) -> Interactions:
        if 0 in half.users:
            raise RecveilError("no")
        return half

    given = of_halves(data, make, Halves(16))
    table, refused = collect(given)
    assert refused == 10 and table.shape[2] == len(names(True)) + 1
    assert np.array_equal(table[:, 0, -1] == 1.0, given.inside[:, 0])
    assert "refused 10 of 20" in attacked(given)["shadow-auc"].note

    def never(_: Interactions, __: int) -> Interactions:
        raise RecveilError("no")

    with pytest.raises(SkippedError, match=r"refused 12 of 12 halves.*: no$"):
        attacked(of_halves(data, never, Halves(8)))


def test_intervals_count_the_spread_between_releases() -> None:
    """Two releases, one that tells everything and one that tells nothing: the mean is known badly."""
    rng = np.random.default_rng(0)
    inside = rng.random((2, 400)) < 0.5
    scores = np.stack([inside[0] + 0.1 * rng.random(400), rng.random(400)])
    value, low, high = roc.mean_auc(scores, inside, rng)
    assert value == pytest.approx(0.75, abs=0.03) and low < 0.55 and high > 0.95


def test_rates_are_exact_on_ties_and_left_out_where_too_few_stand_for_them() -> None:
    inside = np.arange(1000) % 2 == 0
    flat = np.zeros((1, 1000))
    found = roc.pooled_tpr(flat, inside[None], 0.01, np.random.default_rng(0))
    assert found is not None and found[0] == pytest.approx(0.01)
    assert roc.pooled_tpr(flat, inside[None], 0.001, np.random.default_rng(0)) is None
    assert roc.ranked(flat, inside).auc(np.ones(1000)) == 0.5
    assert realised(np.arange(100.0), np.arange(100.0), 0.05) == pytest.approx(0.05, abs=0.011)


def test_too_small_a_pool_is_one_clear_line() -> None:
    with pytest.raises(SkippedError, match="24 people are too few for 32 shadows"):
        attacked(of_halves(people(24, 0), lambda half, _: half, Halves(32)))
    with pytest.raises(SkippedError, match="in pairs, at least 8"):
        attacked(of_halves(people(60, 0), lambda half, _: half, Halves(5)))
    with pytest.raises(SkippedError, match="--shadows"):
        shadow(Trial(people(9, 0), people(9, 0)), np.random.default_rng(0))
