"""For every screen the command lines that do the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from shlex import quote
from typing import Any

from recveil.actions.assess import AssessRequest
from recveil.actions.compare import CompareRequest
from recveil.actions.measure import MeasureRequest
from recveil.actions.publish import ReleaseRequest
from recveil.desk.project.choices import Choices
from recveil.desk.project.deciding import terms_file
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import FILE, attack_levels, keeps_ids
from recveil.desk.project.solving import bound
from recveil.evaluation.tune import TuneRequest
from recveil.options import command_line


def commands(desk: JobStore, choices: Choices, bundle: str | None) -> dict[str, list[str]]:
    """By the name of the screen; nothing where a choice is missing on which the command hangs."""
    run = f"recveil run {quote(str(desk.project.file))}"
    if not choices.data.source:
        return {"start": ["recveil inspect DATA"]}
    given = _given(desk, choices)
    data = command_line("", AssessRequest, **given).removeprefix("recveil  ")
    name = bundle or "BUNDLE"
    place = f"bundles/{name}"
    ledger = choices.release.ledger
    return {
        "start": [f"recveil inspect {data}"],
        "people": [f"recveil inspect {data}"],
        "exposure": [command_line("assess", AssessRequest, **given, seed=choices.candidates.seed)],
        "recipient": [f"recveil decide {place} --recipient {quote(choices.recipient.name or 'public')}"],
        "use": _tune(choices, given),
        "candidates": _compare(choices, given),
        "red-team": [_release(choices, given, name), _measure(desk, choices, given, name)],
        "decide": _decide(desk, choices, name),
        "publish": [f"recveil verify {place}", *(_export(to, place) for to in choices.publish.exports), run],
        "judge": _judge(choices, data, place),
        "watch": ([f"recveil ledger show --ledger {quote(ledger)}"] if ledger else []) + _series(desk),
    }


def _series(desk: JobStore) -> list[str]:
    return [f"recveil series show {quote(f.parent.name)}" for f in sorted(desk.project.folder.glob("*/series.json"))]


def _given(desk: JobStore, choices: Choices) -> dict[str, Any]:
    """The fields of an Input."""
    data = choices.data
    return {
        "source": data.source if data.source.startswith("sample:") else desk.project.path(data.source),
        "columns": _line(data.columns) if data.columns else None,
        "types": _line(data.types) if data.types else None,
        "schema": desk.project.path(data.schema) if data.schema else None,
    }


def _line(mapping: Mapping[str, str]) -> str:
    """user=uid,item=movie; with quotes around a part whose name has a comma."""
    made = io.StringIO()
    csv.writer(made, lineterminator="").writerow(f"{role}={name}" for role, name in mapping.items())
    return made.getvalue()


def _tune(choices: Choices, given: dict[str, Any]) -> list[str]:
    use = choices.use
    if not use.what:
        return []
    twin = use.people if use.on == "twin" and use.people else None
    wishes = {"spec": "MECHANISM", "keep": bound(choices), "on_data": use.on == "data", "people": twin}
    wishes |= {"twin_items": use.items or None if twin else None, "items": choices.data.items or None}
    return [command_line("tune", TuneRequest, **given, **wishes)]


def _compare(choices: Choices, given: dict[str, Any]) -> list[str]:
    wanted = choices.candidates
    line = command_line(
        "compare", CompareRequest, **given, candidates=wanted.specs, releases=wanted.files,
        only=wanted.measures or None,
        quick=wanted.quick,
        items=choices.data.items or None,
        shadows=wanted.shadows,
    )  # fmt: skip
    return [f"{line} --seed {wanted.seed} -o report.html"] if wanted.specs or wanted.files else []


def _release(choices: Choices, given: dict[str, Any], name: str) -> str:
    wishes, spec = choices.release, choices.candidates.chosen
    line = command_line(
        "release", ReleaseRequest, **given, mechanism=spec.removeprefix(FILE) or "MECHANISM", out=f"bundles/{name}",
        holdout=wishes.holdout,
        holdout_file=f"private/{name}-held.parquet" if wishes.holdout else None,
        keep_map=f"private/{name}-map.csv" if keeps_ids(spec) else None,
        format=wishes.format,
        time=wishes.time,
        licence=wishes.licence or None,
        catalogue=wishes.catalogue or choices.data.items or None,
        catalogue_is_public=wishes.catalogue_is_public,
        publish_titles=wishes.publish_titles,
        ledger=wishes.ledger or None,
        seed=wishes.seed if wishes.seed >= 0 else None,
    )  # fmt: skip
    return f"{line} --sign {quote(choices.owner.key or 'keys/owner.key')}"


def _measure(desk: JobStore, choices: Choices, given: dict[str, Any], name: str) -> str:
    how = choices.red_team
    line = command_line(
        "measure", MeasureRequest, **given, release=f"bundles/{name}",
        holdout=f"private/{name}-held.parquet" if choices.release.holdout else None,
        id_map=f"private/{name}-map.csv" if keeps_ids(choices.candidates.chosen) else None,
        known=attack_levels(desk.project, choices),
        known_items=how.items,
        ratings={"both": None, "with": True, "without": False}[how.ratings],
        only=how.measures or None,
        shadows=max(how.shadows, 0),
        items=choices.data.items or None,
    )  # fmt: skip
    return f"{line} --sign {quote(choices.owner.key or 'keys/owner.key')}"


def _decide(desk: JobStore, choices: Choices, name: str) -> list[str]:
    """The sheet, to be read, under the digest of the page's; then the file that goes to the officer."""
    to, place, ledger = choices.recipient, f"bundles/{name}", choices.release.ledger
    said = [("--recipient", to.name or "public"), ("--purpose", to.purpose), ("--contract", to.contract)]
    said += [("--until", choices.officer.until), *(("--condition", words) for words in choices.officer.conditions)]
    said += [("--ledger", ledger if ledger and desk.project.path(ledger).exists() else "")]
    terms = "".join(f" {option} {quote(words)}" for option, words in said if words)
    sheet = f"recveil decide {place}{terms} --context private/{terms_file(name)}"
    return [sheet, f"recveil dossier pack {place} -o dossier.zip"]


def _judge(choices: Choices, data: str, place: str) -> list[str]:
    wanted = choices.judge
    if not wanted.people:
        return []
    new = f"recveil judge new {data} --people {wanted.people:g} --epsilon {wanted.epsilon:g} --metric {wanted.metrics}"
    new += f" --ledger {quote(choices.release.ledger)} --bundle {place} -o private/court"
    scored = [f"recveil judge score private/court {quote(file)}" for file in wanted.submissions]
    sign = quote(choices.owner.key or "keys/owner.key")
    return [new, *scored, f"recveil judge board private/court -o board.html --sign {sign}"]


def _export(to: str, place: str) -> str:
    return f"recveil export {place} --to {to} -o {'bundle.zip' if to == 'zip' else to}"
