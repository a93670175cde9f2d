"""Slow, obvious twins of the kernels. A kernel's test is equality with its twin."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise, permutations
from typing import Any

import numpy as np


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


def score(
    records: list[Profile],
    known: list[tuple[int, float]],
    gains: list[list[float]],
    misses: list[list[float]],
    kinds: Sequence[int],
    scale: Sequence[float],
    spread: float,
) -> list[float]:
    """The score of every record: the gain of each known item that it holds, less the farther its rating is; a miss for
    every known item; scaled. A record without any known item scores nothing."""
    scores = []
    for number, record in enumerate(records):
        total, kind = 0.0, kinds[number]
        for i, v in known:
            if i in record:
                total += gains[i][kind] * (1.0 if math.isnan(v) else math.exp(-abs(record[i] - v) / spread))
        missed = sum(misses[i][kind] for i, _ in known)
        scores.append((total + missed) * scale[number] if total else 0.0)
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


def counts_of_people(
    people: list[list[list[int]]], kept: list[int], edges: list[int], shares: tuple[int, int], unit: int
) -> list[dict[Any, int]]:
    """The same where people have several baskets each: of every person the sum, scaled down to one unit as a whole."""
    totals: list[dict[Any, int]] = [{}, {}, {}, {}]
    for baskets in people:
        tables = bounded_counts(baskets, kept, edges, *shares, unit)
        for total, table, share in zip(totals, tables, (unit * unit, *shares, unit * unit), strict=True):
            square = sum(v * v for v in table.values())
            norm = math.isqrt(square - 1) + 1 if square else 0  # rounded up
            for cell, v in table.items():
                total[cell] = total.get(cell, 0) + (v if square <= share else v * math.isqrt(share) // norm)
    return totals


def pick(words: list[int], cumulated: list[int]) -> int:
    u = words.pop(0) >> 32
    return min(sum(c <= u for c in cumulated), len(cumulated) - 1)


def step(words: list[int], row: dict[int, int], first: list[int]) -> int:
    """An item by its cumulated weight in a row, which need not name all items; what it leaves open is by popularity."""
    u = words.pop(0) >> 32
    for j, c in row.items():
        if u < c:
            return j
    return pick(words, first)


def walk_basket(words: list[int], size: int, first: list[int], rows: list[dict[int, int]]) -> list[int]:
    basket: list[int] = []
    while len(basket) < size:
        tries = 0
        while True:
            if not basket or tries >= 20:
                new = pick(words, first) if tries < 60 else below(words, len(first))
            else:
                new = step(words, rows[basket[below(words, len(basket))]], first)
            tries += 1
            if new not in basket:
                break
        basket.append(new)
    return basket


def pair_error(baskets: list[list[int]], target: dict[tuple[int, int], float], softness: float) -> float:
    """Half the weighted squares of (pair counts of the baskets - target); pairs without a target are each alone."""
    counts = dict.fromkeys(target, 0.0)
    error = 0.0
    for basket in baskets:
        for a, b in combinations(basket, 2):
            w = 1 / math.sqrt(len(basket) * (len(basket) - 1) / 2)
            cell = (min(a, b), max(a, b))
            if cell in counts:
                counts[cell] += w
            else:
                error += w * w / softness
    return error + sum((counts[c] - target[c]) ** 2 / (target[c] + softness) for c in target)


def swap_items(
    key: bytes, baskets: list[list[int]], target: dict[tuple[int, int], float], first: list[int],
    rows: list[dict[int, int]], softness: float, sweeps: int, together: int = 1,
) -> list[list[int]]:  # fmt: skip
    """A proposal is accepted if the whole error, computed anew, falls; those who go together see each other before."""
    baskets = [list(b) for b in baskets]
    for sweep in range(sweeps):
        for k, basket in enumerate(baskets):
            if k % together == 0:
                seen = [list(b) for b in baskets]
            world = [*seen[:k], basket, *seen[k + 1 :]]
            words = chacha_words(key, sweep * len(baskets) + k, 20 * len(basket) + 8)
            for at in range(len(basket) if len(basket) > 1 else 0):
                if (words.pop(0) >> 11) * 2.0**-53 < 0.8:
                    other = below(words, len(basket) - 1)
                    new = step(words, rows[basket[other if other < at else other + 1]], first)
                else:
                    new = pick(words, first)
                if new in basket:
                    continue
                before, old = pair_error(world, target, softness), basket[at]
                basket[at] = new
                if pair_error(world, target, softness) >= before:
                    basket[at] = old
    return baskets


def cell_error(
    counts: list[list[float]], target: list[list[float]], share: list[float] | None, softness: float
) -> float:
    """Squares of (counts - target), which weigh 1 / (target, or the product of what both items have, + softness)."""
    found = 0.0
    for i, row in enumerate(target):
        for j, wanted in enumerate(row):
            weight = wanted if share is None else share[i] * share[j]
            found += (counts[i][j] - wanted) ** 2 / (weight + softness)
    return found


def pairs_of(baskets: list[list[int]], m: int) -> list[list[float]]:
    counts = [[0.0] * m for _ in range(m)]
    for basket in baskets:
        for a, b in permutations(basket, 2):
            counts[a][b] += 1 / math.sqrt(len(basket) * (len(basket) - 1) / 2)
    return counts


def moves_of(baskets: list[list[int]], m: int) -> list[list[float]]:
    counts = [[0.0] * m for _ in range(m)]
    for basket in baskets:
        for a, b in pairwise(basket):
            counts[a][b] += 1 / math.sqrt(len(basket) - 1)
    return counts


def halves(words: list[int]) -> tuple[int, int]:
    both = words.pop(0)
    return both % 2**32, both >> 32


def column(row: list[int], u: int) -> int:
    return next((j for j, c in enumerate(row) if c > u), len(row) - 1)


def walk_whole(words: list[int], size: int, rows: list[list[int]]) -> list[int]:
    """A basket: an item by popularity, the last row, then each by the row of a random member; none twice."""
    basket: list[int] = []
    while len(basket) < size:
        for tries in range(10**9):
            x, u = halves(words)
            row = rows[-1] if not basket or tries >= 20 else rows[basket[x * len(basket) >> 32]]
            new = column(row, u) if tries < 60 else u * len(row) >> 32
            if new not in basket:
                break
        basket.append(new)
    return basket


def swap_whole(
    key: bytes, baskets: list[list[int]], target: list[list[float]], share: list[float], rows: list[list[int]],
    softness: float, sweeps: int, tries: int, few: float,
) -> list[list[int]]:  # fmt: skip
    """Of a few proposals the first with which the whole error falls; a pair that is there too often is none."""
    baskets = [list(b) for b in baskets]
    m = len(target)
    for sweep in range(sweeps):
        taken = 0
        for k, basket in enumerate(baskets):
            words = chacha_words(key, sweep * len(baskets) + k, 80 * len(basket) + 8)
            for at in range(len(basket) if len(basket) > 1 else 0):
                others = [c for c in basket if c != basket[at]]
                for _ in range(tries):
                    x, u = halves(words)
                    other = (x * 5 * len(others) >> 32) // 4
                    new = column(rows[others[other]] if other < len(others) else rows[-1], u)
                    seldom = (
                        other >= len(others) or pairs_of(baskets, m)[new][others[other]] < target[new][others[other]]
                    )
                    if new in basket or not seldom:
                        continue
                    before, old = cell_error(pairs_of(baskets, m), target, share, softness), basket[at]
                    basket[at] = new
                    if cell_error(pairs_of(baskets, m), target, share, softness) < before:
                        taken += 1
                        break
                    basket[at] = old
        if taken < few * sum(map(len, baskets)):
            break
    return baskets


def shuffle(key: bytes, baskets: list[list[int]]) -> list[list[int]]:
    baskets = [list(b) for b in baskets]
    for k, basket in enumerate(baskets):
        words = chacha_words(key, k, len(basket) + 20)
        for last in range(len(basket) - 1, 0, -1):
            at = below(words, last + 1)
            basket[at], basket[last] = basket[last], basket[at]
    return baskets


def swap_order(
    key: bytes, baskets: list[list[int]], target: list[list[float]], softness: float, sweeps: int,
) -> list[list[int]]:  # fmt: skip
    baskets = [list(b) for b in baskets]
    m = len(target)
    for sweep in range(sweeps):
        for k, basket in enumerate(baskets):
            words = chacha_words(key, sweep * len(baskets) + k, 20 * len(basket) + 8)
            for _ in range(len(basket) if len(basket) > 1 else 0):
                x, u = halves(words)
                i, j = x * len(basket) >> 32, u * len(basket) >> 32
                before = cell_error(moves_of(baskets, m), target, None, softness)
                basket[i], basket[j] = basket[j], basket[i]
                if cell_error(moves_of(baskets, m), target, None, softness) >= before:
                    basket[i], basket[j] = basket[j], basket[i]
    return baskets


def sybil(records: list[Profile], known: Profile, cosine: bool, rounds: int, top: int) -> list[int]:
    """What fakes with the known signs are recommended: each round the nearest record's likes, the most liked first."""
    likes: dict[int, int] = {}
    for record in records:
        for i, sign in record.items():
            likes[i] = likes.get(i, 0) + (sign > 0)
    fake, told = dict(known), []
    for _ in range(rounds):

        def similarity(record: Profile, fake: Profile = fake) -> float:
            agree = sum(sign * record[i] for i, sign in fake.items() if i in record)
            return agree / math.sqrt(max(len(record), 1)) if cosine else agree

        nearest = max(records, key=similarity)  # of equals the first
        new = sorted((i for i, sign in nearest.items() if sign > 0 and i not in fake), key=lambda i: (-likes[i], i))[
            :top
        ]
        told += new
        fake |= dict.fromkeys(new, 1.0)
    return told


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


def skip(words: list[int], held: list[int], k: int) -> int:
    """Cells left alone before the next flip of probability k / 2^32, 64 for none of 64; consumes `words`, each in two
    halves, of which the lower is `held` for the next time."""
    chance = [1 - Fraction(2**32 - k, 2**32) ** (i + 1) for i in range(64)]
    if held:
        used = [held.pop()]
    else:
        word = words.pop(0)
        used = [word >> 32]
        held.append(word & (2**32 - 1))
    if any(int(c * 2**32) == used[0] for c in chance):
        used += [half for word in (words.pop(0) for _ in range(32)) for half in (word >> 32, word & (2**32 - 1))]
    u = sum(Fraction(w, 2 ** (32 * (n + 1))) for n, w in enumerate(used[:64]))
    return next((i for i, c in enumerate(chance) if u < c), 64)


def flip_profile(profile: list[int], m: int, k: int, words: list[int]) -> list[int]:
    """The items of a profile over m items after every bit was flipped with probability k / 2^32."""
    flipped, cell = set(), 0
    held: list[int] = []
    while True:
        step = skip(words, held, k)
        cell += step
        if cell >= m:
            return sorted(set(profile) ^ flipped)
        if step < 64:
            flipped.add(cell)
            cell += 1


def pair_counts(profiles: list[set[int]], m: int) -> list[list[int]]:
    return [[sum(i in p and j in p for p in profiles) for j in range(m)] for i in range(m)]


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


def uniform(words: list[int]) -> float:
    return (words.pop(0) >> 11) * 2.0**-53


def drawn(cumulated: list[float], words: list[int]) -> int:
    u = uniform(words)
    return next((k for k, c in enumerate(cumulated) if u < c), len(cumulated) - 1)


def weights(moves: list[int], CVS: list[list[int]], memory: list[int], taken: set[int]) -> list[int]:
    """Of every item: how often it comes next by `moves`, times CVS with each item in memory; 0 for those taken."""
    return [0 if x in taken else math.prod([w, *(CVS[c][x] for c in memory)]) for x, w in enumerate(moves)]


def next_item(
    DS: list[list[int]],
    CVS: list[list[int]],
    blocks: list[list[int]],
    here: int,
    memory: list[int],
    taken: set[int],
    words: list[int],
) -> int | None:
    """One step of a memory biased walk: a block is drawn by its bound, weighed, and drawn again if that fails."""
    for forgotten in range(len(memory) + 1):
        kept = memory[forgotten:]
        exact = weights(DS[here], CVS, kept, taken)
        shares = [
            sum(DS[here][x] for x in block) * math.prod(max((CVS[c][x] for x in block), default=0) for c in kept)
            for block in blocks
        ]
        while sum(shares) > 0:
            rest = uniform(words) * sum(shares)
            lanes = [b for lane in range(4) for b in range(lane, len(blocks), 4)]
            while rest >= shares[lanes[0]]:
                rest -= shares[lanes.pop(0)]
            b = lanes[0]
            for x in blocks[b]:
                rest -= exact[x]
                if rest < 0:
                    return x
            shares[b] = sum(exact[x] for x in blocks[b])
    for forgotten in range(len(memory) + 1):
        exact = weights(CVS[here], CVS, memory[forgotten:], taken)
        if sum(exact) > 0:
            goal = uniform(words) * sum(exact)
            return next(x for x in range(len(exact)) if sum(exact[: x + 1]) > goal)
    return None


def next_law(DS: list[list[int]], CVS: list[list[int]], here: int, memory: list[int], taken: set[int]) -> list[float]:
    """The same step by its definition: the probability of every item."""
    for moves in (DS[here], CVS[here]):
        for forgotten in range(len(memory) + 1):
            exact = weights(moves, CVS, memory[forgotten:], taken)
            if sum(exact) > 0:
                return [w / sum(exact) for w in exact]
    return [0.0] * len(DS)


def memory_walk(
    DS: list[list[int]],
    CVS: list[list[int]],
    blocks: list[list[int]],
    clicks: list[int],
    laws: tuple[list[float], list[float], list[float], bool],
    sliding: bool,
    repeats: bool,
    words: list[int],
) -> list[int]:
    """A whole stream: where the profile in the clicks of its person ends, the memory, the hops, and the walk."""
    end_law, memory_law, hops_law, to_length = laws
    end = min(max(drawn(end_law, words), 1), len(clicks)) if end_law else below(words, len(clicks)) + 1
    m = drawn(memory_law, words)
    walk = clicks[max(0, end - 1 - m) : end]
    profile = walk[:-1]
    hops = drawn(hops_law, words)
    for _ in range(max(1, hops - len(walk)) if to_length else hops):
        memory = walk[max(0, len(walk) - 1 - m) : -1] if sliding else profile
        x = next_item(DS, CVS, blocks, walk[-1], memory, set() if repeats else set(walk), words)
        if x is None:
            break
        walk = [*walk, x]
    return walk


def reach(matrix: list[list[float]], k: int, floor: float) -> list[float]:
    """Of each column the greatest scalar product with which it is among the k nearest of another, -inf below floor."""
    columns = list(zip(*matrix, strict=True))
    found = [float("-inf")] * len(columns)
    for i, mine in enumerate(columns):
        near = []
        for j, other in enumerate(columns):
            similarity = round(sum(a * b for a, b in zip(mine, other, strict=True)), 12)
            if j != i and similarity != 0 and similarity >= floor:
                near.append((-similarity, j))
        for similarity, j in sorted(near)[:k]:
            found[j] = max(found[j], -similarity)
    return found


def direction(column: list[float], centred: bool) -> list[float]:
    mean = sum(column) / len(column) if centred and column else 0.0
    length = sum((v - mean) * (v - mean) for v in column) ** 0.5
    return [(v - mean) / length if length >= 1e-9 else 0.0 for v in column]


def weighted_residual(table: list[list[float]], x: int, y: int, k: int, shrinkage: float) -> float:
    """The mean of column y over the k rows most like row x, weighted by likeness; a cell that is not there is NaN."""
    near = []
    for z, other in enumerate(table):
        pairs = [(a, b) for a, b in zip(table[x], other, strict=True) if a == a and b == b]
        if z == x or other[y] != other[y] or len(pairs) < 2:
            continue
        length = (sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)) ** 0.5
        likeness = sum(a * b for a, b in pairs) / length * (len(pairs) - 1) / (len(pairs) - 1 + shrinkage)
        if likeness > 0:
            near.append((likeness, other[y]))
    near = sorted(near, reverse=True)[:k]
    return sum(s * r for s, r in near) / sum(s for s, _ in near) if near else 0.0


def shuffle_per_group(
    starts: list[int], keys: list[int], values: list[float], fixed: list[bool], key: bytes
) -> list[float]:
    shuffled = list(values)
    for g, number in enumerate(keys):
        group = shuffled[starts[g] : starts[g + 1]]
        words = chacha_words(key, number, 2 * len(group) + 8)
        for last in range(len(group) - 1, 0, -1):
            if not fixed[g]:
                other = below(words, last + 1)
                group[last], group[other] = group[other], group[last]
        shuffled[starts[g] : starts[g + 1]] = group
    return shuffled


def bpr_steps(
    history: list[list[int]],
    U: list[list[float]],
    V: list[list[float]],
    bias: list[float],
    steps: int,
    rate: float,
    penalty: float,
    words: list[int],
) -> tuple[list[list[float]], list[list[float]], list[float]]:
    """BPR-MF, as Rendle et al. write it down: theta += rate (sigmoid(-x) dx/dtheta - penalty theta)."""
    U, V, bias = [list(u) for u in U], [list(v) for v in V], list(bias)
    cells = [(u, i) for u, items in enumerate(history) for i in items]
    for _ in range(steps):
        u, i = cells[below(words, len(cells))]
        j = below(words, len(V))
        if j in history[u]:
            continue
        x = bias[i] - bias[j] + sum(a * (b - c) for a, b, c in zip(U[u], V[i], V[j], strict=True))
        z = 1 / (1 + math.exp(x))
        mine, liked, other = U[u], V[i], V[j]
        U[u] = [a + rate * (z * (b - c) - penalty * a) for a, b, c in zip(mine, liked, other, strict=True)]
        V[i] = [b + rate * (z * a - penalty * b) for a, b in zip(mine, liked, strict=True)]
        V[j] = [c + rate * (-z * a - penalty * c) for a, c in zip(mine, other, strict=True)]
        bias[i] += rate * (z - penalty * bias[i])
        bias[j] += rate * (-z - penalty * bias[j])
    return U, V, bias


def machine_steps(
    history: list[list[int]],
    features: list[list[float]],
    U: list[list[float]],
    V: list[list[float]],
    bias: list[float],
    steps: int,
    rate: float,
    penalty: float,
    words: list[int],
) -> tuple[list[list[float]], list[list[float]], list[float]]:
    """BPR on a factorisation machine over (item, amounts of features); gradients by the formula of Rendle's machine."""
    U, V, bias = [list(u) for u in U], [list(v) for v in V], list(bias)
    cells = [(u, i) for u, items in enumerate(history) for i in items]
    n = len(features)

    def inputs(item: int) -> dict[int, float]:
        return {item: 1.0} | {n + f: x for f, x in enumerate(features[item]) if x}

    def score(u: list[float], item: int) -> float:
        vectors = [(1.0, u)] + [(x, V[row]) for row, x in inputs(item).items()]
        total = sum(x * bias[row] for row, x in inputs(item).items())
        for a in range(len(vectors)):
            for b in range(a):
                (x, v), (y, w) = vectors[a], vectors[b]
                total += x * y * sum(p * q for p, q in zip(v, w, strict=True))
        return total

    for _ in range(steps):
        u, i = cells[below(words, len(cells))]
        j = below(words, n)
        if j in history[u]:
            continue
        z = 1 / (1 + math.exp(score(U[u], i) - score(U[u], j)))
        mine = U[u]
        sums = {t: [sum(x * V[row][f] for row, x in inputs(t).items()) for f in range(len(mine))] for t in (i, j)}
        U[u] = [a + rate * (z * (b - c) - penalty * a) for a, b, c in zip(mine, sums[i], sums[j], strict=True)]
        for item, towards in ((i, z), (j, -z)):
            for row, x in inputs(item).items():
                V[row] = [
                    v + rate * (towards * x * (a + t - x * v) - penalty * v)
                    for v, a, t in zip(V[row], mine, sums[item], strict=True)
                ]
                bias[row] += rate * (towards * x - penalty * bias[row])
    return U, V, bias


def click_information(column: list[int]) -> list[Fraction]:
    """The probability of each person's entry in a column of likes (1), dislikes (-1) and neither (0)."""
    return [Fraction(column.count(e), len(column)) for e in column]


def click_pull(column: list[int]) -> list[Fraction]:
    """Each person's share of commonality from one item: popularity times preferability, with her sign."""
    n, likes, dislikes = len(column), column.count(1), column.count(-1)
    return [Fraction(likes + dislikes, n) * Fraction(likes - dislikes, n) * e for e in column]


def click_effect(likes: int, dislikes: int, users: int, sign: int) -> tuple[Fraction, Fraction, Fraction]:
    """By definition: the change in commonality of one who clicks, and by which factor the probability of her entry
    falls (disclosure grows by its logarithm), for the click and for the opposite click instead."""
    before = [0] + [1] * likes + [-1] * dislikes + [0] * (users - likes - dislikes - 1)
    after, opposite = [sign, *before[1:]], [-sign, *before[1:]]
    was = click_information(before)[0]
    return (
        click_pull(after)[0] - click_pull(before)[0],
        was / click_information(after)[0],
        was / click_information(opposite)[0],
    )


def click_zone(likes: int, dislikes: int, users: int, sign: int) -> str:
    common, told, reverse = click_effect(likes, dislikes, users, sign)
    if common > 0:
        return "safe" if told < 1 else "trade_off"
    if told < 1:
        return "trade_off"
    return "dangerous" if reverse < 1 else "deleterious"


def click_replay(
    rows: list[tuple[int, int, int]], people: list[int], policies: list[dict[str, str]]
) -> tuple[list[str], list[str], list[Fraction], list[Fraction], dict[int, tuple[int, int]]]:
    """Zones, actions and effects of (user, item, sign) in order, and every item's likes and dislikes in the end."""
    counts: dict[int, tuple[int, int]] = {}
    zones, actions, gains, told = [], [], [], []
    for (user, item, sign), n in zip(rows, people, strict=True):
        likes, dislikes = counts.get(item, (0, 0))
        zones.append(click_zone(likes, dislikes, n, sign))
        actions.append(policies[user][zones[-1]])
        gain, factor, _ = click_effect(likes, dislikes, n, sign)
        gains.append(gain)
        told.append(factor)
        made = {"confirm": sign, "cancel": 0, "change": -sign}[actions[-1]]
        counts[item] = (likes + (made == 1), dislikes + (made == -1))
    return zones, actions, gains, told, counts


def mdav(records: list[list[int]], k: int) -> list[int]:
    """Groups of dense records, in rational arithmetic; of equals the first."""

    def apart(a: list[Fraction], b: list[int]) -> Fraction:
        return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))

    def point(u: int) -> list[Fraction]:
        return [Fraction(v) for v in records[u]]

    def split(end: int) -> None:
        others = sorted((u for u in left if u != end), key=lambda u: (apart(point(end), records[u]), u))
        for u in [end, *others[: k - 1]]:
            group[u] = max(group) + 1 if u == end else group[end]
            left.remove(u)

    left, group = list(range(len(records))), [-1] * len(records)
    while len(left) >= 2 * k:
        many = len(left) >= 3 * k
        centre = [Fraction(sum(records[u][i] for u in left), len(left)) for i in range(len(records[0]))]
        first = max(left, key=lambda u: (apart(centre, records[u]), -u))
        split(first)
        if many:
            split(max(left, key=lambda u: (apart(point(first), records[u]), -u)))
    last = max(group) + 1
    return [last if g < 0 else g for g in group]


def laplace_per_group(starts: list[int], keys: list[int], key: bytes) -> list[float]:
    """Noise of scale 1 for every row, from the stream of its group: how far, then to which side."""
    drawn = []
    for begin, end, number in zip(starts[:-1], starts[1:], keys, strict=True):
        words = chacha_words(key, number, 2 * (end - begin))
        for row in range(end - begin):
            far = -math.log(1.0 - (words[2 * row] >> 11) * 2.0**-53)
            drawn.append(far if words[2 * row + 1] & 1 else -far)
    return drawn


def folkrank(edges: list[list[float]], preference: list[float], damping: float, iterations: int) -> list[float]:
    """Weights after spreading along a symmetric matrix of edge weights, from each node by the shares of its edges."""
    n = len(edges)
    degree = [sum(row) for row in edges]
    w = preference
    for _ in range(iterations):
        came = [sum(edges[i][j] / degree[j] * w[j] for j in range(n) if degree[j]) for i in range(n)]
        w = [damping * came[i] + (1 - damping) * preference[i] for i in range(n)]
    return w


def below_per_group(starts: list[int], keys: list[int], bounds: list[int], key: bytes) -> list[int]:
    drawn = []
    for g, number in enumerate(keys):
        words = chacha_words(key, number, 64)
        drawn += [below(words, bounds[row]) for row in range(starts[g], starts[g + 1])]
    return drawn


def posterior_mean(noisy: list[int], support: list[int], scale: float, steps: int) -> list[float]:
    """Of numbers with discrete Laplace noise, under the prior on `support` that EM fits to them from half on zero."""
    prior = [0.5 if v == 0 else 0.5 / (len(support) - 1) for v in support]
    for _ in range(steps + 1):
        chances = []
        for x in noisy:
            joint = [p * math.exp(-abs(x - v) / scale) for v, p in zip(support, prior, strict=True)]
            chances.append([j / sum(joint) for j in joint])
        prior = [sum(c[k] for c in chances) / len(noisy) for k in range(len(support))]
    return [sum(v * c for v, c in zip(support, row, strict=True)) for row in chances]


def draw_topics(starts: list[int], keys: list[int], laws: list[list[float]], key: bytes) -> list[int]:
    """For every row a topic, from the stream of its group; laws[row] need not add up to one."""
    drawn = []
    for begin, end, number in zip(starts[:-1], starts[1:], keys, strict=True):
        words = chacha_words(key, number, end - begin)
        for row in range(begin, end):
            rest = uniform(words) * sum(laws[row])
            cumulated = [sum(laws[row][: k + 1]) for k in range(len(laws[row]))]
            drawn.append(next((k for k, c in enumerate(cumulated) if rest < c), len(cumulated) - 1))
    return drawn


def divergence(a: list[float], b: list[float]) -> float:
    """Jensen-Shannon, in bits."""

    def against(p: list[float]) -> float:
        return sum(x * math.log2(2 * x / (y + z)) for x, y, z in zip(p, a, b, strict=True) if x > 0)

    return (against(a) + against(b)) / 2


def draw_tags(
    starts: list[int],
    keys: list[int],
    rows: list[tuple[int, int]],
    candidates: list[list[int]],
    laws: list[list[float]],
    sharpness: float,
    key: bytes,
) -> list[int]:
    """For every row (topic, tag) a candidate of the topic, alike ones more often; -1 where there is none."""
    drawn = []
    for begin, end, number in zip(starts[:-1], starts[1:], keys, strict=True):
        words = chacha_words(key, number, 40 * (end - begin))
        for topic, tag in rows[begin:end]:
            found = -1
            while candidates[topic] and found < 0:
                c = candidates[topic][below(words, len(candidates[topic]))]
                if uniform(words) < math.exp(-sharpness * divergence(laws[tag], laws[c])):
                    found = c
            drawn.append(found)
    return drawn


def add_products(users: list[list[tuple[int, float]]], right: int, size: int) -> list[list[float]]:
    """Sums over users of the products of their values of items i (a row) and j (a column), i before j."""
    total = [[0.0] * size for _ in range(size)]
    for cells in users:
        for i, a in cells:
            for j, b in cells:
                if i < right <= j or (right == 0 and i < j):
                    total[i][j - right] += a * b
    return total


def block_nearest(total: list[list[float]], floor: float, same: bool, k: int) -> list[list[tuple[int, float]]]:
    """The k nearest of every row among the columns and of every column among the rows; one list for both if `same`."""
    near: list[list[tuple[float, int]]] = [[] for _ in range(len(total) * (1 if same else 2))]
    for i, row in enumerate(total):
        for j, value in enumerate(row):
            if value != 0 and round(value, 12) >= floor:
                near[i].append((-round(value, 12), j))
                near[j if same else len(total) + j].append((-round(value, 12), i))
    return [[(j, -s) for s, j in sorted(found)[:k]] for found in near]


# --- traces of a person in a release: kernels/membership.py -------------------------------------------------------


def closeness(person: set[int], records: list[set[int]], weights: Sequence[float]) -> list[float]:
    """The features of kernels.membership.CLOSENESS, by their definitions."""
    cosines, jaccard, inside, holds, heavy, lifts = [], [], [], [0.0], [], []
    mean = sum(map(len, records)) / len(records)
    for record in records:
        both = person & record
        cosines.append(len(both) / math.sqrt(len(person) * len(record)))
        jaccard.append(len(both) / len(person | record))
        inside.append(len(both) / len(person))
        if len(record) >= 3:
            holds.append((len(both) - 1) / len(record))
        weight = [sum(weights[i] for i in items) for items in (both, person, record)]
        heavy.append(weight[0] / math.sqrt(weight[1] * weight[2]))
        by_chance = sum(sum(i in r for r in records) / len(records) for i in person) * len(record) / mean
        lifts.append((len(both) - by_chance) / math.sqrt(by_chance + 1))
    top = sorted([*cosines, 0.0, 0.0, 0.0, 0.0, 0.0], reverse=True)[:5]
    soft = math.log(sum(math.exp(20 * c) for c in cosines) / len(cosines))
    return [top[0], sum(top) / 5, top[0] - top[1], soft, max(jaccard), max(inside), max(holds), max(heavy), max(lifts)]


def pair_traces(person: set[int], records: list[set[int]], population: list[set[int]]) -> list[float]:
    """The features of kernels.membership.PAIRS, by their definitions."""
    pairs = [(a, b) for a in person for b in person if a < b]
    if not pairs:
        return [0.0, 0.0, 0.0]
    here = [sum(a in r and b in r for r in records) for a, b in pairs]
    there = [sum(a in r and b in r for r in population) for a, b in pairs]
    share = len(records) / len(population)
    rare = [h > 0 for h, t in zip(here, there, strict=True) if t <= 3]
    logs = [math.log((h + 0.25) / (t * share + 0.25)) for h, t in zip(here, there, strict=True)]
    lifts = [h / t for h, t in zip(here, there, strict=True)]
    return [sum(lifts) / len(pairs), sum(logs) / len(pairs), sum(rare) / len(rare) if rare else 0.0]


def first_ratings(ratings: list[tuple[int, float]]) -> dict[int, float]:
    """Of several ratings of an item the first."""
    found: dict[int, float] = {}
    for item, value in ratings:
        found.setdefault(item, value)
    return found


def standardised(values: list[float]) -> tuple[list[float], float, float]:
    """Values less their mean, in units of their spread (at least .05); mean and spread."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / max(spread, 0.05) for v in values], mean, spread


def bounded(row: dict[tuple[int, ...], float], unit: int) -> dict[tuple[int, ...], int]:
    """A person's numbers as integers, toward zero, halved until their norm is at most `unit`."""
    found = {cell: math.trunc(unit * x) for cell, x in row.items()}
    while sum(v * v for v in found.values()) > unit * unit:
        found = {cell: math.trunc(v / 2) for cell, v in found.items()}
    return found


def rating_tables(
    person: list[tuple[int, float]], effect: list[float], classes: tuple[list[float], list[float], list[float]],
    top: list[int], phi: list[list[float]], psi: list[list[float]], unit: int,
) -> dict[str, dict[tuple[int, ...], int]]:  # fmt: skip
    """What one person adds to each table of dp-ratings, cell by cell."""
    mine = first_ratings(person)
    s, items = len(mine), list(mine)
    plain, mean, spread = standardised(list(mine.values()))
    rest, shift, left = standardised([z - effect[i] for i, z in zip(items, plain, strict=True)])
    root = math.sqrt(s)
    tables = {
        "have": {(i,): math.isqrt(unit * unit // s) for i in items},
        "like": bounded({(i,): z / root for i, z in zip(items, plain, strict=True)}, unit),
        "rest": bounded({(i,): z / root for i, z in zip(items, rest, strict=True)}, unit),
    }
    levels, heights, spreads = classes
    of = [sum(value >= end for end in levels) for value in mine.values()]
    tables["levels"] = {(k,): unit * of.count(k) // s for k in set(of)}
    height, wide = mean + spread * shift, spread * min(left, 1.0)
    tables["profiles"] = {(sum(height >= e for e in heights), sum(wide >= e for e in spreads)): unit}
    among = [(top.index(i), z) for i, z in zip(items, rest, strict=True) if i in top]
    squares, t = sum(z * z for _, z in among), len(among)
    if t >= 2 and squares >= 1e-12:
        scale = t / squares / math.sqrt(t * (t - 1) / 2)
        tables["products"] = bounded(
            {(min(a, b), max(a, b)): scale * x * y for (a, x), (b, y) in combinations(among, 2)}, unit
        )
    for name, direction, weights in (("loadings", phi, rest), ("tastes", psi, [1.0] * s)):
        row: dict[tuple[int, ...], float] = {}
        for i, z in zip(items, weights, strict=True):
            others = [
                sum(w * direction[j][k] for j, w in zip(items, weights, strict=True) if j != i)
                for k in range(len(direction[0]))
            ]
            length = math.sqrt(sum(x * x for x in others))
            row |= {(i, k): z / root * x / length if length > 1e-9 else 0.0 for k, x in enumerate(others)}
        tables[name] = bounded(row, unit) if s >= 2 else {}
    return tables


def choose(words: list[int], weight: list[float], taste: list[list[float]], n: int) -> list[int]:
    """n items for one person, one after the other by weight; words of her stream."""
    u = iter((w >> 11) * 2.0**-53 for w in words)
    g = [math.sqrt(-2 * math.log(1 - next(u))) * math.cos(2 * math.pi * next(u)) for _ in taste[0]]
    lean = [sum(a * b - a * a / 2 for a, b in zip(row, g, strict=True)) for row in taste]
    own = [w * math.exp(x) for w, x in zip(weight, lean, strict=True)]
    found: list[int] = []
    vain, allowed = 0, 8 + len(weight) // 32
    while len(found) < n:
        at = next(u) * sum(own)
        new = next((i for i, total in enumerate(accumulate(own)) if total > at), len(own) - 1)
        if new not in found:
            found.append(new)
        else:
            vain += 1
        if vain > allowed:
            own, vain = [0.0 if i in found else w for i, w in enumerate(own)], 0
    return sorted(found)


def drawn_levels(
    baskets: list[list[int]], loading: list[list[float]], stand: list[list[float]], chance: list[list[float]],
    about: tuple[list[float], list[float], list[float]], shares: list[list[float]], offset: list[float],
    values: list[float],
) -> tuple[list[list[float]], list[float]]:  # fmt: skip
    """Each person's levels, and each item's mean before levels; about: effects of items, heights, spreads of people."""
    effect, height, spread = about
    leans = []
    for person, basket in enumerate(baskets):
        z = [
            sum(a * b for a, b in zip(loading[i], stand[person], strict=True))
            + math.sqrt(max(1 - sum(a * a for a in loading[i]), 0.05)) * e
            for i, e in zip(basket, chance[person], strict=True)
        ]
        middle = sum(z) / max(len(z), 1)
        size = math.sqrt(sum((x - middle) ** 2 for x in z) / max(len(z), 1))
        leans.append([spread[person] * (x - middle) / max(size, 0.05) for x in z])
    found, means = [[0.0] * len(b) for b in baskets], [0.0] * len(effect)
    for i in range(len(effect)):
        rows = [(p, b.index(i)) for p, b in enumerate(baskets) if i in b]
        common = sum(leans[p][a] for p, a in rows) / max(len(rows), 1)
        x = {(p, a): height[p] + spread[p] * effect[i] + leans[p][a] - common for p, a in rows}
        means[i] = sum(x.values()) / max(len(rows), 1)
        for rank, (p, a) in enumerate(sorted(rows, key=x.__getitem__)):
            place = (rank + offset[i]) / len(rows)
            found[p][a] = values[sum(place > end for end in list(accumulate(shares[i]))[:-1])]
    return found, means


def tilted_shares(
    mean: list[float], mixing: list[float], wanted: list[float], values: list[float], turns: tuple[int, int, int],
    power: float, most: float,
) -> list[list[float]]:  # fmt: skip
    """Newton's rule for the tilts and a power of the ratio for the common shape, turn by turn."""
    shape, tilt, shares = list(wanted), [0.0] * len(mean), [[0.0] * len(values) for _ in mean]
    rounds, steps, last = turns
    for number in range(rounds + 1):
        for i, wish in enumerate(mean):
            for _ in range(steps if number < rounds else last):
                raw = [g * math.exp(tilt[i] * v) for g, v in zip(shape, values, strict=True)]
                shares[i] = [r / sum(raw) for r in raw]
                now = sum(s * v for s, v in zip(shares[i], values, strict=True))
                variance = max(sum(s * v * v for s, v in zip(shares[i], values, strict=True)) - now * now, 0.02)
                tilt[i] = min(max(tilt[i] + min(max((wish - now) / variance, -2.0), 2.0), -most), most)
        if number < rounds:
            mixture = [sum(w * s[k] for w, s in zip(mixing, shares, strict=True)) for k in range(len(values))]
            shape = [max(g * (w / m) ** power, 1e-9) for g, w, m in zip(shape, wanted, mixture, strict=True)]
            shape = [g / sum(shape) for g in shape]
    return shares


def mixture_weights(
    likelihood: list[list[float]], counts: list[int], weight: list[float], steps: int, least: float
) -> list[float]:
    """Each row's count is shared among the columns by what they explain of it; a column's weight is what it got."""
    for _ in range(steps):
        got = [0.0] * len(weight)
        for row, count in zip(likelihood, counts, strict=True):
            joint = [a * w for a, w in zip(row, weight, strict=True)]
            got = [g + count * j / sum(joint) for g, j in zip(got, joint, strict=True)]
        weight = [max(g / max(sum(counts), 1), least) for g in got]
    return weight


def judged_by_weights(histories: list[list[int]], weights: dict[tuple[int, int], float], n: int) -> list[list[int]]:
    """Of each person the n unseen items that her items' weights add up to most; of equal ones the lower first."""
    made = []
    for history in histories:
        total: dict[int, float] = {}
        for item in history:
            for (a, b), weight in weights.items():
                if a == item and b not in history:
                    total[b] = total.get(b, 0.0) + weight
        best = sorted(total, key=lambda i: (-total[i], i))[:n]
        made.append(best + [-1] * (n - len(best)))
    return made


def judged_by_vectors(histories: list[list[int]], vectors: Any, bias: Any, known: Any, n: int) -> list[list[int]]:
    """The same by bias + vector x mean of hers, in single precision, dimension after dimension."""
    made = []
    for history in histories:
        hers = [i for i in history if known[i]]
        mean = [np.float32(0.0)] * len(vectors)
        for d in range(len(vectors)):
            for i in hers:
                mean[d] = np.float32(mean[d] + vectors[d][i])
            mean[d] = np.float32(mean[d] / np.float32(max(len(hers), 1)))
        scores = {}
        for i in range(len(bias)):
            score = np.float32(bias[i])
            for d in range(len(vectors)):
                score = np.float32(score + np.float32(mean[d] * vectors[d][i]))
            if known[i] and i not in history:
                scores[i] = score
        best = sorted(scores, key=lambda i: (-scores[i], i))[:n]
        made.append(best + [-1] * (n - len(best)))
    return made


def _bounded(vector: dict[object, int], unit: int) -> dict[object, int]:
    """A vector of integers, brought toward zero where its norm exceeds the unit."""
    square = sum(v * v for v in vector.values())
    if square <= unit * unit:
        return vector
    norm = math.isqrt(square - 1) + 1
    return {cell: abs(v) * unit // norm * (1 if v >= 0 else -1) for cell, v in vector.items()}


def _direction(rows: list[list[float]]) -> tuple[list[float], float]:
    total = [sum(column) for column in zip(*rows, strict=True)]
    return total, math.sqrt(sum(x * x for x in total))


def sizes_of_people(people: list[list[list[int]]], edges: list[int], unit: int) -> list[int]:
    total = [0] * len(edges)
    for baskets in people:
        hers: dict[object, int] = {}
        for basket in baskets:
            if basket:
                kind = sum(edge <= len(set(basket)) for edge in edges) - 1
                hers[kind] = hers.get(kind, 0) + unit
        for kind, v in _bounded(hers, unit).items():
            total[kind] += v  # type: ignore[call-overload]
    return total


def products_of_people(people: list[list[list[int]]], vectors: list[list[float]], unit: int) -> list[int]:
    d = len(vectors[0])
    cells = [(i, j) for i in range(d) for j in range(i, d)]
    total = dict.fromkeys(cells, 0)
    for baskets in people:
        hers: dict[object, int] = dict.fromkeys(cells, 0)
        for basket in baskets:
            z, length = _direction([vectors[i] for i in dict.fromkeys(basket)] or [[0.0] * d])
            if length >= 1e-9:
                for i, j in cells:
                    scale = unit if i == j else unit * math.sqrt(2.0)
                    hers[i, j] += int(scale * (z[i] / length) * (z[j] / length))
        for cell, v in _bounded(hers, unit).items():
            total[cell] += v  # type: ignore[index]
    return [total[cell] for cell in cells]


def loadings_of_people(people: list[list[list[int]]], vectors: list[list[float]], unit: int) -> list[list[int]]:
    d = len(vectors[0])
    total = [[0] * d for _ in vectors]
    for baskets in people:
        hers: dict[object, int] = {}
        for basket in baskets:
            items = list(dict.fromkeys(basket))
            if len(items) < 2:
                continue
            whole, _ = _direction([vectors[i] for i in items])
            for i in items:
                rest = [whole[c] - vectors[i][c] for c in range(d)]
                length = math.sqrt(sum(x * x for x in rest)) * math.sqrt(len(items))
                for c in range(d):
                    step = int(unit * (rest[c] / length)) if length > 1e-9 else 0
                    hers[i, c] = hers.get((i, c), 0) + step
        for (i, c), v in _bounded(hers, unit).items():  # type: ignore[misc]
            total[i][c] += v
    return total
