"""The court of a project: people set aside before its first release; what others learned from it, judged on them.

It lies in private/court, and its items are those of the bundle that was published.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from recveil.desk.project.bundles import ledger_file, published_place
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import Job
from recveil.releases import aside, hash_chain
from recveil.releases.bundle import MANIFEST
from recveil.releases.progress import Progress

REFERENCES = "references"  # in place of a file: the reference models of the bundle
LATE = (
    "people are set aside before the first release of a project, and one was made; begin another project, with a "
    "ledger of its own"
)


def court_place(project: Project) -> Path:
    return project.room("private") / "court"


def check_share(project: Project, before: Choices, after: Choices) -> None:
    """Raise where others are to be set aside than those whom no release holds."""
    share = after.judge.people
    if share != before.judge.people and _released(project) and share != _share_aside(project, after):
        raise ChoiceError("judge.people", LATE)


def set_people_aside(project: Project, choices: Choices) -> None:
    """Enter in the ledger who is in no release, before the first one is made."""
    share, ledger = choices.judge.people, ledger_file(project, choices)
    if not share:
        return
    if ledger is None:
        raise ChoiceError("judge.people", "people are set aside in a ledger, and release.ledger names none")
    if share > _share_aside(project, choices):
        if _released(project):
            raise ChoiceError("judge.people", LATE)
        aside.set_aside(ledger, share)


def _share_aside(project: Project, choices: Choices) -> float:
    ledger = ledger_file(project, choices)
    return aside.share_aside(hash_chain.read(ledger)) if ledger else 0.0


def _released(project: Project) -> bool:
    return any((place / MANIFEST).exists() for place in project.room("bundles").iterdir())


def found_court(project: Project, job: Job, progress: Progress) -> Any:
    """The court of those set aside, over the items of a published bundle (job.about is its name)."""
    from recveil.court.folder import open_court
    from recveil.court.founding import CourtRequest, run_new

    choices, place = job.made_choices(), court_place(project)
    if not place.exists():
        wanted = choices.judge
        request = CourtRequest(
            project.input(choices.data), str(place), str(ledger_file(project, choices)), wanted.people, wanted.epsilon,
            metrics=wanted.metrics, bundle=str(published_place(project, job.about) / "bundle"),
        )  # fmt: skip
        run_new(request, progress)
    return asdict(open_court(place).settled)


def judge_submission(project: Project, job: Job, progress: Progress) -> Any:
    """The answers on a file (job.about), or on the reference models of the bundle that the job's choices made."""
    from recveil.court.folder import open_court
    from recveil.court.references import references
    from recveil.court.scoring import enter, score

    court = open_court(court_place(project))
    what, _, bundle = job.about.partition(":")
    known = published_place(project, bundle) / "bundle"
    entrants = references(court, known) if what == REFERENCES else [enter(court, project.path(job.about))]
    for entrant in entrants:
        if ignored := entrant.submission.ignored:
            progress.note(f"{ignored:,} rows are about items outside the catalogue and were ignored")
    return {"answers": [asdict(answer) for answer in score(court, entrants)]}


def court_board(project: Project) -> Any:
    """What recveil judge board says, as plain data."""
    from recveil.court.board import board
    from recveil.court.folder import open_court

    if not court_place(project).exists():
        raise ChoiceError("judge.people", "the court is not open yet")
    return board(open_court(court_place(project)))


def court_page(project: Project) -> str:
    """The same as a page."""
    from recveil.report.board import page

    return page(court_board(project))
