"""The claims of the clicks paper: what reproduces, what does not, and what the paper itself contradicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.clicks.profiles import clicks
from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.formats import read
from recveil.papers.claim import Claim
from recveil.papers.clicks import _zones, reproduce
from recveil.papers.clicks import experiments as click_experiments
from recveil.papers.clicks import noise as click_noise
from recveil.papers.clicks.theory import theory

FIGURE_4 = ["falls", "rises", "neither falls nor rises", "neither falls nor rises", "rises", "stays", "falls"]


def by_place(claims: list[Claim]) -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.where, []).append(claim)
    return found


@pytest.mark.data
@pytest.mark.slow
def test_theory_and_zones(real_data: Path) -> None:
    films = clicks(read(real_data / "ml-100k" / "ratings.parquet"), 3)
    found = by_place([*theory(films), *_zones(films)])
    for table in ("table 3", "table 4", "table 5", "table 7", "lemma 1", "remark 5", "1"):
        assert {c.verdict for c in found[table]} == {"reproduced"}
    assert [c.verdict for c in found["theorem 1"]] == ["contradicted by the paper", "not reproduced"]
    assert found["theorem 1"][1].ours == 4470
    assert [c.verdict for c in found["theorem 2"]] == ["reproduced", "not reproduced"]
    assert {c.verdict for c in found["theorem 3"]} == {"not reproduced"}
    assert {c.verdict for c in found["6.3"]} == {"not reproduced"}
    assert {c.verdict for c in found["abstract and 6.3"] + found["abstract and 1"]} == {"contradicted by the paper"}
    assert found["1"][0].ours == pytest.approx(16.481)


@pytest.mark.data
@pytest.mark.slow
def test_every_claim(real_data: Path) -> None:
    heard: list[tuple[int, int]] = []
    found = by_place(reproduce(real_data, lambda done, of: heard.append((done, of))))
    assert heard[-1][0] == heard[-1][1] == len(heard)
    assert [c.verdict for c in found["table 8"]][:6] == ["reproduced"] * 3 + ["not reproduced"] * 3
    assert 0.3 < float(found["figure 2a"][0].ours or 0) < 0.6557
    assert [c.ours for c in found["figure 4"]] == FIGURE_4
    assert all(float(found[where][0].ours or 0) > 0.3 for where in ("figure 3a", "figure 3b", "figure 3c"))
    assert [c.verdict for c in found["figure 5, MovieLens"]] == ["compatible", "not reproduced"]
    assert "less" in [c.paper for c in found["table 10"] if c.verdict == "reproduced"]
    assert all(c.why for where in ("table 8", "table 10", "figure 5, Jester") for c in found[where])


def test_data_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecveilError, match=r"ml-100k/ratings\.parquet is not in the folder"):
        reproduce(tmp_path)


def test_neighbours_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    train = np.random.default_rng(3).normal(size=(40, 6))
    unit = train / np.linalg.norm(train, axis=1, keepdims=True)
    alike = unit @ unit.T
    np.fill_diagonal(alike, -np.inf)
    near = np.argsort(-alike, axis=1, kind="stable")[:, :4]
    expected = [sum(alike[u, v] * train[v] for v in near[u]) for u in range(40)]
    monkeypatch.setattr(click_experiments, "NEIGHBOURS", 4)
    monkeypatch.setattr(click_experiments, "BLOCK", 7)
    assert click_experiments.knn(train) == pytest.approx(np.array(expected))


def test_readings_of_noise_meet_where_there_is_none() -> None:
    rng = np.random.default_rng(5)
    user, item = np.nonzero(rng.random((30, 8)) < 0.6)
    films = from_ids(pl.Series(user), pl.Series(item), rng.integers(1, 6, len(user)).astype(float))
    of = clicks(films, 3)
    silent, none = click_noise._told(of), 1e9
    assert click_noise._signs(of, none) == click_noise._all_cells(of, none) == click_noise._dropped(of, none) == silent
    assert click_noise._means(films, none) == click_noise._means(films, 0.01)  # whichever sign an item has
    assert click_noise._dropped(of, 0.01)[1] < len(of) < click_noise._all_cells(of, 0.01)[1]
