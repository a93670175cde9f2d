"""What a screen shows of what was found: results of the present choices as plain data, for the owner's eyes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from recveil.desk.project import plan
from recveil.desk.project.alarms import alarms
from recveil.desk.project.bundles import bundle_place, decided, decisions, published_place, recipient, verification
from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.deciding import question, write_sheet
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import FAILED, JobStore
from recveil.desk.project.solving import bound
from recveil.desk.project.units import with_unit
from recveil.errors import RecveilError
from recveil.evaluation.assess import riskiest_rows
from recveil.evaluation.catalogue import CRITERIA
from recveil.governance import evidence, owner, use_kept
from recveil.governance.decision import PAGES, draft
from recveil.governance.recipients import built_in
from recveil.governance.standing import standing
from recveil.measurement import skipped_in
from recveil.releases import ledger
from recveil.web.messages import teller

KNOWN = 4  # items that the attacker of the headline knows
OUTSIDE = (
    "Choosing among candidates by figures that were computed on private data is outside any proof: the choice itself "
    "tells a little about the data. The bundle and the sheet say so. Covered is what was found on an invented twin or "
    "a public stand-in, and a noisy choice with a budget (recveil compare --choose-epsilon)."
)


class NotThereError(ChoiceError):
    """A result that was not made yet."""


def overview(project: Project) -> Any:
    """What was found in the data; mechanisms with a promise about the unit that was chosen."""
    choices, _ = project.read()
    desk = JobStore(project)
    found = dict(_there(desk.result(plan.overview_job(desk, choices).id), "the data were not looked at yet"))
    unit = choices.protect.unit
    if not found["problem"]:
        found["starters"] = [with_unit(spec, unit) for spec in found["starters"]]
        found["fitting"] = [one | {"spec": with_unit(one["spec"], unit)} for one in found["fitting"]]
    return found


def exposure(project: Project, names: bool = False) -> dict[str, Any]:
    """The best that is known: of the whole, else the first figure. People and items by ordinal.

    `names`: of the people also where they stand in the data, read anew for this answer and kept nowhere.
    """
    choices, _ = project.read()
    desk = JobStore(project)
    first, last = plan.jobs_of(desk, choices, "exposure")
    found = dict(_there(desk.result(last.id) or desk.result(first.id), "the exposure was not measured yet"))
    for key, name in (("riskiest_users", "user"), ("riskiest_items", "item")):  # older results held ids
        found[key] = [
            {"ordinal": n, **{k: v for k, v in row.items() if k != name}} for n, row in enumerate(found[key], 1)
        ]
    if names and found["riskiest_users"]:
        rows = riskiest_rows(project.input(choices.data).all_rows(), choices.candidates.seed)
        found["riskiest_users"] = [one | {"row": row} for one, row in zip(found["riskiest_users"], rows, strict=True)]
    measured = found["measurements"]
    return found | {
        "headline": headline(measured),
        "curve": _curve(measured),
        "headline_rated": headline(measured, rated=True),
        "curve_rated": _curve(measured, rated=True),
    }


def headline(measurements: list[Mapping[str, Any]], rated: bool = False) -> dict[str, Any] | None:
    """How many people few known items single out; `rated`: with the ratings that they gave."""
    return min(_curve(measurements, rated), key=lambda point: abs(point["known"] - KNOWN), default=None)


def _curve(measurements: list[Mapping[str, Any]], rated: bool = False) -> list[dict[str, Any]]:
    """By number of known items, who is found by those who match them all."""
    return [
        {"known": m["params"]["known"], **figures_of(m)}
        for m in measurements
        if m["name"] == "linkage" and m["params"]["attacker"] == "intersection" and m["params"]["ratings"] == rated
    ]


def figures_of(m: Mapping[str, Any]) -> dict[str, Any]:
    return {key: m[key] for key in ("value", "low", "high", "control", "chance")}


def recipients() -> list[dict[str, Any]]:
    return [asdict(one) | {"rules": one.rules()} for one in built_in().values()]


def solved(project: Project) -> dict[str, Any]:
    """What was solved for, and what could not be."""
    choices, _ = project.read()
    desk = JobStore(project)
    jobs = plan.jobs_of(desk, choices, "solve")
    found = [desk.result(one.id) for one in jobs]
    failed = [(one, desk.why(one.id)[1]) for one in jobs if desk.state(one.id) == FAILED]
    return {
        "found": [one for one in found if one],
        "failed": [{"mechanism": one.title, "line": line} for one, line in failed],
        "bound": bound(choices),
        "outside_proof": OUTSIDE,
    }


def bundle(project: Project) -> dict[str, Any]:
    choices, _ = project.read()
    desk = JobStore(project)
    name = plan.standing_bundle(desk, choices)
    one = desk.job(name)
    return {**desk.result(name), "place": f"bundles/{name}", "notes": desk.record(one)["notes"] if one else []}


def red_team(project: Project, language: str = "en") -> dict[str, Any]:
    """The three criteria for the bundle, held against the recipient's limits, in sentences of a language."""
    choices, _ = project.read()
    tell = teller("sheet", language)
    desk = JobStore(project)
    found = _there(desk.result(plan.red_team_job(desk, choices).id), "the bundle was not attacked yet")
    to = recipient(project, choices.recipient.name or "public")
    judged = evidence.findings(found["measurements"], to, tell)
    return {
        "criteria": [
            {"criterion": name, "question": question, "findings": [f.record() for f in judged if f.criterion == name]}
            for name, question in CRITERIA.items()
        ],
        "not_run": evidence.not_run(judged, skipped_in(found), tell),
        "measurements": found["measurements"],
        "riskiest": found["riskiest"],
        "bundle": found["name"],
        "guarantee": desk.result(found["name"])["manifest"]["guarantee"],
        "weaker": evidence.weaker_than(to, found["measurements"]),
        "use": use_kept.against_wish(found["measurements"], question(project, choices).wish, tell),
        "knowledge": found["knowledge"],
        "recipient": to.title,
    }


def sheet(project: Project, language: str = "en") -> dict[str, Any]:
    """The decision sheet: as it was decided on, else as the evidence stands now."""
    choices, _ = project.read()
    name = plan.standing_bundle(JobStore(project), choices)
    made = write_sheet(project, choices, name) if not decided(project, name) else _decided_sheet(project, name)
    here = draft(bundle_place(project, name), question(project, choices))[language]
    return here | {"decision": made["decision"]} if here["digest"] == made["digest"] else made


def _decided_sheet(project: Project, name: str) -> dict[str, Any]:
    import json

    folder = owner.owner_folder(bundle_place(project, name))
    return dict(json.loads((folder / "decision.json").read()))


def sheet_page(project: Project, language: str = "en") -> str:
    sheet(project)
    name = plan.standing_bundle(JobStore(project), project.read()[0])
    return (owner.owner_folder(bundle_place(project, name)) / PAGES[language]).read()


def published(project: Project) -> dict[str, Any]:
    """What goes out and what stays in, verified."""
    choices, _ = project.read()
    name = plan.standing_bundle(JobStore(project), choices)
    place = published_place(project, name)
    if not place.exists():
        raise NotThereError(None, "nothing is published yet")
    return {
        "place": f"published/{place.name}",
        "goes_out": [file | {"href": f"/api/published/file?path={quote(file['path'])}"} for file in _files(place)],
        "stays_in": [
            {"path": f"bundles/{name}.owner", "what": "measurements and the decision sheet"},
            {"path": "private", "what": "the mark map and the people held out"},
            {"path": "keys", "what": "the keys that sign"},
            {"path": "uploads", "what": "the data themselves"},
            {"path": "results", "what": "figures that were computed on the data"},
            {"path": choices.release.ledger, "what": "the ledger"},
        ],
        "verification": verification(project, choices, name),
    }


def published_file(project: Project, path: str) -> Path:
    """A file below what goes out; whatever leads elsewhere is not there."""
    name = plan.standing_bundle(JobStore(project), project.read()[0])
    place = published_place(project, name).resolve()
    found = (place / path).resolve()
    if not found.is_relative_to(place) or not found.is_file():
        raise NotThereError(None, "there is no such file among what goes out")
    return found


def _files(place: Path) -> list[dict[str, Any]]:
    return [
        {"path": file.relative_to(place).as_posix(), "bytes": file.stat().st_size}
        for file in sorted(place.rglob("*"))
        if file.is_file()
    ]


def watch(project: Project) -> dict[str, Any]:
    """Earlier releases of these data, what they spend together, and what was said about the present one."""
    choices, _ = project.read()
    file = project.path(choices.release.ledger) if choices.release.ledger else None
    book = ledger.registry(file) if file and file.exists() else None
    name = plan.made_bundle(JobStore(project), choices)
    said = decisions(project, name) if name else None
    stands = standing(said) if said else None
    last = next((c for c in reversed(said.claims) if c.until), None) if said else None
    series, broken = _series(project)
    return {
        "series": series,
        "releases": book["releases"] if book else [],
        "totals": [str(total) for total in ledger.totals(ledger.read(file))] if book and file else [],
        "budgets": book["budgets"] if book else [],
        "promise_nothing": book["promise_nothing"] if book else 0,
        "claims": said.record() if said else [],
        "problems": [*broken, *said.problems, *stands.problems()] if said and stands else broken,
        "alarms": alarms(project, name, book["releases"] if book else []) if name else [],
        "expires": str(last.until) if last else None,
        "bundle": name,
        "bundles": _bundles(project),
    }


def _series(project: Project) -> tuple[list[dict[str, Any]], list[str]]:
    """Where each series in the folder of the project stands, and why others cannot be shown."""
    from recveil.releases.bundle import SERIES
    from recveil.series.folder import open_series
    from recveil.series.showing import shown

    found, broken = [], []
    for file in sorted(project.folder.glob(f"*/{SERIES}")):
        try:
            found.append(shown(open_series(file.parent)) | {"series": file.parent.name})
        except RecveilError as why:
            broken.append(str(why))
    return found, broken


def _bundles(project: Project) -> list[dict[str, Any]]:
    """All bundles that were made here, the newest first."""
    desk, found = JobStore(project), []
    for one in reversed(desk.jobs()):
        if one.kind == "bundle" and (made := desk.result(one.id)) and bundle_place(project, one.id).exists():
            out = published_place(project, one.id).exists()
            said = {"name": one.id, "spec": made["manifest"]["spec"], "seeded": made["manifest"]["seeded"]}
            found.append(said | {"decision": decided(project, one.id) or None, "published": out})
    return found


def odds(epsilon: float) -> dict[str, Any]:
    """What an attacker may believe after a release, by what she believed before."""
    from recveil.report.decision import believed_after

    return {"epsilon": epsilon, "points": [[p / 40, believed_after(p / 40, epsilon)] for p in range(41)]}


def _there(found: Any, line: str) -> Any:
    if found is None:
        raise NotThereError(None, line)
    return found
