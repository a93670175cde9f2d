from __future__ import annotations

import struct

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.kernels.chacha import below, stream, uniform, word
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.randomness import entropy, seeded


def test_the_twin_is_chacha() -> None:
    """RFC 8439, section 2.3.2: the block function's test vector."""
    key = bytes(range(32))
    nonce = bytes.fromhex("000000090000004a00000000")
    state = [
        0x61707865,
        0x3320646E,
        0x79622D32,
        0x6B206574,
        *struct.unpack("<8I", key),
        1,
        *struct.unpack("<3I", nonce),
    ]
    assert naive.chacha_block(state, 20)[:4] == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3]


@pytest.mark.kernel
@pytest.mark.parametrize("number", [0, 1, 2**32, 2**63 + 11])
def test_stream_is_chacha12(number: int) -> None:
    source = seeded(5)
    s = stream(source.key(), np.uint64(number))
    assert [int(word(s)) for _ in range(300)] == naive.chacha_words(source.key().tobytes(), number, 300)


@pytest.mark.kernel
def test_stream_zero_is_the_generator() -> None:
    source = seeded(6)
    s = stream(source.key(), np.uint64(0))
    assert [uniform(s) for _ in range(500)] == source.generator().random(500).tolist()


@pytest.mark.kernel
@pytest.mark.parametrize("n", [1, 2, 3, 10, 2**62 + 1])
def test_below_is_in_range_and_as_its_twin(n: int) -> None:
    source = seeded(7)
    s = stream(source.key(), np.uint64(4))
    words = naive.chacha_words(source.key().tobytes(), 4, 200)
    assert [int(below(s, n)) for _ in range(50)] == [naive.below(words, n) for _ in range(50)]


@pytest.mark.parametrize("values", ["empirical", "uniform"])
def test_random_ratings_equal_their_twin(values: str) -> None:
    rng = np.random.default_rng(3)
    data = from_ids(pl.Series(np.repeat([3, 8, 9], [4, 1, 5])), pl.Series(range(10)), rng.integers(1, 4, 10))
    mechanism, source = RandomRatings(values), seeded(8)
    made = mechanism.mask(data, mechanism.plan(mechanism.count(data), source), source)
    scale, counts = np.unique(data.rating, return_counts=True)
    weights = counts.tolist() if values == "empirical" else [1] * len(scale)
    key = source.derive("rating").key().tobytes()
    expected = naive.draw_per_group(data.starts().tolist(), data.keys("user").tolist(), weights, key)
    assert made.rows.rating is not None
    assert made.rows.rating.tolist() == scale[expected].tolist()


def test_sources_are_named_and_never_shown() -> None:
    root = seeded(1)
    assert root.derive("a", 1).key().tolist() == seeded(1).derive("a", 1).key().tolist()
    others = [root, root.derive("a"), root.derive("a", 1), root.derive("a", "1"), root.derive("a1"), seeded(2)]
    assert len({tuple(s.key()) for s in others}) == len(others)
    assert repr(root) == "Source(seeded=True)"


def test_entropy_is_new_each_time() -> None:
    assert entropy().key().tolist() != entropy().key().tolist()
    assert not entropy().seeded
    assert not entropy().derive("x").seeded


def test_names_belong_to_ids_and_key() -> None:
    names = seeded(1).names(["a", "b", 3])
    assert names.tolist() == [*seeded(1).names(["a"]), *seeded(1).names(["b"]), *seeded(1).names([3])]
    assert len(set(names.tolist()) | set(seeded(2).names(["a", "b", 3]).tolist())) == 6
    many = seeded(3).names(range(4000))
    assert many.min() >= 0
    assert abs(np.mean(many >= 2**62) - 0.5) < 5 * 0.5 / np.sqrt(4000)
