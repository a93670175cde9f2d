"""Clicks: replay against pure Python, and all items with both signs against plain numpy, as ratios of one run."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from time import process_time

import numpy as np

from recveil.clicks.effects import effects
from recveil.clicks.profiles import Clicks, Profiles, clicks, profiles
from recveil.clicks.replay import replay
from recveil.samples import sample

REPEAT = 7


def python_replay(user: list[int], item: list[int], sign: list[int], n: int, n_items: int) -> list[list[float]]:
    """The same loop as one would write it in Python, with the same results: zone, action and effects of every row."""
    likes, dislikes = [0] * n_items, [0] * n_items
    policy = [[0, 0, 0, 0]] * n
    zones, actions, gains, risks = [], [], [], []
    for u, i, s in zip(user, item, sign, strict=True):
        a, b = (likes[i], dislikes[i]) if s > 0 else (dislikes[i], likes[i])
        d = n - 2 * a - b - 1
        if a + 1 > b:
            zone = 1 if d < 0 else 0
        elif d < 0:
            zone = 0
        else:
            zone = 2 if n - a - 2 * b - 1 < 0 else 3
        zones.append(zone)
        gains.append((a + b + 1) * (a + 1 - b) / (n * n))
        risks.append(log((n - a - b) / (a + 1)))
        action = policy[u][zone]
        actions.append(action)
        if action == 1:
            continue
        if (s > 0) == (action == 0):
            likes[i] += 1
        else:
            dislikes[i] += 1
    return [zones, actions, gains, risks]


def numpy_effects(of: Profiles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both signs of every item with plain array operations; the logarithm of each group is taken once."""
    n, z = of.users, of.users - of.likes - of.dislikes
    a, b = np.stack([of.likes, of.dislikes]), np.stack([of.dislikes, of.likes])
    gains = (a + b + 1) * (a + 1 - b) / (n * n)
    risks = np.log(z / (a + 1))
    good, worse, reverse = a + 1 > b, n - 2 * a - b - 1 >= 0, n - a - 2 * b - 1 >= 0
    zones = np.where(good, np.where(worse, 0, 1), np.where(~worse, 0, np.where(reverse, 3, 2))).astype(np.uint8)
    return zones, gains, risks


def best(work: Callable[[], object], times: int = 1) -> float:
    """Processor time of one call, the best of several rounds: other work on the machine does not count."""
    found = []
    for _ in range(REPEAT):
        start = process_time()
        for _ in range(times):
            work()
        found.append((process_time() - start) / times)
    return min(found)


def compare_replay(of: Clicks) -> None:
    rows = of.data.user.tolist(), of.data.item.tolist(), of.sign.tolist()
    ours = replay(of)
    zones, _, gains, _ = python_replay(*rows, of.users, of.data.n_items)
    assert ours.zones.tolist() == zones
    assert ours.commonality.tolist() == gains
    fast, slow = best(lambda: replay(of), 5), best(lambda: python_replay(*rows, of.users, of.data.n_items))
    print(
        f"replay of {len(of):,} clicks: {fast / len(of) * 1e9:.0f} ns a click, "
        f"pure Python {slow / len(of) * 1e9:.0f} ns: {slow / fast:.1f}x (wanted: 20x)"
    )


def compare_effects(of: Profiles) -> None:
    ours, plain = effects(of), numpy_effects(of)
    assert np.array_equal(ours.zones, plain[0])
    assert np.allclose(ours.disclosure, plain[2])
    fast, slow = best(lambda: effects(of), 200), best(lambda: numpy_effects(of), 200)
    print(
        f"both signs of {len(of.likes):,} items: {fast * 1e6:.0f} us, plain numpy {slow * 1e6:.0f} us: "
        f"{slow / fast:.2f}x (wanted: 1.5x)"
    )


def main() -> None:
    data = sample("films?users=2000")
    of = clicks(data)
    in_order = np.argsort(data.time, kind="stable") if data.time is not None else np.arange(len(data))
    of = Clicks(data.take(in_order), of.sign[in_order])
    compare_replay(of)
    compare_effects(profiles(of))
    rng = np.random.default_rng(0)
    likes, dislikes = rng.integers(0, 400, 1682), rng.integers(0, 100, 1682)
    compare_effects(Profiles(likes, dislikes, 943))


if __name__ == "__main__":
    main()
