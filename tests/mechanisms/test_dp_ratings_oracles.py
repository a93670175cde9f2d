"""dp-ratings on real ratings: means over five splits, each with noise of its own, by the protocol of the benchmark.

RECVEIL_DP_RATINGS names a file of lines of benchmarks/dp_ratings.py: what it has is not measured again.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.data, pytest.mark.slow]
FIVE = [0, 1, 2, 3, 4]


def protocol(folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as path:
        path.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        module = importlib.import_module("dp_ratings")
    module.DATA = folder
    return module


@pytest.fixture(scope="module")
def found(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The means of a condition, after what is missing was measured."""
    bench = protocol(real_data)
    file = Path(os.environ.get("RECVEIL_DP_RATINGS") or tmp_path_factory.mktemp("oracles") / "lines.jsonl")

    def of(name: str, condition: str, inside: bool = False) -> dict[str, float]:
        rows = bench.measured(file, name, ["real", condition], FIVE, inside)
        means: dict[str, float] = bench.means(rows, name, condition)
        assert means["runs"] >= len(FIVE)
        return means

    return of


@pytest.mark.parametrize(("epsilon", "svd", "direct", "lift"), [(4, 0.930, 0.922, 0.36), (8, 0.917, 0.918, 0.51)])
def test_movielens_1m(found: Any, epsilon: int, svd: float, direct: float, lift: float) -> None:
    means = found("ml-1m", f"epsilon={epsilon}", True)
    assert means["rmse svd"] <= svd
    assert means["rmse direct"] <= direct
    assert means["lift ease all"] >= lift


@pytest.mark.parametrize(("epsilon", "order"), [(4, 0.75), (8, 0.85)])
def test_predictors_keep_their_order_inside(found: Any, epsilon: int, order: float) -> None:
    assert found("ml-1m", f"epsilon={epsilon}", True)["tau inside"] >= order


def test_jester(found: Any) -> None:
    means = found("jester", "epsilon=1")
    assert means["skill item-knn"] >= 0.92
    assert means["lift ease liked"] >= 0.60


def test_movielens_100k(found: Any) -> None:
    means = found("ml-100k", "epsilon=8", True)
    assert means["skill biases"] >= 0.38
    assert means["lift ease all"] >= 0.32
    assert found("ml-100k", "epsilon=1", True)["refused"] == len(FIVE)


def test_permuted_ratings_teach_nothing(found: Any) -> None:
    means = found("ml-100k", "null=8", True)
    for who in ("biases", "item-knn", "svd", "direct"):
        assert means[f"rmse {who}"] >= means["rmse own mean"] - 0.01


def test_permuted_items_teach_nothing_but_popularity(found: Any) -> None:
    means = found("ml-100k", "items=8", True)
    assert means["ease over popular all"] <= 0.02
    assert means["itemknn over popular all"] <= 0.02
