"""The candidates together: one report on those that are done, the frontier, and a card for each."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from recveil.desk.project import plan
from recveil.desk.project.advice import advice
from recveil.desk.project.bundles import recipient
from recveil.desk.project.choices import Choices
from recveil.desk.project.deciding import question
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import FAILED, JobStore
from recveil.desk.project.views import OUTSIDE, NotThereError, figures_of
from recveil.evaluation.candidates import ELSEWHERE
from recveil.governance import evidence
from recveil.governance.recipients import built_in
from recveil.guarantee import from_record
from recveil.measurement import Measurement, skipped_in
from recveil.report.table import Entry, Report, Words, short
from recveil.report.verdict import sentence


def report_of(project: Project, choices: Choices) -> tuple[Report, dict[str, str]]:
    """One report on all candidates that are done, as recveil compare would give it; and the job of each spec.

    The attacker of its verdict knows as much of a person as the recipient is thought to.
    """
    desk = JobStore(project)
    jobs = plan.candidate_jobs(desk, choices)
    found = [(one.id, record) for one in jobs if (record := desk.result(one.id))]
    if not found:
        raise NotThereError(None, "no candidate is done yet")
    entries, ids = [], {}
    for mark, record in found:
        for facts in record["mechanisms"]:
            promise = from_record(facts["guarantee"])
            entries.append(Entry(**{**facts, "guarantee": promise, "lost": tuple(facts["lost"])}))
            ids[facts["spec"]] = mark
    data = found[0][1]["data"]
    return Report(
        data=data,
        entries=tuple(entries),
        measurements=tuple(Measurement(**m) for _, record in found for m in record["measurements"]),
        skipped=tuple(dict.fromkeys(line for _, record in found for line in skipped_in(record))),
        meta=found[0][1]["meta"],
        words=Words(person="session" if data["unit"] == "session" else "person"),
        known=recipient(project, choices.recipient.name or "public").known_items,
    ), ids


def candidates(project: Project) -> dict[str, Any]:
    """The frontier as far as it is known, and a card for each candidate."""
    choices, _ = project.read()
    report, ids = report_of(project, choices)
    desk = JobStore(project)
    failed = [one.about for one in plan.candidate_jobs(desk, choices) if desk.state(one.id) == FAILED]
    to = question(project, choices).to if choices.recipient.name else built_in()["public"]  # the strictest
    best = {row["mechanism"]: row["frontier"] for row in report.frontier().to_dicts()}
    chosen = plan.chosen_job(desk, choices)
    return {
        "limits": {"found": to.most_found, "member": to.most_membership, "known": to.known_items},
        "entries": [_card(report, entry, ids[entry.spec], best[entry.spec], chosen) for entry in report.entries],
        "skipped": list(report.skipped),
        "outside_proof": OUTSIDE,
        "advice": advice(report, choices, to, [spec for spec in failed if not spec.startswith(plan.FILE)]),
    }


def _card(report: Report, entry: Entry, mark: str, best: bool | None, chosen: str | None) -> dict[str, Any]:
    own = [m for m in report.measurements if m.mechanism == entry.spec]
    found = report.found(entry)
    figures = {"found": found, "lift": report.lift(entry), "membership": report.membership(entry)}
    return {
        "id": mark,
        **entry.record(),
        "short": short(entry.spec),
        "sentence": sentence(report, entry),
        "frontier": best,
        **{name: None if m is None else _figure(m.record()) for name, m in figures.items()},
        "known": None if found is None else found.params["known"],
        "curve": [{"known": m.params["known"], **figures_of(m.record())} for m in report.linkage(entry)],
        "damage": _damage(own),
        "measurements": [m.record() for m in own],
        "elsewhere": entry.done == ELSEWHERE,
        "chosen": bool(chosen) and mark == chosen,
    }


def _figure(m: dict[str, Any]) -> dict[str, Any]:
    """A figure, and what of it a decision counts: the gain over strangers, where the same was counted for them."""
    return figures_of(m) | {"gain": list(evidence.counted(m)) if evidence.over_strangers(m) else None}


def _damage(own: list[Measurement]) -> list[dict[str, Any]]:
    """What is lost by kind of item and of person, on average over the referees."""
    groups: dict[str, list[Measurement]] = {}
    for m in own:
        if m.name == "damage":
            groups.setdefault(str(m.params["group"]), []).append(m)
    return [
        {"group": group, **{key: sum(getattr(m, key) for m in some) / len(some) for key in ("value", "low", "high")}}
        for group, some in groups.items()
    ]


def report_page(project: Project) -> str:
    """The report that recveil compare gives of these candidates."""
    choices, _ = project.read()
    desk = JobStore(project)
    files = [desk.result_file(one.id) for one in plan.candidate_jobs(desk, choices)]
    done = [(file.name, file.stat().st_mtime_ns) for file in files if file.exists()]
    return _drawn(project, recipient(project, choices.recipient.name or "public"), *done)


@lru_cache(maxsize=4)
def _drawn(project: Project, *of: object) -> str:  # noqa: ARG001
    """It takes half a second, which whoever looks again does not wait for."""
    from recveil.report.html import html

    return html(report_of(project, project.read()[0])[0])
