"""A released bundle opens unchanged in the tools that recommender people use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.mechanisms import Pseudonymise
from recveil.releases.bundle import save
from recveil.releases.release import release
from recveil.samples import sample

surprise = pytest.importorskip("surprise", reason="the extra measure is not installed")
implicit_knn = pytest.importorskip("implicit.nearest_neighbours", reason="the extra measure is not installed")


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("inter", "\t")])
def test_surprise_reads_it(tmp_path: Path, format: str, separator: str) -> None:
    save(release(sample("films?users=60"), Pseudonymise()), tmp_path / "out", format=format)  # type: ignore[arg-type]
    reader = surprise.Reader(line_format="user item rating", sep=separator, skip_lines=1, rating_scale=(1, 5))
    trainset = surprise.Dataset.load_from_file(str(tmp_path / "out" / f"data.{format}"), reader).build_full_trainset()
    assert trainset.n_users == 60
    model = surprise.BaselineOnly(verbose=False).fit(trainset)
    assert 1 <= model.predict(trainset.to_raw_uid(0), trainset.to_raw_iid(0)).est <= 5


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("inter", "\t")])
def test_implicit_learns_from_it(tmp_path: Path, format: str, separator: str) -> None:
    from scipy import sparse

    save(release(sample("films?users=60"), Pseudonymise()), tmp_path / "out", format=format)  # type: ignore[arg-type]
    frame = pl.read_csv(tmp_path / "out" / f"data.{format}", separator=separator)
    users, items = (frame.to_series(i).rank("dense").to_numpy().astype(np.int64) - 1 for i in (0, 1))
    matrix = sparse.csr_matrix((np.ones(len(frame)), (users, items)))
    model = implicit_knn.ItemItemRecommender(K=20)
    model.fit(matrix, show_progress=False)
    found, _ = model.recommend(0, matrix[0], N=5)
    assert len(found) == 5
