"""recommend: lists for every user, learned from what a mechanism lets out and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from recveil.actions.engine import LOCAL, Engine
from recveil.errors import RecveilError, unknown
from recveil.evaluation.cache import fingerprint
from recveil.evaluation.learning import LEARNERS, Wish
from recveil.mechanism import Mechanism
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import as_mechanism, text
from recveil.options import asked, option, part
from recveil.releases import ledger
from recveil.releases.asked import ITEMS, ITEMS_ARE_PUBLIC, OUTSIDE_BUDGET, SEED, SPENT
from recveil.releases.asked import mechanism as named
from recveil.releases.catalogue import Catalogue, as_catalogue, check_public
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, Progress
from recveil.releases.published import drawing, load_statistics

_CHOICES = {"score": ("max", "sum"), "history": ("real", "perturbed")}


@dataclass(frozen=True)
class RecommendRequest:
    """`mechanism`: one whose class says what is learned from it (learned_from).

    `statistics`: tables kept by a release, from which to learn at no further cost. `ledger`: where what is spent is
    entered first. `out`: a new directory for the lists, on Spark, where users never come to this machine.
    """

    data: Input = part(Input, "source", "columns", "schema", "types", "duplicates")
    mechanism: str | Mechanism = asked(named("Such as mask:p=auto or mask:p=0.9."))
    top: int = option(30, help="Items in a list.")
    score: str = option("max", help="max: the closest item counts; sum: all of them.")
    history: str = option("real", help="real: it stays on the user's side; or perturbed.")
    minsup: float | None = option(None, help="Estimated users an item must have; default 6 deviations.")
    similar: str | None = option(None, metavar="FILE", help="Write the lists of similar items there.")
    items: Any = asked(ITEMS, None)
    catalogue_is_public: bool = asked(ITEMS_ARE_PUBLIC, False)
    statistics: str | None = option(None, metavar="FILE", help="Tables kept by a release; nothing more is spent.")
    ledger: str | None = asked(SPENT, None)
    outside_budget: bool = asked(OUTSIDE_BUDGET, False)
    out: str | None = option(None, "-o", "--out", metavar="FILE", help="Write the lists there.")
    seed: int | None = asked(SEED, None)
    engine: Engine = part(Engine, "name", "master", default=LOCAL)

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown(f"--{name}", getattr(self, name), known)
        if self.top < 1:
            raise RecveilError(f"--top must be at least 1, not {self.top}")
        if self.minsup is not None and not self.minsup >= 0:
            raise RecveilError(f"--minsup must not be negative, not {self.minsup:g}")
        if self.statistics and self.items:
            raise RecveilError("the statistics have their items already; leave --items out")


@dataclass(frozen=True)
class Recommended:
    """Lists by user, and how they came about; on Spark, how many lists are in `directory`."""

    how: dict[str, Any]
    top: int
    number: int
    lists: dict[Any, list[Any]] = field(default_factory=dict, repr=False)
    directory: str | None = None
    titles: Mapping[Any, str] = field(default_factory=dict, repr=False)  # names of items, where a file has them

    def record(self) -> dict[str, Any]:
        if self.directory:
            return {**self.how, "top": self.top, "lists": self.number, "directory": self.directory}
        lists = [{"user": u, "items": row} for u, row in self.lists.items()]
        if self.titles:
            lists = [{**one, "titles": [self.titles.get(i) for i in one["items"]]} for one in lists]
        return {**self.how, "top": self.top, "lists": lists}

    def named(self) -> dict[Any, list[Any]]:
        """The lists with the names of items in place of their ids, where they are known."""
        return {user: [self.titles.get(item, item) for item in row] for user, row in self.lists.items()}

    def frame(self) -> pl.DataFrame:
        """A row for each place of each list: user, place, item; and the title, where a file of items has them."""
        rows = [(user, place, item) for user, row in self.lists.items() for place, item in enumerate(row, 1)]
        found = pl.DataFrame(rows, schema=["user", "place", "item"], orient="row")
        if not self.titles:
            return found
        return found.with_columns(title=pl.Series([self.titles.get(item) for _, _, item in rows], dtype=pl.String))

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


def run_recommend(request: RecommendRequest, progress: Progress = SILENT) -> Recommended:
    """Learn and recommend on the engine of the request."""
    published = None
    if request.statistics:
        published = drawing(load_statistics(request.statistics), _spec(request.mechanism))
    mechanism = published.mechanism if published else as_mechanism(request.mechanism)
    check_request(request, mechanism)
    if request.ledger:
        ledger.read(request.ledger)  # what cannot be kept is refused before anything is spent
    public = as_catalogue(request.items or None)
    declared = request.catalogue_is_public or request.data.catalogue_is_public or (public or Catalogue()).is_public
    check_public(mechanism, public is not None, declared, request.seed is not None)
    wish = Wish(
        request.top, request.score, request.history, request.minsup, request.similar, public, published,
        request.ledger, request.outside_budget, request.seed, everyone=True,
    )  # fmt: skip
    if request.engine.on_spark:
        return _on_spark(request, mechanism, wish, progress)
    rows = request.data.under(mechanism).rows(progress)
    if request.ledger:
        wish = replace(wish, data=fingerprint(rows))
    learned, histories = LEARNERS[mechanism.learned_from](rows, mechanism, wish, progress)
    lists = learned.lists(histories)
    _tell(learned.how, sum(len(row) < request.top for row in lists.values()), wish, progress)
    return Recommended(learned.how, request.top, len(lists), dict(lists), titles=_titles(wish.catalogue))


def _titles(given: Catalogue | None) -> dict[Any, str]:
    """The names of items by their ids."""
    if given is None or given.features is None or given.features.titles is None:
        return {}
    named = zip(given.features.items.to_list(), given.features.titles.to_list(), strict=True)
    return {item: title for item, title in named if title is not None}


def check_request(request: RecommendRequest, mechanism: Mechanism) -> None:
    """Raise where mechanism and options do not go together, before anything is read."""
    if not mechanism.learned_from:
        able = [name for name, m in known_mechanisms().items() if m.learned_from]
        raise unknown("mechanism to recommend with", mechanism.name, able)
    bits = mechanism.learned_from == "bits"
    if bits and request.items:
        raise RecveilError(f"{mechanism.name} perturbs the observed items; --items is for dp-streams and dp-ratings")
    if not bits and (request.history != "real" or request.minsup is not None or request.similar):
        raise RecveilError(
            f"{mechanism.name} learns from noisy tables: --history perturbed, --minsup and --similar are for mask"
        )
    if request.engine.on_spark and not request.out:
        raise RecveilError("on Spark the lists are written by the executors; name a new directory with -o DIR")
    if request.engine.on_spark and request.history != "real":
        raise RecveilError("--history perturbed is for --engine local; on Spark lists are made from real histories")


def _on_spark(request: RecommendRequest, mechanism: Mechanism, wish: Wish, progress: Progress) -> Recommended:
    """Lists are made and written by the executors; users never come here."""
    from recveil.releases.places import check_vacant
    from recveil.spark.inputs import table
    from recveil.spark.lake import place
    from recveil.spark.learning import TABLE_LEARNERS
    from recveil.spark.lists import write_lists
    from recveil.spark.reading import table_fingerprint

    with request.engine.session() as spark:
        where = place(spark, request.out or "")
        check_vacant(where)
        rows = table(request.data.under(mechanism), spark, progress=progress)
        if request.ledger:
            wish = replace(wish, data=table_fingerprint(rows))
        learned = TABLE_LEARNERS[mechanism.learned_from](rows, mechanism, wish, progress)
        number, short = write_lists(rows, learned.lists, wish.top, where)
    _tell(learned.how, short, wish, progress)
    return Recommended(learned.how, wish.top, number, directory=request.out)


def _tell(how: dict[str, Any], short: int, wish: Wish, progress: Progress) -> None:
    progress.note(", ".join(f"{name} {value}" for name, value in how.items()))
    for line in ledger.summary(wish.ledger) if wish.ledger else ():
        progress.note(line)
    if short:
        progress.note(
            f"{short:,} lists have fewer than {wish.top} items: not enough items are similar to their users' histories"
        )


def _spec(mechanism: str | Mechanism) -> str:
    return mechanism if isinstance(mechanism, str) else text(as_mechanism(mechanism))
