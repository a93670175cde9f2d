"""What every metric must hold, and toy data whose answer is plain."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import kendalltau, spearmanr

from recveil.data import Interactions, concat, from_ids
from recveil.evaluation.catalogue import MEASURES, METRICS
from recveil.evaluation.measure import measure_release
from recveil.evaluation.metrics.agreement import Scores, agreement, kendall
from recveil.evaluation.metrics.damage import damage
from recveil.evaluation.metrics.exposure import coverage, gini, head, tail_share
from recveil.evaluation.metrics.latent import reduced
from recveil.evaluation.metrics.lift import lift, of
from recveil.evaluation.metrics.ranking import ranking
from recveil.evaluation.metrics.ratings import errors, join, ratings
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.metrics.sequences import row_correlations, spearman
from recveil.evaluation.recommenders import RANKERS, RATERS
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.measurement import Measurement, SkippedError, Trial, attempt, measure
from recveil.samples import sample
from recveil.splits import both
from recveil.views.transitions import transitions

BASELINES = ("most-popular", "own history", "popularity")
# networks need an extra, and what a file of items teaches needs one and no release: test_public_items.py
LISTED = sorted(name for name in METRICS if name != "public-items" and (name != "neural" or find_spec("torch")))
QUICK = [RANKERS[name] for name in ("item-knn", "user-knn", "ease")]


def permuted(data: Interactions, seed: int = 1) -> Interactions:
    """The same users, lengths and popularity; who touched what is chance."""
    return replace(data, item=np.random.default_rng(seed).permutation(data.item))


def trial(name: str, users: int, seed: int = 0, released: str = "identity") -> Trial:
    parts = both(sample(f"{name}?users={users}"), 0.75, 0.5, np.random.default_rng(seed))
    made = permuted(parts.train) if released == "permuted" else parts.train.take(np.arange(len(parts.train)))
    owner = np.arange(parts.train.n_users, dtype=np.int32)
    return Trial(parts.train, made, owner=owner, query=parts.query, result=parts.result)


@pytest.fixture(scope="module")
def films() -> Trial:
    return trial("films", 300)


@pytest.fixture(scope="module")
def unchanged(films: Trial) -> dict[str, list[Measurement]]:
    parts = both(sample("tags?users=200"), 0.75, 0.5, np.random.default_rng(0))
    copy = parts.train.take(np.arange(len(parts.train)))
    tagged = Trial(
        parts.train, copy, holdout=concat([parts.query, parts.result]).compact().over_items(parts.train.items)
    )
    return {name: measure(tagged if name == "tags" else films, {name: MEASURES[name].run}, 3) for name in LISTED}


@pytest.mark.parametrize("name", LISTED)
def test_a_metric_is_best_where_nothing_was_changed(name: str, unchanged: dict[str, list[Measurement]]) -> None:
    found = unchanged[name]
    assert found
    best = {"lift": 1.0, "damage": 0.0, "agreement": 1.0, "latent": 1.0, "popularity": 1.0}
    best |= {"DS rows": 1.0, "CVS rows": 1.0, "session length": 0.0, "repeat rate": 0.0}
    best |= {"hiding": 0.0, "hiding per user": 0.0, "users with nothing hidden": 1.0, "user mean correlation": 1.0}
    best |= {"tag lift": 1.0, "sequence lift": 1.0}
    by_source: dict[tuple[object, ...], set[float]] = {}
    for m in found:
        assert m.low <= m.value <= m.high and m.n > 0
        if m.name in best:
            assert m.value == pytest.approx(best[m.name], abs=1e-9)
        if "trained_on" in m.params and m.params["referee"] not in BASELINES:
            by_source.setdefault((m.name, m.params["referee"], m.params.get("n")), set()).add(m.value)
    assert all(len(values) == 1 for values in by_source.values())  # the release's value is the real one


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_metric_that_does_not_apply_says_why(name: str) -> None:
    data = from_ids(pl.Series([1, 1, 2, 2]), pl.Series([1, 2, 1, 3]))
    if name in ("popularity", "sequences"):
        assert measure(Trial(data, data), {name: MEASURES[name].run}, 0)
        return
    with pytest.raises(SkippedError) as why:
        measure(Trial(data, data), {name: MEASURES[name].run}, 0)
    assert attempt(Trial(data, data), name, MEASURES[name].run, 0) == ([], str(why.value))


def test_a_missing_extra_is_a_reason_and_loses_nothing() -> None:
    data = from_ids(pl.Series([1, 1, 2, 2]), pl.Series([1, 2, 1, 3]))

    def lacks(*_: object) -> list[Measurement]:
        raise ModuleNotFoundError("No module named 'surprise'", name="surprise")

    assert attempt(Trial(data, data), "lacks", lacks, 0) == (
        [],
        "surprise is not installed; pip install 'recveil[measure]'",
    )
    found = measure_release(data, data, measures={"lacks": lacks, "popularity": MEASURES["popularity"].run})
    assert [m.name for m in found.measurements] == ["popularity"] and set(found.skipped) == {"lacks"}


def test_an_empty_release_is_worth_nothing(films: Trial) -> None:
    nothing = replace(films, released=films.train.take(np.array([], dtype=np.int64)))
    found = [m for m in lift(nothing, np.random.default_rng(0), QUICK) if m.name == "lift"]
    assert all(m.high < 0 for m in found)
    for name in ("ranking", "exposure", "damage"):
        assert measure(nothing, {name: MEASURES[name].run}, 0)
    for name in ("popularity", "sequences", "latent"):
        assert attempt(nothing, name, MEASURES[name].run, 0)[1]


def test_the_same_seed_gives_the_same_interval(films: Trial) -> None:
    first, second = (lift(films, np.random.default_rng(8), QUICK) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("name", "users"), [("films", 1200), ("sessions", 3000), ("tags", 800)])
def test_items_permuted_across_users_teach_nothing(name: str, users: int) -> None:
    """Such data keep every count, and a ratio to the real score stays high; their lift is nothing."""
    useless = trial(name, users, released="permuted")
    found = [m for m in lift(useless, np.random.default_rng(0), QUICK) if m.name == "lift"]
    assert {m.params["referee"] for m in found} == {"all", "item-knn", "user-knn", "ease"}
    assert all(m.high < 0.1 for m in found)
    scores = {
        m.params["trained_on"]: m.value
        for m in ranking(useless, np.random.default_rng(0), QUICK[1:2])
        if m.name == "ndcg" and m.params["referee"] == "user-knn"
    }
    assert scores["release"] > 0.25 * scores["real"]


def test_lift_is_the_formula_and_most_popular_has_none(films: Trial) -> None:
    rng = np.random.default_rng(0)
    popular = rng.random(400)
    real, release = popular + 0.2, popular + 0.05
    advantage, value = of(release, real, popular, rng, {"referee": "toy"})
    assert advantage.value == pytest.approx(0.2)
    assert value.value == pytest.approx(0.25) and value.low == pytest.approx(0.25)
    (only,) = lift(films, rng, [MostPopular()])[1:]
    assert only.name == "advantage" and only.value == 0.0
    assert "lift is undefined" in only.note and "does not for certain beat most-popular" in only.note


def test_a_lift_that_rests_on_noise_is_undefined() -> None:
    rng = np.random.default_rng(1)
    popular, real = rng.random(50), rng.random(50)
    (only,) = of(real, real, popular, rng, {"referee": "toy"})
    assert only.name == "advantage" and only.low < 0 < only.high


def test_exposure_by_hand() -> None:
    shown = np.array([0, 0, 2, 6])
    assert coverage(shown) == 0.5
    assert gini(np.array([3, 3, 3])) == 0.0
    assert gini(shown) == pytest.approx(np.abs(shown[:, None] - shown).mean() / (2 * shown.mean()))
    assert tail_share(shown, np.array([False, False, False, True])) == 0.25
    data = from_ids(pl.Series([1, 2, 3, 4, 5, 6]), pl.Series([7, 7, 7, 8, 9, 10]))
    assert head(data).tolist() == [True, False, False, False]


def test_damage_falls_on_those_who_lose() -> None:
    """The release forgets the tail: head items lose nothing that is not the tail's."""
    whole = trial("films", 600)
    popular = head(whole.train)
    cut = replace(whole, released=whole.train.take(popular[whole.train.item]))
    found = {m.params["group"]: m for m in damage(cut, np.random.default_rng(0), [RANKERS["ease"]])}
    assert set(found) == {"light users", "heavy users", "head items", "tail items"}
    assert found["tail items"].low > 0
    assert found["tail items"].note.endswith("0.000 with the release")


def test_kendall_is_scipys_where_nothing_is_noise() -> None:
    rng = np.random.default_rng(2)
    levels = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 5.0, 4.0]])
    noise = 0.01 * rng.standard_normal((2, 5, 300))
    sides = [Scores(level[:, None] + e, np.ones(300)) for level, e in zip(levels, noise, strict=True)]
    tau = kendall(*sides, rng)
    assert tau.value == pytest.approx(kendalltau(*levels).statistic)
    assert tau.low == tau.high == tau.value
    assert tau.real_pairs == tau.release_pairs == 10


def test_algorithms_within_noise_are_ties() -> None:
    rng = np.random.default_rng(3)
    person = rng.random(200)
    total = np.array([person, person + 0.001 * rng.standard_normal(200), person + 0.5])
    flipped = total[[1, 0, 2]]  # the two equal ones change places: nobody can tell
    assert kendall(Scores(total, np.ones(200)), Scores(flipped, np.ones(200)), rng).value == 1.0
    same = Scores(np.tile(person, (3, 1)), np.ones(200))
    assert kendall(same, same, rng).value is None


def test_agreement_counts_a_person_once_and_asks_for_five_splits() -> None:
    trials = [trial("films", 200, seed=s) for s in range(5)]
    rng = np.random.default_rng(0)
    rankers = [RANKERS[name] for name in ("most-popular", "item-knn", "user-knn")]
    (one,) = agreement(trials[:1], rng, rankers, raters=[])
    (five,) = agreement(trials, rng, rankers, raters=[])
    assert one.value == five.value == 1.0
    assert "1 split only" in one.note and "only" not in five.note
    assert one.n <= 50 < five.n <= 200


def test_spearman_is_scipys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40).astype(float), rng.integers(0, 5, 40).astype(float)
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert np.isnan(spearman(x, np.ones(40)))


def test_padding_with_zeros_is_what_lifts_the_papers_correlation() -> None:
    before, after = np.zeros((2, 12)), np.zeros((2, 12))
    before[0, [3, 5, 7]], after[0, [3, 5, 7]] = [3, 2, 1], [1, 2, 3]  # the order is turned round
    before[1, 4], after[1, 4] = 5, 9
    rows, first, second = np.array([0, 1]), sparse.csr_array(before), sparse.csr_array(after)
    strict = row_correlations(first, second, rows, padded=False, top=10)
    assert strict[0] == pytest.approx(-1) and np.isnan(strict[1])
    padded = row_correlations(first, second, rows, padded=True, top=10)
    columns = [3, 5, 7, 0, 1, 2, 4, 6, 8, 9]
    assert padded[0] == pytest.approx(spearmanr(before[0, columns], after[0, columns]).statistic)
    assert padded[0] > 0.5 and padded[1] == pytest.approx(1)


def test_rows_of_pairs_a_few_at_a_time_are_those_of_the_whole_table(
    films: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(films, released=permuted(films.train))
    monkeypatch.setattr(import_module("recveil.evaluation.metrics.sequences"), "BLOCK", 7)
    found = {(m.name, m.params.get("entries")): m for m in MEASURES["sequences"].run(wrong, np.random.default_rng(0))}
    real, released = transitions(wrong.train), transitions(wrong.released)
    for name, before, after in (("DS", real.ds, released.ds), ("CVS", real.cvs, released.cvs)):
        assert (before != after).nnz
        rows = np.flatnonzero(np.diff(before.indptr))
        for padded in (True, False):
            each = row_correlations(before, after, rows, padded=padded)
            one = found[f"{name} rows", "padded" if padded else "strict"]
            assert (one.value, one.n) == (pytest.approx(np.nanmean(each)), np.isfinite(each).sum())


def test_a_measure_without_enough_memory_loses_nothing_else(films: Trial) -> None:
    def greedy(trial: Trial, _: np.random.Generator) -> list[Measurement]:
        return [Measurement("size", float(np.ones((trial.train.n_items, 2**50)).size), 0.0, 0.0, n=1)]

    assert attempt(films, "greedy", greedy, 0) == ([], "there is not enough memory for it")


def test_permuted_items_lose_order_and_taste(films: Trial) -> None:
    wrong = replace(films, released=permuted(films.train))
    value = {
        (m.name, m.params.get("entries")): m
        for m in measure(wrong, {n: MEASURES[n].run for n in ("popularity", "sequences", "latent")}, 0)
    }
    assert value["popularity", None].value > 0.95
    assert value["DS rows", "strict"].value < 0.5
    latent = value["latent", None]
    assert latent.chance is not None and abs(latent.value - latent.chance) < 0.1


@pytest.mark.parametrize("turned", [False, True])
def test_the_reduction_is_the_singular_value_decomposition(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 30, 200), rng.integers(0, 12, 200)
    data = from_ids(pl.Series(item if turned else user), pl.Series(user if turned else item))
    A = data.matrix(binary=True).toarray()
    for limit in (1000, 5):  # through the smaller square, and through the sparse solver
        monkeypatch.setattr(import_module("recveil.evaluation.metrics.latent"), "DENSE", limit)
        U, S, Vt = reduced(data.take(np.arange(len(data))), 4)
        assert np.sort(S)[::-1] == pytest.approx(np.linalg.svd(A)[1][:4])
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-9)
        np.testing.assert_allclose(U * S, A @ Vt.T, atol=1e-9)


def test_test_people_join_as_users_of_their_own(films: Trial) -> None:
    assert films.query is not None and films.result is not None and films.result.rating is not None
    joined, first = join(films.released, films.query)
    assert first == films.released.n_users
    assert len(joined) == len(films.released) + len(films.query)
    assert joined.user[-1] == first + films.query.user[-1]
    (error,) = errors((RATERS["user-average"],), films.released, films.query, films.result, 0).values()
    someone = films.result.user[0]
    mine = films.query.rating[films.query.user == someone].mean()  # type: ignore[index]
    assert error[0] == pytest.approx(mine - films.result.rating[0])


def test_rmse_and_mae_are_the_definitions(films: Trial) -> None:
    rater = RATERS["item-average"]
    assert films.query is not None and films.result is not None
    (error,) = errors((rater,), films.released, films.query, films.result, 0).values()
    found = {m.name: m.value for m in ratings(films, np.random.default_rng(0), [rater])}
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found["mae"] == pytest.approx(np.mean(np.abs(error)))


def test_what_is_remembered_goes_with_the_data() -> None:
    """Work is done once for the same data object, again for another, and nothing keeps data that nobody holds."""

    @remembered
    def learned(data: Interactions, factor: int) -> set[int]:
        return {factor * len(data)}

    one, other = sample("films"), sample("films")
    assert learned(one, 2) is learned(one, 2) and learned(one, 2) is not learned(other, 2)
    assert learned(one, 3) == {3 * len(one)}
    gone, known = [weakref.ref(one), weakref.ref(learned(one, 2))], learned(other, 2)
    del one
    gc.collect()
    assert [each() for each in gone] == [None, None]
    assert learned(other, 2) is known
