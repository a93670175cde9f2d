from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import polars as pl
import pytest
from scipy import sparse

from recveil.data import from_ids
from recveil.evaluation.metrics.ranking import evaluate, relevant
from recveil.evaluation.recommenders import RANKERS, recommend
from recveil.evaluation.recommenders.bprfm import BPRFM, features
from recveil.formats import read
from recveil.kernels.bprfm import learn
from recveil.samples import sample
from recveil.splits import both

HISTORY = [[0, 2], [1, 3, 4], [0, 4], [2]]
KEY = np.array([5, 0, 0, 0], dtype=np.uint64)


def learned(amounts: np.ndarray, steps: int = 60) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The kernel's answer, and where it began."""
    rng = np.random.default_rng(1)
    known = sparse.csr_array(amounts)
    rows = len(amounts) + amounts.shape[1]
    begin = (rng.standard_normal((4, 3)), rng.standard_normal((rows, 3)), rng.standard_normal(rows))
    starts = np.cumsum([0, *map(len, HISTORY)])
    items = np.concatenate(HISTORY).astype(np.int32)
    tables = (known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data)
    return learn(starts, items, *tables, *begin, steps, 0.1, 0.05, KEY), begin


@pytest.mark.kernel
def test_without_features_it_is_bpr_mf() -> None:
    found, (U, V, bias) = learned(np.zeros((5, 0)))
    words = naive.chacha_words(KEY.tobytes(), 0, 200)
    twin = naive.bpr_steps(HISTORY, U.tolist(), V.tolist(), bias.tolist(), 60, 0.1, 0.05, words)
    for mine, other in zip(found, twin, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


@pytest.mark.kernel
def test_with_features_it_is_a_factorisation_machine() -> None:
    amounts = np.array([[0.5, 0.5], [1, 0], [0, 0], [0, 1], [0.5, 0.5]])
    found, (U, V, bias) = learned(amounts)
    words = naive.chacha_words(KEY.tobytes(), 0, 200)
    twin = naive.machine_steps(HISTORY, amounts.tolist(), U.tolist(), V.tolist(), bias.tolist(), 60, 0.1, 0.05, words)
    for mine, other in zip(found, twin, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


def test_features_tell_what_nobody_touched_together() -> None:
    """Forty people each like one item of their colour; only the colours connect the items."""
    item = np.arange(40)
    data = from_ids(pl.Series(np.repeat(np.arange(40), 2)), pl.Series(np.repeat(item, 2) ^ np.tile([0, 2], 40)))
    colour = features(pl.Series(item), pl.Series(np.where(item % 2, "red", "blue")))
    lists = recommend(BPRFM(factors=8, epochs=200, features=colour).fit(data, 0), data, 5)
    assert np.mean(lists % 2 == np.arange(40)[:, None] % 2) > 0.9


def test_labels_of_an_item_share_one() -> None:
    found = features(pl.Series([7, 7, 3]), pl.Series(["a", "b", "b"])).of(pl.Series([3, 5, 7]))
    assert found.toarray().tolist() == [[0, 1], [0, 0], [0.5, 0.5]]


def ndcg(ranker: object, parts: object) -> float:
    wanted = relevant(parts.query, parts.result, 4.0)  # type: ignore[attr-defined]
    model = ranker.fit(parts.train, 0)  # type: ignore[attr-defined]
    return float(evaluate(model, parts.query, wanted, 10).values["ndcg"].mean())  # type: ignore[attr-defined]


def test_it_is_as_good_as_cornacs_bpr() -> None:
    parts = both(sample("films?users=400"), 0.75, 0.5, np.random.default_rng(0))
    ours, theirs = ndcg(BPRFM(epochs=50), parts), ndcg(RANKERS["bpr-mf"], parts)
    assert ours > 0.9 * theirs


@pytest.mark.data
@pytest.mark.slow
def test_it_is_as_good_as_cornacs_bpr_on_movielens(real_data: Path) -> None:
    parts = both(read(real_data / "ml-100k" / "ratings.parquet"), 0.8, 0.5, np.random.default_rng(0))
    assert abs(ndcg(BPRFM(), parts) / ndcg(RANKERS["bpr-mf"], parts) - 1) < 0.1
