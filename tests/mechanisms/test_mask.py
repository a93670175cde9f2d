"""mask: exact flips, their law, the guarantee, and bad input."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.kernels.bits import unpack
from recveil.kernels.chacha import stream, word
from recveil.kernels.flips import flip_cells, flip_columns, flip_profiles, skip, skip_table
from recveil.mechanism import PublicInfo
from recveil.mechanisms import mask as room
from recveil.mechanisms.mask import Mask, bit_epsilon, flips, perturb
from recveil.mechanisms.spec import parse, text
from recveil.randomness import seeded
from recveil.releases.catalogue import Catalogue
from recveil.releases.doubts import doubts
from recveil.releases.release import release
from recveil.views.bits import Columns, columns

K = flips(0.8)


def world(users: int = 30, items: int = 70, rows: int = 300) -> Interactions:
    rng = np.random.default_rng(1)
    user, item = np.divmod(rng.permutation(users * items)[:rows], items)
    return from_ids(pl.Series([f"u{u:04d}" for u in user]), pl.Series(item), rating=np.ones(rows), time=np.arange(rows))


@pytest.mark.kernel
@pytest.mark.parametrize("k", [K, flips(0.51), 3])
def test_flipped_profiles_are_the_twins(k: int) -> None:
    source = seeded(5)
    starts, items = np.array([0, 2, 2, 5]), np.array([1, 60, 0, 64, 99], dtype=np.int32)
    keys, m = np.array([7, 0, 2**40], dtype=np.uint64), 100
    bits = flip_profiles(starts, items, keys, m, *skip_table(k), source.key())
    ends, found = unpack(bits)
    across = np.zeros((m, 1), dtype=np.uint64)
    flip_columns(starts, items, keys, m, *skip_table(k), source.key(), across)
    for u in range(3):
        words = naive.chacha_words(source.key().tobytes(), int(keys[u]), 120)
        expected = naive.flip_profile(items[starts[u] : starts[u + 1]].tolist(), m, k, words)
        assert found[ends[u] : ends[u + 1]].tolist() == expected
        assert np.flatnonzero((across[:, 0] >> np.uint64(u)) & np.uint64(1)).tolist() == expected


@pytest.mark.kernel
def test_flipped_cells_are_the_twins() -> None:
    key = seeded(6).key()
    expected = naive.flip_profile([], 300, K, naive.chacha_words(key.tobytes(), 3, 200))
    assert flip_cells(300, *skip_table(K), stream(key, 3), 4).tolist() == expected


@pytest.mark.kernel
def test_fractions_are_exact() -> None:
    fractions, guide = skip_table(K)
    for i in (0, 1, 31, 63):
        value = sum(Fraction(int(w), 2 ** (32 * (n + 1))) for n, w in enumerate(fractions[:, i]))
        assert value == 1 - (1 - Fraction(K, 2**32)) ** (i + 1)
    assert guide[0] == 0
    assert guide[-1] == sum(int(fractions[0, i]) <= 4095 << 20 for i in range(64))


@pytest.mark.kernel
@pytest.mark.parametrize("at", [5, 40, 63])
@pytest.mark.parametrize(("more", "further"), [(-1, 0), (1, 1)])
def test_ties_are_broken_by_further_words(at: int, more: int, further: int) -> None:
    """A number held that agrees with a fraction in its first 32 bits, and further ones that differ by one or not."""
    fractions, guide = skip_table(K)
    s = stream(seeded(1).key(), 0)
    word(s)  # makes a block, whose second pair of halves is changed by hand
    s[16 + 2 * 16 + 16] = int(fractions[1, at]) + more
    step, held = skip(s, np.uint64(2**32 + int(fractions[0, at])), fractions, guide)
    assert step == at + further
    assert held == 0


def test_the_law_of_the_flips() -> None:
    """Every cell is flipped as often as it should be, cells at any distance are independent."""
    n, m, p = 4000, 256, 0.9
    starts, keys = np.zeros(n + 1, dtype=np.int64), np.arange(n, dtype=np.uint64)
    bits = flip_profiles(starts, np.empty(0, np.int32), keys, m, *skip_table(flips(p)), seeded(2).key())
    cells = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little").astype(np.float64)
    deviation = math.sqrt(p * (1 - p) / n)
    z = (cells.mean(axis=0) - (1 - p)) / deviation
    assert np.abs(z).max() < 4.5
    assert 0.8 < z.std() < 1.2
    centred = cells - (1 - p)
    for lag in (1, 2, 63, 64, 65):
        products = (centred[:, :-lag] * centred[:, lag:]).mean()
        assert abs(products) < 4.5 * p * (1 - p) / math.sqrt(n * (m - lag))


def test_release_and_perturb_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = world()
    made = release(data, Mask(0.8), seed=4)
    seen, used = perturb(data, Mask(0.8), seed=4)
    assert used == Mask(0.8)
    assert np.array_equal(columns(made.data.over_items(data.items), made.notes["people"]).pairs(), seen.pairs())
    assert made.data.rating is None and made.data.time is None and made.time == "drop"
    monkeypatch.setattr(room, "_SLAB", 10)
    assert release(data, Mask(0.8), seed=4).data.equals(made.data)


def test_flips_are_of_the_true_profile() -> None:
    data = world(users=200, items=100, rows=5000)
    seen, _ = perturb(data, Mask(0.9), seed=1)
    truth = columns(data)
    changed = Columns(seen.bits ^ truth.bits, 200, data.items).singles.sum()
    assert abs(changed - 2000) < 5 * math.sqrt(20000 * 0.09)


def test_an_item_of_the_catalogue_that_nobody_has_is_released_too() -> None:
    data = world(users=200)
    catalogue = pl.Series(range(100))
    made = release(data, Mask(0.8), seed=1, catalogue=catalogue)
    assert made.data.n_items == 100
    assert "catalogue" in str(made.guarantee.given)


def test_the_chosen_p_is_named_and_not_proved() -> None:
    made = release(world(), parse("mask:p=auto"), seed=2)
    assert isinstance(made.mechanism, Mask)
    assert 0.5 < float(made.mechanism.p) < 1
    assert made.mechanism.tuned
    assert parse(text(made.mechanism)) == made.mechanism
    assert made.guarantee.status == "none"
    assert f"{made.mechanism.p:g}" in made.guarantee.sentence


def test_the_guarantee_is_the_one_of_randomised_response() -> None:
    data = world()
    promise = Mask(0.9).guarantee(PublicInfo(data.kind, data.unit, data.items, None, True))
    assert (promise.status, promise.unit) == ("proved", "bit")
    assert promise.epsilon == pytest.approx(math.log(9), abs=1e-8)
    assert promise.epsilon is not None and promise.epsilon >= math.log((2**32 - flips(0.9)) / flips(0.9))
    assert f"{promise.epsilon * data.n_items:,.0f}, which promises nothing" in promise.sentence
    one = Mask(0.9).guarantee(PublicInfo(data.kind, data.unit, data.items[:1], None, True))
    assert "her whole profile over 1 item only with 2.2" in one.sentence and "promises nothing" not in one.sentence
    assert bit_epsilon(0.943) == pytest.approx(2.806, abs=1e-3)


@pytest.mark.parametrize("k", [1, 2, 3, 2**20 + 1, 2**31 - 2**20, 2**31 - 12345, 2**31 - 2, 2**31 - 1])
def test_epsilon_is_rounded_up_and_by_little(k: int) -> None:
    """Near p = 1/2 the ratio of the odds is near 1, and a rounded ratio has lost its digits."""
    with localcontext(Context(prec=60)):
        exact = (Decimal(2**32 - k) / Decimal(k)).ln()
        stated = Decimal(bit_epsilon(1 - k / 2**32))
        assert exact <= stated <= exact * (1 + Decimal(10) ** -14)


@pytest.mark.parametrize("p", ["0.5", "1", "0.3", "1.2", "nan", "half", "0.99999999999"])
def test_p_outside_is_one_clear_line(p: str) -> None:
    with pytest.raises(RecveilError, match="p ") as fault:
        parse(f"mask:p={p}")
    assert "\n" not in str(fault.value)


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_MOST_ROWS", 100)
    with pytest.raises(RecveilError, match="30 users x 68 items"):
        release(world(), Mask(0.8), seed=1)


def test_no_times_can_be_kept() -> None:
    with pytest.raises(RecveilError, match="times"):
        release(world(), Mask(0.8), seed=1, time="keep")


def test_one_person_alone_gets_a_line_or_a_release() -> None:
    alone = from_ids(pl.Series([1, 1, 1]), pl.Series([5, 6, 7]))
    with pytest.raises(RecveilError, match=r"everybody has the same items; name one, as in mask:p=0\.9"):
        release(alone, Mask())
    assert release(alone, Mask(0.99), seed=1).data.n_users == 1


def test_a_large_release_is_foretold_with_what_would_be_less() -> None:
    """40,000 people who have one of 5,000 items each: at p = .9 a tenth of 200 million bits flips."""
    data = from_ids(pl.Series(np.arange(40_000)), pl.Series(np.arange(40_000) % 5000))
    (line,) = doubts(Mask(0.9), data, Catalogue())
    assert line.startswith(
        "about 20 million rows will be invented for 40,000 people and 5,000 items, 0.7 GB of memory; "
    )
    assert "; p=0.99 in place of 0.9, or a public list of a tenth of the items (--items), a tenth of it" in line
    assert not doubts(Mask(0.99), data, Catalogue())
    assert not any("invented" in line for line in doubts(Mask(0.9), data, Catalogue(pl.Series(np.arange(500)))))
