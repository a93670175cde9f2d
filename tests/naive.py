"""Slow, obvious twins of the kernels. A kernel's test is equality with its twin."""

from __future__ import annotations

import struct
from fractions import Fraction


def chacha_words(key: bytes, number: int, count: int, rounds: int = 12) -> list[int]:
    """The first 64-bit words of the ChaCha stream with this number (the nonce) under a 32-byte key."""
    words: list[int] = []
    block = 0
    while len(words) < count:
        state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key)]
        state += [*struct.unpack("<2I", struct.pack("<Q", block)), *struct.unpack("<2I", struct.pack("<Q", number))]
        words += struct.unpack("<8Q", struct.pack("<16I", *chacha_block(state, rounds)))
        block += 1
    return words[:count]


def chacha_block(state: list[int], rounds: int) -> list[int]:
    x = list(state)

    def turn(value: int, by: int) -> int:
        return ((value << by) | (value >> (32 - by))) & 0xFFFFFFFF

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for first, second, other, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[first] = (x[first] + x[second]) & 0xFFFFFFFF
            x[other] = turn(x[other] ^ x[first], by)

    for _ in range(rounds // 2):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return [(after + before) & 0xFFFFFFFF for after, before in zip(x, state, strict=True)]


def below(words: list[int], n: int) -> int:
    """An exactly uniform integer in [0, n) from the front of `words`, which is consumed."""
    fair = (2**64 - 1) - (2**64 - 1) % n
    while (word := words.pop(0)) >= fair:
        pass
    return word % n


def draw_per_group(starts: list[int], keys: list[int], weights: list[int], key: bytes) -> list[int]:
    drawn: list[int] = []
    for g, number in enumerate(keys):
        words = chacha_words(key, number, 2 * (starts[g + 1] - starts[g]) + 8)
        for _ in range(starts[g], starts[g + 1]):
            rest = below(words, sum(weights))
            index = 0
            while rest >= weights[index]:
                rest -= weights[index]
                index += 1
            drawn.append(index)
    return drawn


def skip(words: list[int], k: int) -> int:
    """Cells left alone before the next flip of probability k / 2^32, 64 for none of 64; consumes `words`."""
    chance = [1 - Fraction(2**32 - k, 2**32) ** (i + 1) for i in range(64)]
    used = [words.pop(0)]
    if any(int(c * 2**64) == used[0] for c in chance):
        used += [words.pop(0) for _ in range(31)]
    u = sum(Fraction(w, 2 ** (64 * (n + 1))) for n, w in enumerate(used))
    return next((i for i, c in enumerate(chance) if u < c), 64)


def flip_profile(profile: list[int], m: int, k: int, words: list[int]) -> list[int]:
    """The items of a profile over m items after every bit was flipped with probability k / 2^32."""
    flipped, cell = set(), 0
    while True:
        step = skip(words, k)
        cell += step
        if cell >= m:
            return sorted(set(profile) ^ flipped)
        if step < 64:
            flipped.add(cell)
            cell += 1


def pair_counts(profiles: list[set[int]], m: int) -> list[list[int]]:
    return [[sum(i in p and j in p for p in profiles) for j in range(m)] for i in range(m)]


def ones_histogram(profiles: list[set[int]], itemset: list[int]) -> list[int]:
    return [sum(len(p & set(itemset)) == k for p in profiles) for k in range(len(itemset) + 1)]


def pattern_counts(profiles: list[set[int]], itemset: list[int]) -> list[int]:
    counts = [0] * 2 ** len(itemset)
    for p in profiles:
        counts[sum(2**b for b, i in enumerate(itemset) if i in p)] += 1
    return counts


def similarities(
    profiles: list[set[int]], m: int, p: float, minsup: float
) -> dict[tuple[int, int], tuple[float, float]]:
    """(cosine, support) of every ordered pair of items that have minsup, by the formulas of the paper."""
    n, q, w = len(profiles), 1 - p, 2 * p - 1
    counts = pair_counts(profiles, m)
    single = [min(max((counts[i][i] - n * q) / w, 0), n) for i in range(m)]
    found = {}
    for i in range(m):
        for j in range(m):
            if i != j and min(single[i], single[j]) >= minsup:
                both = (counts[i][j] - q * (counts[i][i] + counts[j][j]) + n * q * q) / w**2
                both = min(max(both, 0), single[i], single[j])
                found[i, j] = min(both / (max(single[i], 1) * max(single[j], 1)) ** 0.5, 1), both
    return found


def top_items(
    history: list[int], similar: dict[tuple[int, int], tuple[float, float]], m: int, top: int, add: bool
) -> list[int]:
    scores = {}
    for j in set(range(m)) - set(history):
        given = [similar[i, j] for i in history if (i, j) in similar]
        scores[j] = (sum(sim for sim, _ in given), 0.0) if add else max(given, default=(0.0, 0.0))
    return sorted((j for j in scores if scores[j][0] > 0), key=lambda j: (-scores[j][0], -scores[j][1], j))[:top]
