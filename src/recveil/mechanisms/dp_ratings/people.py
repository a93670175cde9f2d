"""People as noisy histograms tell them: how they use the scale, how many levels occur, how much they rated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil.dp import denoise
from recveil.errors import RecveilError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEIGHTS = np.linspace(-0.6, 0.8, 13)  # ends of the classes of where people stand, and of how far they spread
SPREADS = np.array([0.25, 0.33, 0.4, 0.47, 0.55, 0.65])
LENGTHS = np.array([*range(2, 11), 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 75, 100, 150, 200, 300, 500])  # fmt: skip
_HEIGHT_ENDS = np.concatenate([[-0.9], HEIGHTS, [0.95]])
_SPREAD_ENDS = np.concatenate([[0.12], SPREADS, [0.8]])
FEWEST, ENOUGH = (
    20,
    40,
)  # people to a deviation of the noise in the levels; docs/explanation/dp_ratings.md says what fewer teach
_RARE = 0.001  # of the most frequent level: the weight of one that does not stand out of the noise


def profiles(noisy: Floats, sigma: float) -> Floats:
    """Shares of the classes of (height, spread): margins that stand out, multiplied, and what else shows."""
    table = noisy.reshape(len(HEIGHTS) + 1, len(SPREADS) + 1)
    high, wide = (_standing_out(table.sum(axis), sigma * np.sqrt(table.shape[axis])) for axis in (1, 0))
    prior = np.outer(high, wide) / max(high.sum(), wide.sum())
    rest = denoise.shrink((table - prior).ravel(), np.zeros(table.size, dtype=np.int8), sigma)
    found = np.maximum(prior + rest.reshape(table.shape), 0.0) * (prior > 0)
    found = found if found.sum() > 0 else prior
    return np.asarray(found / found.sum())


def _standing_out(margin: Floats, sigma: float) -> Floats:
    kept = np.where(margin > 2 * sigma, margin, 0.0)
    if not kept.any():
        kept[int(np.argmax(margin))] = 1.0
    return kept


def draw_profiles(shares: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Heights and spreads of n people, uniform within their classes."""
    cell = rng.choice(shares.size, size=n, p=shares.ravel())
    high, wide = np.divmod(cell, shares.shape[1])
    height = _HEIGHT_ENDS[high] + rng.random(n) * np.diff(_HEIGHT_ENDS)[high]
    return height, _SPREAD_ENDS[wide] + rng.random(n) * np.diff(_SPREAD_ENDS)[wide]


def typical(shares: Floats) -> tuple[float, float, float]:
    """The mean height of people, its variance, and their mean spread."""
    middle, width = (_HEIGHT_ENDS[1:] + _HEIGHT_ENDS[:-1]) / 2, np.diff(_HEIGHT_ENDS)
    high, wide = shares.sum(1), shares.sum(0)
    mean = float(high @ middle)
    variance = float(high @ (middle**2 + width**2 / 12)) - mean**2
    return mean, max(variance, 1e-4), float(wide @ ((_SPREAD_ENDS[1:] + _SPREAD_ENDS[:-1]) / 2))


def level_shares(noisy: Floats, sigma: float) -> Floats:
    """How often each level occurs."""
    top = max(float(noisy.max()), 1e-9)
    found = np.where(noisy > 2 * sigma, noisy, _RARE * top)
    return np.asarray(found / found.sum())


def number_of_people(lengths: Floats, sigma: dict[str, float]) -> tuple[int, Floats, str]:
    """To two digits, the shares of the classes of length that stand out of the noise, and a warning, if any.

    Fewer people than teach anything at this epsilon are refused: a function of noisy lengths alone.
    """
    counts = np.where(lengths > 3 * sigma["lengths"], lengths, 0.0)
    n, needed = float(counts.sum()), FEWEST * sigma["levels"]
    if n < needed:
        raise RecveilError(
            f"dp-ratings: about {n:,.0f} people stand out of the noise, and at this epsilon fewer than {needed:,.0f} "
            "teach nothing: more people or a larger epsilon would help"
        )
    digits = 10.0 ** max(np.floor(np.log10(n)) - 1, 0)
    number = max(int(np.round(n / digits) * digits), 1)
    enough = ENOUGH * sigma["levels"]
    little = (
        f"about {number:,} people stand out of the noise, and fewer than {enough:,.0f} teach little at this epsilon"
    )
    return number, counts / n, little if n < enough else ""


def draw_lengths(shares: Floats, k: int, most: int, rng: np.random.Generator) -> Ints:
    """How many kept items each of k people has."""
    last = np.append(LENGTHS[1:], 2 * LENGTHS[-1]) - 1
    kind = rng.choice(len(shares), size=k, p=shares)
    return np.minimum(rng.integers(LENGTHS[kind], last[kind] + 1), most)
