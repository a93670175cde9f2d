"""Streams drawn from noisy tables: lengths, baskets whose pairs occur as often as the tables say, then their order.

All of it is post-processing: it sees published tables and public facts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.dp import denoise
from recveil.errors import RecveilError
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import pairs as sparse_pairs
from recveil.mechanisms.dp_streams.baskets import (
    SWEEPS,
    BasketDrawer,
    CrowdDrawer,
    Drawer,
    Pairs,
    draw_all,
    expected_moves,
)
from recveil.mechanisms.dp_streams.crowds import square_of
from recveil.mechanisms.dp_streams.expectations import expected_pairs
from recveil.mechanisms.dp_streams.loadings import SpaceTables
from recveil.mechanisms.dp_streams.pairs import Above
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_MUCH = 0.1  # of the items of a public list, from which on a release has enough of them to need no warning


@dataclass(frozen=True)
class Numbers:
    """People by how many sessions they have: noisy counts of the classes that begin at `edges`."""

    people: Floats
    sigma: float
    edges: Ints

    def total(self) -> float:
        """How many sessions there are, about; a class that does not stand out of the noise counts for none."""
        counts = np.where(self.people > 3 * self.sigma, self.people, 0.0)
        return float((counts * (self.edges + np.append(self.edges[1:] - 1, self.edges[-1])) / 2).sum())


@dataclass(frozen=True)
class Beside:
    """What is known of public items: vectors of their facts, and how many have them, if all of them are to be drawn."""

    vectors: Floats
    have: Floats | None


@dataclass(frozen=True)
class StreamTables:
    """Published tables in units of one person. A length counts `one_length` of a unit."""

    kept: Ints  # codes of the items that the tables are about
    items: Floats
    pairs: Floats | Above
    lengths: Floats
    transitions: Floats | None
    pair_sigma: float
    move_sigma: float
    edges: Ints
    one_length: float
    sessions: Numbers | None = None  # where people have several streams
    sizes: Floats | None = None  # where facts of items are public: how many people there are of each class of lengths
    known: SpaceTables | None = None  # likewise, tables in the space of these facts, if they tell anything of people
    beside: Beside | None = None  # likewise, where pairs of the kept items tell more of people than that space does


def expected(tables: StreamTables) -> Pairs:
    """What lies behind the noisy pairs."""
    if tables.known is not None and not isinstance(tables.pairs, Above):
        return Pairs(*expected_pairs(tables.known, tables.pairs.astype(np.float32), tables.pair_sigma))
    if isinstance(tables.pairs, Above):
        sizes = (tables.edges + last_lengths(tables.edges)) / 2
        total = (people(tables) * np.sqrt((1 - tables.one_length**2) * sizes * (sizes - 1) / 2)).sum()
        found = sparse_pairs.expected(tables.pairs, tables.items, total, tables.pair_sigma)
        return Pairs(kernels.baskets.PairTable(found[0], found[1]), found[2], found[3])
    M = denoise.pairs(
        tables.pairs, tables.pair_sigma, None if tables.beside is None else tables.beside.vectors[tables.kept]
    )
    table = kernels.baskets.PairTable(np.arange(len(M) + 1, dtype=np.int64) * len(M), np.empty(0, dtype=np.int32))
    return Pairs(table, M.ravel(), M.sum(1))


def little(kept: int, public: PublicInfo) -> dict[str, str]:
    """A note where most of a public list is missing; it follows from noisy tables and the list alone."""
    if not public.catalogue or kept >= _MUCH * len(public.items):
        return {}
    told = public.features is not None and public.features.tells
    why = (
        "its features tell nothing of people that stands out of the noise, and too few people have the others"
        if told
        else "too few people have the others at this epsilon; features of items in the list would help"
    )
    return {"few items": f"{kept:,} of the {len(public.items):,} items of the public list can be in it: {why}"}


def draw_streams(
    tables: StreamTables,
    public: PublicInfo,
    k: int | None,
    source: Source,
    sweeps: int = SWEEPS,
    pairs: Pairs | None = None,
) -> Interactions:
    """k new streams over the public catalogue; None: as many as the noisy lengths tell, to two digits."""
    pairs = pairs or expected(tables)
    sizes = draw_lengths(tables, k, source.derive("lengths").generator())
    moves, known = None, tables.known
    if tables.transitions is not None:
        M = pairs.square if known is None else square_of(pairs.table, pairs.weight, len(pairs.strength), known.paired)
        moves = expected_moves(M, tables.transitions, tables.move_sigma)
    drawer: Drawer = (
        BasketDrawer(pairs, moves, sweeps) if known is None else CrowdDrawer(pairs, known.paired, moves, sweeps)
    )
    item = tables.kept[draw_all(drawer, sizes, source)].astype(np.int32)
    user = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if tables.beside is not None and tables.beside.have is not None:
        user, item = with_rare(user, item, tables.kept, tables.beside.have, source.derive("rare").generator())
        sizes = np.bincount(user, minlength=len(sizes))
    position = np.arange(len(item), dtype=np.int64) - (np.cumsum(sizes) - sizes)[user]
    return Interactions(
        user,
        item,
        pl.Series(np.arange(len(sizes))),
        public.items,
        time=None if moves is None else position,
        unit="session" if public.unit == "session" or public.sessions else "user",
    )


def with_rare(user: Codes, item: Codes, kept: Ints, have: Floats, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Streams with the items that are not kept somewhere in them: as many as are popular, by chance."""
    rare = np.setdiff1d(np.arange(len(have)), kept)
    if not len(rare) or not len(item):
        return user, item
    many = rng.poisson(len(item) * have[rare] / float(have[kept].sum()))
    theirs = user[rng.integers(0, len(user), int(many.sum()))]
    new = np.unique(theirs.astype(np.int64) * len(have) + np.repeat(rare, many))
    who = np.concatenate([user, (new // len(have)).astype(np.int32)])
    what = np.concatenate([item, (new % len(have)).astype(np.int32)])
    sizes = np.bincount(user)
    first = np.cumsum(sizes) - sizes
    place = np.concatenate([(np.arange(len(item)) - first[user] + 0.5) / sizes[user], rng.random(len(new))])
    order = np.lexsort((place, who))
    return who[order], what[order]


def people(tables: StreamTables) -> Floats:
    """How many there are of each class of length; classes that do not stand out of the noise are left out."""
    if tables.sizes is not None:
        return tables.sizes
    counts = np.where(tables.lengths > 3 * tables.pair_sigma, tables.lengths, 0.0) / tables.one_length
    if not counts.any():
        raise RecveilError("no length of streams stands out of the noise; more people or a larger epsilon would help")
    return counts


def last_lengths(edges: Ints) -> Ints:
    """The largest length of each class."""
    return np.append(edges[1:], 2 * edges[-1]) - 1


def draw_lengths(tables: StreamTables, k: int | None, rng: np.random.Generator) -> Ints:
    """Lengths of the new streams."""
    counts = people(tables)
    n = counts.sum()
    if k is None:
        streams = n if tables.sessions is None else max(tables.sessions.total(), 1.0)
        digits = 10.0 ** max(np.floor(np.log10(streams)) - 1, 0)
        k = max(int(np.round(streams / digits) * digits), 1)
    kind = rng.choice(len(counts), size=k, p=counts / n)
    sizes = rng.integers(tables.edges[kind], last_lengths(tables.edges)[kind] + 1)
    return np.minimum(sizes, len(tables.kept))
