"""What the desk learns for `recommend`, learned from a table by the executors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.learning import Learned, Wish, enter_bits, from_similar, from_tables, longest
from recveil.evaluation.recommenders.mask import Lists
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.mechanisms.mask import Mask
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue
from recveil.releases.progress import Progress
from recveil.releases.release import Published, publish
from recveil.spark.chunks import Table, total
from recveil.spark.reading import narrow, over_catalogue
from recveil.spark.supports import perturb_table, similar_table

TableLearner = Callable[[Table, Mechanism, Wish, Progress], Learned]


def learn_from_bits(data: Table, mechanism: Mechanism, wish: Wish, progress: Progress) -> Learned:  # noqa: ARG001
    mask = cast(Mask, mechanism)
    enter_bits(mask, data.specimen.over_items(data.layout.items), wish)
    perturbed = perturb_table(data, mask, wish.seed)
    k = longest(wish, perturbed.seen.longest, len(data.layout.items))
    learned = from_similar(similar_table(perturbed, minsup=wish.minsup, k=k), perturbed.mechanism, wish)
    return replace(learned, lists=partial(_of_histories, lists=learned.lists))


def _of_histories(chunk: Interactions, lists: Callable[[Interactions], Lists]) -> Lists:
    """The lists of a chunk, in which perhaps nobody has a history: that is no reason to refuse."""
    return lists(chunk) if len(chunk) else {}


def learn_from_tables(data: Table, mechanism: Mechanism, wish: Wish, progress: Progress) -> Learned:
    published = wish.published or _published(data, cast(Synthesis, mechanism), wish)
    items = over_catalogue(data, published.public.items).layout.items
    return from_tables(published, items, wish, progress)


def _published(data: Table, mechanism: Synthesis, wish: Wish) -> Published:
    """Noisy tables of rows that the executors count."""
    rows = data.specimen
    if rows.kind in ("clicks", "sessions") and rows.time is None:
        raise RecveilError(f"{mechanism.name} needs a time column on Spark, where rows have no order")
    given = wish.catalogue or Catalogue()
    if given.items is not None:
        data = over_catalogue(data, given.items)
    layout, listed = data.layout, given.items is not None
    facts = given.facts(layout.items) if mechanism.reads_features else None
    public = PublicInfo(rows.kind, rows.unit, layout.items, layout.tags, listed, features=facts)
    engine = {"total": total, "narrow": narrow, "enter": wish.enter}
    return publish(data, mechanism, public, source(wish.seed), **engine)  # type: ignore[arg-type]


TABLE_LEARNERS: dict[str, TableLearner] = {"bits": learn_from_bits, "tables": learn_from_tables}
