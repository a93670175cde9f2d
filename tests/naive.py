"""Slow, obvious twins of the kernels. A kernel's test is equality with its twin."""

from __future__ import annotations

import math
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
