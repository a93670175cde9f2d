"""recveil measure DATA BUNDLE: what does a release give away, and what is it worth?"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Annotated, Any

from recveil.cli.arguments import (
    Columns,
    Data,
    EngineName,
    FoldTags,
    ItemsFile,
    Json,
    LookedLedger,
    Master,
    Memory,
    Owner,
    SchemaFile,
    ScratchFolder,
    Seed,
    answer,
    names,
    numbers,
    one_file,
    say,
    terminal,
)
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.evaluation.measure import Findings


def measure(
    data: Data,
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A release of DATA: a bundle, or a file of another tool.")],
    columns: Columns = None,
    schema: SchemaFile = None,
    id_map: Annotated[
        str | None, Option("--map", metavar="FILE", help="Which record is whose, from --keep-map: for scoring.")
    ] = None,
    holdout: Annotated[
        str | None, Option("--holdout", metavar="FILE", help="People of DATA who are not in the release.")
    ] = None,
    only: Annotated[str | None, Option("--only", metavar="NAMES", help="Such as linkage,membership; else all.")] = None,
    known: Annotated[
        str | None, Option("--known", metavar="R,...", help="How many items the linkage attacker knows: 2,4,8.")
    ] = None,
    recipient: Annotated[
        str | None,
        Option(metavar="NAME", help="In place of --known: as many as who receives it is taken to know; or a file."),
    ] = None,
    known_items: Annotated[str, Option(help="Which ones: random, rare, consecutive.")] = "random",
    ratings: Annotated[
        bool | None, Option("--ratings/--no-ratings", help="With their ratings, or without; else both.")
    ] = None,
    shadows: Annotated[
        int, Option(help="Releases of halves of DATA from which an attacker learns; 32 give the number.")
    ] = 0,
    command: Annotated[
        str | None,
        Option(metavar="COMMAND", help='Makes the shadows of another tool\'s release: "tool {in} {out}".'),
    ] = None,
    items: ItemsFile = None,
    seconds: Annotated[float, Option(help="That COMMAND may take for one release.")] = 600.0,
    also: Annotated[
        str | None, Option(metavar="BUNDLE", help="Another release of the same people, to be matched with.")
    ] = None,
    also_map: Annotated[str | None, Option(metavar="FILE", help="The map of that other release.")] = None,
    attributes: Annotated[
        str | None, Option(metavar="FILE", help="What people are: user and other columns, csv or parquet.")
    ] = None,
    keep: Annotated[
        bool, Option("--keep", help="Keep what is found in the owner's folder, for recveil decide.")
    ] = False,
    sign: Annotated[str | None, Option(metavar="KEY", help="Keep it, signed with this key.")] = None,
    owner: Owner = None,
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="The report as a page, .html.")] = None,
    every: Annotated[bool, Option("--all", help="Every number, not the verdict alone.")] = False,
    ledger: LookedLedger = None,
    fold_tags: FoldTags = False,
    engine: EngineName = "local",
    master: Master = None,
    memory: Memory = None,
    scratch: ScratchFolder = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Attack a bundle from files alone and report what comes out, with intervals, controls and chance.

    The riskiest people are named by their ids in DATA: the answer is for the owner, not for publication.

    Example: recveil measure ratings.csv out --map map.csv --holdout held.parquet
    """
    levels, only_these, file = numbers(known), names(only), one_file(items)
    if file in ("random", "rare", "consecutive"):  # what --items meant before there were files of them
        known_items, file = str(file), None
    signer = signer_of(sign)
    if out:
        from recveil.formats.files import check_writable

        check_writable(out, (".html",))
        if engine != "local":
            raise RecveilError("-o is for --engine local; on Spark too little is measured for a page")
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.actions.engine import Engine
    from recveil.actions.measure import MeasureRequest, run_measure
    from recveil.evaluation.resources import AttackerResources
    from recveil.releases.inputs import Input

    request = MeasureRequest(
        data=Input(data, columns, fold_tags=fold_tags, schema=schema),
        release=bundle,
        id_map=id_map,
        holdout=Input(holdout, fold_tags=fold_tags) if holdout else None,
        only=only_these,
        known=levels,
        recipient=recipient,
        known_items=known_items,
        ratings=ratings,
        seed=seed,
        engine=Engine(engine, master, memory, scratch),
        ledger=ledger,
        resources=AttackerResources(shadows, command, seconds, also, also_map, attributes, file),
    )
    with terminal() as progress:
        found = run_measure(request, progress)
    if keep or signer:
        from recveil.governance.owner import keep_measurements, owner_folder

        with request.engine.place(bundle) as place:
            folder = owner_folder(place, owner)
            keep_measurements(place, found, folder, signer)
        say(f"kept in {folder}, which stays with the owner; what may be published is {bundle} alone")
    document = {"bundle": bundle, "mechanism": found.mechanism, **found.record()}
    answer(document, _lines(found, every), as_json)  # first: whatever happens to the file, it was measured
    if out and found.report is not None:
        from recveil.formats.files import write_text
        from recveil.report.html import html

        write_text(out, html(found.report))
        say(f"The report is in {out}")
    if found.breaches:
        raise SystemExit(3)


def table(rows: list[dict[str, Any]], weak: Container[str] = ()) -> list[str]:
    """Measurements as lines for people; `weak`: attacks that are weak evidence."""
    names = [" ".join([row["name"], *(f"{k}={_plain(v)}" for k, v in row["params"].items())]) for row in rows]
    width = max(map(len, names), default=7)
    lines = [f"{'measure':<{width}} {'value':>7}  {'95% interval':<16} {'control':>7} {'chance':>7} {'n':>6}"]
    for name, row in zip(names, rows, strict=True):
        control = "" if row["control"] is None else f"{row['control']:.4f}"
        chance = "" if row["chance"] is None else f"{row['chance']:.4f}"
        lines.append(
            f"{name:<{width}} {row['value']:>7.4f}  [{row['low']:.4f}, {row['high']:.4f}] "
            f"{control:>7} {chance:>7} {row['n']:>6}"
            + ("  weak evidence" if row["measure"] in weak else "")
            + ("  no better than chance" if _nothing(row) else "")
        )
    return lines


def _lines(found: Findings, every: bool) -> list[str]:
    from recveil.report.summary import summary

    record = found.record()
    lines: list[str] = []
    if found.report is not None:
        lines += [*summary(found.report), ""]
    if every or found.report is None:
        weak = {name for name, attacker in record["attackers"].items() if attacker["weak"]}
        lines += [*table(record["measurements"], weak), ""]
        lines += [f"{name}: the attacker knows {facts['knows']}" for name, facts in record["attackers"].items()]
        lines += [f"left out: {gap['name']} ({gap['why']})" for gap in record["skipped"]]
    else:
        missing = ", ".join(gap["name"] for gap in record["skipped"])
        left = f"; left out: {missing}" if missing else ""
        lines.append(f"{len(record['measurements'])} numbers were measured; --all shows them{left}")
    if record["riskiest"]:
        named = ", ".join(f"{r['user']} ({r['success']:.0%})" for r in record["riskiest"])
        lines.append(
            f"found most surely by {record['riskiest'][0]['known']} random items (not for publication): {named}"
        )
    return lines


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _nothing(row: dict[str, Any]) -> bool:
    return "no better than chance" in row["note"]
