"""The rounds of dp-streams where facts of items are public: counts and sizes, second moments, then loadings and pairs.

Second moments in the space and in a decoy decide whether the space is used. If not, what loadings and pairs would
have cost goes into pairs alone; where that is known before, so does what those moments would have cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.dp.budget import cost, variance
from recveil.dp.combining import CARRIED
from recveil.dp.noise import Law, draw, gaussian
from recveil.mechanism import PublicInfo, Sums
from recveil.mechanisms.dp_streams import carried, carried_space
from recveil.mechanisms.dp_streams.counting import EDGES, ONE_LENGTH, SESSIONS, UNIT, item_counts, table_counts
from recveil.mechanisms.dp_streams.drawing import Beside, Numbers, StreamTables
from recveil.mechanisms.dp_streams.loadings import WHOLE, SpaceTables
from recveil.mechanisms.dp_streams.space import directions, moments, popularity, reduced, smooth, spaces, trusted
from recveil.randomness import Source
from recveil.views.sessions import Sessions, sessions

Ints = NDArray[np.int64]
Laws = Mapping[str, Any]  # the law of noise of each table, or what is left of it over several windows

SIZES = np.append(1, EDGES)  # classes of numbers of items, among all that are public
FEWEST_PAIRED, MOST_PAIRED = 10, 4096
_NAMES = ("items", "sizes", "space", "decoy", "loadings", "pairs")
_FEW = ((0.13, 0.02, 0.03, 0.03, 0.75, 0.04), (0.11, 0.02, 0.03, 0.03, 0.61, 0.05))  # without order, with it
_FAINT = ((0.42, 0.02, 0.05, 0.05, 0.42, 0.04), (0.36, 0.02, 0.04, 0.04, 0.34, 0.05))  # likewise, below epsilon 2
_MANY = ((0.18, 0.02, 0.05, 0.05, 0.45, 0.25), (0.15, 0.02, 0.04, 0.04, 0.37, 0.23))
_WITHOUT = {"_alone": ("loadings",), "_whole": ("space", "decoy", "loadings")}  # what pairs have then
_MOVES, _SESSIONS, _LITTLE = 0.15, 0.03, 2.0
_LONG = 30.0  # items to a stream, on average
_SHARED, _MANY_SHARED = 0.4, 512  # of what people have, in so many items at most: then pairs tell much by themselves
_STRONG = 5.0  # times what people without taste have: what features must tell to be better than such pairs
_STANDS = 1.25  # times the largest of as many noises: items whose pairs are counted alone have less noise than theirs


def shares(n_items: int, epsilon: float, ordered: bool, by_sessions: bool) -> dict[str, float]:
    """Of the budget, by table: of many items single pairs tell much that the space does not, of few next to nothing.

    Where there is little budget, what is popular comes first.
    """
    few = _FAINT if epsilon < _LITTLE else _FEW
    found = dict(zip(_NAMES, (few if n_items <= WHOLE else _MANY)[ordered], strict=True))
    if ordered:
        found["transitions"] = _MOVES
    if by_sessions:
        found["sessions"] = _SESSIONS
        found["loadings"] -= _SESSIONS
    return found


def laws(rho: float, parts: dict[str, float]) -> dict[str, Law]:
    """The noise of every table; `alone` is that of pairs where the space is left out, `whole` where it is not asked."""
    found = {name: gaussian(variance(UNIT, part * rho)) for name, part in parts.items()}
    for way, without in (("", ()), *_WITHOUT.items()):
        law = gaussian(variance(UNIT, sum(parts[name] for name in (*without, "pairs")) * rho))
        found |= {f"pairs{way}": law, f"lengths{way}": law}
    return found


def spent(noise: Laws, parts: dict[str, float]) -> float:
    """The budget that the noise costs, in whichever way pairs are counted."""
    costs = {name: cost(UNIT, int(noise[name].size)) for name in (*parts, *(f"pairs{way}" for way in _WITHOUT))}
    every = sum(costs[name] for name in parts)
    ways = (((*without, "pairs"), f"pairs{way}") for way, without in _WITHOUT.items())
    return max(every, *(every - sum(costs[name] for name in left) + costs[instead] for left, instead in ways))


def streams(chunk: Interactions, by_sessions: bool) -> Sessions:
    """Streams, and whose they are: one of each person, unless people have sessions."""
    if by_sessions:
        return sessions(chunk)
    starts = chunk.starts()
    return Sessions(np.arange(len(starts), dtype=np.int64), starts, chunk.item)


def count(chunk: Interactions, published: tuple[Any, ...], public: PublicInfo, ordered: bool, used: bool) -> Sums:
    """What people add in each round; `used`: whether the space is, which the second round decides."""
    s = streams(chunk, public.sessions)
    rows = (s.people, s.starts, s.item)
    if not published:
        sizes = kernels.directions.count_sizes(*rows, chunk.n_items, SIZES, UNIT)
        return Sums(items=item_counts(chunk, public.sessions, False), sizes=sizes)
    if len(published) == 1:
        first = published[0]
        if first["unasked"].any():
            return Sums()
        return Sums(
            space=kernels.directions.count_products(*rows, first["vectors"], UNIT),
            decoy=kernels.directions.count_products(*rows, first["duel"], UNIT),
        )
    chosen = paired(published, used)
    keep = np.full(chunk.n_items, -1, dtype=np.int32)
    keep[chosen] = np.arange(len(chosen), dtype=np.int32)
    made = table_counts(chunk, keep, len(chosen), ordered, public.sessions)
    way = "" if used else "_whole" if published[0]["unasked"].any() else "_alone"
    found = Sums({f"pairs{way}": made.pairs, f"lengths{way}": made.lengths})
    if ordered:
        found["transitions"] = made.transitions
    if made.sessions is not None:
        found["sessions"] = made.sessions
    if used:
        found["loadings"] = kernels.directions.count_loadings(*rows, published[0]["vectors"], UNIT)
    return found


def publish(
    counts: Sums, published: tuple[Any, ...], public: PublicInfo, noise: Laws, source: Source
) -> dict[str, Any]:
    """The round's tables with noise, and what the next round must know of them."""
    found = {name: table + draw(noise[name], len(table), source.derive(name)) for name, table in counts.items()}
    if public.earlier is not None:
        chosen = paired(published, uses_space(published, noise)) if len(published) == 2 else None
        found = carried_space.with_earlier(found, published, public, noise, chosen)
    return found if published else found | learned(found, public, noise)


def learned(first: dict[str, Any], public: PublicInfo, noise: Laws) -> dict[str, Any]:
    """Popularity, the space, its duel with a decoy, and of which items pairs are counted, with the space or without.

    All of it is a function of noisy tables and public facts.
    """
    from scipy.special import ndtri

    assert public.features is not None
    (told,), left = carried_space.seen((first,), noise)
    noisy, sigma = told["items"] / UNIT, left["items"].deviation / UNIT
    have = popularity(noisy, sigma, public.features.weighted())
    space = carried_space.space_before(public, have)
    sizes = people((told,), left)
    if space is None:
        d = directions(float(sizes.sum()), 1 / np.sqrt(sum(1 / _variance(noise[name]) for name in _NAMES)), len(have))
        space = spaces(reduced(public.features, d), have)
    long = len(have) > WHOLE and float(sizes @ _middle()) > _LONG * float(sizes.sum())
    found = {"popularity": have, "vectors": space[0], "duel": space[1], "unasked": np.array([int(long)])}
    if public.earlier is not None:
        found |= {f"{CARRIED}vectors": space[0], f"{CARRIED}duel": space[1]}
    for name, by, least in (("paired", have, 2.0), ("standing", noisy, _STANDS * float(ndtri(1 - 1 / len(have))))):
        many = min(max(int((noisy > least * sigma).sum()), FEWEST_PAIRED), MOST_PAIRED, len(have))
        found[name] = np.sort(np.argsort(-by, kind="stable")[:many])
    return found


def _variance(law: Law) -> float:
    return float(law.size) / UNIT**2


def people(published: tuple[Any, ...], noise: Laws) -> NDArray[np.float64]:
    """How many there are of each class of sizes."""
    return smooth(published[0]["sizes"] / UNIT, noise["sizes"].deviation / UNIT)


def paired(published: tuple[Any, ...], used: bool) -> Ints:
    """The items of which pairs are counted."""
    found: Ints = published[0]["paired" if used else "standing"]
    return found


def uses_space(published: tuple[Any, ...], noise: Laws) -> bool:
    """Whether people are placed in the space of features, by the first two rounds alone.

    Where few items have much of what people have, their pairs tell more than features do, unless these tell very much.
    """
    first = published[0]
    have, standing = first["popularity"], first["standing"]
    few = len(have) <= WHOLE and len(standing) <= _MANY_SHARED
    shared = few and float(have[standing].sum()) >= _SHARED * float(have.sum())
    return tells(published, noise, _STRONG if shared else 0.0)


def tells(published: tuple[Any, ...], noise: Laws, least: float = 0.0) -> bool:
    """Whether the features tell anything of people, and by how much at least. Not asked where streams are long.

    Of very many items long streams cannot be drawn from a space: an item's nearest hold too little of its pairs.
    """
    published, noise = carried_space.seen(published, noise)
    first, sizes = published[0], people(published, noise)
    if first["unasked"].any():
        return False
    table = moments(published[1]["decoy"], first["duel"].shape[1], UNIT)
    sigma = noise["decoy"].deviation / UNIT
    return trusted(table, first["duel"], float(sizes.sum()), sigma, least)


def _middle() -> NDArray[np.float64]:
    """The middle of each class of sizes."""
    return np.asarray((SIZES + np.append(EDGES - 1, 2 * EDGES[-1])) / 2)


def known(published: tuple[Any, ...], public: PublicInfo, noise: Laws) -> SpaceTables:
    """The tables of the space, in units of one person."""
    assert public.features is not None
    first, vectors = published[0], published[0]["vectors"]
    sizes = people(published, noise)
    have = first["popularity"] * (float((sizes * np.sqrt(_middle())).sum()) / first["popularity"].sum())
    return SpaceTables(
        public.features.weighted(),
        vectors,
        have,
        moments(published[1]["space"], vectors.shape[1], UNIT),
        published[2]["loadings"].reshape(vectors.shape) / UNIT,
        first["paired"],
        float(sizes.sum()),
        noise["space"].deviation / UNIT,
        noise["loadings"].deviation / UNIT,
    )


def tables(published: tuple[Any, ...], public: PublicInfo, noise: Laws, ordered: bool) -> StreamTables:
    """The published statistics in units of one person, over all items if the space is used."""
    published, noise = carried_space.seen(published, noise)
    last, used = published[2], "loadings" in published[2]
    chosen, sizes = paired(published, used), people(published, noise)[1:]
    m, many = len(chosen), last.get("sessions")
    way = next(way for way in ("", *_WITHOUT) if f"pairs{way}" in last)
    lengths, sigma = last[f"lengths{way}"] / UNIT, noise[f"pairs{way}"].deviation / UNIT
    whole, beside = None, None
    vectors = published[0]["vectors"].astype(np.float64)
    if way == "_whole":
        beside = Beside(vectors, None)
    elif not used and len(public.items) <= WHOLE and tells(published, noise):
        beside = Beside(vectors, published[0]["popularity"])
    if used or not (lengths > 3 * sigma).any():
        whole = (
            sizes * carried.times(float(sizes.sum()), carried_space.windows(last))
            if sizes.any()
            else np.ones(len(EDGES))
        )
    kept = np.arange(len(public.items)) if used else chosen
    return StreamTables(
        kept,
        published[0]["popularity"][kept],
        kernels.pair_tables.square(last[f"pairs{way}"], m, UNIT).astype(np.float64),
        lengths,
        last["transitions"].reshape(m, m) / UNIT if ordered else None,
        sigma,
        noise["transitions"].deviation / UNIT if ordered else 0.0,
        EDGES,
        ONE_LENGTH,
        None if many is None else Numbers(many / UNIT, noise["sessions"].deviation / UNIT, SESSIONS),
        whole,
        known(published, public, noise) if used else None,
        beside,
    )
