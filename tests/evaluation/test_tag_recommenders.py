"""Triples, tag recommenders and their recall: toy data whose answer is plain, twins, and the spec's oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import ttest_rel

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.metrics.tags import divergence, judge, measured, recalls, semantic_loss
from recveil.evaluation.metrics.tags import tags as metric
from recveil.evaluation.recommenders.folkrank import FolkRank
from recveil.evaluation.recommenders.tags import OWN_HISTORY, POPULAR, Mixture, suggest
from recveil.intervals import paired_t
from recveil.kernels.folkrank import spread
from recveil.measurement import SkippedError, trial
from recveil.samples import sample
from recveil.splits import horizontal, leave_one_post_out
from recveil.views.triples import TripleTables, distinct, folded, posts, tables


def tagged(rows: list[tuple[int, int, str]]) -> Interactions:
    user, item, tag = zip(*rows, strict=True)
    return from_ids(pl.Series(user), pl.Series(item), tag=pl.Series(tag))


def world(seed: int, n: int = 60) -> Interactions:
    rng = np.random.default_rng(seed)
    return tagged([(int(u), int(i), f"t{t}") for u, i, t in rng.integers(0, [5, 7, 6], (n, 3))])


def test_triples_are_counted_once() -> None:
    data = tagged([(2, 7, "b"), (1, 5, "a"), (2, 7, "a"), (1, 5, "a"), (2, 7, "b"), (2, 5, "ß ﬁ")])
    once = distinct(data)
    assert once.frame().rows() == [(1, 5, "a"), (2, 5, "ß ﬁ"), (2, 7, "a"), (2, 7, "b")]
    found = posts(data)
    assert (found.user.tolist(), found.item.tolist(), found.starts.tolist()) == ([0, 1, 1], [0, 0, 1], [0, 1, 2, 4])
    assert found.tag.tolist() == [0, 2, 0, 1]
    counts = tables(data)
    assert counts.resource.toarray().tolist() == [[1, 0, 1], [1, 1, 0]]
    assert counts.user.toarray().tolist() == [[1, 0, 0], [1, 1, 1]]
    assert counts.tag.tolist() == [2, 1, 1]
    assert counts.posts is not None
    assert counts.posts.toarray().tolist() == [[1, 0], [1, 2]]
    nothing = data.take(np.zeros(0, dtype=int))
    assert len(distinct(nothing)) == len(posts(nothing)) == 0


def test_triples_need_tags() -> None:
    bare = from_ids(pl.Series([1]), pl.Series([1]))
    for attempt in (distinct, posts, tables, folded):
        with pytest.raises(RecveilError, match="tag column"):
            attempt(bare)


def test_tags_are_folded_only_if_asked(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = tagged([(1, 1, "Jazz"), (1, 2, " jazz"), (2, 1, "STRASSE"), (2, 2, "straße"), (2, 3, "Ἀθήνα")])
    assert list(folded(data).tags) == ["jazz", "strasse", "ἀθήνα"]
    assert folded(data).frame()["tag"].to_list() == ["jazz", "jazz", "strasse", "strasse", "ἀθήνα"]
    data.frame().write_csv(tmp_path / "tags.csv")
    for option, tags in (((), 5), (("--fold-tags",), 3)):
        recveil("release", "tags.csv", "--with", "pseudonymise", "-o", f"out{tags}", *option)
        assert pl.read_parquet(tmp_path / f"out{tags}" / "data.parquet")["tag"].n_unique() == tags
    done = recveil("release", "sample:films?users=20", "--with", "pseudonymise", "-o", "x", "--fold-tags", code=1)
    assert done.stderr.strip() == "recveil: tags are needed, and the data have no tag column"


def test_the_mixture_is_its_formula_and_takes_tables_of_a_vocabulary() -> None:
    counts = tables(world(0))
    R, P, g = counts.resource.toarray(), counts.user.toarray(), counts.tag / counts.tag.sum()
    user, item = np.array([0, 3, 4]), np.array([6, 0, 1])
    wanted = [R[i] / (R[i].sum() + 1) + P[u] / (P[u].sum() + 1) + 0.02 * g for u, i in zip(user, item, strict=True)]
    assert Mixture().fit(world(0)).scores(user, item) == pytest.approx(np.array(wanted))
    assert POPULAR.fit(counts).scores(user, item) == pytest.approx(np.tile(0.02 * g, (3, 1)))
    assert OWN_HISTORY.fit(counts).scores(user, item) == pytest.approx(
        P[user] / (P[user].sum(1)[:, None] + 1) + 0.02 * g
    )
    few = np.array([1, 4], dtype=np.int32)
    narrow = TripleTables(R[:, few], counts.user, counts.tag, vocabulary=few)
    hidden = np.where(np.isin(np.arange(6), few), R, 0.0)
    wide = TripleTables(hidden, counts.user, counts.tag)
    for recommender in (Mixture(), FolkRank()):
        assert recommender.fit(narrow).scores(user, item) == pytest.approx(recommender.fit(wide).scores(user, item))


def graph(counts: TripleTables) -> list[list[float]]:
    """The edges between users, resources and tags, as a full matrix."""
    P, M, L = (t.toarray() for t in (counts.posts, counts.user, counts.resource))
    first = sum(P.shape)
    edges = np.zeros((first + len(counts.tag),) * 2)
    edges[: len(P), len(P) : first], edges[: len(P), first:], edges[len(P) : first, first:] = P, M, L
    return (edges + edges.T).tolist()


@pytest.mark.kernel
@pytest.mark.parametrize("steps", [2, 5])
def test_preferences_spread_as_in_the_plain_iteration(steps: int) -> None:
    edges = graph(tables(world(1, 25)))
    matrix = sparse.csr_array(np.array(edges))
    rng = np.random.default_rng(steps)
    preferences = rng.random((40, len(edges))) * (rng.random((40, len(edges))) < 0.2)
    wanted = sparse.csr_array(preferences)
    found = spread(
        *(matrix.indptr.astype(np.int64), matrix.indices, matrix.data),
        *(wanted.indptr.astype(np.int64), wanted.indices, wanted.data),
        *(7, 0.7, steps),
    )
    for row, preference in zip(found, preferences.tolist(), strict=True):
        assert row == pytest.approx(naive.folkrank(edges, preference, 0.7, steps)[7:], abs=1e-14)


@pytest.mark.parametrize("posted", [3, 40])  # more posts than nodes: users and resources are solved for once
def test_folkrank_is_the_difference_of_two_spreads(posted: int) -> None:
    counts = tables(world(1, 40))
    model = FolkRank(iterations=4).fit(counts)
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, model.users, posted), rng.integers(0, model.resources, posted)
    edges, n, first = graph(counts), model.n_nodes, model.users + model.resources
    w0 = naive.folkrank(edges, [1 / n] * n, 0.7, 4)
    for found, u, i in zip(model.scores(user, item), user, item, strict=True):
        p = np.ones(n)
        p[u] += model.users
        p[model.users + i] += model.resources
        w = naive.folkrank(edges, (p / p.sum()).tolist(), 0.7, 4)
        assert found == pytest.approx(np.subtract(w, w0)[first:], abs=1e-7)  # in single precision


def test_folkrank_finds_the_tags_around_a_post() -> None:
    """Two separate circles of people: nobody is told the tags of the others."""
    rows = [(u, 10 * (u % 2) + i, f"{u % 2}-{(u + i) % 3}") for u in range(8) for i in range(4)]
    model = FolkRank().fit(tagged(rows))
    lists = suggest(model, posts(tagged(rows)), 3)
    side = np.repeat(np.arange(8) % 2, 4)
    assert np.all(lists // 3 == side[:, None])


def test_a_post_of_which_nothing_is_known_gets_popular_tags() -> None:
    rows = [(1, 1, "rare"), (1, 1, "often"), (2, 1, "often"), (2, 2, "often"), (0, 0, "never")]
    data = tagged(rows)
    known = data.take(data.user != 0)
    lists = suggest(FolkRank().fit(known), posts(data), 2)
    assert [data.tags[int(t)] for t in lists[0] if data.tags is not None] == ["often", "rare"]


def test_recall_by_hand() -> None:
    wanted = posts(tagged([(1, 1, "a"), (1, 1, "c"), (2, 1, "b")]))
    lists = np.array([[2, 1, 0], [-1, -1, -1]], dtype=np.int32)
    assert recalls(lists, wanted).tolist() == [[0.5, 0.5, 1.0], [0.0, 0.0, 0.0]]
    found = measured(recalls(lists, wanted), np.random.default_rng(0), referee="x")
    assert [m.value for m in found] == [0.25, 0.25, 0.5]
    assert [m.params["n"] for m in found] == [1, 2, 3]
    assert all(m.low <= m.value <= m.high and m.n == 2 for m in found)


def test_divergence_and_semantic_loss_by_hand() -> None:
    laws = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert divergence(laws[[0, 0, 0]], laws) == pytest.approx([0.0, 1.0, 0.75 * np.log2(4 / 3)])
    codes = [np.array(c, dtype=np.int32) for c in ([0, 0, 3], [0, 0, 1], [0, 1, 1])]
    assert semantic_loss(*codes, laws) == pytest.approx([0.5, 0.0])


def test_the_paired_t_test_is_the_usual_one() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(40), rng.random(40)
    t, p, freedom = paired_t(a, b)
    assert (t, p) == pytest.approx(tuple(ttest_rel(a, b)))
    assert freedom == 39
    assert paired_t([1, 2], [1, 2])[0] == 0.0
    assert paired_t([2, 3], [1, 2])[:2] == (np.inf, 0.0)
    with pytest.raises(RecveilError, match="two people"):
        paired_t([1], [2])


def test_tags_permuted_across_posts_add_nothing_to_ones_own_history() -> None:
    train, people = (part.compact() for part in horizontal(sample("tags?users=200"), 0.75, np.random.default_rng(0)))
    subject = trial(train, replace(train, tag=np.random.default_rng(1).permutation(train.tag)), holdout=people)
    found = {
        (m.name, m.params["referee"], m.params.get("trained_on")): m
        for m in metric(subject, rng())
        if m.params["n"] == 10
    }
    for referee in ("mixture", "folkrank"):
        real, useless = (found["tag recall", referee, source] for source in ("real", "release"))
        assert useless.high < real.low
    assert found["tag lift", "mixture", None].high < 0.1
    assert found["tag recall", "popularity", "real"].high < found["tag recall", "own history", "real"].low
    assert all(m.n == people.n_users for m in found.values())  # everybody has two posts


def test_a_release_without_tags_is_said_to_be_one() -> None:
    train, people = (part.compact() for part in horizontal(sample("tags?users=40"), 0.5, np.random.default_rng(0)))
    with pytest.raises(RecveilError, match="the release has no tags"):
        metric(trial(train, replace(train, tag=None, tags=None), holdout=people), rng())
    with pytest.raises(SkippedError, match="held out"):
        metric(trial(train, train), rng())


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "folkrank", "popular"),
    [
        pytest.param("hetrec-movielens", [0.2034, 0.4465, 0.5230], 0.0266, marks=pytest.mark.slow),
        ("hetrec-lastfm", [0.1722, 0.4399, 0.5573], 0.1872),
    ],
)
def test_recall_on_hetrec(real_data: Path, folder: str, folkrank: list[float], popular: float) -> None:
    frame = pl.read_parquet(real_data / folder / "tags.parquet")
    data = distinct(from_ids(frame["user"], frame["resource"], tag=frame["tag"].cast(pl.String)))
    train, test = leave_one_post_out(data, np.random.default_rng(0))
    found = judge(FolkRank().fit(train), test).mean(axis=0)[[0, 4, 9]]
    assert found == pytest.approx(folkrank, abs=0.01)
    assert judge(POPULAR.fit(train), test)[:, 9].mean() == pytest.approx(popular, abs=0.001)
