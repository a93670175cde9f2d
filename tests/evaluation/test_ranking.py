"""Lists and their quality: kernels against their twins, the numbers against ir-measures, who is left out."""

from __future__ import annotations

import naive
import numpy as np
import polars as pl
import pytest
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.ranking import evaluate, liked, outcome, relevant
from recveil.evaluation.recommenders import RANKERS, recommend
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.kernels.bpr import fold_in
from recveil.kernels.ranking import FEW, auc, grade, top_n

NONE = -np.inf


def csr(sets: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return starts, np.array([i for s in sets for i in sorted(s)], dtype=np.int32)


def problem(seed: int, people: int = 12, items: int = 17) -> tuple[np.ndarray, list[set[int]], list[set[int]]]:
    """Scores full of ties, some unknown; for each person what she has seen and what she would like."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (people, items)).astype(np.float64)
    scores[rng.random((people, items)) < 0.15] = NONE
    pick = lambda share: [set(np.flatnonzero(rng.random(items) < share).tolist()) for _ in range(people)]  # noqa: E731
    seen, liked_items = pick(0.2), pick(0.25)
    return scores, seen, [want - had for want, had in zip(liked_items, seen, strict=True)]


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1, 5, 30])
def test_top_n_is_the_sorted_list(seed: int, n: int) -> None:
    scores, seen, _ = problem(seed)
    assert top_n(scores, *csr(seen), n).tolist() == naive.top_n(scores.tolist(), seen, n)


@pytest.mark.kernel
@pytest.mark.parametrize("n", [1, 5, 30])
def test_grades_are_the_definitions(n: int) -> None:
    scores, seen, wanted = problem(4)
    lists = top_n(scores, *csr(seen), 20)
    grades = grade(lists, *csr(wanted), n)
    for ranked, want, row in zip(lists.tolist(), wanted, grades, strict=True):
        if want:
            assert row.tolist() == pytest.approx(naive.grade([i for i in ranked if i >= 0], want, n), abs=1e-12)
        else:
            assert np.isnan(row).all()


@pytest.mark.kernel
@pytest.mark.parametrize("items", [17, 200])
def test_auc_counts_pairs(items: int) -> None:
    scores, seen, wanted = problem(5, items=items)
    assert any(len(want) > FEW for want in wanted) == (items == 200)
    wanted[0] = set()
    areas = auc(scores, *csr(seen), *csr(wanted))
    for row, had, want, area in zip(scores.tolist(), seen, wanted, areas, strict=True):
        assert area == pytest.approx(naive.auc(row, had, want), nan_ok=True)


@pytest.mark.kernel
def test_fold_in_takes_the_steps_of_its_twin() -> None:
    rng = np.random.default_rng(0)
    V, bias = rng.normal(size=(6, 3)), rng.normal(size=6)
    histories: list[set[int]] = [{0, 3}, set(), {1, 2, 5}]
    key, numbers = np.array([7, 8, 9, 10], dtype=np.uint64), np.array([4, 5, 6])
    U = fold_in(*csr(histories), V, bias, 4, 0.1, 0.05, key, numbers)
    for history, number, row in zip(histories, numbers.tolist(), U, strict=True):
        words = naive.chacha_words(key.tobytes(), number, 40)
        assert row == pytest.approx(naive.fold_in(sorted(history), V.tolist(), bias.tolist(), 4, 0.1, 0.05, words))


def test_the_numbers_are_those_of_ir_measures() -> None:
    import ir_measures
    from ir_measures import AP, P, R, nDCG

    scores, seen, wanted = problem(6, people=60, items=80)
    lists = top_n(scores, *csr(seen), 80)
    # trec_eval puts the greater name first where scores are equal: names that fall as the code grows make it ours
    name = [f"{999 - i}" for i in range(80)]
    told = [p for p in range(60) if wanted[p]]
    qrels = [ir_measures.Qrel(str(p), name[i], 1) for p in told for i in wanted[p]]
    run = [ir_measures.ScoredDoc(str(p), name[i], scores[p, i]) for p in told for i in lists[p] if i >= 0]
    for n in (5, 10, 50):
        grades = grade(lists, *csr(wanted), n)
        measures = [P @ n, R @ n, nDCG @ n, AP @ n]
        theirs = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc(measures, qrels, run)}
        for p in told:
            for k, measure in enumerate(measures):
                assert grades[p, k] == pytest.approx(theirs[str(p), str(measure)], abs=1e-6)


def clicks(
    pairs: list[tuple[str, str]], users: list[str], items: list[str], rating: list[int] | None = None
) -> Interactions:
    codes = [(users.index(u), items.index(i)) for u, i in pairs]
    return Interactions(
        np.array([u for u, _ in codes], dtype=np.int32),
        np.array([i for _, i in codes], dtype=np.int32),
        pl.Series(users),
        pl.Series(items),
        None if rating is None else np.array(rating, dtype=np.float64),
    )


USERS, ITEMS = ["ann", "bob", "cid"], ["a", "b", "c", "d"]


def test_only_new_and_liked_items_are_there_to_find() -> None:
    query = clicks([("ann", "a"), ("bob", "b")], USERS, ITEMS, [5, 5])
    result = clicks([("ann", "a"), ("ann", "b"), ("ann", "c"), ("bob", "d")], USERS, ITEMS, [5, 5, 2, 3])
    assert relevant(query, result, 4.0).toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert relevant(query, result).toarray().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_liked_is_the_upper_quarter_of_the_scale() -> None:
    assert liked(clicks([("ann", "a"), ("bob", "a")], USERS, ITEMS, [1, 5])) == 4.0
    assert liked(clicks([("ann", "a")], USERS, ITEMS)) is None


def test_people_with_nothing_to_find_are_left_out() -> None:
    train = clicks([("ann", "a"), ("bob", "a"), ("cid", "b")], USERS, ITEMS)
    query = clicks([("ann", "a"), ("cid", "b")], USERS, ITEMS)
    result = clicks([("ann", "b"), ("cid", "b")], USERS, ITEMS)
    made = evaluate(MostPopular().fit(train, 0), query, relevant(query, result), 2)
    assert made.users.tolist() == [0]
    assert made.lists.tolist() == [[1, -1]]  # a is seen; c and d nobody ever touched
    assert made.values["precision"].tolist() == [0.5]
    assert made.values["recall"].tolist() == [1.0]
    nobody = evaluate(MostPopular().fit(train, 0), query, sparse.csr_array((3, 4)), 2)
    assert len(nobody.users) == 0 and nobody.lists.shape == (0, 2)


def test_blocks_do_not_change_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = from_ids(pl.Series(rng.integers(0, 50, 600)), pl.Series(rng.integers(0, 30, 600)))
    model = RANKERS["user-knn"].fit(data, 0)
    whole = recommend(model, data, 5)
    monkeypatch.setattr("recveil.evaluation.recommenders.ranker.CELLS", 70)
    assert recommend(model, data, 5).tolist() == whole.tolist()


def test_the_real_data_are_judged_once() -> None:
    train = clicks([("ann", "a"), ("bob", "b"), ("cid", "b")], USERS, ITEMS)
    result = clicks([("ann", "b")], USERS, ITEMS)
    first = outcome(MostPopular(), train, train, result, None, 3, 0)
    assert outcome(MostPopular(), train, train, result, None, 3, 0) is first
