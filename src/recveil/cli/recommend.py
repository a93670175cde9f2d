"""recveil recommend DATA --with SPEC --top N: lists for every user, learned from what the mechanism lets out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import Columns, Data, Duplicates, Json, Seed, answer, progress, read_released, say
from recveil.errors import RecveilError, unknown

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.mechanism import Mechanism
    from recveil.mechanisms.dp_streams import DpStreams
    from recveil.release import Published

_CHOICES = {"score": ("max", "sum"), "history": ("real", "perturbed")}
_CELLS = 40_000_000  # of similar-item lists held at a time


@dataclass(frozen=True)
class Wish:
    """What was asked for."""

    top: int
    score: str
    history: str
    minsup: float | None
    similar: str | None
    catalogue: str | None
    published: Published | None
    seed: int | None


@dataclass(frozen=True)
class Lists:
    """Each user's list of items, best first, and how it came about."""

    users: list[Any]
    items: list[list[Any]]
    how: dict[str, Any]


def recommend(
    data: Data,
    with_: Annotated[str, typer.Option("--with", metavar="SPEC", help="Such as mask:p=auto or mask:p=0.9.")],
    top: Annotated[int, typer.Option(help="Items in a list.")] = 30,
    score: Annotated[str, typer.Option(help="max: the closest item counts; sum: all of them.")] = "max",
    history: Annotated[str, typer.Option(help="real: it stays on the user's side; or perturbed.")] = "real",
    minsup: Annotated[
        float | None, typer.Option(help="Estimated users an item must have; default 6 deviations.")
    ] = None,
    similar: Annotated[str | None, typer.Option(metavar="FILE", help="Write the lists of similar items there.")] = None,
    catalogue: Annotated[str | None, typer.Option(metavar="FILE", help="dp-streams: the public item ids.")] = None,
    statistics: Annotated[
        str | None, typer.Option(metavar="FILE", help="dp-streams: tables kept by a release; nothing more is spent.")
    ] = None,
    out: Annotated[str | None, typer.Option("-o", "--out", metavar="FILE", help="Write the lists there.")] = None,
    columns: Columns = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Perturb DATA, learn from the perturbed data alone, and recommend to every user: user, tab, item1,item2,...

    Example: recveil recommend ratings.csv --with mask:p=auto --top 30
    """
    for option, value in (("score", score), ("history", history)):
        if value not in _CHOICES[option]:
            raise unknown(f"--{option}", value, _CHOICES[option])
    if top < 1:
        raise RecveilError(f"--top must be at least 1, not {top}")
    if minsup is not None and not minsup >= 0:
        raise RecveilError(f"--minsup must not be negative, not {minsup:g}")
    from recveil.spec import parse

    if statistics:
        from recveil.statistics import drawing, load_statistics

        published = drawing(load_statistics(statistics), with_)
    else:
        published = None
    mechanism = published.mechanism if published else parse(with_)
    if mechanism.name not in _LEARNERS:
        raise unknown("mechanism to recommend with", mechanism.name, _LEARNERS)
    rows = read_released(data, columns, duplicates)
    wish = Wish(top, score, history, minsup, similar, catalogue, published, seed)
    made = _LEARNERS[mechanism.name](rows, mechanism, wish)
    short = sum(len(row) < top for row in made.items)
    say(", ".join(f"{name} {value}" for name, value in made.how.items()))
    if short:
        say(f"{short:,} lists have fewer than {top} items: not enough items are similar to their users' histories")
    lines = [f"{u}\t{','.join(map(str, row))}" for u, row in zip(made.users, made.items, strict=True)]
    if out:
        try:
            Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise RecveilError(f"{out} cannot be written: {error.strerror or error}") from None
        lines = [f"{out}: {len(lines):,} lists of {top}"]
    lists = [{"user": u, "items": row} for u, row in zip(made.users, made.items, strict=True)]
    answer({**made.how, "top": top, "lists": lists}, lines, as_json)


def _mask(data: Interactions, mechanism: Mechanism, wish: Wish) -> Lists:
    import numpy as np

    from recveil.columns import columns
    from recveil.mechanisms.mask import Mask, perturb
    from recveil.recommenders.mask import similar_items, top_n, write_similar
    from recveil.release import release
    from recveil.spec import text

    assert isinstance(mechanism, Mask)
    if wish.catalogue:
        raise RecveilError("mask perturbs the observed items; --catalogue is for dp-streams")
    if wish.history == "real":
        seen, used = perturb(data, mechanism, wish.seed)
        histories = data
    else:
        made = release(data, mechanism, seed=wish.seed)
        assert isinstance(made.mechanism, Mask)
        histories, used = made.data, made.mechanism
        seen = columns(histories, made.notes["people"])
    longest = int(np.bincount(histories.user).max())
    room = max(1, _CELLS // seen.n_items)
    k = min(wish.top + longest, room) if wish.score == "max" else room  # what lies beyond top + history never wins
    p = float(used.p)
    with progress("similar items", seen.n_items) as tick:
        similar = similar_items(seen, p=p, minsup=wish.minsup, k=k, tick=tick)
    if wish.similar:
        write_similar(similar, wish.similar)
    best = top_n(histories, similar, wish.top, wish.score)  # type: ignore[arg-type]
    people = histories.users.gather(np.unique(histories.user)).to_list()
    names = similar.items.to_list()
    how = {"mechanism": text(used), "p": p, "history": wish.history, "score": wish.score, "minsup": similar.minsup}
    return Lists(people, [[names[i] for i in row if i >= 0] for row in best.tolist()], how)


def _dp_streams(data: Interactions, mechanism: Mechanism, wish: Wish) -> Lists:
    from recveil.mechanisms.dp_streams import DpStreams
    from recveil.release import over_catalogue
    from recveil.spec import text
    from recveil.statistics import spent
    from recveil.streams import similarity, top_items

    assert isinstance(mechanism, DpStreams)
    if wish.history != "real" or wish.minsup is not None or wish.similar:
        raise RecveilError(
            "dp-streams learns from noisy tables: --history perturbed, --minsup and --similar are for mask"
        )
    if wish.published and wish.catalogue:
        raise RecveilError("the statistics have their catalogue already; leave --catalogue out")
    published = wish.published or _published(data, mechanism, wish)
    tables = mechanism.tables(published.rounds)
    people = over_catalogue(data, published.public.items).matrix(binary=True)
    best = top_items(people[:, tables.kept], similarity(tables), tables, wish.top)
    names = published.public.items.gather(tables.kept).to_list()
    if not wish.published:
        say(spent(published))
    how = {"mechanism": text(mechanism), "items": len(names), "history": "real", "score": "sum"}
    return Lists(data.users.to_list(), [[names[i] for i in row if i >= 0] for row in best.tolist()], how)


def _published(data: Interactions, mechanism: DpStreams, wish: Wish) -> Published:
    """Noisy tables over the public catalogue, or over the observed items where none was given."""
    from recveil.catalogue import read_catalogue
    from recveil.mechanism import Public
    from recveil.randomness import source
    from recveil.release import over_catalogue, publish

    data = data.compact()
    if wish.catalogue:
        n = data.n_items
        data = over_catalogue(data, read_catalogue(wish.catalogue))
        if outside := n - len(data.compact().items):
            say(f"{outside:,} items of the data do not stand in the catalogue; their rows are left out")
    public = Public(data.kind, data.unit, data.items, data.tags, bool(wish.catalogue))
    with progress(mechanism.name, mechanism.rounds * len(data)) as tick:
        return publish(data, mechanism, public, source(wish.seed), tick)


# Who can learn from what a mechanism lets out.
_LEARNERS: dict[str, Callable[[Interactions, Mechanism, Wish], Lists]] = {"dp-streams": _dp_streams, "mask": _mask}
