"""The public data sets of the papers: where each is to be had, and how it must lie in the folder of data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataSet:
    """Files as `folder/file`, each with its columns; parquet, as any tool writes it."""

    folder: str
    origin: str
    files: dict[str, str]

    def paths(self, root: Path) -> list[Path]:
        return [root / self.folder / name for name in self.files]

    def lines(self) -> list[str]:
        """What a person must know to put it there."""
        lie = "; ".join(f"{self.folder}/{name} with {columns}" for name, columns in self.files.items())
        return [f"{self.folder}: {self.origin}", f"    {lie}"]


MOVIELENS = "GroupLens, grouplens.org/datasets/movielens"
HETREC = "GroupLens, grouplens.org/datasets/hetrec-2011"
RATINGS = "user, item, rating, timestamp (ml-1m: order)"
DATASETS = {
    d.folder: d
    for d in (
        DataSet("ml-100k", MOVIELENS, {"ratings.parquet": RATINGS, "items.parquet": "item, title, year, genres"}),
        DataSet("ml-1m", MOVIELENS, {"ratings.parquet": RATINGS, "items.parquet": "item, title, year, genres"}),
        DataSet("jester", "Jester 1, eigentaste.berkeley.edu/dataset", {"ratings.parquet": "user, item, rating"}),
        DataSet(
            "yahoo-music-mbrw",
            "the sample beside the code of MBRW's authors",
            {"ratings.parquet": "user, item, rating, order"},
        ),
        DataSet(
            "goodbooks-10k",
            "the first version of goodbooks-10k, on GitHub and Kaggle",
            {"ratings.parquet": "user, item, rating", "genres.parquet": "item, genres"},
        ),
        DataSet("hetrec-lastfm", HETREC, {"tags.parquet": "user, resource, tag, tag_id, date"}),
        DataSet("hetrec-movielens", HETREC, {"tags.parquet": "user, resource, tag, tag_id, timestamp"}),
        DataSet("diginetica", "the CIKM Cup 2016, track 2", {"sessions.parquet": "session, clicks (a list, in order)"}),
    )
}  # fmt: skip


def missing(names: Iterable[str], root: Path) -> list[DataSet]:
    """Those of which a file is not there."""
    return [DATASETS[name] for name in names if not all(path.is_file() for path in DATASETS[name].paths(root))]
