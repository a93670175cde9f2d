"""How a linkage attacker weighs what a record holds of the known items: three scorings for one kernel.

`score` is Narayanan and Shmatikov's: rare items count more. Long records hold more of anything, so it finds them
wherever the release has noise; `normalised` divides by the root of a record's length. `likelihood` is the logarithm of
how much likelier the record is hers than anybody's of the same length, if bits were flipped as often as the rarest
items suggest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats
from recveil.views.records import Records

CELLS = 20_000_000  # of a table of items and lengths
LENGTHS = 128  # kinds of records at most: those of about one length are treated alike
_LEAST_FLIPS = 0.002
_MOST_FLIPS = 0.45


class Scoring(NamedTuple):
    """What the kernel takes: gains and misses of an item by kind of record, each record's kind, and its scale."""

    gains: Floats
    misses: Floats
    kind: NDArray[np.int64]
    scale: Floats


def plain(released: Records) -> Scoring:
    """Narayanan and Shmatikov: 1 / log(1 + records that hold the item)."""
    weights = 1.0 / np.log(1.0 + np.maximum(released.popularity(), 1))
    n = len(released)
    return Scoring(weights[:, None], np.zeros((len(weights), 1)), np.zeros(n, dtype=np.int64), np.ones(n))


def normalised(released: Records) -> Scoring:
    """The same, divided by the root of the record's length."""
    return plain(released)._replace(scale=1.0 / np.sqrt(np.maximum(released.lengths, 1)))


def likelihood(released: Records, kept: float | None = None) -> Scoring:
    """Log likelihood ratios of a record that is hers against one of anybody. kept: how surely a bit was left alone."""
    n = len(released)
    share = released.popularity() / max(n, 1)
    q = flips(released) if kept is None else 1 - kept
    p = 1 - q
    true = np.clip((share - q) / (p - q), 1 / (2 * max(n, 1)), 1.0)
    lengths = np.maximum((released.lengths - q * released.n_items) / (p - q), 1.0)
    kind, middle = _kinds(lengths, released.n_items)
    m = q + (p - q) * np.minimum(true[:, None] * (middle / lengths.mean())[None, :], 0.95)
    return Scoring(np.log(p * (1 - m) / (q * m)), -np.log(1 - m), kind, np.ones(n))


def flips(released: Records) -> float:
    """How often a bit was flipped, read off the rarest items: nobody has them, so those who seem to were flipped."""
    share = released.popularity() / max(len(released.people), 1)
    return float(np.clip(np.quantile(share, 0.05), _LEAST_FLIPS, _MOST_FLIPS))


def _kinds(lengths: Floats, n_items: int) -> tuple[NDArray[np.int64], Floats]:
    """Records of about one length as one kind, and the mean length of each kind."""
    most = max(8, min(LENGTHS, CELLS // max(n_items, 1)))
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, most + 1)[1:-1], method="nearest"))
    kind = np.searchsorted(edges, lengths)
    sizes = np.bincount(kind, minlength=len(edges) + 1)
    middle = np.bincount(kind, weights=lengths, minlength=len(edges) + 1) / np.maximum(sizes, 1)
    return kind, np.where(sizes > 0, middle, 1.0)


SCORINGS = {"score": plain, "normalised": normalised, "likelihood": likelihood}
