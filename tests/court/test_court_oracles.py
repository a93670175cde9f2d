"""A court on the Yahoo sample: the board's order and its intervals, for models of a release and of the real data."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from courts import KEY, loose, saved

from recveil.court import scoring
from recveil.court.founding import CourtRequest, run_new
from recveil.court.references import neighbours, popular
from recveil.court.scoring import enter
from recveil.court.values import ONE, values
from recveil.data import Interactions, from_ids
from recveil.dp.noise import draw, gaussian
from recveil.evaluation.recommenders import RANKERS
from recveil.mechanisms.dp_streams import DpStreams
from recveil.randomness import seeded
from recveil.releases import aside
from recveil.releases.inputs import Input
from recveil.releases.release import release

pytestmark = [pytest.mark.data, pytest.mark.slow]
CATALOGUE = pl.Series(np.arange(5000))
METRIC, DRAWS = "ndcg@10", 200


def ease(data: Interactions) -> pl.DataFrame:
    model: Any = RANKERS["ease"].fit(data, 0)
    one, other = np.nonzero(model.B)
    ids = data.items.gather(model.known)
    weight = model.B[one, other].astype(np.float32)
    return pl.DataFrame({"item": ids.gather(one), "other": ids.gather(other), "weight": weight})


def bpr(data: Interactions) -> pl.DataFrame:
    model: Any = RANKERS["bpr-mf"].fit(data, 0)
    known = data.items.gather(model.known)
    vectors, bias = np.asarray(model.V, np.float32), np.asarray(model.bias, np.float32)
    return pl.DataFrame({"item": known, "vector": vectors.tolist(), "bias": bias})


MODELS = {"ease": ease, "item-knn": neighbours, "most-popular": popular, "bpr": bpr}


def test_the_boards_order_and_intervals(real_data: Path, tmp_path: Path) -> None:
    rows = pl.read_parquet(real_data / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy())
    (tmp_path / "ledger.jsonl.key").write_text(KEY)
    (tmp_path / "items.txt").write_text("\n".join(map(str, CATALOGUE)))
    people = 1000 / data.n_users
    request = CourtRequest(
        Input(data), str(tmp_path / "court"), str(tmp_path / "ledger.jsonl"), people=people, epsilon=1.0, delta=1e-6,
        scores=8, metrics=METRIC, items=str(tmp_path / "items.txt"), catalogue_is_public=True, seconds=0.0, seed=1,
    )  # fmt: skip
    court = run_new(request)
    rest = aside.left_in(tmp_path / "ledger.jsonl", data)[0].over_items(CATALOGUE)
    learned = {
        "real": rest.compact(),
        "release": release(rest, DpStreams(epsilon=4.0, delta=1e-6), seed=1, catalogue=CATALOGUE).data,
    }
    judged = court.people()
    exact, entrants = {}, []
    for source, train in learned.items():
        for name, make in MODELS.items():
            entrant = enter(court, saved(tmp_path, make(train), "model"), f"{name} of the {source}")
            entrants.append(entrant)
            exact[entrant.name] = int(values(entrant.submission.lists(judged, 10), judged, METRIC).sum())
    truth = {name: total / ONE / len(judged) for name, total in exact.items()}
    print({name: round(value, 4) for name, value in truth.items()}, len(judged))
    covered, wrong, clear = [], 0, 0
    for number in range(DRAWS):
        counted = len(judged) + int(draw(gaussian(court.settled.count_variance), 1, seeded(10**6 + number))[0])
        asked = loose(replace(court, settled=replace(court.settled, people=counted)), number)
        found = [scoring._answer(asked, e, METRIC, scoring.query("score", e.submission.sha256, METRIC), exact[e.name])
                 for e in entrants]  # fmt: skip
        covered += [abs(a.value - truth[a.name]) <= a.noise for a in found]
        for a, b in combinations(found, 2):
            apart = truth[a.name] - truth[b.name]
            if abs(apart) > 4 * hypot(a.noise, b.noise) / scoring.NORMAL:
                clear += 1
                wrong += (a.value > b.value) != (apart > 0)
    share = float(np.mean(covered))
    print(f"covered {share:.4f} of {len(covered)}; {clear} clear pairs, {wrong} the wrong way round")
    assert 0.92 <= share <= 0.98
    assert clear > DRAWS and wrong == 0
    assert sqrt(court.settled.scores / (2 * 0.95 * court.settled.rho)) / len(judged) < 0.02
