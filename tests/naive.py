"""Slow, obvious twins of the kernels. A kernel's test is equality with its twin."""

from __future__ import annotations

import math
import struct
from itertools import combinations, pairwise


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


def discrete_cells(
    key: bytes, n: int, block: int, low: list[int], high: list[int], law: tuple[int, int, int, int, bool, bool]
) -> list[int | None]:
    """Noise for cells 0 .. n - 1; None where the bounds do not decide. law: start, bits, p, q, gaussian, signed."""
    start, bits, p, q, gaussian, signed = law
    drawn: list[int | None] = []
    for first in range(0, n, block):
        words = chacha_words(key, first // block, 20 * block)
        cells = range(first, min(first + block, n))
        drawn += [discrete_value(words, low, high, start, 2**bits, p, q, gaussian, signed) for _ in cells]
    return drawn


def discrete_value(
    words: list[int],
    low: list[int],
    high: list[int],
    start: int,
    size: int,
    p: int,
    q: int,
    gaussian: bool,
    signed: bool,
) -> int | None:
    while True:
        u = words.pop(0)
        surely = [j for j in range(len(low)) if u < low[j] and (j == 0 or u >= high[j - 1])]
        if not surely:
            return None
        y = start + surely[0] * size
        rest = words.pop(0) if signed or size > 1 else 0
        x, negative = y + rest % size, signed and rest >= 2**63
        if negative and x == 0:
            continue
        above = x * x - y * y if gaussian else x - y
        if above == 0 or exp_coin(words, p * above, q):
            return -x if negative else x


def exp_coin(words: list[int], p: int, q: int) -> bool:
    """Heads with probability exp(-p / q): the parity of the first k whose coin of probability (p / q) / k fails."""
    k = 1
    while below(words, q) < p and (k == 1 or below(words, k) == 0):
        k += 1
    return k % 2 == 1


def nearest(queries: list[set[int]], records: list[set[int]]) -> list[float]:
    """The largest cosine of each query to any record."""
    return [max([cosine(q, r) for r in records], default=0.0) for q in queries]


def cosine(a: set[int], b: set[int]) -> float:
    return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0


Profile = dict[int, float]  # item: rating


def intersect(records: list[Profile], known: list[tuple[int, float]], tolerance: float) -> list[int]:
    """The records that hold every known item with a rating near enough (NaN: any rating)."""
    return [
        number
        for number, record in enumerate(records)
        if all(i in record and (math.isnan(v) or abs(record[i] - v) <= tolerance) for i, v in known)
    ]


def score(records: list[Profile], known: list[tuple[int, float]], weights: list[float], spread: float) -> list[float]:
    """The score of every record: the weight of each known item that it holds, less the farther its rating is."""
    scores = []
    for record in records:
        total = 0.0
        for i, v in known:
            if i in record:
                total += weights[i] * (1.0 if math.isnan(v) else math.exp(-abs(record[i] - v) / spread))
        scores.append(total)
    return scores


def eccentricity(scores: list[float]) -> float:
    top, second = sorted(scores, reverse=True)[:2]
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores))
    return (top - second) / deviation if deviation else 0.0


def bounded_counts(
    baskets: list[list[int]], kept: list[int], edges: list[int], pair_share: int, length_share: int, unit: int
) -> tuple[dict[int, int], dict[tuple[int, int], int], dict[int, int], dict[tuple[int, int], int]]:
    """Items, pairs, lengths and transitions of baskets, every basket with an integer norm of at most `unit` in each."""
    items: dict[int, int] = {}
    pairs: dict[tuple[int, int], int] = {}
    lengths: dict[int, int] = {}
    moves: dict[tuple[int, int], int] = {}
    for basket in baskets:
        once = list(dict.fromkeys(basket))
        for i in once:
            items[i] = items.get(i, 0) + math.isqrt(unit * unit // len(once))
        inside = [kept.index(i) for i in once if i in kept]
        if len(inside) < 2:
            continue
        kind = max(j for j, edge in enumerate(edges) if edge <= len(inside))
        lengths[kind] = lengths.get(kind, 0) + math.isqrt(length_share)
        both = list(combinations(sorted(inside), 2))
        for pair in both:
            pairs[pair] = pairs.get(pair, 0) + math.isqrt(pair_share // len(both))
        for move in pairwise(inside):
            moves[move] = moves.get(move, 0) + math.isqrt(unit * unit // (len(inside) - 1))
    return items, pairs, lengths, moves


def pick(words: list[int], cumulated: list[int]) -> int:
    u = words.pop(0) >> 32
    return min(sum(c <= u for c in cumulated), len(cumulated) - 1)


def walk_basket(words: list[int], size: int, first: list[int], rows: list[list[int]]) -> list[int]:
    basket: list[int] = []
    while len(basket) < size:
        tries = 0
        while True:
            if not basket or tries >= 20:
                new = pick(words, first) if tries < 60 else below(words, len(first))
            else:
                new = pick(words, rows[basket[below(words, len(basket))]])
            tries += 1
            if new not in basket:
                break
        basket.append(new)
    return basket


def pair_error(baskets: list[list[int]], target: list[list[float]], softness: float) -> float:
    """Half the weighted squares of (pair counts of the baskets - target)."""
    m = len(target)
    counts = [[0.0] * m for _ in range(m)]
    for basket in baskets:
        for a, b in combinations(basket, 2):
            for i, j in ((a, b), (b, a)):
                counts[i][j] += 1 / math.sqrt(len(basket) * (len(basket) - 1) / 2)
    cells = [(i, j) for i in range(m) for j in range(m) if i < j]
    return sum((counts[i][j] - target[i][j]) ** 2 / (target[i][j] + softness) for i, j in cells)


def swap_items(
    key: bytes, baskets: list[list[int]], target: list[list[float]], first: list[int], rows: list[list[int]],
    softness: float, sweeps: int,
) -> list[list[int]]:  # fmt: skip
    """A proposal is accepted if the whole error, computed anew, falls."""
    baskets = [list(b) for b in baskets]
    for sweep in range(sweeps):
        for k, basket in enumerate(baskets):
            words = chacha_words(key, sweep * len(baskets) + k, 20 * len(basket) + 8)
            for at in range(len(basket) if len(basket) > 1 else 0):
                if (words.pop(0) >> 11) * 2.0**-53 < 0.8:
                    other = below(words, len(basket) - 1)
                    new = pick(words, rows[basket[other if other < at else other + 1]])
                else:
                    new = pick(words, first)
                if new in basket:
                    continue
                before, old = pair_error(baskets, target, softness), basket[at]
                basket[at] = new
                if pair_error(baskets, target, softness) >= before:
                    basket[at] = old
    return baskets


def move_error(baskets: list[list[int]], target: list[list[float]], softness: float) -> float:
    m = len(target)
    counts = [[0.0] * m for _ in range(m)]
    for basket in baskets:
        for a, b in pairwise(basket):
            counts[a][b] += 1 / math.sqrt(len(basket) - 1)
    cells = [(i, j) for i in range(m) for j in range(m)]
    return sum((counts[i][j] - target[i][j]) ** 2 / (target[i][j] + softness) for i, j in cells)


def swap_order(
    key: bytes, baskets: list[list[int]], target: list[list[float]], softness: float, sweeps: int
) -> list[list[int]]:
    baskets = [list(b) for b in baskets]
    for sweep in range(sweeps):
        for k, basket in enumerate(baskets):
            words = chacha_words(key, sweep * len(baskets) + k, 20 * len(basket) + 8)
            for _ in range(len(basket) if len(basket) > 1 else 0):
                i, j = below(words, len(basket)), below(words, len(basket))
                before = move_error(baskets, target, softness)
                basket[i], basket[j] = basket[j], basket[i]
                if move_error(baskets, target, softness) >= before:
                    basket[i], basket[j] = basket[j], basket[i]
    return baskets
