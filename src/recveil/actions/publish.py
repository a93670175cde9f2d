"""publish: from data to a bundle that may leave the house, on either engine, as a function of a frozen request.

What cannot be kept is refused before anything is read, what is spent is entered before any noise is drawn, and the
owner's own files (map, held-out people) are there before the bundle: if one cannot be written nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any

from recveil.actions.engine import LOCAL, Engine
from recveil.actions.publish_disk import publish_disk
from recveil.actions.publish_spark import publish_on_spark
from recveil.errors import RecveilError, unknown
from recveil.evaluation.cache import fingerprint
from recveil.evaluation.people import informed
from recveil.formats import write
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms.spec import as_mechanism, text
from recveil.options import asked, option, part
from recveil.randomness import source
from recveil.releases import aside
from recveil.releases import disk as out_of_core
from recveil.releases import ledger as ledgers
from recveil.releases.asked import COUNT, ITEMS, ITEMS_ARE_PUBLIC, OUTSIDE_BUDGET, SEED, SIZE, SPENT
from recveil.releases.asked import mechanism as named
from recveil.releases.bundle import save, save_map
from recveil.releases.catalogue import Catalogue, as_catalogue, check_public
from recveil.releases.counting import check_count, noisy_size
from recveil.releases.doubts import doubts
from recveil.releases.forecast import foresee, parse_size
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, WARNING, Progress
from recveil.releases.published import drawing, is_statistics, load_statistics, save_statistics, spent, told
from recveil.releases.release import Published, draw, release
from recveil.splits import hold_out

FORMATS = ("parquet", "csv", "inter", "itemsets")
FEW = ("few people", "few items")  # notes of a mechanism that a promise this strong leaves little to learn
TIMES = ("auto", "drop", "order", "keep")


@dataclass(frozen=True)
class ReleaseRequest:
    """`data` with a mechanism (a spec or an object) into a bundle at `out`.

    `catalogue`: public items, a file or a table of them; that they are public is the owner's word, which a proof asks
    for. `attributes`: for a mechanism that hides one. `key` signs the bundle. A forecast is made from `size`, known
    without looking, or a noisy `count`. `data` may name statistics that were kept: then nothing is spent.
    """

    data: Input = part(Input, "source", "columns", "schema", "types", "duplicates", "fold_tags")
    mechanism: str | Mechanism = asked(named("One mechanism, such as random-ratings:values=uniform."))
    out: str = option(MISSING, "-o", "--out", metavar="DIR", help="Where the bundle goes.")
    format: str = option("parquet", help="Of the data file: parquet, csv, inter, itemsets.")
    time: str = option("auto", help="drop, order, keep, or auto: the order of clicks alone.")
    holdout: float = option(0.0, help="A share of people to keep out, into --holdout-file.")
    holdout_file: str | None = option(None, metavar="FILE", help="Where they go, .parquet, readable by you alone.")
    catalogue: Any = asked(ITEMS, None)
    catalogue_is_public: bool = asked(ITEMS_ARE_PUBLIC, False)
    publish_titles: bool = option(False, "--publish-titles", help="Let the titles of the items travel in the bundle.")
    attributes: str | None = option(None, metavar="FILE", help="What people are, for blur: user and other columns.")
    keep_map: str | None = option(None, metavar="FILE", help="Write the private id map there.")
    keep_statistics: str | None = option(
        None, metavar="FILE", help="Write the noisy statistics there; DATA may be such a FILE later."
    )
    size: Any = asked(SIZE, None)
    count: float | None = asked(COUNT, None)
    go_on: bool = option(False, "--go-on", help="Release although the forecast says that next to nothing is kept.")
    ledger: str | None = asked(SPENT, None)
    outside_budget: bool = asked(OUTSIDE_BUDGET, False)
    chosen_on_data: bool = option(
        False, "--chosen-on-data", help="Say that figures computed on DATA were looked at before."
    )
    licence: str | None = option(None, metavar="NAME", help="What recipients may do with it, such as CC-BY-4.0.")
    key: Any = None
    force: bool = option(False, "--force", help="Replace an existing bundle.")
    engine: Engine = part(Engine, default=LOCAL)
    seed: int | None = asked(SEED, None)

    def __post_init__(self) -> None:
        if isinstance(self.size, str):
            object.__setattr__(self, "size", parse_size(self.size))

    def enter(self, note: Callable[[], str | None], without: float) -> Any:
        """What enters a release into the ledger before any noise is drawn; nothing without a ledger."""
        if not self.ledger:
            return None
        return ledgers.into(self.ledger, outside=self.outside_budget, note=note, without=without)


@dataclass(frozen=True)
class Bundled:
    """Where the bundle is, what it says of itself, and what it drew from, if it drew."""

    out: str
    manifest: Mapping[str, Any]
    published: Any = field(default=None, repr=False)


def run_release(request: ReleaseRequest, progress: Progress = SILENT) -> Bundled:
    """The bundle, and notes for the owner alone on what was kept, spent and taken to be public."""
    request = replace(request, out=request.out.rstrip("/") or request.out)
    _check_wishes(request)
    request = replace(request, catalogue=as_catalogue(request.catalogue or None, request.publish_titles))
    again = _kept_statistics(request)
    mechanism = again.mechanism if again else informed(as_mechanism(request.mechanism), request.attributes)
    _check_keeping(request, mechanism)
    lists = Catalogue() if again else _lists(request)
    check_public(mechanism, lists.is_given, lists.is_public, request.seed is not None)
    if not again and not lists.is_given and not request.count:
        foresee(mechanism, request.size, request.go_on, progress.note)
    # read first: what cannot be kept is refused before anything is spent
    answer = ledgers.chosen_on_data(request.ledger, request.chosen_on_data)
    if again:
        request.engine.check_reach(request.out)
        titles = request.catalogue.titles if request.catalogue else None
        made: Any = replace(draw(again, seed=request.seed, time=request.time), titles=titles)  # type: ignore[arg-type]
        manifest: Mapping[str, Any] = save(made, request.out, **_publication(request))
    elif request.engine.on_spark:
        made = publish_on_spark(request, mechanism, lists, answer, progress)
        manifest = made.manifest
        if request.keep_map and made.id_map is not None:
            save_map(made.id_map, request.keep_map)
    elif plan := out_of_core.planned(request.data, request.engine.memory_bytes, mechanism.is_proved):
        made = publish_disk(request, mechanism, lists, plan, progress, answer=answer, enter=ReleaseRequest.enter)
        manifest = made.manifest
    else:
        made, manifest = _here(request, mechanism, lists, answer, progress)
    if request.keep_statistics and made.published is not None:
        save_statistics(made.published, request.keep_statistics)
    for line in _notes(request, made, manifest, drawn_again=again is not None):
        progress.note(line)
    return Bundled(request.out, manifest, made.published)


def _kept_statistics(request: ReleaseRequest) -> Published | None:
    """Statistics to draw from again, where the data are a file of them."""
    kept, wanted = request.data.source, request.mechanism
    if not isinstance(kept, str | Path) or not is_statistics(kept):
        return None
    return drawing(load_statistics(kept), wanted if isinstance(wanted, str) else text(wanted))


def _check_wishes(request: ReleaseRequest) -> None:
    """Raise where the request asks for what does not exist, or for a private file inside the bundle."""
    for name, value, known in (("--format", request.format, FORMATS), ("--time", request.time, TIMES)):
        if value not in known:
            raise unknown(name, value, known)
    if request.holdout and not request.holdout_file:
        where = "for those kept out, which is not for publication: --holdout-file held.parquet"
        raise RecveilError(f"--holdout needs a place {where}")
    check_count(request.count, request.size, request.ledger, request.engine == LOCAL)
    bundle = Path(request.out.removeprefix("file:")).resolve()
    private = {
        "--keep-map": ("private id map", request.keep_map),
        "--ledger": ("ledger", request.ledger),
        "--holdout-file": ("file of held-out people", request.holdout_file),
    }
    for name, (what, file) in private.items():
        if file and bundle in (Path(file).resolve(), *Path(file).resolve().parents):
            raise RecveilError(f"the {what} must not lie inside the bundle; choose another FILE for {name}")
    if Path(request.out).exists() and not request.force:
        raise RecveilError(f"{request.out} exists already; choose another place, or --force (force=True) replaces it")
    if request.engine.on_spark and (request.format != "parquet" or request.data.fold_tags):
        what = "--fold-tags" if request.data.fold_tags else f"--format {request.format}"
        raise RecveilError(f"{what} is for --engine local; on Spark rows go as they are into parquet files")


def _check_keeping(request: ReleaseRequest, mechanism: Mechanism) -> None:
    """Raise where a file is asked for that this mechanism does not make."""
    if request.keep_map and isinstance(mechanism, Synthesis) and not mechanism.knows_users:
        raise RecveilError(f"{mechanism.name} draws new people, so there is no id map to keep")
    request.data.under(mechanism)
    if request.keep_statistics and not isinstance(mechanism, Synthesis):
        raise RecveilError(f"{mechanism.name} masks rows and publishes no statistics that could be kept")


def _here(
    request: ReleaseRequest, mechanism: Mechanism, lists: Catalogue, answer: str, progress: Progress
) -> tuple[Any, Mapping[str, Any]]:
    """The release by this machine, and its manifest."""
    request.engine.check_reach(request.out)
    # What looks at the data outside a proof must not tell of it: no refusal, no count but on the owner's own screen.
    rows, held = [request.data.under(mechanism).rows(progress)], None
    without = 0.0
    if request.ledger:  # those set aside to be judged on are in no release
        kept, without = aside.left_in(request.ledger, rows.pop())
        rows.append(kept)
        del kept
    if request.count and not lists.is_given:
        size = noisy_size(rows[0], request.count, request.seed, request.ledger, without)
        foresee(mechanism, size, request.go_on, progress.note, "nothing but the count")
    if request.holdout:
        names = source(request.seed).derive("holdout").names(rows[0].users.to_list())
        kept, held = hold_out(rows.pop(), request.holdout, names)
        rows.append(kept)
        del kept
    seen = fingerprint(rows[0]) if request.ledger else None
    tick = progress.counter(mechanism.name, 2 * len(rows[0]))
    options: dict[str, Any] = {"seed": request.seed, "time": request.time, "tick": tick, "everyone": True}
    options |= {"catalogue": lists, "enter": request.enter(lambda: seen, without)}
    for line in doubts(mechanism, rows[0], lists):
        progress.note(WARNING + line)
    made = told(release(rows.pop(), mechanism, **options), answer)  # handed over: a large log stands in memory once
    made = replace(made, schema_from=request.data.schema_from)
    with _private_files(request, made, held):
        return made, save(made, request.out, **_publication(request))


@contextmanager
def _private_files(request: ReleaseRequest, made: Any, held: Any) -> Iterator[None]:
    """The owner's files, written before the bundle and taken back if it cannot be written."""
    written = []
    try:
        if request.keep_map and made.id_map is not None:
            save_map(made.id_map, request.keep_map)
            written.append(request.keep_map)
        if held is not None:
            write(held, str(request.holdout_file), format="parquet", private=True)
            written.append(str(request.holdout_file))
        yield
    except BaseException:
        for file in written:
            Path(file).unlink(missing_ok=True)
        raise


def _publication(request: ReleaseRequest) -> dict[str, Any]:
    return {"format": request.format, "force": request.force, "licence": request.licence, "sign": request.key}


def _lists(request: ReleaseRequest) -> Catalogue:
    given = request.catalogue or Catalogue()
    declared = request.catalogue_is_public or request.data.catalogue_is_public
    return replace(given, is_public=given.is_public or declared)


def _notes(request: ReleaseRequest, made: Any, manifest: Mapping[str, Any], drawn_again: bool) -> list[str]:
    """Lines for the owner: none of them counts anything in the data."""
    lines = [f"warning: {manifest['notes'][name]}" for name in FEW if name in manifest["notes"]]
    if request.holdout and not drawn_again:
        where = f"{request.holdout_file}, which is not for publication"
        lines.append(f"{request.holdout:.0%} of the people were kept out, in {where}")
    if request.keep_map and made.id_map is not None:
        lines.append(f"the private id map is in {request.keep_map}; keep it to yourself")
    if made.published is not None:
        if request.keep_statistics:
            lines.append(f"the noisy statistics are in {request.keep_statistics}")
        if not drawn_again:
            lines.append(spent(made.published))
    if request.ledger and (aside_ := aside.share_aside(ledgers.read(request.ledger))) and not drawn_again:
        lines.append(f"{aside_:.3g} of the people are set aside to be judged on, and are in no release of this ledger")
    lines += ledgers.summary(request.ledger) if request.ledger else []
    promise = manifest["guarantee"]
    if "observed" in (promise["given"] or ""):
        lines.append(f"taken to be public: {promise['given']}; if it is not, give the true lists with --catalogue")
    if promise["status"] != "refuted" and promise["unit"] in ("record", "tag"):
        lines.append(
            "a person with k rows is protected with k times that epsilon; `recveil inspect` says how many people have"
        )
    return lines
