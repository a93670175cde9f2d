"""Clicks: the paper's toy tables, the shared vectors, the kernels against their twins, and figures on real data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.clicks.effects import ZONES, effect, effects
from recveil.clicks.game import ACTIONS, BASIC, SMART, STRATEGIES, policy
from recveil.clicks.profiles import Clicks, Profiles, clicks, commonality, disclosure, profiles
from recveil.clicks.replay import replay
from recveil.clicks.summary import items, people, summary
from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.formats import read

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "clicks.json").read_text(encoding="utf-8"))["vectors"]
TOY = [(1, 1, 1), (1, 3, 1), (2, 3, 1), (2, 4, 1), (3, 2, -1), (3, 4, 1), (4, 1, 1), (4, 4, -1)]  # table 1
TABLE_7 = {  # likes and dislikes of the item, the click, and what the paper says of it
    "D1 i2": (0, 1, -1, 0.25, 0.176091, 0.477121, "trade_off"),
    "L2 i2": (0, 1, 1, 0.0, 0.477121, 0.176091, "deleterious"),
    "L3 i3": (2, 0, 1, 0.5625, -0.176091, 0.301030, "safe"),
    "D4 i3": (2, 0, -1, -0.1875, 0.301030, -0.176091, "dangerous"),
}


def world(rows: list[tuple[int, int, int]], time: list[int] | None = None) -> Clicks:
    user, item, sign = zip(*rows, strict=True)
    moment = None if time is None else np.array(time)
    return clicks(from_ids(pl.Series(user), pl.Series(item), np.array(sign, dtype=float), moment), like=0)


def logs(users: int = 6, n_items: int = 4) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    cells = st.lists(st.tuples(st.integers(0, users - 1), st.integers(0, n_items - 1)), unique=True, min_size=1)
    return cells.flatmap(lambda c: st.tuples(*[st.sampled_from([1, -1]) for _ in c]).map(
        lambda s: [(u, i, e) for (u, i), e in zip(c, s, strict=True)]))  # fmt: skip


# --- the paper's example -------------------------------------------------------------------------------------------


def test_tables_3_to_5() -> None:
    of = world(TOY)
    item = profiles(of)
    assert item.likes.tolist() == [2, 0, 2, 2]
    assert item.dislikes.tolist() == [0, 1, 0, 1]
    assert item.unclicked.tolist() == [2, 3, 2, 1]
    assert item.popularity.tolist() == [0.5, 0.25, 0.5, 0.75]
    assert item.preferability.tolist() == [0.5, -0.25, 0.5, 0.25]
    assert item.mainstream.tolist() == [0.25, -0.0625, 0.25, 0.1875]
    assert commonality(of).tolist() == [0.5, 0.4375, 0.25, 0.0625]
    assert disclosure(of, "10") == pytest.approx([1.329059, 1.028029, 1.505150, 1.329059], abs=1e-6)
    assert disclosure(of, "2") == pytest.approx([4.415037, 3.415037, 5, 4.415037], abs=1e-6)


@pytest.mark.parametrize("name", TABLE_7)
def test_table_7(name: str) -> None:
    likes, dislikes, sign, gain, risk, reverse, zone = TABLE_7[name]
    found = effect(likes, dislikes, 4, sign, "10")
    assert found.commonality == gain
    assert found.disclosure == pytest.approx(risk, abs=1e-6)
    assert found.reverse == pytest.approx(reverse, abs=1e-6)
    assert found.zone == zone


def test_others_change_too() -> None:
    before, after = world(TOY), world([*TOY, (1, 2, -1)])
    assert disclosure(after, "10") - disclosure(before, "10") == pytest.approx(
        [0.176091, 0.176091, -0.301030, 0.176091], abs=1e-6
    )
    assert (commonality(after) - commonality(before)).tolist() == [0.25, 0, 0.1875, 0]


# --- effects -------------------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['users']}-{v['likes']}-{v['dislikes']}-{v['sign']}")
def test_the_shared_vectors(vector: dict[str, Any]) -> None:
    state = vector["likes"], vector["dislikes"], vector["users"], vector["sign"]
    found = effect(*state)
    assert (list(found.signs), found.zone) == (vector["signs"], vector["zone"])
    for name in ("commonality", "disclosure", "reverse"):
        assert getattr(found, name) == pytest.approx(vector[name], rel=1e-12, abs=1e-15)
    if vector["users"] > 1000:
        return
    gain, factor, reverse = naive.click_effect(*state)
    assert vector["signs"] == [(x > 0) - (x < 0) for x in (gain, factor - 1, reverse - 1)]
    assert vector["zone"] == naive.click_zone(*state)
    assert vector["commonality"] == float(gain)
    assert (vector["disclosure"], vector["reverse"]) == (math.log(factor), math.log(reverse))


def test_the_vectors_show_every_zone() -> None:
    assert {v["zone"] for v in VECTORS} == set(ZONES)


@pytest.mark.kernel
def test_every_item_at_once() -> None:
    states = [(a, b) for a in range(9) for b in range(9 - a)]
    likes, dislikes = (np.array(x, dtype=np.int64) for x in zip(*states, strict=True))
    found = effects(Profiles(likes, dislikes, 8), "2")
    for k, (a, b) in enumerate(states):
        for row, sign in ((0, 1), (1, -1)):
            if a + b == 8:
                assert found.zone(sign)[k] is None
                assert np.isnan(found.disclosure[row, k])
                continue
            one = effect(a, b, 8, sign, "2")
            assert found.zone(sign)[k] == one.zone
            assert found.commonality[row, k] == one.commonality
            assert (found.disclosure[row, k], found.reverse[row, k]) == (one.disclosure, one.reverse)


def test_theorem_1_is_off_by_one() -> None:
    """Its signs from popularity and preferability before the click are wrong in 1640 of 22,960 states each; means of
    before and after make those of disclosure exact."""
    wrong, wrong_between, states = [0, 0, 0], 0, 0
    for n in range(1, 41):
        for a in range(n):
            for b in range(n - a):
                states += 2  # a like and a dislike mirror each other
                p, q = Fraction(a + b, n), Fraction(a - b, n)
                says = q, 2 - 3 * p - q, 2 - 3 * p + q
                exact = effect(a, b, n, 1).signs
                for k in range(3):
                    wrong[k] += 2 * (_sign(says[k]) != exact[k])
                half = Fraction(1, 2 * n)
                wrong_between += 2 * (_sign(2 - 3 * (p + half) - (q + half)) != exact[1])
    assert states == 22_960
    assert wrong == [1640, 1640, 1640]
    assert wrong_between == 0


def _sign(x: Fraction) -> int:
    return (x > 0) - (x < 0)


# --- replay --------------------------------------------------------------------------------------------------------


@pytest.mark.kernel
@given(logs(), st.sampled_from(["basic", "careful", "smart", "own", "each her own"]), st.booleans())
def test_replay_equals_its_twin(rows: list[tuple[int, int, int]], how: str, growing: bool) -> None:
    of = world(rows, list(range(len(rows))))
    own = policy(trade_off="change", safe="cancel")
    each = [[BASIC, SMART, own][u % 3] for u in range(of.users)]
    by = each if how == "each her own" else [{**STRATEGIES, "own": own}[how]] * of.users
    found = replay(of, by if how == "each her own" else by[0], growing=growing)
    coded = list(zip(of.data.user.tolist(), of.data.item.tolist(), of.sign.tolist(), strict=True))
    seen = [len({u for u, _, _ in coded[: k + 1]}) for k in range(len(coded))]
    many = seen if growing else [of.users] * len(coded)
    zones, actions, gains, factors, counts = naive.click_replay(coded, many, [dict(p) for p in by])
    assert [ZONES[z] for z in found.zones] == zones
    assert [ACTIONS[a] for a in found.actions] == actions
    assert found.commonality.tolist() == [float(g) for g in gains]
    assert found.disclosure == pytest.approx([math.log(f) for f in factors], abs=1e-12)
    assert [counts[i] for i in sorted(counts)] == list(
        zip(found.profiles.likes.tolist(), found.profiles.dislikes.tolist(), strict=True)
    )
    made = profiles(found.made)
    assert (made.likes.tolist(), made.dislikes.tolist()) == (
        found.profiles.likes.tolist(),
        found.profiles.dislikes.tolist(),
    )


@given(logs(), st.randoms(use_true_random=False))
def test_clicks_without_gain_are_the_same_in_any_order(rows: list[tuple[int, int, int]], chance: Any) -> None:
    """Their number is the sum over items of the smaller of likes and dislikes."""
    order = list(range(len(rows)))
    chance.shuffle(order)
    of = world(rows, order)
    item = profiles(of)
    assert np.count_nonzero(replay(of).commonality <= 0) == np.minimum(item.likes, item.dislikes).sum()


@given(logs())
def test_commonality_and_disclosure_by_definition(rows: list[tuple[int, int, int]]) -> None:
    of = world(rows)
    table = np.zeros((of.users, of.data.n_items), dtype=int)
    table[of.data.user, of.data.item] = of.sign
    columns = [table[:, i].tolist() for i in range(of.data.n_items)]
    pull = [sum(c) for c in zip(*map(naive.click_pull, columns), strict=True)]
    told = [-sum(math.log(p) for p in c) for c in zip(*map(naive.click_information, columns), strict=True)]
    assert commonality(of) == pytest.approx([float(p) for p in pull], abs=1e-12)
    assert disclosure(of) == pytest.approx(told, abs=1e-12)


def test_times_give_the_order_and_unknown_ones_come_last() -> None:
    data = from_ids(pl.Series([1, 2, 3]), pl.Series([1, 1, 1]), np.array([5.0, 1, 1]), np.array([np.nan, 2.0, 1.0]))
    found = replay(clicks(data, 3))
    assert found.asked.data.user.tolist() == [2, 1, 0]
    assert found.counts["deleterious"] + found.counts["dangerous"] == 1


# --- real data -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def films(real_data: Path) -> Clicks:
    return clicks(read(real_data / "ml-100k" / "ratings.parquet"), like=3)


@pytest.mark.data
def test_figures_on_movielens(films: Clicks) -> None:
    told = disclosure(films, "10")
    assert told.mean() == pytest.approx(154.8350986, abs=1e-7)
    assert np.median(told) == pytest.approx(105.6098151, abs=1e-7)
    assert (told.min(), told.max()) == pytest.approx((59.6608387, 1453.7034375), abs=1e-7)
    assert told[:5] == pytest.approx([321.482657, 101.914694, 117.830976, 71.399772, 258.661538], abs=1e-6)
    assert disclosure(films).mean() == pytest.approx(154.8350986252707 * math.log(10), rel=1e-12)
    assert disclosure(films, "2").mean() == pytest.approx(154.8350986252707 / math.log10(2), rel=1e-12)
    common = commonality(films)
    assert common.sum() == pytest.approx(2978.2789320, abs=1e-7)
    assert (common.min(), common.max()) == pytest.approx((-1.9847411, 11.6879232), abs=1e-7)
    size = np.bincount(films.data.user)
    assert np.corrcoef(size, told)[0, 1] == pytest.approx(0.9669, abs=5e-5)
    assert disclosure(clicks(films.data, 4), "10").mean() == pytest.approx(164.2168856, abs=1e-7)


@pytest.mark.data
def test_zones_on_movielens(films: Clicks) -> None:
    log = replay(films, base="10")
    assert list(log.counts.values()) == [83374, 145, 7, 16474]
    assert log.disclosure.sum() == pytest.approx(143152.58534986674, rel=1e-12)
    assert log.commonality.sum() == pytest.approx(989.8525148749092, rel=1e-12)
    assert np.count_nonzero(log.commonality <= 0) == 16481
    grown = replay(films, growing=True)
    assert list(grown.counts.values()) == [82031, 1488, 89, 16392]
    table = summary(films, "10")["strategies"]
    assert [(table[s]["clicks"], table[s]["changed"]) for s in STRATEGIES] == [(100000, 0), (78759, 0), (78765, 6)]
    assert table["careful"]["zones"]["deleterious"] == 21235
    assert table["smart"]["disclosure"] == pytest.approx(111.752, abs=5e-4)
    assert table["smart"]["commonality"] == pytest.approx(2928.68, abs=5e-3)


@pytest.mark.data
def test_disclosure_on_jester(real_data: Path) -> None:
    jokes = clicks(read(real_data / "jester" / "ratings.parquet"), like=0)
    assert disclosure(jokes)[[7, 62, 303]] == pytest.approx([118.57, 93.21, 70.23], abs=5e-3)


# --- tables, the command, bad input ---------------------------------------------------------------------------------


def test_tables_add_up() -> None:
    of = world(TOY)
    by_user, by_item = people(of), items(of)
    assert by_user["clicks"].to_list() == [2, 2, 2, 2]
    assert sum(by_user[z].sum() for z in ZONES) == len(of)
    assert by_item["like_zone"].to_list() == [effect(*s, 4, 1).zone for s in [(2, 0), (0, 1), (2, 0), (2, 1)]]
    assert summary(of)["zones"] == {z: by_user[z].sum() for z in ZONES}


def test_an_item_that_everyone_clicked() -> None:
    of = world([(1, 1, 1), (2, 1, 1), (1, 2, -1)])
    assert np.isfinite(disclosure(of)).all()
    assert items(of)["like_zone"].to_list()[0] is None
    assert items(of)["like_disclosure"].to_list()[0] is None


def test_foreign_profiles_are_clamped() -> None:
    of, none = world(TOY), world([(u, i, -s) for u, i, s in TOY])
    assert np.isfinite(disclosure(of, against=profiles(none))).all()


def test_the_command(recveil: Callable[..., Any], tmp_path: Path) -> None:
    toy = "user,item,rating,time\n" + "".join(f"u{u},i{i},{3 + s},{k}\n" for k, (u, i, s) in enumerate(TOY))
    (tmp_path / "toy.csv").write_text(toy)
    found = recveil(
        "clicks", "toy.csv", "--like", 3, "--base", 10, "--users", "u.csv", "--items", "i.parquet", json_answer=True
    )
    assert (found["rows"], found["users"], found["items"]) == (8, 4, 4)
    assert sum(found["zones"].values()) == 8
    assert found["commonality"]["sum"] == 1.25
    assert found["disclosure"]["base"] == "10"
    assert found["disclosure"]["max"] == pytest.approx(1.505150, abs=1e-6)
    assert set(found["strategies"]) == {"basic", "careful", "smart"}
    assert pl.read_csv(tmp_path / "u.csv")["user"].to_list() == ["u1", "u2", "u3", "u4"]
    assert pl.read_parquet(tmp_path / "i.parquet")["likes"].to_list() == [2, 0, 2, 2]
    assert "correlation with the number of clicks" in recveil("clicks", "sample:films").stdout
    assert "repeated clicks left out" in recveil("clicks", "sample:sessions").stderr


REFUSED: dict[str, tuple[list[object], str]] = {
    "base": (["--base", "3"], "unknown base '3'"),
    "like": (["--like", "nan"], "like must be a finite number, not nan"),
    "format": (["--users", "u.txt"], "unknown format to write 'txt'"),
    "folder": (["--items", "no/i.csv"], "no/i.csv"),
    "repeats": (["--duplicates", "all"], "user 1 rated item 1 more than once"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item,rating\n1,1,5\n1,1,4\n2,1,1\n")
    arguments, line = REFUSED[case]
    done = recveil("clicks", "a.csv", *arguments, code=1)
    assert line in done.stderr
    assert done.stdout == ""
    assert len([said for said in done.stderr.splitlines() if said.startswith("recveil:")]) == 1


def test_like_without_ratings_is_refused() -> None:
    bare = from_ids(pl.Series([1, 2]), pl.Series([1, 1]))
    with pytest.raises(RecveilError, match="rating column"):
        clicks(bare, like=3)
    assert clicks(bare).sign.tolist() == [1, 1]


def test_no_clicks() -> None:
    empty = from_ids(pl.Series([1]), pl.Series([1])).take(slice(0, 0))
    with pytest.raises(RecveilError, match="no clicks"):
        clicks(empty)


@pytest.mark.parametrize("state", [(1, 1, 2, 1), (-1, 0, 4, 1), (0, -1, 4, -1), (0, 0, 0, 1)])
def test_impossible_profiles(state: tuple[int, int, int, int]) -> None:
    with pytest.raises(RecveilError, match="nobody who could click"):
        effect(*state)


def test_a_click_is_a_like_or_a_dislike() -> None:
    with pytest.raises(RecveilError, match="not 2"):
        effect(1, 1, 4, 2)
    of = world(TOY)
    with pytest.raises(RecveilError, match="2 policies for 4 people"):
        replay(of, [BASIC, BASIC])
    with pytest.raises(RecveilError, match="unknown zone"):
        policy(risky="cancel")
    with pytest.raises(RecveilError, match="unknown action"):
        policy(safe="ignore")
