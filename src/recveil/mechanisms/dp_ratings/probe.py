"""Canaries of dp-ratings for an audit in one run: two items, one rated best and one worst, in the cells of the pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.mechanism import Probe
from recveil.mechanisms.probing import Bits, Floats, couples


def probe(mechanism: Any, unit: int, data: Interactions, inside: Bits, rng: np.random.Generator) -> Probe:
    levels = mechanism.levels.levels
    pairs = couples(data, inside, rng, (levels[-1], levels[0]))

    def scores(made: Any, coded: Interactions) -> Floats:
        rows = data.over_items(coded.items).canonical()
        real, laws = mechanism.count(rows, made.rounds[:1], made.public), mechanism.laws(made.public)
        found = np.zeros(len(inside))
        for name, kept, sign in (
            ("pairs", mechanism.paired(made.rounds, made.public), 1.0),
            ("products", mechanism.top(made.rounds), -1.0),  # of one rating above her mean and one as far below
        ):
            _, _, there, cell = pairs.cells(coded.items, kept)
            noise = (made.rounds[1][name] - real[name])[cell] / unit
            found += np.where(there, (sign * noise - 0.5) * unit**2 / float(laws[name].size), 0.0)
        return found

    return Probe("people with one item rated best and one worst", pairs.whole, scores, data.items)
