"""recveil recommend DATA --with SPEC --top N: lists for every user, learned from what the mechanism lets out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    EngineName,
    Json,
    Master,
    OutsideBudget,
    Seed,
    answer,
    progress,
    read_released,
    say,
)
from recveil.errors import RecveilError, unknown

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.desk.release import Enter, Published
    from recveil.mechanism import Mechanism, Synthesis
    from recveil.mechanisms.mask import Mask
    from recveil.recommenders.mask import Lists, Similar
    from recveil.spark.chunks import Table

_CHOICES = {"score": ("max", "sum"), "history": ("real", "perturbed"), "engine": ("local", "spark")}
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
    ledger: str | None
    outside_budget: bool
    seed: int | None

    @property
    def enter(self) -> Enter | None:
        """What enters the promise in the ledger, before any noise is drawn."""
        from recveil.desk.ledger import into

        return into(self.ledger, outside=self.outside_budget) if self.ledger else None


@dataclass(frozen=True)
class Learned:
    """What makes lists of histories, and how it came about."""

    lists: Callable[[Interactions], Lists]
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
    catalogue: Annotated[
        str | None, typer.Option(metavar="FILE", help="dp-streams, dp-ratings: the public item ids.")
    ] = None,
    statistics: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="dp-streams, dp-ratings: tables kept by a release; nothing more is spent."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="Add what is spent to this file, and say the total.")
    ] = None,
    outside_budget: OutsideBudget = False,
    out: Annotated[str | None, typer.Option("-o", "--out", metavar="FILE", help="Write the lists there.")] = None,
    engine: EngineName = "local",
    master: Master = None,
    columns: Columns = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Perturb DATA, learn from the perturbed data alone, and recommend to every user: user, tab, item1,item2,...

    Example: recveil recommend ratings.csv --with mask:p=auto --top 30
    """
    for option, value in (("score", score), ("history", history), ("engine", engine)):
        if value not in _CHOICES[option]:
            raise unknown(f"--{option}", value, _CHOICES[option])
    if top < 1:
        raise RecveilError(f"--top must be at least 1, not {top}")
    if minsup is not None and not minsup >= 0:
        raise RecveilError(f"--minsup must not be negative, not {minsup:g}")
    from recveil.mechanisms.spec import parse

    if statistics:
        from recveil.desk.published import drawing, load_statistics

        published = drawing(load_statistics(statistics), with_)
    else:
        published = None
    mechanism = published.mechanism if published else parse(with_)
    if mechanism.name not in _LEARNERS:
        raise unknown("mechanism to recommend with", mechanism.name, _LEARNERS)
    if ledger:
        from recveil.desk import ledger as book

        book.read(ledger)  # what cannot be kept is refused before anything is spent
    wish = Wish(top, score, history, minsup, similar, catalogue, published, ledger, outside_budget, seed)
    _possible(mechanism, wish)
    if engine == "spark":
        _on_spark(data, columns, duplicates, master, mechanism, wish, out, as_json)
        return
    from recveil.recommenders.mask import lines

    learned, histories = _LEARNERS[mechanism.name](read_released(data, columns, duplicates), mechanism, wish)
    lists = learned.lists(histories)
    _tell(learned.how, sum(len(row) < top for row in lists.values()), wish)
    shown = list(lines(lists))
    if out:
        try:
            Path(out).write_text("\n".join(shown) + "\n", encoding="utf-8")
        except OSError as error:
            raise RecveilError(f"{out} cannot be written: {error.strerror or error}") from None
        shown = [f"{out}: {len(lists):,} lists of {top}"]
    listed = [{"user": u, "items": row} for u, row in lists.items()]
    answer({**learned.how, "top": top, "lists": listed}, shown, as_json)


def _on_spark(
    data: str,
    columns: str | None,
    duplicates: str,
    master: str | None,
    mechanism: Mechanism,
    wish: Wish,
    out: str | None,
    as_json: bool,
) -> None:
    """Lists are made and written by the executors; users never come here."""
    from recveil.desk.places import check_vacant
    from recveil.spark.lake import place
    from recveil.spark.lists import write_lists
    from recveil.spark.reading import read_table
    from recveil.spark.session import session

    if not out:
        raise RecveilError("on Spark the lists are written by the executors; name a new directory with -o DIR")
    if wish.history != "real":
        raise RecveilError("--history perturbed is for --engine local; on Spark lists are made from real histories")
    with session(master) as spark:
        where = place(spark, out)
        check_vacant(where)
        rows = read_table(spark, data, columns, duplicates)
        learned = _SPARK_LEARNERS[mechanism.name](rows, mechanism, wish)
        number, short = write_lists(rows, learned.lists, wish.top, where)
    _tell(learned.how, short, wish)
    found = {**learned.how, "top": wish.top, "lists": number, "directory": out}
    answer(found, [f"{out}: {number:,} lists of {wish.top}"], as_json)


def _possible(mechanism: Mechanism, wish: Wish) -> None:
    """Raise where options do not go together, before anything is read."""
    if mechanism.name == "mask" and wish.catalogue:
        raise RecveilError("mask perturbs the observed items; --catalogue is for dp-streams and dp-ratings")
    if mechanism.name != "mask" and (wish.history != "real" or wish.minsup is not None or wish.similar):
        raise RecveilError(
            f"{mechanism.name} learns from noisy tables: --history perturbed, --minsup and --similar are for mask"
        )
    if wish.published and wish.catalogue:
        raise RecveilError("the statistics have their catalogue already; leave --catalogue out")


def _tell(how: dict[str, Any], short: int, wish: Wish) -> None:
    say(", ".join(f"{name} {value}" for name, value in how.items()))
    if wish.ledger:
        from recveil.desk.ledger import summary

        for line in summary(wish.ledger):
            say(line)
    if short:
        say(f"{short:,} lists have fewer than {wish.top} items: not enough items are similar to their users' histories")


# --- from perturbed bits ------------------------------------------------------------------------------------


def _mask(data: Interactions, mechanism: Mechanism, wish: Wish) -> tuple[Learned, Interactions]:
    import numpy as np

    from recveil.desk.release import release
    from recveil.mechanisms.mask import Mask, perturb
    from recveil.recommenders.mask import similar_items
    from recveil.views.bits import columns

    assert isinstance(mechanism, Mask)
    if wish.history == "real":
        _enter_bits(mechanism, data.compact(), wish)
        seen, used = perturb(data, mechanism, wish.seed)
        histories = data
    else:
        made = release(data, mechanism, seed=wish.seed, enter=wish.enter)
        assert isinstance(made.mechanism, Mask)
        histories, used = made.data, made.mechanism
        seen = columns(histories, made.notes["people"])
    k = _longest(wish, int(np.bincount(histories.user).max()), seen.n_items)
    with progress("similar items", seen.n_items) as tick:
        similar = similar_items(seen, p=float(used.p), minsup=wish.minsup, k=k, tick=tick)
    return _from_similar(similar, used, wish), histories


def _mask_table(data: Table, mechanism: Mechanism, wish: Wish) -> Learned:
    from recveil.mechanisms.mask import Mask
    from recveil.spark.supports import perturb_table, similar_table

    assert isinstance(mechanism, Mask)
    _enter_bits(mechanism, data.specimen.over_items(data.layout.items), wish)
    perturbed = perturb_table(data, mechanism, wish.seed)
    k = _longest(wish, perturbed.seen.longest, len(data.layout.items))
    return _from_similar(similar_table(perturbed, minsup=wish.minsup, k=k), perturbed.mechanism, wish)


def _enter_bits(mechanism: Mask, data: Interactions, wish: Wish) -> None:
    """Into the ledger, before a bit is flipped."""
    from recveil.desk.release import promised
    from recveil.mechanism import Public

    if wish.enter:
        public = Public(data.kind, data.unit, data.items, data.tags, False)
        wish.enter(mechanism, promised(mechanism, public, wish.seed is not None))


def _longest(wish: Wish, history: int, items: int) -> int:
    """How long lists of similar items have to be; for `max`, what lies beyond top + history never wins."""
    room = max(1, _CELLS // items)
    return min(wish.top + history, room) if wish.score == "max" else room


def _from_similar(similar: Similar, used: Mask, wish: Wish) -> Learned:
    from recveil.mechanisms.spec import text
    from recveil.recommenders.mask import lists, write_similar

    if wish.similar:
        write_similar(similar, wish.similar, wish.top)
    how = {"mechanism": text(used), "p": float(used.p), "history": wish.history, "score": wish.score}
    step = partial(lists, similar=similar, top=wish.top, score=wish.score)  # type: ignore[arg-type]
    return Learned(step, {**how, "minsup": similar.minsup})


# --- from noisy tables --------------------------------------------------------------------------------------


def _tables(data: Interactions, mechanism: Mechanism, wish: Wish) -> tuple[Learned, Interactions]:
    from recveil.desk.catalogue import Catalogue
    from recveil.mechanism import Synthesis

    assert isinstance(mechanism, Synthesis)
    published = wish.published or _published(data, mechanism, wish)
    items = Catalogue(published.public.items).over(data).items
    return _from_tables(published, items, wish), data


def _tables_on_spark(data: Table, mechanism: Mechanism, wish: Wish) -> Learned:
    from recveil.mechanism import Synthesis
    from recveil.spark.reading import over_catalogue

    assert isinstance(mechanism, Synthesis)
    published = wish.published or _published_table(data, mechanism, wish)
    return _from_tables(published, over_catalogue(data, published.public.items).layout.items, wish)


def _from_tables(published: Published, items: Any, wish: Wish) -> Learned:
    """`items`: the public catalogue, as ids of the data."""
    from recveil.desk.direct import from_tables
    from recveil.desk.published import spent
    from recveil.mechanisms.spec import text

    step, kept = from_tables(published, items, wish.top)
    if not wish.published:
        say(spent(published))
    return Learned(step, {"mechanism": text(published.mechanism), "items": kept, "history": "real", "score": "sum"})


def _published(data: Interactions, mechanism: Synthesis, wish: Wish) -> Published:
    """Noisy tables over the public catalogue, or over items that are selected where none was given."""
    from recveil.desk.catalogue import read_catalogue
    from recveil.desk.release import publish
    from recveil.mechanism import Public
    from recveil.randomness import source

    data = data.compact()
    if wish.catalogue:
        n = data.n_items
        data = read_catalogue(wish.catalogue).over(data)
        if outside := n - len(data.compact().items):
            say(f"{outside:,} items of the data do not stand in the catalogue; their rows are left out")
    public = Public(data.kind, data.unit, data.items, data.tags, bool(wish.catalogue))
    with progress(mechanism.name, mechanism.rounds * len(data)) as tick:
        return publish(data, mechanism, public, source(wish.seed), tick, enter=wish.enter)


def _published_table(data: Table, mechanism: Synthesis, wish: Wish) -> Published:
    """The same of a table, whose rows the executors count."""
    from recveil.desk.catalogue import read_catalogue
    from recveil.desk.release import publish
    from recveil.mechanism import Public
    from recveil.randomness import source
    from recveil.spark.chunks import total
    from recveil.spark.reading import narrow, over_catalogue

    rows = data.specimen
    if rows.kind in ("clicks", "sessions") and rows.time is None:
        raise RecveilError(f"{mechanism.name} needs a time column on Spark, where rows have no order")
    given = read_catalogue(wish.catalogue).items if wish.catalogue else None
    if given is not None:
        data = over_catalogue(data, given)
    public = Public(rows.kind, rows.unit, data.layout.items, data.layout.tags, given is not None)
    engine = {"total": total, "narrow": narrow, "enter": wish.enter}
    return publish(data, mechanism, public, source(wish.seed), **engine)  # type: ignore[arg-type]


# Who can learn from what a mechanism lets out, on either engine.
_LEARNERS: dict[str, Callable[[Interactions, Mechanism, Wish], tuple[Learned, Interactions]]] = {
    "dp-ratings": _tables,
    "dp-streams": _tables,
    "mask": _mask,
}
_SPARK_LEARNERS: dict[str, Callable[[Table, Mechanism, Wish], Learned]] = {
    "dp-ratings": _tables_on_spark,
    "dp-streams": _tables_on_spark,
    "mask": _mask_table,
}
