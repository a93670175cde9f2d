"""recveil demo: the main job on a sample, in a minute and a page of lines."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from recveil.cli.arguments import Json, Seed, answer, say, terminal
from recveil.errors import not_installed
from recveil.options import Option

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.evaluation.design import Design
    from recveil.releases.catalogue import Catalogue
    from recveil.report.table import Report

SAMPLE = "films?users=3000"  # so many that a proof leaves most of what the data teach
DECISIVE = ("linkage", "membership", "lift")
COMPARED = ("linkage", "membership", "ranking", "lift", "public-items")
MOST_EXPOSED = 4  # lines of the look before anything is done


def demo(
    out: Annotated[str, Option("-o", "--out", metavar="DIR", help="Where bundle and report go.")] = "demo",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """The main job on a generated sample: assess it, protect it in several ways, attack, compare, release, decide.

    Example: recveil demo -o demo
    """
    from recveil.actions.compare import CompareRequest, run_compare
    from recveil.actions.next_steps import starters
    from recveil.evaluation.assess import assess
    from recveil.evaluation.cache import user_cache
    from recveil.evaluation.design import Design
    from recveil.evaluation.warming import compiled_beside
    from recveil.releases.catalogue import read_catalogue
    from recveil.releases.inputs import Input
    from recveil.report.text import text
    from recveil.samples import sample

    begin = perf_counter()
    folder = Path(out)
    data, items = sample(SAMPLE), read_catalogue(f"sample:{SAMPLE}")
    say(f"sample:{SAMPLE}: {len(data):,} ratings of {data.n_items:,} films by {data.n_users:,} viewers")
    specs = tuple(_one_proof(starters(data)))
    with compiled_beside(SAMPLE, specs[1:]):  # what is needed when about half of all compiling is done
        say("\n1. assess: what if only the ids were replaced?")
        exposed = assess(data, seed=seed or 0, known=(2, 4))
        for line in exposed["words"][:MOST_EXPOSED]:
            say(f"   {line}")
        say(f"\n2. protect in {len(specs)} ways, attack each, and train recommenders on each")
        design = Design(seed or 0, quick=True, only=COMPARED)
        with terminal() as progress:
            request = CompareRequest(Input(f"sample:{SAMPLE}"), specs, design=design, cache=user_cache(), items=items)
            report = run_compare(request, progress)
    shown = [f"   {line}".rstrip() for line in text(report, brief=True)]
    made = _released(report, data, items, folder, design)
    page = _page(report, folder / "report.html")
    lines = [*shown, "", f"3. release and decide: {made['bundle']}, verified; {made['sentence']}"]
    lines += [f"   {sentence}" for sentence in made["says"]]
    lines += ["", f"Done in {perf_counter() - begin:.0f} s. The picture: {page}" if page else "Done."]
    lines.append(
        f"What a recipient reads: {made['bundle']}/README.md" + f"; what an officer: {made['sheet']}" * bool(page)
    )
    lines.append("Your own data: recveil inspect FILE")
    found = {"report": page, "bundle": made["bundle"], "assess": exposed, "decision": made["sheet"]}
    answer({**report.record(), **found}, lines, as_json)


def _one_proof(specs: list[str]) -> list[str]:
    """Without further mechanisms with a proof: each takes as long to compile as all attackers."""
    from recveil.mechanisms.spec import parse

    proved = [spec for spec in specs if parse(spec).is_proved]
    return [spec for spec in specs if spec not in proved[1:]]


def _page(report: Report, path: Path) -> str | None:
    """Its pictures need an extra; without it, the rest of the demo stands."""
    try:
        report.save(path)
    except ModuleNotFoundError as missing:
        say(f"   no page of the report: {not_installed(missing)}")
        return None
    return str(path)


def _released(report: Report, data: Interactions, items: Catalogue, folder: Path, design: Design) -> dict[str, Any]:
    """The mechanism that the verdict names first: a bundle with some people held out, attacked, and its sheet."""
    from recveil.evaluation.design import measures, split
    from recveil.evaluation.measure import measure_release
    from recveil.governance.owner import keep_measurements, owner_folder
    from recveil.mechanisms.spec import parse
    from recveil.releases.bundle import load, save
    from recveil.releases.release import release
    from recveil.report.verdict import closest, named

    entry = next(iter(named(report).values()), None) or closest(report) or report.entries[0]
    parts = split(data, design.holdout, [design.seed])
    made = release(parts.train, parse(entry.spec), catalogue=items)
    bundle = folder / "bundle"
    save(made, bundle, force=True)
    promise = load(bundle).guarantee  # loading verifies
    chosen = {name: measure for name, measure in measures(design).items() if name in DECISIVE}
    how: dict[str, Any] = {"holdout": parts.holdout, "id_map": made.id_map, "measures": chosen}
    aside = owner_folder(bundle)
    keep_measurements(bundle, measure_release(data, made.data, mechanism=entry.spec, **how), aside)
    said: dict[str, Any] = {"bundle": str(bundle), "sentence": promise.sentence, "says": [], "sheet": None}
    try:
        return said | _decided(bundle, aside)
    except ModuleNotFoundError as missing:
        say(f"   no decision sheet: {not_installed(missing)}")
        return said


def _decided(bundle: Path, aside: Any) -> dict[str, Any]:
    from recveil.governance.context import Context
    from recveil.governance.decision import decide
    from recveil.governance.recipients import read_recipient

    made = decide(bundle, Context(read_recipient("public"), purpose="A challenge for recommenders"), None, aside)
    return {"says": made["sheet"]["verdict"]["sentences"], "sheet": str(made["files"][1])}
