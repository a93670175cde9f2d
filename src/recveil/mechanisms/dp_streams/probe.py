"""Canaries of dp-streams for an audit in one run: a pair of popular items each, in its cell and in its transition's."""

from __future__ import annotations

from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.mechanism import Probe, Sums
from recveil.mechanisms.dp_streams.counting import PAIRS, UNIT
from recveil.mechanisms.probing import Bits, Floats, couples


def probe(mechanism: Any, data: Interactions, inside: Bits, rng: np.random.Generator) -> Probe:
    n, pairs = len(inside), couples(data, inside, rng)

    def scores(made: Any, coded: Interactions) -> Floats:
        kept = mechanism.paired(made.rounds, made.public)
        i, j, there, cell = pairs.cells(coded.items, kept)
        m, laws = len(kept), mechanism.laws(made.public)
        real = mechanism.count(data.over_items(coded.items).canonical(), made.rounds[:-1], made.public)
        weight, shift, left = np.zeros(n), 0.0, made.rounds[-1]
        (name,) = (name for name in ("pairs", "pairs_alone", "pairs_whole") if name in left)
        parts = [(name, cell, np.sqrt(PAIRS) / UNIT)]
        if "transitions" in left:
            parts.append(("transitions", np.where(there, i * m + j, 0), 1.0))
        for name, at, step in parts:
            noise = (left[name] - (real[name] if isinstance(real, Sums) else getattr(real, name)))[at] / UNIT
            v = float(laws[name].size) / UNIT**2
            weight += step * noise / v
            shift += step**2 / v
        return np.where(there, weight - shift / 2, 0.0)

    return Probe("people with a pair of popular items each", pairs.whole, scores, data.items)
