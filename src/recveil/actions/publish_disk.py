"""publish, out of core: from a log that memory does not hold to a bundle, by way of scratch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError
from recveil.ids import listed
from recveil.mechanism import Masking, Mechanism
from recveil.releases import aside
from recveil.releases.bundle import check_writable, placed, save_map
from recveil.releases.catalogue import Catalogue, read_off
from recveil.releases.chunked_release import HowReleased, Made, release_chunks
from recveil.releases.disk import DiskPlan, read_disk
from recveil.releases.disk_release import DISK, check_runs
from recveil.releases.doubts import size_line
from recveil.releases.progress import WARNING, Progress

if TYPE_CHECKING:
    from recveil.actions.publish import ReleaseRequest


def publish_disk(
    request: ReleaseRequest,
    mechanism: Mechanism,
    lists: Catalogue,
    plan: DiskPlan,
    progress: Progress,
    *,
    answer: str,
    enter: Callable[..., Any],
) -> Made:
    """The release by this machine, of a log that its memory does not hold."""
    check_runs(mechanism)
    for option, wish in (("--format", request.format != "parquet"), ("--holdout", request.holdout)):
        if wish or request.data.fold_tags:
            what = option if wish else "--fold-tags"
            remedy = f"leave it out, or {'leave --memory out' if mechanism.is_proved else 'allow more with --memory'}"
            raise RecveilError(f"{what} is for logs that memory holds; {remedy}")
    request.engine.check_reach(request.out)
    where = placed(request.out)
    check_writable(where, request.force)
    scratch = request.engine.scratch or str(Path(request.out).absolute().parent)
    chosen, without = aside.chooser(request.ledger) if request.ledger else (lambda rows: rows, 0.0)
    with plan.scratch(scratch, progress) as folder:
        given = request.data.under(mechanism)
        hashed, public = bool(request.ledger), lists.items
        rows = read_disk(given, folder, plan.parts, progress, chosen, hashed, public)
        all_of_it = public is not None and not rows.beyond and len(rows.layout.items) == len(listed(public))
        if mechanism.is_proved and all_of_it:
            progress.note(WARNING + read_off(len(rows.layout.items)))
        if isinstance(mechanism, Masking) and mechanism.dense:
            items = rows.layout.items if public is None else listed(public)
            if line := size_line(mechanism, rows.people(), len(items), rows.rows, on_disk=True):
                progress.note(WARNING + line)
        wishes = HowReleased(
            seed=request.seed,
            time=request.time,  # type: ignore[arg-type]
            catalogue=lists,
            enter=enter(request, lambda: rows.digest, without),
            keep_map=bool(request.keep_map),
            said={"schema_from": request.data.schema_from, "chosen_on_data": answer},
            publication={"force": request.force, "licence": request.licence, "sign": request.key},
        )
        made = release_chunks(DISK, rows, mechanism, where, wishes, progress.counter(mechanism.name, 2 * rows.rows))
    if request.keep_map and made.id_map is not None:
        save_map(made.id_map, request.keep_map)
    return made
