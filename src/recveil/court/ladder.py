"""The ladder: of many submissions only this is answered: better than the best so far by at least a step, or not.

The sparse vector technique (docs/guarantees/judge.md): a round is paid when it begins, answers "not better" as often as
it is asked, and ends with "better". So hundreds of submissions cost as much as the steps that were climbed, and one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log, sqrt

from recveil.court.folder import Answer, Court
from recveil.court.scoring import Entrant, due, entered, query
from recveil.court.values import ONE, longest, values
from recveil.dp.noise import draw, laplace
from recveil.releases import ledger

FALSE = 0.01  # how often one that is no better may be called so, at the step that `new` chooses


@dataclass(frozen=True)
class Standing:
    """Who leads, and how many steps were climbed."""

    rounds: int
    tried: int
    best: Answer | None


def standing(court: Court) -> Standing:
    asked = [a for a in court.answers() if a.kind == "ladder"]
    better = [a for a in asked if a.better]
    return Standing(len(better), len(asked), better[-1] if better else None)


def climb(court: Court, entrant: Entrant) -> Answer:
    """Whether a submission is better than the best so far by a step. One climbs at a time."""
    metric = court.settled.metrics[0]
    with court.locked():
        now = standing(court)
        question = query("ladder", str(now.rounds), entrant.submission.sha256)
        round_ = query("ladder", str(now.rounds))
        court.check_left([round_])
        if (known := court.answered(question)) is not None:
            return known
        best = entered(court, now.best.sha256).submission if now.best else None
        with due(court, [s for s in (entrant.submission, best) if s]):
            people = court.people()
            mine = values(entrant.submission.lists(people, longest([metric])), people, metric)
            gap = int(mine.sum())
            if best is not None:
                gap -= int(values(best.lists(people, longest([metric])), people, metric).sum())
            court.spend(round_, f"ladder {metric}")
            border = threshold(court) + _noise(court, 1, round_)
            better = gap + _noise(court, 2, question) >= border
            found = Answer(
                question, "ladder", entrant.name, entrant.submission.sha256, metric, ledger.now(), better=better,
                reference=entrant.reference, owner_only=entrant.owner_only,
            )  # fmt: skip
            return court.keep(found)


def threshold(court: Court) -> int:
    """By how much the sum of a better one must exceed that of the best."""
    return round(court.settled.step * ONE * court.settled.people)


def scale(rho: float) -> int:
    """Of the threshold's noise: a round is then e-private with e = 2 ONE / scale, which a Gaussian of budget rho
    covers.
    """
    return ceil(2 * ONE / pure_of(rho))


def pure_of(rho: float) -> float:
    """The largest pure epsilon that is worth no more than this budget of Gaussian noise, on the safe side."""
    from scipy.special import ndtr

    below = float(ndtr(-sqrt(rho / 2)))
    return log((1 - below) / below) * (1 - 1e-6)


def _noise(court: Court, times: int, question: str) -> int:
    law = laplace(Fraction(times * scale(court.settled.rho_each)))
    return int(draw(law, 1, court.chance().derive("ladder", times, question))[0])


def false_rate(step: float, people: int, rho: float) -> float:
    """An upper bound of how often one that is no better than the best is called better."""
    b = float(scale(rho))
    a, t = 2 * b, max(0.0, step * ONE * people - 1)
    return min(1.0, (a * a * exp(-t / a) - b * b * exp(-t / b)) / (2 * (a * a - b * b)) * (1 + 2 / b))


def step_for(people: int, rho: float) -> float:
    """The least step, in thousandths, at which that happens at most FALSE of the time."""
    low, high = 1, 1000
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if false_rate(middle / 1000, people, rho) <= FALSE else (middle + 1, high)
    return low / 1000
