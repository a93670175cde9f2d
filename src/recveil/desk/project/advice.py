"""Where no candidate is good enough: which wish could give way, by how much, and the choices that say so.

Each line follows from what was measured of the candidates, or from the forecast, which looks at no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

from recveil.desk.project.choices import Choices
from recveil.evaluation.candidates import ELSEWHERE
from recveil.evaluation.tune import WORLDS
from recveil.governance import evidence
from recveil.governance.recipients import Recipient, built_in
from recveil.mechanism import Mechanism
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import parse, text
from recveil.releases.forecast import LogSize, forecast, people_needed
from recveil.report.table import Entry, Report

LEAST = 0.05  # of a use that is worth a release at all


@dataclass(frozen=True)
class Tried:
    """A candidate of ours as the decision will look at it."""

    mechanism: Mechanism
    rows: list[dict[str, Any]]
    kept: float | None

    def suits(self, to: Recipient) -> bool:
        """Whether nothing that was measured, and no missing promise, speaks against it for this recipient."""
        epsilon = getattr(self.mechanism, "epsilon", None) if self.mechanism.is_proved else None
        promised = not to.needs_promise if epsilon is None else epsilon <= to.most_epsilon
        return promised and all(one.verdict != evidence.ABOVE for one in evidence.findings(self.rows, to))

    def serves(self, to: Recipient, keep: float) -> bool:
        return self.kept is not None and self.kept >= keep and self.suits(to)


def advice(report: Report, choices: Choices, to: Recipient, failed: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What could give way, the least first; nothing where a candidate is good enough already.

    failed: specs of trials that came to nothing, such as a promise that would keep too few items.
    """
    keep = choices.use.keep
    trials = [_tried(report, entry) for entry in report.entries if entry.done != ELSEWHERE]
    trials += [Tried(parse(spec), [], None) for spec in failed]
    if not trials or any(one.serves(to, keep) for one in trials):
        return []
    found = [*_less_use(trials, to), *_other_recipient(trials, to, keep), *_larger_epsilon(trials, to, keep)]
    return [*found, *_public_items(report, choices), *_more_people(report, trials)]


def _tried(report: Report, entry: Entry) -> Tried:
    rows = [m.record() for m in report.measurements if m.mechanism == entry.spec]
    lift = report.lift(entry)
    return Tried(parse(entry.spec), rows, None if lift is None else lift.value)


def _less_use(trials: list[Tried], to: Recipient) -> list[dict[str, Any]]:
    """So much is kept by the best of those that suit this recipient."""
    best = max((one.kept for one in trials if one.kept is not None and one.suits(to)), default=0.0)
    share = floor(best / LEAST) * LEAST
    return [] if share < LEAST else [_line("use", {"use": {"keep": round(share, 2)}}, share=round(share, 2))]


def _other_recipient(trials: list[Tried], to: Recipient, keep: float) -> list[dict[str, Any]]:
    """The strictest of the others for whom a candidate is good enough as it is."""
    for other in built_in().values():
        if other.name != to.name and any(one.serves(other, keep) for one in trials):
            return [_line("recipient", {"recipient": {"name": other.name}}, recipient=other.name)]
    return []


def _larger_epsilon(trials: list[Tried], to: Recipient, keep: float) -> list[dict[str, Any]]:
    """The next weaker strength of what is proved and keeps too little, within what this recipient accepts."""
    best = max((one for one in trials if _grows(one, to) is not None), key=lambda one: one.kept or 0.0, default=None)
    if best is None or (best.kept or 0.0) >= keep:
        return []
    spec = str(_grows(best, to))
    return [_line("epsilon", {}, spec=spec, run=True)]


def _grows(one: Tried, to: Recipient) -> str | None:
    if not one.mechanism.is_proved or one.mechanism.strength is None or one.mechanism.strength[0] != "epsilon":
        return None
    present: float = getattr(one.mechanism, "epsilon")  # noqa: B009
    if present >= to.most_epsilon:
        return None
    head, _, parameters = text(one.mechanism).partition(":")
    others = [part for part in parameters.split(",") if part and not part.startswith("epsilon=")]
    return f"{head}:{','.join([f'epsilon={min(2 * present, to.most_epsilon):g}', *others])}"


def _public_items(report: Report, choices: Choices) -> list[dict[str, Any]]:
    """What is known of items in public costs nothing; of use to mechanisms that read it."""
    kind = report.data["kind"]
    able = any(one.reads_features and (not one.kinds or kind in one.kinds) for one in known_mechanisms().values())
    if choices.data.items or not able:
        return []
    source = choices.data.source
    own = source if source.startswith("sample:") and kind in WORLDS else ""
    changes = {"data": {"items": own}, "release": {"catalogue_is_public": True}} if own else {}
    return [_line("items", changes, run=bool(own), asks="" if own else "data.items")]


def _more_people(report: Report, trials: list[Tried]) -> list[dict[str, Any]]:
    """Noise does not grow with people, what is counted does; by how many, the forecast says where it can."""
    if not any(one.mechanism.is_proved for one in trials):
        return []
    size = LogSize(int(report.data["users"]), int(report.data["items"]), int(report.data["rows"])).rounded()
    expected = [forecast(one.mechanism, size) for one in trials if one.mechanism.is_proved]
    needed = [people_needed(one) for one in expected if one is not None and one.hopeless]
    return [_line("people", {}, people=min((n for n in needed if n), default=None))]


def _line(kind: str, changes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "changes": dict(changes), "run": False, "asks": ""} | more
