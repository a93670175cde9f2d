"""A public space of items: directions out of an item file, and popularity bent in a few ways.

It is made of public facts and of the noisy answers of the first round. Whether it says anything of the people is asked
of their second moments, next to those in a decoy: the same features dealt out to other items.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.items import PublicItems

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST, MOST = 12, 64  # directions of features
_DARK, _UNTOLD = (
    0.02,
    0.2,
)  # of an item's features that principal axes must hold, and the share of items that may have less
_TURNS, _MORE = 8, 12  # of the search for principal axes, and directions more than wanted
_RATIOS = np.exp(np.linspace(np.log(0.03), np.log(40.0), 40))  # of an item's popularity to what its features tell
_BENDS = (0.0, 0.7, -1.2)  # where log popularity is bent, in its deviations
_LEAST = 1e-3  # of the largest variance: a direction with less is empty
_BORDER, _DEVIATIONS = 0.4, 2.0  # by which the features' second moments must exceed those of the decoy


def smooth(counts: Floats, sigma: float) -> Floats:
    """Noisy counts of neighbouring classes: what a Gaussian process makes of them, as smooth as they suggest.

    A class that does not stand out of what is unknown of it counts for none.
    """
    at = np.arange(len(counts))
    best, found, unknown = -np.inf, counts, np.ones(len(counts))
    for reach in (1.0, 2.0, 4.0, 7.0):
        alike = np.exp(-0.5 * ((at[:, None] - at) / reach) ** 2)
        for spread in sigma * 10.0 ** np.arange(-0.5, 4.1, 0.25):
            prior = spread**2 * alike
            lower = np.linalg.cholesky(prior + sigma**2 * np.eye(len(at)))
            half, part = np.linalg.solve(lower, counts), np.linalg.solve(lower, prior)
            likely = float(-0.5 * half @ half - np.log(np.diag(lower)).sum())
            if likely > best:
                best, found, unknown = likely, part.T @ half, np.diag(prior) - (part**2).sum(0)
    standing = found - 2 * np.sqrt(np.maximum(unknown, 0.0))
    found = np.where((standing > 0) | (standing == standing.max()), np.maximum(found, 1e-9), 0.0)
    return np.asarray(found * (max(float(counts.sum()), 1.0) / found.sum()))


def popularity(noisy: Floats, sigma: float | Floats, known: Any) -> Floats:
    """How many have each item: as its features tell, times a ratio of its own. No item of the catalogue has none.

    known: items x features. Counts are exp of a linear function of them, fitted by weighted squares; the ratios have a
    law that the noisy counts tell.
    """
    sigma = np.broadcast_to(sigma, noisy.shape)
    weights, level = np.zeros(known.shape[1]), np.log(max(float(noisy.mean()), 1e-3 * float(sigma.min())))
    for _ in range(40):
        mean = np.exp(np.clip(known @ weights + level, -12, 12))
        certain = 1 / (sigma**2 + mean**2)
        slope, left = certain * mean**2, certain * mean * (noisy - mean)
        step_level = float(np.clip(left.sum() / max(float(slope.sum()), 1e-12), -1, 1))
        step = conjugate(
            lambda v, w=slope: known.T @ (w[:, None] * (known @ v)) + v, known.T @ left[:, None] - weights[:, None]
        )
        step = step[:, 0] / max(1.0, float(np.abs(step).max(initial=0.0)))
        weights, level = weights + step, level + step_level
        if max(np.abs(step).max(initial=0.0), abs(step_level)) < 1e-3:
            break
    mean = np.exp(np.clip(known @ weights + level, -12, 12))
    far = ((noisy[:, None] - mean[:, None] * _RATIOS) / sigma[:, None]) ** 2
    likely = np.exp(0.5 * (far.min(1, keepdims=True) - far))
    share = np.full(len(_RATIOS), 1 / len(_RATIOS))
    for _ in range(100):
        share = (likely * (share / (likely @ share)[:, None])).mean(0)
    return np.asarray(mean * ((likely * share) @ _RATIOS) / (likely @ share))


def conjugate(times: Any, wanted: Floats, steps: int = 30) -> Floats:
    """Solve times(x) = wanted for a symmetric positive linear function, column by column at once."""
    found, rest = np.zeros_like(wanted), wanted.copy()
    ahead, size = rest.copy(), (rest * rest).sum(0)
    enough = 1e-12 * max(float(size.max(initial=0.0)), 1e-300)
    for _ in range(steps):
        moved = times(ahead)
        step = size / np.maximum((ahead * moved).sum(0), 1e-300)
        found += step * ahead
        rest -= step * moved
        before, size = size, (rest * rest).sum(0)
        if size.max(initial=0.0) <= enough:
            break
        ahead = rest + size / np.maximum(before, 1e-300) * ahead
    return found


def directions(people: float, sigma: float, items: int) -> int:
    """How many directions of features a space has: the more people there are to an item, above the noise, the more."""
    return int(np.clip(60 * (max(people, 1.0) / sigma / items) ** 0.6, FEWEST, MOST))


def reduced(facts: PublicItems, d: int) -> Floats:
    """Features in at most d columns: all of them; their principal axes; or a projection by public chance.

    Axes hold what many items share, such as genres. Of very many categories they would hold the largest ones alone, and
    say nothing of the items of the others.
    """
    known = facts.weighted()
    n, width = known.shape
    if width <= d:
        return np.asarray(known.toarray(), dtype=np.float64)
    chance = np.random.default_rng(0).standard_normal((width, d + _MORE))
    found = np.asarray(known @ principal(known, chance, d))
    there = np.diff(known.indptr) > 0
    dark = (found**2).sum(axis=1)[there] < _DARK
    return found if n > d and dark.mean() <= _UNTOLD else np.asarray(known @ chance[:, :d] / np.sqrt(d))


def principal(known: Any, start: Floats, d: int) -> Floats:
    """The d principal axes of sparse rows, as columns, largest first: powers of a few random directions."""
    for _ in range(_TURNS):
        start, _ = np.linalg.qr(known.T @ (known @ start))
    _, axes = np.linalg.eigh((known @ start).T @ (known @ start))
    return np.asarray(start @ axes[:, ::-1][:, :d])


def spaces(table: Floats, have: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The space: popularity bent, then the columns of the table, whitened under popularity.

    And the duel: the same columns of the table, beside those of a decoy, which are theirs dealt out to other items.
    """
    share = have / have.sum()
    high = np.log(np.maximum(have, 1e-9))
    high = high - share @ high
    high /= max(float(np.sqrt(share @ high**2)), 1e-9)
    bends = [np.minimum(high, 0.0), np.maximum(high - _BENDS[1], 0.0), np.minimum(high - _BENDS[2], 0.0)]
    bent = _white(np.stack([high, *bends], axis=1), share)
    around = np.hstack([np.ones((len(have), 1)), bent])
    mixed = np.random.default_rng(1).permutation(len(have))
    blocks = [_white(c - around @ ((around * share[:, None]).T @ c), share) for c in (table, table[mixed])]
    return np.hstack([bent, blocks[0]]).astype(np.float32), np.hstack(blocks).astype(np.float32)


def _white(columns: Floats, share: Floats) -> Floats:
    """Columns centred and whitened under the shares of items; directions without variance are empty."""
    columns = columns - share @ columns
    values, axes = np.linalg.eigh((columns * share[:, None]).T @ columns)
    scale = np.where(values > max(_LEAST * values.max(initial=0.0), 1e-12), 1 / np.sqrt(np.maximum(values, 1e-12)), 0.0)
    return np.asarray(columns @ (axes * scale))


def moments(triangle: Ints | Floats, d: int, unit: float) -> Floats:
    """The symmetric table of a triangle whose cells off the diagonal were counted times sqrt(2)."""
    found = np.zeros((d, d))
    found[np.triu_indices(d)] = triangle / unit
    found[~np.eye(d, dtype=bool)] /= np.sqrt(2)
    return np.asarray(found + np.triu(found, 1).T)


def structure(duel: Floats, people: float, sigma: float) -> tuple[float, float]:
    """By how much second moments of the features exceed those of the decoy, and the deviation of its noise.

    In units of what people without taste have. Noise adds as much to both, so it shifts nothing.
    """
    table, half = duel / people, len(duel) // 2
    squares = [float((block**2).sum()) for block in (table[:half, :half], table[half:, half:])]
    noise = (sigma / people) ** 2
    chance = 2 * noise**2 * half * (half + 1) + 4 * noise * max(sum(squares) - noise * half * (half + 1), 0.5 / half)
    return 4 * half * (squares[0] - squares[1]), 4 * half * float(np.sqrt(chance))


def trusted(duel: Floats, vectors: NDArray[np.float32], people: float, sigma: float, least: float = 0.0) -> bool:
    """Whether the features tell more of people than the same features dealt out to other items do, by `least` or more.

    Of features that say nothing the two are exchangeable, whatever the data: they differ by little.
    """
    active = (vectors != 0).any(axis=0)
    if not active.any():
        return False
    found, deviation = structure(duel[np.ix_(active, active)], people, sigma)
    return found > max(_BORDER + _DEVIATIONS * deviation, least)
