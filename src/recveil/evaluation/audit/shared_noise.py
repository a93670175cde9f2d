"""Shared noise: whether two tables, two parts of one, or two releases have the same noise, at any distance of cells.

Whoever knows the data but for one person knows the noise of every cell that she does not touch. If another cell has the
same noise, it is known there too. Independent noises have products that average to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RELEASES = 60  # that are looked at: noise that is shared is seen in the first of them
CELLS = 8192  # of a table, the first ones
DISTANCES = 512  # of cells, in either direction
SIGMAS = 8.0  # so many distances are tried that less would come by chance


@dataclass
class SharedNoise:
    """Products of noises in units of their deviations, summed over cells and releases, for each pair of tables."""

    sums: dict[tuple[str, str], Floats] = field(default_factory=dict)
    terms: dict[tuple[str, str], int] = field(default_factory=dict)
    releases: int = 0
    now: dict[str, Floats] = field(default_factory=dict)
    before: dict[str, Floats] = field(default_factory=dict)

    def begin(self) -> None:
        """Another release begins: those before it are weighed."""
        if self.now and self.releases < RELEASES:
            self.releases += 1
            for pair, by_distance, terms in self._products():
                self.sums[pair] = self.sums.get(pair, 0.0) + by_distance
                self.terms[pair] = self.terms.get(pair, 0) + terms
            self.before = self.now
        self.now = {}

    def add(self, name: str, noise: Floats) -> None:
        """A table's noise in this release."""
        if self.releases < RELEASES and len(noise):
            self.now[name] = noise[:CELLS]

    @property
    def found(self) -> list[str]:
        """Pairs of tables that share their noise; the second term is for products of few cells, which scatter more."""
        self.begin()
        return [
            " and ".join(dict.fromkeys(pair)) if pair[0] != pair[1] else f"{pair[0]} with itself"
            for pair, by_distance in self.sums.items()
            if np.abs(by_distance).max() > SIGMAS * sqrt(self.terms[pair]) + SIGMAS**2
        ]

    def _products(self) -> Iterator[tuple[tuple[str, str], Floats, int]]:
        longest = max(len(noise) for tables in (self.now, self.before) for noise in tables.values())
        size = 1 << (2 * longest + DISTANCES).bit_length()
        ours = {name: np.fft.rfft(noise, size) for name, noise in self.now.items()}
        names = list(ours)
        for k, one in enumerate(names):
            for other in names[k:]:
                found = _by_distance(ours[one], ours[other], size)
                if one == other:
                    found[0] = 0.0  # a noise is always that of its own cell
                yield (one, other), found, min(len(self.now[one]), len(self.now[other]))
            if one in self.before:
                earlier = np.fft.rfft(self.before[one], size)
                found = _by_distance(ours[one], earlier, size)
                yield (one, f"{one} of another release"), found, min(len(self.now[one]), len(self.before[one]))


def _by_distance(a: NDArray[np.complex128], b: NDArray[np.complex128], size: int) -> Floats:
    every = np.fft.irfft(a * np.conj(b), size)
    return np.concatenate([every[: DISTANCES + 1], every[-DISTANCES:]])
