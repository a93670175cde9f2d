"""Memory biased walks: exactly their twin given the same words, and the law of the definition; walks on CVS."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.relevance import next_item_probability
from recveil.kernels.distinct import distinct
from recveil.kernels.walks import Laws
from recveil.mechanisms.mbrw import seeded_by
from recveil.mechanisms.mbrw.laws import law
from recveil.mechanisms.mbrw.walks import Seeds, memory_streams
from recveil.randomness import seeded
from recveil.splits import vertical
from recveil.views import walkable as graphs
from recveil.views.transitions import transitions
from recveil.views.walkable import BLOCKS, walkable

ALPHA = 1e-3  # of every chi-square test here, fixed before any was run


def clickstreams(n_users: int = 30, n_items: int = 25, seed: int = 0) -> Interactions:
    """People who prefer low items, walk in streaks, and sometimes click again; nothing follows the last item."""
    rng = np.random.default_rng(seed)
    user, item = [], []
    for u in range(n_users):
        length = rng.integers(1, 10)
        user += [u] * length
        item += np.minimum(rng.geometric(0.15, size=length) - 1, n_items - 2).tolist()
        if u % 10 == 0:
            user.append(u)
            item.append(n_items - 1)
    return from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))


def laws(end: str, memory: str, hops: str, lengths: Any = None) -> Laws:
    first = np.empty(0) if end == "uniform" else law(end, "end").cumulated()
    tables = law(memory, "memory").cumulated(), law(hops, "hops").cumulated(lengths)
    return Laws(first, *tables, hops == "empirical")


def in_ranks(data: Interactions, over: graphs.Walkable) -> tuple[Any, Any, Any]:
    """DS and CVS as lists over ranks, and the blocks."""
    moves = transitions(data)
    DS, CVS = (m.toarray()[np.ix_(over.code, over.code)] for m in (moves.ds, moves.cvs))
    mass = np.cumsum(DS.sum(axis=0))
    blocks: list[list[int]] = [[] for _ in range(BLOCKS)]
    cuts = [int(np.argmax(mass >= mass[-1] * b / BLOCKS)) for b in range(1, BLOCKS)]
    for x in range(len(mass)):
        blocks[sum(x > cut for cut in cuts)].append(x)
    return DS.tolist(), CVS.tolist(), blocks


@pytest.mark.kernel
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("sliding", [True, False])
@pytest.mark.parametrize(
    ("end", "memory", "hops", "repeats"),
    [
        ("uniform", "normal(3,2)", "normal(4,2)", True),
        ("uniform", "poisson(2)", "empirical", False),
        ("constant(4)", "constant(0)", "constant(3)", True),
        ("normal(5,2)", "geometric(0.3)", "uniform(1,30)", False),
    ],
)
def test_streams_equal_their_twin(
    end: str, memory: str, hops: str, repeats: bool, sliding: bool, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not dense:
        monkeypatch.setattr(graphs, "DENSE_ITEMS", 0)
        monkeypatch.setattr(graphs, "_dense_columns", lambda cvs: 3)  # noqa: ARG005
    data = clickstreams()
    over = walkable(transitions(data))
    assert over.graph.head.shape[1] == (data.n_items if dense else 3)
    starts = data.starts("user")
    drawn = laws(end, memory, hops, np.diff(starts))
    source, who = seeded(5), np.arange(0, 30, 3)
    made = memory_streams(
        over, Seeds(starts, data.item), who, np.arange(10), drawn, source, sliding=sliding, repeats=repeats
    )
    DS, CVS, blocks = in_ranks(data, over)
    ranked = [over.rank[data.item[a:b]].tolist() for a, b in pairwise(starts)]
    key = source.key().astype("<u8").tobytes()
    tables = (drawn.end.tolist(), drawn.memory.tolist(), drawn.hops.tolist(), drawn.to_length)
    for i in range(10):
        words = naive.chacha_words(key, i, 400)
        expected = naive.memory_walk(DS, CVS, blocks, ranked[who[i]], tables, sliding, repeats, words)
        assert over.rank[made.items[made.starts[i] : made.starts[i + 1]]].tolist() == expected


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("sliding", [True, False])
def test_the_next_two_items_have_the_law_of_the_definition(
    sliding: bool, repeats: bool, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not dense:
        monkeypatch.setattr(graphs, "DENSE_ITEMS", 0)
    data = clickstreams(300, seed=1)
    moves = transitions(data)
    over = walkable(moves)
    profile = np.array([2, 0, 5, 1], dtype=np.int32)
    n = 20_000
    made = memory_streams(
        over,
        Seeds(np.array([0, 4]), profile),
        np.zeros(n, dtype=np.int64),
        np.arange(n),
        laws("constant(4)", "constant(2)", "constant(2)"),
        seeded(7),
        sliding=sliding,
        repeats=repeats,
    )
    items = made.items.reshape(n, 5)
    assert np.all(items[:, :3] == [0, 5, 1])
    DS, CVS = moves.ds.toarray().tolist(), moves.cvs.toarray().tolist()
    first = np.array(naive.next_law(DS, CVS, 1, [0, 5], set() if repeats else {0, 5, 1}))
    second = np.zeros(len(first))
    for x in np.flatnonzero(first):
        memory = [5, 1] if sliding else [0, 5]
        second += first[x] * np.array(naive.next_law(DS, CVS, x, memory, set() if repeats else {0, 5, 1, int(x)}))
    for column, expected in ((3, first), (4, second)):
        assert_law(items[:, column], expected)


def assert_law(drawn: Any, probabilities: Any) -> None:
    observed = np.bincount(drawn, minlength=len(probabilities))
    assert not observed[probabilities == 0].any()
    common = probabilities * len(drawn) >= 5
    told = [*observed[common], observed[~common].sum()]
    expected = [*(probabilities[common] * len(drawn)), probabilities[~common].sum() * len(drawn)]
    last = len(told) - (expected[-1] < 5)  # too rare together for a chi-square: into the smallest class
    told, expected = np.array(told[:last]), np.array(expected[:last])
    assert chisquare(told, expected * told.sum() / expected.sum()).pvalue > ALPHA


def test_a_wrong_law_is_noticed() -> None:
    drawn = np.random.default_rng(0).choice(3, size=20_000, p=[0.5, 0.3, 0.2])
    assert_law(drawn, np.array([0.5, 0.3, 0.2]))
    with pytest.raises(AssertionError):
        assert_law(drawn, np.array([0.48, 0.32, 0.2]))


def test_streams_do_not_depend_on_threads_or_on_who_is_here() -> None:
    data = clickstreams(60)
    over = walkable(transitions(data))
    starts = data.starts("user")
    table = laws("uniform", "normal(3,2)", "normal(9,2)")
    seeds, numbers = Seeds(starts, data.item), np.arange(5000)
    who = numbers * 7 % 60
    whole = memory_streams(over, seeds, who, numbers, table, seeded(1), sliding=True)
    again = memory_streams(over, seeds, who[:500], numbers[:500], table, seeded(1), sliding=True)
    np.testing.assert_array_equal(whole.items[: again.starts[-1]], again.items)
    few = who % 3 == 0
    part = memory_streams(over, seeds, who[few], numbers[few], table, seeded(1), sliding=True)
    np.testing.assert_array_equal(part.items, whole.take(few).items)


def test_people_find_their_streams() -> None:
    people = np.array([4, 0, 4, 2, 4])
    streams = seeded_by(people, np.arange(5))
    who, numbers = streams.of(np.array([3, 4, 0]))
    assert who.tolist() == [1, 1, 1, 2] and numbers.tolist() == [0, 2, 4, 1]
    assert all(len(a) == 0 for a in streams.of(np.array([1, 9])))


def test_an_item_that_nobody_follows_leads_along_cvs_and_a_lonely_one_ends_the_stream() -> None:
    data = from_ids(pl.Series([1, 1, 1, 2, 2, 3]), pl.Series([0, 1, 2, 1, 2, 3]), time=np.arange(6))
    over = walkable(transitions(data))
    table = laws("constant(9)", "constant(0)", "constant(1)")
    starts = data.starts("user")

    def after(user: int) -> Any:
        who = np.full(4000, user)
        return memory_streams(
            over, Seeds(starts, data.item), who, np.arange(4000), table, seeded(3), sliding=True
        ).items

    last = after(0).reshape(-1, 2)
    assert np.all(last[:, 0] == 2)
    assert_law(last[:, 1], np.array([1 / 3, 2 / 3, 0, 0]))
    assert after(2).tolist() == [3] * 4000


@pytest.mark.kernel
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("cut", [0.4, 0.8])
def test_the_probability_of_the_relevant_next_item_equals_its_twin(
    cut: float, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not dense:
        monkeypatch.setattr(graphs, "DENSE_ITEMS", 0)
        monkeypatch.setattr(graphs, "_dense_columns", lambda cvs: 3)  # noqa: ARG005
    data = clickstreams(40)
    moves = transitions(vertical(data, cut).train)  # partial knowledge: zero products and empty rows occur
    found = next_item_probability(moves, data, cut, most=4)
    DS, CVS = moves.ds.toarray().tolist(), moves.cvs.toarray().tolist()
    person = 0
    for a, b in pairwise(data.starts("user")):
        if b - a < 2:
            continue
        clicks = data.item[a:b].tolist()
        at = min(max(int(cut * len(clicks) + 1e-9), 1), len(clicks) - 1)
        for m in range(5):
            law_of = naive.next_law(DS, CVS, clicks[at - 1], clicks[max(0, at - 1 - m) : at - 1], set())
            assert found[person, m] == pytest.approx(law_of[clicks[at]], abs=1e-12)
        person += 1
    assert person == len(found)


@pytest.mark.kernel
def test_distinct_equals_sorted_sets() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 8, size=n).tolist() for n in (0, 1, 5, 9, 0, 12)]
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    begins, items = distinct(starts, np.array([x for r in rows for x in r], dtype=np.int32))
    got = [items[a:b].tolist() for a, b in pairwise(begins)]
    assert got == [sorted(set(r)) for r in rows]
