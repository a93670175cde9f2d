"""Where a project stands: every step with its state and what was said, the work, and the commands that do the same."""

from __future__ import annotations

from typing import Any

from recveil.desk.project.bundles import bundle_place, decided, published_place, standing_of
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.commands import commands
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import CANCELLED, DONE, FAILED, RUNNING, WAITING, Job, JobStore
from recveil.desk.project.plan import KINDS, jobs_of, made_bundle, overview_job, overview_of
from recveil.errors import RecveilError
from recveil.evaluation.cache import digest
from recveil.governance.recipients import built_in
from recveil.governance.standing import NOBODY

STEPS = ("start", "people", "exposure", "recipient", "use", "candidates", "red-team", "decide", "publish", "judge",
         "watch")  # fmt: skip
DONE_, OPEN, CLOSED, WORKING, FAILED_ = "done", "open", "closed", "working", "failed"


def state(project: Project) -> dict[str, Any]:
    """The whole document that a page is told whenever something changed."""
    choices, version = project.read()
    desk = JobStore(project)
    known = {kind: _jobs(desk, choices, kind) for kind in KINDS}
    present = {job.id for jobs in known.values() for job in jobs}
    bundle = made_bundle(desk, choices)
    every = [desk.record(one) for one in desk.jobs()]
    return {
        "project": {"folder": str(project.folder), "name": project.folder.name, "version": version},
        "choices": choices.record(),
        "steps": _steps(desk, choices, known, bundle),
        "work": [one for one in every if one["id"] in present or one["state"] in (RUNNING, WAITING)],
        "results": _results(desk, known, bundle),
        "commands": commands(desk, choices, bundle),
        "seeded": choices.release.seed >= 0,
        "changed": _changed(desk, choices, known["overview"]),
    }


def _changed(desk: JobStore, choices: Choices, present: list[Job]) -> bool:
    """Whether what is named as the data was looked at before, and is not what it was."""
    if not present or desk.state(present[0].id) is not None:
        return False
    source = choices.data.source
    return any(one.kind == "overview" and one.title == source and desk.state(one.id) == DONE for one in desk.jobs())


def _jobs(desk: JobStore, choices: Choices, kind: str) -> list[Job]:
    try:
        return jobs_of(desk, choices, kind)
    except RecveilError:
        return []


def _results(desk: JobStore, known: dict[str, list[Job]], bundle: str | None) -> dict[str, str | None]:
    """For each result a tag that changes when it does."""
    found = {
        kind: _tag([desk.result_file(job.id) for job in jobs]) for kind, jobs in known.items() if kind != "publish"
    }
    place = bundle_place(desk.project, bundle) if bundle else None
    sheet = place.with_name(f"{place.name}.owner") / "decision.json" if place else None
    claims = place / "claims.jsonl" if place else None
    published = published_place(desk.project, bundle) if bundle else None
    return found | {
        "bundle": bundle,
        "claims": _tag([claims] if claims else []),
        "sheet": digest(b"".join(p.read_bytes() for p in (sheet, claims) if p and p.exists())) if place else None,
        "published": _tag([published / "bundle" / "claims.jsonl"] if published else []),
    }


def _tag(files: list[Any]) -> str | None:
    there = [(file.name, file.stat().st_mtime_ns) for file in files if file.exists()]
    return "-".join(f"{name}.{at}" for name, at in there)[-200:] if there else None


def _steps(desk: JobStore, choices: Choices, known: dict[str, list[Job]], bundle: str | None) -> dict[str, Any]:
    """Each step: done, open, closed (with the reason), working or failed; and what was said there, in few words."""
    seen = overview_of(desk, choices)
    kind = decided(desk.project, bundle) if bundle else ""
    to = choices.recipient.name
    title = built_in()[to].title if to in built_in() else to
    steps: dict[str, dict[str, Any]] = {"start": _start(desk, choices, seen)}
    ready = "" if seen else "choose the data first"
    steps["people"] = _step(ready, bool(seen), _who(seen) if seen else "")
    steps["exposure"] = _worked(desk, known["exposure"], ready, _found(desk, known["exposure"]))
    steps["recipient"] = _step(ready, bool(to), title)
    steps["use"] = _worked(desk, known["solve"], ready, _use(choices))
    if choices.use.what and steps["use"]["state"] == OPEN:
        steps["use"]["state"] = DONE_
    steps["candidates"] = _worked(desk, known["candidates"], ready, choices.candidates.chosen.partition(":")[0])
    if steps["candidates"]["state"] == DONE_ and not choices.candidates.chosen:
        steps["candidates"]["state"] = OPEN
    chosen = ready or ("" if choices.candidates.chosen else "choose one of the candidates first")
    steps["red-team"] = _worked(desk, known["red-team"] or known["bundle"], chosen, "")
    if steps["red-team"]["state"] == DONE_ and not known["red-team"]:
        steps["red-team"]["state"] = OPEN
    made = "" if bundle else "the chosen one must be made and attacked first"
    unasked = "" if to else "choose who receives it first"
    stands = standing_of(desk.project, bundle) if bundle and kind else NOBODY
    steps["decide"] = _step(made or unasked, bool(kind), stands.sentence() if kind else "")
    steps["decide"] |= {"kind": kind, "standing": stands.record()}
    out = bool(bundle) and published_place(desk.project, str(bundle)).exists()
    refused = made or ("" if kind == "approved" else "it must be approved first")
    steps["publish"] = _step(refused, out, "published" if out else "")
    unheard = "" if choices.judge.people else "nobody was set aside to judge at the start"
    unheard = unheard or ("" if known["court"] else "it must be published first")
    steps["judge"] = _worked(desk, [*known["court"], *known["judge"]], unheard, "")
    steps["watch"] = _step("", False, "")
    return steps


def _step(closed: str, done: bool, says: str) -> dict[str, str]:
    state = DONE_ if done and not closed else CLOSED if closed else OPEN
    return {"state": state, "why": closed, "says": says if state == DONE_ else ""}


def _worked(desk: JobStore, jobs: list[Job], closed: str, says: str) -> dict[str, str]:
    """The state of a step that work is done for."""
    states = {one.id: desk.state(one.id) for one in jobs}
    found = set(states.values())
    if closed:
        return {"state": CLOSED, "why": closed, "says": ""}
    if found & {RUNNING, WAITING}:
        return {"state": WORKING, "why": "", "says": says}
    if (jobs and found == {DONE}) or (DONE in found and found <= {DONE, CANCELLED, FAILED, None}):
        return {"state": DONE_, "why": "", "says": says}
    if FAILED in found:
        failed = next(mark for mark, state in states.items() if state == FAILED)
        return {"state": FAILED_, "why": desk.why(failed)[1], "says": ""}
    return {"state": OPEN, "why": "", "says": says}


def _start(desk: JobStore, choices: Choices, seen: dict[str, Any] | None) -> dict[str, str]:
    try:
        one = overview_job(desk, choices)
    except ChoiceError as why:
        state = FAILED_ if choices.data.source else OPEN
        return {"state": state, "why": str(why) if choices.data.source else "", "says": ""}
    found = desk.result(one.id)
    if found and found["problem"]:
        return {"state": FAILED_, "why": found["problem"], "says": ""}
    name = choices.data.source.rpartition("/")[2]
    return _worked(desk, [one], "", f"{name}: {seen['rows']:,} rows" if seen else name)


def _who(seen: dict[str, Any]) -> str:
    who = "sessions" if seen["unit"] == "session" else "people"
    return f"{seen['users']:,} {who}, {seen['items']:,} items"


def _found(desk: JobStore, jobs: list[Job]) -> str:
    from recveil.desk.project.views import headline

    for one in reversed(jobs):
        if found := desk.result(one.id):
            top = headline(found["measurements"])
            return f"{top['value']:.0%} found by {top['known']} items" if top else ""
    return ""


def _use(choices: Choices) -> str:
    words = {"recommend": "recommend", "ratings": "predict ratings", "algorithms": "compare algorithms", "tags": "tags"}
    return f"{words[choices.use.what]}, {choices.use.keep:.0%} kept" if choices.use.what else ""
