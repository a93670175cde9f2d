"""publish on a cluster, which writes bundle and held-out people together, or neither."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from recveil.mechanism import Mechanism
from recveil.randomness import source
from recveil.releases import aside
from recveil.releases import ledger as ledgers
from recveil.releases.bundle import check_writable
from recveil.releases.catalogue import Catalogue
from recveil.releases.places import check_vacant, whole
from recveil.releases.progress import WARNING, Progress

if TYPE_CHECKING:
    from recveil.actions.publish import ReleaseRequest


def publish_on_spark(
    request: ReleaseRequest, mechanism: Mechanism, lists: Catalogue, answer: str, progress: Progress
) -> Any:
    from recveil.spark.holdout import held_out
    from recveil.spark.inputs import doubts, table
    from recveil.spark.lake import place, write_parts
    from recveil.spark.reading import table_fingerprint
    from recveil.spark.release import check_runs, release_table

    check_runs(mechanism)  # before anything is started
    with request.engine.session() as spark, ExitStack() as parts:
        where = place(spark, request.out)
        check_writable(where, request.force)  # before anything is read
        if request.holdout and not request.force:
            check_vacant(place(spark, str(request.holdout_file)))
        rows = table(request.data.under(mechanism), spark, items=lists.items, progress=progress)
        for line in doubts(mechanism, rows, lists):
            progress.note(WARNING + line)
        without = aside.share_aside(ledgers.read(request.ledger)) if request.ledger else 0.0
        if request.ledger and without:
            rows = parts.enter_context(held_out(rows, without, aside.chance(request.ledger)))[0]
        seen = table_fingerprint(rows) if request.ledger else None
        wishes: dict[str, Any] = {"seed": request.seed, "time": request.time, "catalogue": lists}
        wishes |= {"enter": request.enter(lambda: seen, without), "keep_map": bool(request.keep_map)}
        wishes |= {"licence": request.licence, "sign": request.key, "force": request.force}
        wishes |= {"schema_from": request.data.schema_from, "chosen_on_data": answer}
        if not request.holdout:
            return release_table(rows, mechanism, where, **wishes)
        chance = source(request.seed).derive("holdout")
        with (
            held_out(rows, request.holdout, chance) as (kept, held),
            whole(place(spark, str(request.holdout_file))) as part,
        ):
            part.close_to_others()
            write_parts(held, part)
            return release_table(kept, mechanism, where, **wishes)
