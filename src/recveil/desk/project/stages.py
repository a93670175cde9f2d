"""Stages: what a job of each kind does, with the functions that the command line calls. Each returns plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from recveil.actions.assess import AssessRequest, run_assess
from recveil.actions.compare import CompareRequest, run_compare
from recveil.actions.next_steps import starters
from recveil.data import Interactions
from recveil.desk.project.bundles import ledger_file
from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.court import found_court, judge_submission
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import Job
from recveil.desk.project.publishing import make_bundle, publish_bundle, red_team
from recveil.desk.project.solving import bound
from recveil.desk.project.units import units
from recveil.errors import RecveilError
from recveil.evaluation.advice import advise, scale_of, told_scale
from recveil.evaluation.assess import itself
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.cache import Cache
from recveil.evaluation.design import Design
from recveil.evaluation.inspect import column_names, columns_of, inspect
from recveil.evaluation.tune import WORLDS, TuneRequest, run_tune
from recveil.formats.schema import as_schema
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import first_spec, parse
from recveil.releases.progress import WARNING, Progress

FIRST_TARGETS = 500  # people attacked for the first figure, among all records
Stage = Callable[[Project, Job, Progress], Any]


def perform(project: Project, job: Job, progress: Progress) -> Any:
    """What comes of a job."""
    return STAGES[job.kind](project, job, progress)


class Heard(Progress):
    """What the owner is told of the data, for her pages to show."""

    def __init__(self, progress: Progress) -> None:
        self.lines: list[str] = []
        self.step = progress.step  # type: ignore[method-assign]

    def note(self, line: str) -> None:
        self.lines.append(line.removeprefix(WARNING))


def overview(project: Project, job: Job, progress: Progress) -> Any:
    """What recveil inspect says, and what can be chosen for these data."""
    choices = job.made_choices()
    asked = project.input(choices.data)
    progress.step("reading", 0, 1)
    try:
        names = column_names(str(asked.source))
    except RecveilError as why:
        raise ChoiceError("data.source", str(why)) from None
    try:
        named = columns_of(str(asked.source), asked.columns, as_schema(asked.schema))
        heard = Heard(progress)
        rows = asked.all_rows(heard)
        if not len(rows):
            rows = replace(asked, broken="refuse").all_rows()  # which says why
    except RecveilError as why:  # such as names that say nothing: the owner is shown them, and says which is which
        return {"problem": str(why), "names": names, "columns": []}
    progress.step("reading", 1, 1)
    scale = scale_of(rows)
    first = {name: first_spec(mechanism) for name, mechanism in known_mechanisms().items()}
    fits = [
        advice.record()
        | {"spec": told_scale(first[advice.mechanism], scale), "promise": parse(first[advice.mechanism]).is_proved}
        for advice in advise(rows)
    ]
    return {
        **inspect(rows),
        "problem": "",
        "warnings": heard.lines,
        "names": names,
        "columns": named,
        "units": units(rows, named),
        "uses": _uses(rows),
        "fitting": fits,
        "starters": starters(rows),
        "scale": scale,
        "world": WORLDS[rows.kind],
    }


def first_exposure(project: Project, job: Job, progress: Progress) -> Any:
    """The first figure, within seconds: a sample of people is looked for among all records."""
    choices = job.made_choices()
    progress.step("reading", 0, 2)
    rows = project.input(choices.data).all_rows().compact()
    progress.step("looking for people", 1, 2)
    rng = np.random.default_rng([choices.candidates.seed, *b"first"])
    found = linkage(
        itself(rows), rng, attackers=("intersection",), targets=FIRST_TARGETS, theta=None
    )  # fmt: skip
    return {
        "stage": "first", "kind": rows.kind, "rows": len(rows), "users": rows.n_users, "items": rows.n_items,
        "measurements": [m.record() for m in found], "riskiest_users": [], "riskiest_items": [], "words": [],
        "warnings": [],
    }  # fmt: skip


def exposure(project: Project, job: Job, progress: Progress) -> Any:
    """What recveil assess says."""
    choices = job.made_choices()
    heard = Heard(progress)
    found = run_assess(AssessRequest(project.input(choices.data), seed=choices.candidates.seed), heard)
    told = {"stage": "whole", **found, "warnings": [*found["warnings"], *heard.lines]}
    for key, name in (("riskiest_users", "user"), ("riskiest_items", "item")):  # nobody is named on the disk
        told[key] = [{k: v for k, v in row.items() if k != name} for row in found[key]]
    return told


def solve(project: Project, job: Job, progress: Progress) -> Any:
    """The parameters of one mechanism (job.about is its spec without them) that keep what must still work."""
    choices = job.made_choices()
    use, data = choices.use, project.input(choices.data)
    if use.on == "sample":
        data = replace(data, source=f"sample:{WORLDS[data.all_rows().kind]}", columns=None, types=None, schema=None)
    twin = use.on == "twin"
    request = TuneRequest(
        data,
        job.about,
        bound(choices),
        people=use.people or None if twin else None,
        twin_items=use.items or None if twin else None,
        on_data=use.on == "data",
        seed=choices.candidates.seed,
        ledger=ledger_file(project, choices),
        items=data.source if use.on == "sample" and choices.data.items else project.items(choices),
    )
    found = run_tune(request, progress)
    words = next((line for line in reversed(found.lines) if "keeps" in line), found.lines[0])
    return {
        "mechanism": job.about.partition(":")[0],
        "spec": found.spec,
        "words": words,
        "lines": list(found.lines),
        **found.found,
    }


def candidate(project: Project, job: Job, progress: Progress) -> Any:
    """One candidate, attacked and put to use; what was measured before is taken from the project's own cache."""
    choices = job.made_choices()
    wanted = choices.candidates
    one: Any = Path(project.path(job.about.removeprefix("file:"))) if job.about.startswith("file:") else job.about
    design = Design(wanted.seed, wanted.holdout, 1, wanted.quick, wanted.measures or None, wanted.shadows)
    cache = Cache(project.room("results") / "measured")
    ledger = ledger_file(project, choices)
    return run_compare(
        CompareRequest(
            project.input(choices.data), (one,), design=design, cache=cache, items=project.items(choices), ledger=ledger
        ),
        progress,
    ).record()


def _uses(rows: Interactions) -> list[dict[str, Any]]:
    rated, tagged = rows.rating is not None, rows.tag is not None
    no_ratings, no_tags = "" if rated else "there are no ratings", "" if tagged else "there are no tags"
    return [
        {"what": "recommend", "possible": not tagged, "why": "these are tags" * tagged},
        {"what": "ratings", "possible": rated, "why": no_ratings},
        {"what": "algorithms", "possible": rated, "why": no_ratings},
        {"what": "tags", "possible": tagged, "why": no_tags},
    ]  # fmt: skip


STAGES: dict[str, Stage] = {
    "overview": overview,
    "exposure-first": first_exposure,
    "exposure": exposure,
    "solve": solve,
    "candidate": candidate,
    "bundle": make_bundle,
    "red-team": red_team,
    "publish": publish_bundle,
    "court": found_court,
    "judge": judge_submission,
}
