"""Supports of itemsets in the true data, reconstructed from data whose bits were kept with probability p.

q = 1 - p, w = 2p - 1. A user whose bits y_1 ... y_n of an itemset are seen stands for z = prod (y_b - q) / w people who
have all of it: p/w for a one, -q/w for a zero. The expectation of z is 1 for a person who has the whole itemset and 0
for everybody else, so the sum of z over users is an unbiased estimate of the support. p = 1 means counts as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.errors import RecveilError

Floats = NDArray[np.float64]
LONGEST = 20  # items in an itemset: its patterns are 2^n


def check_p(p: float) -> float:
    """p as the probability to keep a bit, in (0.5, 1]; 1 stands for data that were not perturbed."""
    if p == 0.5:
        raise RecveilError("p = 0.5 makes every bit a coin toss: nothing can be reconstructed; p must lie in (0.5, 1)")
    if not 0.5 < p <= 1:
        raise RecveilError(f"p must lie in (0.5, 1), not {p:g}")
    return float(p)


def check_length(n: int) -> int:
    if not 1 <= n <= LONGEST:
        raise RecveilError(f"an itemset has 1 to {LONGEST} items, not {n}: its patterns are 2 to the power of that")
    return n


def single_support(ones: ArrayLike, n: int, p: float) -> Floats:
    """Estimated supports of single items from their counts among n perturbed users."""
    q, w = 1 - check_p(p), 2 * p - 1
    return (np.asarray(ones, dtype=np.float64) - n * q) / w


def reconstruct(patterns: ArrayLike, p: float) -> Floats:
    """The true counts of all 2^n patterns from the perturbed ones: a butterfly, O(n 2^n). The last is the support."""
    counts = np.array(patterns, dtype=np.float64)
    n = check_length(int(counts.size).bit_length() - 1)
    if counts.ndim != 1 or counts.size != 1 << n:
        raise RecveilError(f"the patterns of n items are 2^n counts, not {counts.size}")
    q, w = 1 - check_p(p), 2 * p - 1
    for bit in range(n):
        halves = counts.reshape(-1, 2, 1 << bit)
        zero, one = halves[:, 0].copy(), halves[:, 1].copy()
        halves[:, 0] = (p * zero - q * one) / w
        halves[:, 1] = (p * one - q * zero) / w
    return counts


def inverse(n: int, p: float) -> Floats:
    """The inverse of the 2^n x 2^n matrix of pattern probabilities, by divide and conquer (eq. 10 of the paper)."""
    if check_length(n) > 12:
        raise RecveilError(f"the inverse for {n} items has 4^{n} cells; reconstruct() needs none of them")
    w = 2 * check_p(p) - 1
    result: Floats = np.ones((1, 1))
    for _ in range(n):
        half = len(result)
        larger = np.empty((2 * half, 2 * half))
        larger[:half, :half] = larger[half:, half:] = p / w * result
        larger[:half, half:] = larger[half:, :half] = (p - 1) / w * result
        result = larger
    return result


def noise(n: int, p: float) -> float:
    """The standard error of the estimated support of an item that nobody has, among n users."""
    return float(np.sqrt(n * p * (1 - p)) / (2 * check_p(p) - 1))
