"""recveil demo: the main job on a sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli.arguments import Json, Seed, answer, say, terminal
from recveil.errors import RecveilError, not_installed

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.evaluation.design import Design
    from recveil.releases.catalogue import Catalogue
    from recveil.report.table import Report

SAMPLE = "films"
DECISIVE = ("linkage", "membership", "reconstruction", "sybil", "copies", "lift", "damage")


def demo(
    out: Annotated[str, typer.Option("-o", "--out", metavar="DIR", help="Where bundles and report go.")] = "demo",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """The main job on a generated sample: assess it, protect it in every way that fits, attack, compare, report.

    Example: recveil demo -o demo
    """
    from recveil.evaluation.advice import fitting
    from recveil.evaluation.assess import assess
    from recveil.evaluation.cache import user_cache
    from recveil.evaluation.compare import CompareRequest, run_compare
    from recveil.evaluation.design import Design
    from recveil.mechanisms.spec import parse
    from recveil.releases.bundle import load, save
    from recveil.releases.catalogue import read_catalogue
    from recveil.releases.inputs import Input
    from recveil.releases.release import release
    from recveil.report.text import text
    from recveil.samples import sample

    begin = perf_counter()
    folder = Path(out)
    data, items = sample(SAMPLE), read_catalogue(f"sample:{SAMPLE}")
    say(f"sample:{SAMPLE}: {len(data):,} ratings of {data.n_items:,} films by {data.n_users:,} viewers")

    say("\n1. assess: what if only the ids were replaced?")
    exposed = assess(data, seed=seed or 0)
    for line in exposed["words"]:
        say(f"   {line}")

    specs = fitting(data)
    say(f"\n2. protect: {len(specs)} mechanisms fit these data")
    bundles = []
    for spec in specs:
        directory = folder / "bundles" / spec.partition(":")[0]
        try:
            made = release(data, parse(spec), seed=seed, catalogue=items)
        except RecveilError as reason:  # such as too few people for its noise
            say(f"   no {spec}: {reason}")
            continue
        save(made, directory, force=True)
        manifest = load(directory).manifest  # loading verifies
        bundles.append({"bundle": str(directory), "verified": True, "manifest": manifest})
        say(f"   {directory!s}: {manifest['rows']:,} rows, promise: {manifest['guarantee']['status']}; verified")

    say("\n3. attack and compare, with the quick referees")
    design = Design(seed or 0, quick=True)
    with terminal() as progress:
        request = CompareRequest(Input(f"sample:{SAMPLE}"), tuple(specs), design, user_cache(), items)
        report = run_compare(request, progress)
    page = _drawn("the page of the report", lambda: _page(report, folder / "report.html"))
    say("\n4. decide: the sheet on which an officer decides, for the release that the verdict names first")
    sheet = _drawn("the decision sheet", lambda: _sheet(report, data, items, folder, design))
    lines = [*text(report), "", f"Done in {perf_counter() - begin:.0f} s."]
    lines += [f"Look at {page} in a browser."] if page else []
    lines.append(f"{bundles[0]['bundle']}/README.md is the card of a bundle.")
    lines += [f"{sheet} is the decision sheet."] if sheet else []
    found = {"report": page, "bundles": bundles, "assess": exposed, "decision": sheet}
    answer({**report.record(), **found}, lines, as_json)


def _drawn(what: str, draw: Callable[[], str]) -> str | None:
    """What draws needs an extra; without it, the rest of the demo stands."""
    try:
        return draw()
    except ModuleNotFoundError as missing:
        say(f"   no {what}: {not_installed(missing)}")
        return None


def _page(report: Report, path: Path) -> str:
    report.save(path)
    return str(path)


def _sheet(report: Report, data: Interactions, items: Catalogue, folder: Path, design: Design) -> str:
    """Release it once more with some people held out, attack that bundle, and write its sheet."""
    from recveil.evaluation.design import measures, split
    from recveil.evaluation.measure import measure_release
    from recveil.governance.context import Context
    from recveil.governance.decision import decide
    from recveil.governance.owner import keep_measurements, owner_folder
    from recveil.governance.recipients import read_recipient
    from recveil.mechanisms.spec import parse
    from recveil.releases.bundle import save
    from recveil.releases.release import release
    from recveil.report.verdict import closest, named

    entry = next(iter(named(report).values()), None) or closest(report) or report.entries[0]
    parts = split(data, design.holdout, [design.seed])
    made = release(parts.train, parse(entry.spec), catalogue=items)
    bundle = folder / "decision" / entry.spec.partition(":")[0]
    save(made, bundle, force=True)
    chosen = {name: measure for name, measure in measures(design).items() if name in DECISIVE}
    found = measure_release(
        data, made.data, holdout=parts.holdout, id_map=made.id_map, measures=chosen, mechanism=entry.spec
    )
    aside = owner_folder(bundle)
    keep_measurements(bundle, found, aside)
    made_sheet = decide(bundle, Context(read_recipient("public"), purpose="A challenge for recommenders"), None, aside)
    for sentence in made_sheet["sheet"]["verdict"]["sentences"]:
        say(f"   {sentence}")
    return str(made_sheet["files"][1])
