"""The experiments of the MBRW paper, each a function from clickstreams to numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.copies import copies
from recveil.evaluation.metrics.latent import RANK, cosines, reduced
from recveil.evaluation.metrics.ranking import evaluate, relevant
from recveil.evaluation.metrics.relevance import next_item_probability
from recveil.evaluation.metrics.sequences import row_correlations
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.formats import read
from recveil.kernels.distinct import distinct
from recveil.kernels.record_search import index, nearest
from recveil.kernels.walks import Laws
from recveil.measurement import trial
from recveil.mechanisms.mbrw.laws import law
from recveil.mechanisms.mbrw.walks import Seeds, memory_streams
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import Release, release
from recveil.splits import both, horizontal, vertical
from recveil.views.transitions import Transitions, transitions
from recveil.views.walkable import Walkable, walkable

FILES = {
    "yahoo-music-mbrw": "ratings.parquet",
    "ml-1m": "ratings.parquet",
    "diginetica": "sessions.parquet",
}
SESSIONS = 30_000  # of diginetica, drawn at random, so that its grids take minutes
TEST_USERS = 1000
GRID = range(11)
KNN = ItemKNN(k=15)


@dataclass(frozen=True, eq=False)
class PaperWorld:
    """A data set split as in the paper: people to learn from, and of a thousand others the first and second half."""

    name: str
    data: Interactions
    train: Interactions
    query: Interactions
    result: Interactions

    def recall(self, data: Interactions, ranker: Ranker = KNN) -> Floats:
        """Recall of five items for each test person, by a ranker trained on these data."""
        return self.judged(data, ranker, 5)[0]["recall"]

    def judged(self, data: Interactions, ranker: Ranker, *sizes: int) -> list[dict[str, Floats]]:
        """Quality for each test person of lists of these sizes."""
        model = ranker.fit(data.over_items(self.train.items), 0)
        wanted = relevant(self.query, self.result)
        return [evaluate(model, self.query, wanted, n).values for n in sizes]


def world(folder: Path, name: str, split: int = 0) -> PaperWorld:
    data = clicks(folder, name)
    train, query, result = both(data, 0.9, 0.5, np.random.default_rng(split))
    tested = np.unique(query.user)[:TEST_USERS]
    return PaperWorld(name, data, train, query.take_users(tested), result.take_users(tested))


@lru_cache(maxsize=4)
def clicks(folder: Path, name: str) -> Interactions:
    """A data set as clickstreams: who clicked what, in which order. Single clicks lead nowhere and are left out."""
    rows = replace(read(folder / name / FILES[name]), rating=None)
    long = np.flatnonzero(np.bincount(rows.user, minlength=rows.n_users) > 1)
    if len(long) > 4 * SESSIONS:
        long = np.random.default_rng(0).choice(long, SESSIONS, replace=False)
    return rows.take_users(long).compact()


def drawn(data: Interactions, spec: str) -> Release:
    return release(data, parse(f"mbrw:{spec}"), seed=1)


def row_table(real: Transitions, made: Transitions) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of Spearman's rho over rows, for "DS padded", "DS strict", "CVS padded", ..."""
    table = {}
    for name, before, after in (("DS", real.ds, made.ds), ("CVS", real.cvs, made.cvs)):
        rows = np.flatnonzero(np.diff(before.indptr))
        for padded in (True, False):
            each = row_correlations(before, after, rows, padded=padded)
            table[f"{name} {'padded' if padded else 'strict'}"] = float(np.nanmean(each)), float(np.nanstd(each))
    return table


def table_1(at: PaperWorld, k: int, window: str) -> dict[str, tuple[float, float]]:
    made = drawn(at.train, f"k={k},window={window}").data.over_items(at.train.items)
    return row_table(transitions(at.train), transitions(made))


def table_2(at: PaperWorld, k: int, how: str) -> dict[str, tuple[float, float]]:
    """DS and CVS that are not aligned: CVS with permuted items, or DS and CVS from two halves of the people."""
    moves = transitions(at.train)
    rng = np.random.default_rng(2)
    if how == "permuted":
        order = rng.permutation(len(moves.items))
        cvs = moves.cvs[order][:, order].tocsr()
        cvs.sort_indices()
        apart = Transitions(moves.items, moves.ds, cvs)
    else:
        one, other = horizontal(at.train, 0.5, rng)
        apart = Transitions(moves.items, transitions(one).ds, transitions(other).cvs)
    made = walked(at.train, walkable(apart), "normal(3,2)", "normal(9,2)", k)
    return row_table(apart, transitions(made))


def figure_3(at: PaperWorld, cut: float) -> dict[str, Floats]:
    """The mean probability of the relevant next item for memories of 0 to 10, with full and partial knowledge."""
    known = {"full": at.data, "partial": vertical(at.data, cut).train}
    return {name: next_item_probability(transitions(rows), at.data, cut).mean(axis=0) for name, rows in known.items()}


def walked(
    train: Interactions, over: Walkable, memory: str, hops: str, k: int | None = None, sliding: bool = True
) -> Interactions:
    """k streams over any graph; without k every person seeds one, and the released codes are those of the people."""
    rows = train.ordered()
    people = np.flatnonzero(np.diff(rows.starts("user")))
    laws = Laws(np.empty(0), law(memory, "m").cumulated(), law(hops, "l").cumulated(), False)
    users = people if k is None else np.random.default_rng(3).choice(people, k)
    numbers = np.arange(len(users), dtype=np.int64)
    made = memory_streams(over, Seeds(rows.starts("user"), rows.item), users, numbers, laws, seeded(1), sliding=sliding)
    lengths = np.diff(made.starts)
    names = train.users if k is None else pl.Series(numbers)
    code = np.repeat(users if k is None else numbers, lengths).astype(np.int32)
    order = np.arange(len(made.items)) - np.repeat(made.starts[:-1], lengths)
    return Interactions(code, made.items, names, train.items, time=order)


def taste(at: PaperWorld, made: Interactions) -> Floats:
    """The cosine in the latent space of each person and the stream that she seeded (made by `walked` without k)."""
    people = np.unique(at.train.user)
    U, S, Vt = reduced(at.train, RANK)
    there = (made.matrix(binary=True) @ Vt.T) / S
    return cosines(U[people], there[people])


def grids(at: PaperWorld, sliding: bool) -> tuple[Floats, Floats]:
    """[m, l]: latent cosine and recall@5, for constant memories and hops from 0 to 10."""
    over = walkable(transitions(at.train))
    cosine, recall = np.zeros((11, 11)), np.zeros((11, 11))
    for m in GRID:
        for hops in GRID:
            made = walked(at.train, over, f"constant({m})", f"constant({hops})", sliding=sliding)
            cosine[m, hops] = taste(at, made).mean()
            recall[m, hops] = at.recall(made).mean()
    return cosine, recall


def similarities(at: PaperWorld, made: Interactions) -> Floats:
    """The largest cosine of each stream to any real clickstream."""
    real: sparse.csr_array = at.train.matrix(binary=True)
    rows = made.over_items(at.train.items).ordered()
    to = index(real.indptr.astype(np.int64), real.indices.astype(np.int32), at.train.n_items)
    cosine: Floats = nearest(to, *distinct(rows.starts("user"), rows.item))[0]
    return cosine


def copied(at: PaperWorld, spec: str) -> dict[str, float]:
    """What an attacker gains from copied beginnings: the chance of naming their person, and the AUC of membership."""
    made = drawn(at.train, spec)
    held = at.data.take_users(np.setdiff1d(np.unique(at.data.user), np.unique(at.train.user)))
    subject = trial(at.train, made.data, holdout=held, id_map=made.id_map)
    return {m.name: m.value for m in copies(subject, np.random.default_rng(0))}
