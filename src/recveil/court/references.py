"""Reference models for a board: learned from a published bundle, so that they tell no more than it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from recveil.court.folder import Court
from recveil.court.scoring import Entrant, enter
from recveil.data import Interactions
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.releases.bundle import load


def references(court: Court, bundle: str | Path) -> list[Entrant]:
    """Most-popular and item-knn out of a bundle; the owner's alone where it has no proved promise."""
    found = load(bundle)
    private = found.guarantee.status != "proved"
    with TemporaryDirectory() as folder:
        made = []
        for name, table in (("most-popular", popular(found.data)), ("item-knn", neighbours(found.data))):
            file = Path(folder) / "model.parquet"
            table.write_parquet(file)
            made.append(replace(enter(court, file, name, private), reference=True))
    return made


def popular(data: Interactions) -> pl.DataFrame:
    """A ranked list: items by how many touched them, of equal ones that of the lower id first."""
    people = MostPopular().fit(data, 0).people
    order = np.argsort(-people, kind="stable")
    return pl.DataFrame({"item": data.items.gather(order[people[order] > 0])})


def neighbours(data: Interactions) -> pl.DataFrame:
    """Item-to-item weights: the cosines of every item's nearest."""
    similar = ItemKNN().fit(data, 0).similar.tocoo()
    apart = similar.row != similar.col
    return pl.DataFrame({
        "item": data.items.gather(similar.row[apart]),
        "other": data.items.gather(similar.col[apart]),
        "weight": similar.data[apart].astype(np.float32),
    })  # fmt: skip
