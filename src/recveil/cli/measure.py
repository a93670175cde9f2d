"""recveil measure DATA BUNDLE: what does a release give away, and what is it worth?"""

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from recveil.cli.arguments import Json, Owner, answer, say, terminal
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Option, Request

if TYPE_CHECKING:
    from recveil.actions.measure import MeasureRequest
    from recveil.evaluation.measure import Findings


def measure(
    request: Annotated["MeasureRequest", Request("recveil.actions.measure")],
    keep: Annotated[
        bool, Option("--keep", help="Keep what is found in the owner's folder, for recveil decide.")
    ] = False,
    sign: Annotated[str | None, Option(metavar="KEY", help="Keep it, signed with this key.")] = None,
    owner: Owner = None,
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="The report as a page, .html.")] = None,
    every: Annotated[bool, Option("--all", help="Every number, not the verdict alone.")] = False,
    as_json: Json = False,
) -> None:
    """Attack a bundle from files alone and report what comes out, with intervals, controls and chance.

    The riskiest people are named by their ids in DATA: the answer is for the owner, not for publication.

    Example: recveil measure ratings.csv out --map map.csv --holdout held.parquet
    """
    if request.resources.items in ("random", "rare", "consecutive"):  # before there were files of items
        say("--items names a file of items now; which items an attacker knows is --known-items")
        others = replace(request.resources, items=None)
        request = replace(request, known_items=request.resources.items, resources=others)
    signer = signer_of(sign)
    if out:
        from recveil.formats.files import check_writable

        check_writable(out, (".html",))
        if request.engine.on_spark:
            raise RecveilError("-o is for --engine local; on Spark too little is measured for a page")
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.actions.measure import run_measure

    bundle = str(request.release)
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


def _lines(found: "Findings", every: bool) -> list[str]:
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
