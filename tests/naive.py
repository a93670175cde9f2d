"""Slow, obvious twins of the kernels. A kernel's test is equality with its twin."""

from __future__ import annotations

import math
import struct


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


def top_n(scores: list[list[float]], seen: list[set[int]], n: int) -> list[list[int]]:
    lists = []
    for row, hidden in zip(scores, seen, strict=True):
        candidates = [(-s, i) for i, s in enumerate(row) if i not in hidden and s != float("-inf")]
        best = [i for _, i in sorted(candidates)[:n]]
        lists.append(best + [-1] * (n - len(best)))
    return lists


def grade(ranked: list[int], relevant: set[int], n: int) -> tuple[float, float, float, float]:
    """Precision, recall, NDCG and average precision of the first n."""
    hits = [item in relevant for item in ranked[:n]]
    gain = sum(1 / math.log2(k + 2) for k, hit in enumerate(hits) if hit)
    ideal = sum(1 / math.log2(k + 2) for k in range(min(n, len(relevant))))
    precisions = [sum(hits[: k + 1]) / (k + 1) for k, hit in enumerate(hits) if hit]
    return sum(hits) / n, sum(hits) / len(relevant), gain / ideal, sum(precisions) / len(relevant)


def auc(scores: list[float], seen: set[int], relevant: set[int]) -> float:
    wanted = [s for i, s in enumerate(scores) if i in relevant - seen]
    others = [s for i, s in enumerate(scores) if i not in relevant | seen]
    won = sum((a > b) + (a == b) / 2 for a in wanted for b in others)
    return won / (len(wanted) * len(others)) if wanted and others else float("nan")


def fold_in(
    history: list[int],
    V: list[list[float]],
    bias: list[float],
    epochs: int,
    rate: float,
    penalty: float,
    words: list[int],
) -> list[float]:
    """Steps of BPR for one person with the items fixed; `words` are her random words."""
    u = [0.0] * len(V[0])
    for _ in range(epochs):
        for i in history:
            j = below(words, len(V))
            if j in history:
                continue
            gap = bias[i] - bias[j] + sum(x * (a - b) for x, a, b in zip(u, V[i], V[j], strict=True))
            z = 1 / (1 + math.exp(gap))
            u = [x + rate * (z * (a - b) - penalty * x) for x, a, b in zip(u, V[i], V[j], strict=True)]
    return u
