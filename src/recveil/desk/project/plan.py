"""The plan: which jobs the present choices ask for, by kind. Each id follows from what its result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recveil.desk.project.bundles import bundle_place, decided, published_place, recipient
from recveil.desk.project.choices import ChoiceError, Choices, known_levels
from recveil.desk.project.court import REFERENCES, check_share, court_place
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import DONE, FAILED, Job, JobStore, job
from recveil.desk.project.limits import limits_of
from recveil.desk.project.solving import solvable
from recveil.desk.project.units import with_unit
from recveil.errors import RecveilError
from recveil.governance import evidence
from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import parse, text

KINDS = ("overview", "exposure", "solve", "candidates", "bundle", "red-team", "publish", "court", "judge")
FILE = "file:"  # before the path of a candidate that another tool made


def jobs_of(desk: JobStore, choices: Choices, kind: str) -> list[Job]:
    """The jobs of a kind that the present choices ask for; a ChoiceError where something must be chosen first."""
    plans: dict[str, Any] = {
        "overview": lambda: [overview_job(desk, choices)],
        "exposure": lambda: _exposure(desk, choices),
        "solve": lambda: _solve(desk, choices),
        "candidates": lambda: candidate_jobs(desk, choices),
        "bundle": lambda: [bundle_job(desk, choices)],
        "red-team": lambda: [red_team_job(desk, choices)],
        "publish": lambda: [publish_job(desk, choices)],
        "court": lambda: [court_job(desk, choices)],
        "judge": lambda: judge_jobs(desk, choices),
    }
    if kind not in plans:
        raise RecveilError(f"there is no work of the kind {kind}; there are {', '.join(KINDS)}")
    return list(plans[kind]())


def data_of(desk: JobStore, choices: Choices) -> list[Any]:
    """What a result on the data depends on."""
    desk.project.input(choices.data)
    found = [desk.project.identity(choices.data.source), choices.record()["data"]]
    if choices.data.items:
        found.append(desk.project.identity(choices.data.items))
    if choices.data.schema:  # whose words may change, too
        try:
            found.append(desk.project.path(choices.data.schema).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise ChoiceError("data.schema", f"{choices.data.schema} cannot be read as a schema") from None
    return found


def overview_job(desk: JobStore, choices: Choices) -> Job:
    return job("overview", choices.data.source, choices, data_of(desk, choices))


def overview_of(desk: JobStore, choices: Choices) -> dict[str, Any] | None:
    """What is known about the data of these choices; None where nothing is yet, or where they cannot be read."""
    try:
        found = desk.result(overview_job(desk, choices).id)
    except ChoiceError:
        return None
    return found if found and not found["problem"] else None


def _exposure(desk: JobStore, choices: Choices) -> list[Job]:
    depends = [*data_of(desk, choices), choices.candidates.seed]
    return [job(kind, choices.data.source, choices, depends) for kind in ("exposure-first", "exposure")]


def _solve(desk: JobStore, choices: Choices) -> list[Job]:
    known = overview_of(desk, choices)
    if known is None:
        raise ChoiceError("data.source", "the data were not looked at yet")
    if not choices.use.what:
        raise ChoiceError("use.what", "choose what must still work")
    sample = choices.data.source.startswith("sample:")
    if choices.use.on == "twin" and not choices.use.people and not sample:
        raise ChoiceError("use.people", "declare how many people a generated twin has, such as 100000")
    depends = [*data_of(desk, choices), choices.record()["use"], choices.candidates.seed]
    specs = [with_unit(spec, choices.protect.unit) for spec in solvable(choices, known)]
    if not specs:
        raise ChoiceError("use.what", "nothing that fits these data can be solved for; look at the candidates' figures")
    return [job("solve", spec.partition(":")[0], choices, depends, spec) for spec in specs]


def candidate_jobs(desk: JobStore, choices: Choices) -> list[Job]:
    wanted = choices.candidates
    how = [wanted.quick, wanted.measures, wanted.shadows, wanted.holdout, wanted.seed]
    depends = [*data_of(desk, choices), how]
    made = [job("candidate", spec, choices, depends, spec) for spec in map(spelt, wanted.specs)]
    for name in wanted.files:
        try:
            identity = desk.project.identity(name)
        except ChoiceError as why:
            raise ChoiceError("candidates.files", str(why)) from None
        made.append(job("candidate", Path(name).name, choices, [*depends, identity], FILE + name))
    if not made:
        raise ChoiceError("candidates.specs", "nothing to compare yet: choose at least one")
    return made


def settled(desk: JobStore, choices: Choices, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as desk.toml keeps them: files by where they lie; a mechanism that cannot be is refused at its field."""
    found = {name: dict(given) if isinstance(given, Mapping) else given for name, given in changes.items()}
    data, wanted, judge, to = (found.get(name) for name in ("data", "candidates", "judge", "recipient"))
    if isinstance(to, dict):
        limits_of(choices.changed({"recipient": to}).recipient.limits)
    if isinstance(judge, dict):
        check_share(desk.project, choices, choices.changed({"judge": judge}))
    if isinstance(data, dict) and isinstance(source := data.get("source"), str) and source:
        data["source"] = desk.project.stored(source)
    if isinstance(data, dict) and isinstance(items := data.get("items"), str) and items:
        try:
            data["items"] = desk.project.stored(items)
        except ChoiceError as why:
            raise ChoiceError("data.items", str(why)) from None
    if isinstance(wanted, dict):
        if isinstance(files := wanted.get("files"), list):
            wanted["files"] = [_stored_file(desk, name) for name in files]
        known = overview_of(desk, choices.changed({"data": data}) if data else choices)
        fits = {advice["mechanism"]: advice for advice in known["fitting"]} if known else {}
        for spec in wanted.get("specs") or ():
            advice = fits.get(spelt(str(spec)).partition(":")[0], {"fits": True})
            if not advice["fits"]:
                raise ChoiceError("candidates.specs", f"{spec}: {advice['why']}")
    return found


def _stored_file(desk: JobStore, name: Any) -> str:
    try:
        return desk.project.stored(str(name))
    except ChoiceError as why:
        raise ChoiceError("candidates.files", str(why)) from None


def spelt(spec: str) -> str:
    """A spec as recveil writes it, so that the same mechanism is the same job."""
    try:
        return text(parse(spec))
    except RecveilError as why:
        raise ChoiceError("candidates.specs", str(why)) from None


def keeps_ids(spec: str) -> bool:
    """Whether a release has a record for each person, so that there is a map from her id to it."""
    try:
        mechanism = parse(spec)
    except RecveilError:
        return False
    return not isinstance(mechanism, Synthesis) or mechanism.knows_users


def chosen_job(desk: JobStore, choices: Choices) -> str | None:
    """The job of the candidate that was chosen."""
    chosen = choices.candidates.chosen
    try:
        about = chosen if chosen.startswith(FILE) or not chosen else spelt(chosen)
        return next((one.id for one in candidate_jobs(desk, choices) if one.about == about), None)
    except ChoiceError:
        return None


def bundle_job(desk: JobStore, choices: Choices) -> Job:
    chosen = choices.candidates.chosen
    if not chosen:
        raise ChoiceError("candidates.chosen", "choose one of the candidates first")
    wishes = {k: v for k, v in choices.record()["release"].items() if k not in ("ledger", "outside_budget")}
    try:
        spec = chosen if chosen.startswith(FILE) else spelt(chosen)
    except ChoiceError as why:
        raise ChoiceError("candidates.chosen", str(why)) from None
    aside = [choices.judge.people] if choices.judge.people else []
    return job("bundle", spec, choices, [*data_of(desk, choices), wishes, *aside], spec)


def made_bundle(desk: JobStore, choices: Choices) -> str | None:
    """The name of the bundle that these choices made; None where there is none yet."""
    try:
        name = bundle_job(desk, choices).id
    except ChoiceError:
        return None
    return name if desk.state(name) == DONE and bundle_place(desk.project, name).exists() else None


def standing_bundle(desk: JobStore, choices: Choices) -> str:
    name = made_bundle(desk, choices)
    if name is None:
        raise ChoiceError("candidates.chosen", "the bundle is not made yet: protect the data with the chosen one first")
    return name


def red_team_job(desk: JobStore, choices: Choices) -> Job:
    name = standing_bundle(desk, choices)
    how = choices.record()["red_team"]
    depends = [desk.result(name)["sha256"], how | {"known": attack_levels(desk.project, choices)}]
    return job("red-team", choices.candidates.chosen, choices, depends, name)


def attack_levels(project: Project, choices: Choices) -> list[int]:
    """How many items the attackers know: as chosen, else so many as the recipient is taken to know."""
    return list(known_levels(choices) or evidence.known_levels(recipient(project, choices.recipient.name or "public")))


def publish_job(desk: JobStore, choices: Choices) -> Job:
    name = standing_bundle(desk, choices)
    if (kind := decided(desk.project, name)) != "approved":
        raise ChoiceError("officer.decision", f"it was {kind}" if kind else "nobody has approved it: decide first")
    return job(
        "publish", choices.candidates.chosen, choices, [name, _claims(desk, name), *choices.publish.exports], name
    )


def court_job(desk: JobStore, choices: Choices) -> Job:
    """One for the project, whichever bundle it is opened with."""
    if not choices.judge.people:
        raise ChoiceError("judge.people", "nobody is set aside to judge")
    name = standing_bundle(desk, choices)
    if not court_place(desk.project).exists() and not published_place(desk.project, name).exists():
        raise ChoiceError("publish.exports", "publish the bundle first: its items are those that are judged")
    return replace(job("court", "court", choices, []), about=name)


def judge_jobs(desk: JobStore, choices: Choices) -> list[Job]:
    """One for each submission, and one for the reference models; the same file has the same answer."""
    place = court_place(desk.project)
    if not place.exists():
        raise ChoiceError("judge.people", "open the court first")
    mark = (place / "court.json").read_text(encoding="utf-8")
    made = []
    if choices.judge.references:
        made.append(job("judge", REFERENCES, choices, [mark], f"{REFERENCES}:{standing_bundle(desk, choices)}"))
    for name in choices.judge.submissions:
        try:
            identity = desk.project.identity(name)
        except ChoiceError as why:
            raise ChoiceError("judge.submissions", str(why)) from None
        made.append(job("judge", Path(name).name, choices, [mark, identity], name))
    return made


def with_submission(desk: JobStore, choices: Choices, path: str) -> list[str]:
    """The submissions with another one, less those that were refused."""
    refused = {one.about for one in judge_jobs(desk, choices) if desk.state(one.id) == FAILED}
    return [*(name for name in choices.judge.submissions if name not in refused), path]


def _claims(desk: JobStore, name: str) -> str:
    return (bundle_place(desk.project, name) / "claims.jsonl").read_text(encoding="utf-8")
