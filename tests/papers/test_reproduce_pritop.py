"""The reproduction of the PriTop paper: whole on small data, and its verdicts on the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from recveil.papers.pritop import SETS, reproduce
from recveil.papers.pritop.experiments import Size
from recveil.samples import sample

SMALL = Size(topics=8, sweeps=10, loss_topics=(4, 8), loss_sweeps=10, epsilons=(0.1, 0.5, 1.0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, chosen in enumerate(SETS):
        (tmp_path / chosen.folder).mkdir()
        frame = sample(f"tags?users={60 + number}").frame().rename({"item": "resource"})
        frame.write_parquet(tmp_path / chosen.folder / "tags.parquet")
    return tmp_path


def test_every_claim_on_small_data_and_the_figures(folder: Path) -> None:
    heard: list[tuple[int, int]] = []
    claims = reproduce(folder, lambda done, of: heard.append((done, of)), folder / "figures", SMALL)
    assert [done for done, _ in heard] == list(range(1, heard[-1][1] + 1))
    places = {c.where.partition(",")[0] for c in claims}
    assert places == {"figure 1", "figure 2", "figure 3", "table 1", "4.1", "beside", "5", "figures 1a to 3a"}
    assert {c.verdict for c in claims if "Delicious" in c.where} == {"not available"}
    assert all(c.low <= c.ours <= c.high for c in claims if c.low is not None and isinstance(c.ours, float))
    assert len(list((folder / "figures").glob("*.png"))) == 6


@pytest.mark.slow
@pytest.mark.data
def test_claims_on_real_data(real_data: Path) -> None:
    size = Size(loss_topics=(10, 100), epsilons=(0.1, 0.5, 1.0))
    ours = {(c.where, c.claim): c for c in reproduce(real_data, size=size)}
    for where in ("MovieLens", "Last.fm"):
        recall = ours[f"figure 2, {where}", "recall@10 of PriTop at epsilon 1"]
        assert isinstance(recall.ours, float) and recall.ours < 0.05
        for claim in ("recall@10 below that of the original, in %", "recall@10 above that of suppression at 0.8, in %"):
            assert ours[f"figure 2, {where}", claim].verdict == "not reproduced"
        assert ours[f"4.1, {where}", "PriTop at epsilon 1 is 1-differentially private"].low > 0.9  # type: ignore[operator]
