"""The choice of p, similar items and top-N lists, on toy data, against twins, and at the oracle values on real data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from test_supports import crowd, packed

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.recommenders.mask import overlap, similar_items, top_n
from recveil.formats import read
from recveil.kernels.item_cosines import cosine_error, nearest
from recveil.mechanisms.mask.choose_p import _error, best_p, choose_p, protection
from recveil.randomness import seeded
from recveil.views.bits import Columns, columns
from recveil.views.supports import single_support

A = 0.0630466936


@pytest.fixture(scope="module")
def films(real_data: Path) -> Interactions:
    return read(real_data / "ml-100k" / "ratings.parquet")


def perturbed(data: Interactions, p: float, seed: int) -> Interactions:
    dense = data.matrix(binary=True).toarray().astype(bool)
    kept = np.random.default_rng(seed).random(dense.shape, dtype=np.float32) < p
    user, item = np.nonzero(np.where(kept, dense, ~dense))
    return Interactions(user.astype(np.int32), item.astype(np.int32), data.users, data.items)


def people(profiles: list[set[int]], m: int) -> Interactions:
    pairs = [(u, i) for u, profile in enumerate(profiles) for i in sorted(profile)]
    user, item = np.array(pairs, dtype=np.int32).T
    return Interactions(user.copy(), item.copy(), pl.Series(range(len(profiles))), pl.Series(range(m)))


def test_protection_at_the_oracle_values() -> None:
    for p, expected in {
        0.5: 11.8144, 0.8: 10.4283, 0.9: 8.3196, 0.936: 6.7518, 0.943: 6.3426, 0.95: 5.8856, 0.99: 1.7553
    }.items():  # fmt: skip
        assert protection(p, A) == pytest.approx(expected, abs=6e-5)
        assert protection(1 - p, A) == pytest.approx(expected, abs=6e-5)
    assert protection(0.5, A) == pytest.approx(200 * A * (1 - A))


@pytest.mark.kernel
@pytest.mark.parametrize("p", [1.0, 0.8])
def test_lists_and_errors_are_the_twins(p: float) -> None:
    m, profiles = 7, [q | {u % 7} for u, q in enumerate(crowd(40, 7, seed=3))]
    seen = packed(profiles, m)
    least = sorted(np.clip(single_support(seen.singles, 40, p), 0, 40))[1]
    expected = naive.similarities(profiles, m, p, least)
    found = similar_items(seen, p=p, minsup=least)
    for i in range(m):
        best = [j for j in range(m) if (i, j) in expected and expected[i, j][0] > 0]
        best.sort(key=lambda j: (-expected[i, j][0], -expected[i, j][1], j))
        n = len(best)
        assert found.neighbour[i].tolist() == best + [-1] * (m - 1 - n)
        assert found.similarity[i, :n].tolist() == pytest.approx([expected[i, j][0] for j in best])
        assert found.support[i, :n].tolist() == pytest.approx([expected[i, j][1] for j in best])
        few = similar_items(seen, p=p, minsup=least, k=2).neighbour[i]
        assert few.tolist() == found.neighbour[i, :2].tolist()
    for score in ("max", "sum"):
        lists = top_n(people(profiles, m), found, 3, score)
        for u, profile in enumerate(profiles):
            wanted = naive.top_items(sorted(profile), expected, m, 3, score == "sum")
            assert lists[u].tolist() == wanted + [-1] * (3 - len(wanted))
    true = packed(crowd(40, m, seed=4), m)
    before, after = naive.similarities(crowd(40, m, seed=4), m, 1.0, 0), naive.similarities(profiles, m, p, 0)
    error = np.mean([abs(before[i, j][0] - after[i, j][0]) for i in range(m) for j in range(i + 1, m)])
    single = np.clip(single_support(seen.singles, 40, p), 0, 40)
    args = (true.pairs(), seen.pairs(), m, 40, p, true.singles.astype(np.float64), single)
    assert cosine_error(*args) == pytest.approx(error)


@pytest.mark.kernel
@pytest.mark.parametrize(("rows", "others"), [((0, 3), (4, 9)), ((4, 9), (0, 3)), ((2, 6), (0, 9))])
def test_nearest_of_a_block_in_another_are_the_twins(rows: tuple[int, int], others: tuple[int, int]) -> None:
    """Two blocks apart, and one that lies within the other: then nobody stands in her own list."""
    m, n, p, profiles = 9, 60, 0.8, crowd(60, 9, seed=5)
    counts = np.array(naive.pair_counts(profiles, m), dtype=np.int32)
    ones, single = np.diag(counts).astype(np.int64), np.clip(single_support(np.diag(counts), n, p), 0, n)
    least = sorted(single)[1]
    single[single < least] = 0.0
    expected = naive.similarities(profiles, m, p, least)
    mine, theirs = slice(*rows), slice(*others)
    itself = rows[0] - others[0] if rows[0] in range(*others) else -m
    block = np.ascontiguousarray(counts[mine, theirs])
    found = nearest(block, ones[mine], single[mine], ones[theirs], single[theirs], itself, n, p, 3)
    for i, places, sims, sups in zip(range(*rows), *found, strict=True):
        near = [(j, *expected[i, j]) for j in range(*others) if expected.get((i, j), (0,))[0] > 0]
        near = sorted(near, key=lambda each: (-each[1], -each[2], each[0]))[:3]
        k = len(near)
        assert places.tolist() == [j - others[0] for j, _, _ in near] + [-1] * (3 - k)
        assert [*sims[:k], *sups[:k]] == pytest.approx([s for _, s, _ in near] + [s for _, _, s in near])


def test_checkerboard() -> None:
    """Two camps that never mix: the lists stay within a camp, also from perturbed bits."""
    half = 6
    profiles = [{i for i in range(2 * half) if i % 2 == u % 2 and i != (u // 2) % half * 2 + u % 2} for u in range(400)]
    data = people(profiles, 2 * half)
    for seen, p in ((columns(data), 1.0), (columns(perturbed(data, 0.85, 1), 400), 0.85)):
        lists = top_n(data, similar_items(seen, p=p), 1, "sum")
        assert all(int(row[0]) % 2 == u % 2 and int(row[0]) not in profiles[u] for u, row in enumerate(lists))


def test_overlap_counts_common_items() -> None:
    first = np.array([[1, 2, 3], [4, 5, -1]], dtype=np.int32)
    second = np.array([[3, 9, 1], [-1, 5, -1]], dtype=np.int32)
    assert overlap(first, second).tolist() == pytest.approx([200 / 3, 100 / 3])


def test_written_lists_are_as_long_as_asked_for_whatever_the_longest_history(
    recveil: Callable[..., Any], tmp_path: Path
) -> None:
    """One person with one more item must not make everybody's lists longer."""
    rng = np.random.default_rng(2)
    rows = [(u, i) for u in range(60) for i in rng.choice(40, 12, replace=False)]
    for more in ((), [(0, i) for i in range(40)]):
        pl.DataFrame([*rows, *more], schema=["user", "item"], orient="row").unique().write_csv(tmp_path / "d.csv")
        options = ("--with", "mask:p=0.9", "--top", 3, "--minsup", 0, "--seed", 1, "--similar", "s.txt", "-o", "lists")
        recveil("recommend", "d.csv", *options)
        assert {line.count(";") + 1 for line in (tmp_path / "s.txt").read_text().splitlines()} == {3}


def test_similar_lists_in_the_form_of_the_paper() -> None:
    data = from_ids(pl.Series([1, 1, 2, 2, 3]), pl.Series(["x", "y", "x", "y", "z"]))
    lines = similar_items(columns(data), minsup=0).lines(5)
    assert list(lines) == ["x\ty,1.000000,2.0", "y\tx,1.000000,2.0"]


def test_bad_requests_are_one_line() -> None:
    data = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 2]))
    seen = columns(data)
    similar = similar_items(seen, minsup=0)
    stranger = from_ids(pl.Series([9]), pl.Series([77]))
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: similar_items(seen, minsup=50), "minsup 50 is above every item: the largest estimated support is 2"),
        (lambda: similar_items(seen, p=0.5), "coin toss"),
        (lambda: top_n(stranger, similar), "empty profile"),
        (lambda: top_n(data.take(np.zeros(3, dtype=bool)), similar), "empty profile"),
        (lambda: top_n(data, similar, 0), "at least 1"),
        (lambda: top_n(data, similar, 3, "best"), "unknown score"),  # type: ignore[arg-type]
        (lambda: choose_p(data, grid=[0.5, 0.9]), "coin toss"),
        (lambda: choose_p(from_ids(pl.Series([1, 2]), pl.Series([1, 1]))), "fewer than two items"),
    ]
    for request, line in cases:
        with pytest.raises(RecveilError, match=line):
            request()


def test_subsamples_and_repeats_of_the_choice() -> None:
    data = people([q | {u % 30} for u, q in enumerate(crowd(120, 30))], 30)
    heard: list[tuple[int, int]] = []
    few = {"users": 50, "items": 20, "grid": [0.6, 0.8, 0.9, 0.95]}
    choice = choose_p(data, **few, chance=seeded(1), progress=lambda a, b: heard.append((a, b)))  # type: ignore[arg-type]
    assert (choice.repeats, choice.users, choice.items) == (10, 50, 20)
    assert heard[-1] == (10 * len(choice.grid),) * 2
    assert choice.plateau[0] <= choice.p <= choice.plateau[1]
    assert choice == choose_p(data, **few, chance=seeded(1))  # type: ignore[arg-type]
    assert choose_p(data, chance=seeded(1), grid=[0.6, 0.7]).at_edge


@pytest.mark.parametrize("seed", range(3))
def test_the_wide_look_first_finds_a_p_as_good_as_the_best_of_the_grid(seed: int) -> None:
    thick = people([q | {u % 30} for u, q in enumerate(crowd(400, 30, seed=seed))], 30)
    thin = people([{u % 30, (u * u) % 30} for u in range(400)], 30)
    for data in (thick, thin):
        whole = choose_p(data, chance=seeded(seed))
        found = whole.ratio[whole.grid.index(best_p(data, seeded(seed)))]
        assert found >= 0.99 * max(whole.ratio)


@pytest.mark.data
def test_the_chosen_p_on_real_data(films: Interactions) -> None:
    grid = np.round(np.arange(0.9, 0.9701, 0.002), 3).tolist()
    choice = choose_p(films, chance=seeded(7), grid=grid)
    assert abs(choice.p - 0.936) <= 0.004
    assert choice.plateau[0] == pytest.approx(0.924, abs=0.004)
    assert choice.plateau[1] == pytest.approx(0.946, abs=0.004)
    assert choice.density == pytest.approx(A, abs=1e-9)
    assert best_p(films, seeded(7)) == choose_p(films, chance=seeded(7)).p


@pytest.mark.data
def test_similarity_errors_at_the_oracle_values(films: Interactions) -> None:
    true = columns(films)
    for p, raw, after in ((0.51, 0.38898, 0.16298), (0.9, 0.08357, 0.08600), (0.943, 0.06021, 0.06551), (0.999, 0.00751, 0.00968)):  # fmt: skip  # noqa: E501
        seen = columns(perturbed(films, p, 1))
        assert _error(true.pairs(), true.singles, seen, 1.0) == pytest.approx(raw, abs=6e-6)
        assert _error(true.pairs(), true.singles, seen, p) == pytest.approx(after, abs=6e-6)


@pytest.mark.data
def test_overlap_at_the_oracle_values(films: Interactions) -> None:
    """p = .943, three draws; true history: reconstructed counts with minsup 47, and raw counts without."""
    true = columns(films)
    lists = {
        (s, m): top_n(films, similar_items(true, minsup=m), 30, s) for s, m in (("max", 47), ("sum", 47), ("max", 0))
    }  # type: ignore[arg-type]
    expected = {11: (85.9, 91.8, 77.8), 12: (85.6, 91.1, 78.3), 13: (86.7, 91.6, 78.8)}
    for seed, (best, total, raw) in expected.items():
        seen: Columns = columns(perturbed(films, 0.943, seed))
        similar = similar_items(seen, p=0.943, minsup=47)
        assert overlap(lists["max", 47], top_n(films, similar, 30, "max")).mean() == pytest.approx(best, abs=0.06)
        assert overlap(lists["sum", 47], top_n(films, similar, 30, "sum")).mean() == pytest.approx(total, abs=0.06)
        plain = top_n(films, similar_items(seen, minsup=0), 30, "max")
        assert overlap(lists["max", 0], plain).mean() == pytest.approx(raw, abs=0.06)


def test_recommend_tune_and_release_commands(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = people([q | {u % 30} for u, q in enumerate(crowd(200, 30))], 30)
    data.frame().write_csv(tmp_path / "clicks.csv")
    tuned = recveil("tune", "clicks.csv", "--with", "mask", "--seed", 1, "--figure", "curve.svg", json_answer=True)
    assert tuned["plateau"][0] <= tuned["p"] <= tuned["plateau"][1]
    assert tuned["spec"] == f"mask:p={tuned['p']},tuned=true"
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    for history in ("real", "perturbed"):
        made = recveil(
            *("recommend", "clicks.csv", "--with", "mask:p=0.9", "--top", 4, "--seed", 1, "--history", history),
            *("--similar", "similar.txt"),
            json_answer=True,
        )
        assert made["p"] == 0.9
        assert len(made["lists"]) == 200
        assert all(len(row["items"]) <= 4 for row in made["lists"])
        assert "\t" in (tmp_path / "similar.txt").read_text()
    lines = recveil("recommend", "clicks.csv", "--with", "mask:p=0.9", "--top", 2, "--score", "sum").stdout.splitlines()
    user, _, items = lines[0].partition("\t")
    assert user == "0" and items.count(",") <= 1
    recveil("release", "clicks.csv", "--with", "mask:p=0.9", "-o", "out")
    recveil("release", "clicks.csv", "--with", "mask:p=0.9", "-o", "sets", "--format", "itemsets", "--seed", 1)
    recveil("verify", "sets")
    assert (tmp_path / "sets" / "data.itemsets").read_text().count("\n") == 200
    promise = json.loads((tmp_path / "out" / "manifest.json").read_text())["guarantee"]
    assert (promise["status"], promise["unit"]) == ("proved", "bit")


def test_commands_refuse_in_one_line(recveil: Callable[..., Any], tmp_path: Path) -> None:
    people(crowd(20, 5), 5).frame().write_csv(tmp_path / "clicks.csv")
    for arguments, line in (
        (("recommend", "clicks.csv", "--with", "mask:p=0.5"), "coin toss"),
        (("recommend", "clicks.csv", "--with", "pseudonymise"), "unknown mechanism to recommend with"),
        (("recommend", "clicks.csv", "--with", "mask:p=0.9", "--minsup", "500"), "above every item"),
        (("recommend", "clicks.csv", "--with", "mask:p=0.9", "--top", "0"), "at least 1"),
        (("recommend", "clicks.csv", "--with", "mask:p=0.9", "--score", "best"), "unknown --score"),
        (("tune", "clicks.csv", "--with", "pseudonymise"), "unknown mechanism to tune"),
        (("tune", "clicks.csv", "--with", "mask", "--keep", "x>1"), "takes no --keep"),
        (("tune", "clicks.csv", "--with", "mask", "--figure", "a.gif"), ".html, .svg, .png"),
        (("reproduce", "masks"), "did you mean mask"),
        (("reproduce", "mask", "--data", "nowhere"), "no such directory"),
        (("reproduce", "mask", "--data", "."), "ml-100k/ratings.parquet"),
    ):
        done = recveil(*arguments, code=1)
        assert line in done.stderr
        assert done.stderr.count("\n") == 1
