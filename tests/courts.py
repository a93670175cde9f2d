"""Small courts for tests: a log with times, models as files, and a court whose answers cost nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.court.folder import Answer, Court
from recveil.court.founding import CourtRequest, run_new
from recveil.data import Interactions, from_ids
from recveil.randomness import Source, seeded
from recveil.releases.inputs import Input

ITEMS = 30
KEY = "5a" * 32


def log(people: int = 60, seed: int = 0) -> pl.DataFrame:
    """Clicks in two groups of taste, with times."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(people):
        weights = np.where(np.arange(ITEMS) % 2 == user % 2, 5.0, 1.0) / (1 + np.arange(ITEMS))
        taken = rng.choice(ITEMS, rng.integers(4, 12), replace=False, p=weights / weights.sum())
        rows += [(user, int(item), 10 * k) for k, item in enumerate(taken)]
    return pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")


def interactions(frame: pl.DataFrame) -> Interactions:
    return from_ids(frame["user"], frame["item"], time=frame["time"].to_numpy())


def catalogue(folder: Path, items: int = ITEMS) -> str:
    file = folder / "items.txt"
    file.write_text("\n".join(map(str, range(items))) + "\n")
    return str(file)


def court(folder: Path, frame: pl.DataFrame | None = None, **wishes: Any) -> Court:
    """A seeded court over half of the people, with a ledger whose key is fixed."""
    folder.mkdir(exist_ok=True)
    (folder / "ledger.jsonl.key").write_text(KEY)
    given: dict[str, Any] = {"people": 0.5, "seconds": 0.0, "seed": 1, "epsilon": 4.0, "scores": 20, "step": 0.1}
    given |= {"items": catalogue(folder), "catalogue_is_public": True} | wishes
    data = Input(log() if frame is None else frame)
    return run_new(CourtRequest(data, str(folder / "court"), str(folder / "ledger.jsonl"), **given))


def random_weights(seed: int = 0, items: int = ITEMS) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(items) for b in range(items) if a != b and rng.random() < 0.5]
    one, other = zip(*pairs, strict=True)
    weight = rng.random(len(pairs)).astype(np.float32)
    return pl.DataFrame({"item": list(one), "other": list(other), "weight": weight})


def random_vectors(seed: int = 0, items: int = ITEMS, depth: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((items, depth)).astype(np.float32)
    bias = rng.standard_normal(items).astype(np.float32)
    return pl.DataFrame({"item": np.arange(items), "vector": vectors.tolist(), "bias": bias})


def ranked_list(seed: int = 0, items: int = ITEMS) -> pl.DataFrame:
    return pl.DataFrame({"item": np.random.default_rng(seed).permutation(items)})


MODELS = {"weights": random_weights, "vectors": random_vectors, "list": ranked_list}


def saved(folder: Path, table: pl.DataFrame, name: str = "model") -> Path:
    file = folder / f"{name}.parquet"
    table.write_parquet(file)
    return file


@dataclass(frozen=True)
class Loose(Court):
    """A court that draws its noise from another key each time, keeps no answer and enters no line: for audits."""

    number: int = 0

    def chance(self) -> Source:
        return seeded(self.number)

    def spend(self, query: str, what: str, rho: float | None = None) -> None:
        pass

    def check_left(self, queries: list[str]) -> None:
        pass

    def answered(self, query: str) -> Answer | None:
        return None

    def keep(self, answer: Answer) -> Answer:
        return answer


def loose(made: Court, number: int) -> Loose:
    return Loose(made.path, replace(made.settled), number)
