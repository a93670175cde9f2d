"""run_project(): everything that a desk.toml asks for, in this process, with the files that the pages have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recveil.desk.project.bundles import bundle_place, decided, published_place, signer
from recveil.desk.project.choices import Choices
from recveil.desk.project.deciding import sign_decision, write_sheet
from recveil.desk.project.folder import FILE, Project, open_project
from recveil.desk.project.jobs import DONE, Job, JobStore
from recveil.desk.project.plan import jobs_of, standing_bundle
from recveil.desk.project.stages import perform
from recveil.errors import RecveilError
from recveil.releases.claims import OWNER
from recveil.releases.progress import Progress
from recveil.releases.signing import Ask
from recveil.series.folder import open_series
from recveil.series.releasing import WindowsRequest, run_windows


@dataclass(frozen=True)
class Run:
    """A project in the hands of the command line."""

    desk: JobStore
    choices: Choices
    progress: Progress

    def do(self, kind: str) -> list[Any]:
        """The results of all jobs of a kind; what is done is not done again."""
        return [self._one(job) for job in jobs_of(self.desk, self.choices, kind)]

    def _one(self, job: Job) -> Any:
        if self.desk.state(job.id) != DONE:
            self.desk.ask(job)
            with self.desk.taken(job.id) as mine:
                if not mine:
                    raise RecveilError(f"{job.title}: a desk is at it just now; wait until it is done")
                self.desk.keep(job.id, perform(self.desk.project, job, self.progress))
        return self.desk.result(job.id)


def run_project(
    file: str, into: str | None, compare: bool, ask: Ask, progress: Progress
) -> dict[str, Any]:  # fmt: skip
    """What was made, as plain data, with lines for a person."""
    project = _project(file, into)
    choices, _ = project.read()
    run = Run(JobStore(project), choices, progress)
    if compare and (choices.candidates.specs or choices.candidates.files):
        run.do("candidates")
    windows = _windows(run, ask) if choices.publish.series else {}
    if windows and not choices.candidates.chosen:
        return windows
    made = run.do("bundle")[0]
    run.do("red-team")
    name, manifest = made["name"], made["manifest"]
    lines = windows.pop("lines", [])
    lines += [f"{bundle_place(project, name)}: {manifest['rows']:,} rows by {manifest['spec']}"]
    found: dict[str, Any] = windows | {"bundle": str(bundle_place(project, name)), "manifest": manifest}
    lines += _decision(run, name, ask)
    found |= {"decision": decided(project, name) or None, "published": None}
    if found["decision"] == "approved":
        run.do("publish")
        found["published"] = str(published_place(project, name))
        lines.append(f"{found['published']}: this goes out, and nothing else of the folder")
        if choices.judge.people:
            run.do("court")
            run.do("judge")
    return found | {"lines": lines}


def _windows(run: Run, ask: Ask) -> dict[str, Any]:
    """The windows of the series that are due, under the promise that its ledger has."""
    project, choices = run.desk.project, run.choices
    series = open_series(project.path(choices.publish.series))
    key = signer(project, OWNER, choices.owner.key, ask)
    left = run_windows(WindowsRequest(series, project.input(choices.data), key=key), run.progress)
    lines = [f"{one.bundle}: {one.manifest['rows']:,} rows, window {one.window.number}" for one in left]
    return {"windows": [one.bundle for one in left], "lines": lines or [f"{series.path}: no window is due"]}


def _decision(run: Run, name: str, ask: Ask) -> list[str]:
    """The sheet, and the officer's signature where desk.toml has her decision and it is not there yet."""
    project, choices = run.desk.project, run.choices
    standing_bundle(run.desk, choices)
    if not choices.recipient.name:
        return ["no recipient is chosen, so there is no decision sheet"]
    before = decided(project, name)
    if before and before == choices.officer.decision:
        return [f"{before}, as signed before"]
    if not choices.officer.decision:
        verdict = write_sheet(project, choices, name)["verdict"]
        return [*verdict["sentences"], "nobody has decided yet"]
    if choices.release.seed >= 0 and choices.officer.decision == "approved":
        write_sheet(project, choices, name)
        return ["made with a seed: an experiment is neither approved nor published"]
    if not choices.officer.key:
        write_sheet(project, choices, name)
        return ["the officer signs with a key of her own: officer.key in desk.toml, or recveil desk --as officer"]
    write_sheet(project, choices, name)
    sign_decision(project, choices, name, ask)
    return [f"{choices.officer.decision} by {choices.officer.name}, {choices.officer.role}"]


def _project(file: str, into: str | None) -> Project:
    """The project of a desk.toml; a new one with the same choices where a folder is given for it."""
    source = Path(file)
    folder = source.parent if source.name == FILE else source
    here = Project(folder.absolute())
    choices, _ = here.read()
    if into is None:
        return here
    if (Path(into) / FILE).exists():
        raise RecveilError(f"{into} holds a project already; choose another folder for --into")
    there = open_project(into)
    data = choices.data
    made = replace(data, source=_from(here, data.source), items=_from(here, data.items))
    files = tuple(_from(here, name) for name in choices.candidates.files)
    there.put(replace(choices, data=made, candidates=replace(choices.candidates, files=files)))
    return there


def _from(project: Project, source: str) -> str:
    return source if not source or source.startswith("sample:") else str(project.path(source))
