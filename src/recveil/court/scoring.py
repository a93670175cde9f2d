"""score(), compare(): sums over the judged people with exact noise, each entered in the ledger before its noise is
drawn.

All noise of a court is keyed by what was asked: the same question has the same answer, and is paid for once. Up to the
line in the ledger nothing is given out but what the file itself says; after it, a fixed form at a time that was fixed
beforehand.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from math import sqrt
from pathlib import Path

import numpy as np

from recveil.court.folder import Answer, Court
from recveil.court.people import generated
from recveil.court.submissions import Submission, read_submission
from recveil.court.values import ONE, longest, parsed, values
from recveil.dp.budget import variance
from recveil.dp.noise import draw, gaussian
from recveil.errors import RecveilError
from recveil.releases import ledger

NORMAL = 1.96
SUBMISSIONS = "submissions"
LONGEST_NAME = 60


@dataclass(frozen=True)
class Entrant:
    """A submission and how it is called on the board."""

    name: str
    submission: Submission
    reference: bool = False
    owner_only: bool = False


def enter(court: Court, path: str | Path, name: str | None = None, owner_only: bool = False) -> Entrant:
    """A submission from its file, checked, tried on generated histories, and kept; nothing is spent by it."""
    path = Path(path)
    called = checked_name(path.stem if name is None else name)
    found = read_submission(path, court.items(), court.settled.each)
    tried = found.lists(generated(len(court.items())), 10)
    if not np.any(tried >= 0):
        raise RecveilError(f"{path} has nothing to recommend for any of the generated histories; nothing was spent")
    keep_file(court, path, found)
    return Entrant(called, found, owner_only=owner_only)


def entered(court: Court, given: str | Path) -> Entrant:
    """A submission by its file, or by the name or hash under which it was answered before."""
    if Path(given).is_file():
        return enter(court, given)
    known = [a for a in court.answers() if str(given) in (a.name, a.sha256)]
    files = list((court.path / SUBMISSIONS).glob(f"{known[-1].sha256}.*")) if known else []
    if not files:
        raise RecveilError(f"{given} is neither a file nor the name of a submission that was scored here")
    return replace(enter(court, files[0], known[-1].name), owner_only=known[-1].owner_only)


def score(court: Court, entrants: Sequence[Entrant], metrics: str | Sequence[str] | None = None) -> list[Answer]:
    """The means of these submissions by these metrics, each with its interval; known ones cost nothing again."""
    wanted = court.settled.metrics if metrics is None else parsed(metrics)
    asked = {(e.submission.sha256, m): query("score", e.submission.sha256, m) for e in entrants for m in wanted}
    court.check_left(list(asked.values()))
    answers = []
    with due(court, [e.submission for e in entrants]):
        people = court.people()
        for entrant in entrants:
            open_ = [m for m in wanted if court.answered(asked[entrant.submission.sha256, m]) is None]
            lists = entrant.submission.lists(people, longest(open_)) if open_ else None
            for metric in wanted:
                question = asked[entrant.submission.sha256, metric]
                if lists is None or metric not in open_:
                    answers.append(_known(court, question))
                    continue
                total = int(values(lists, people, metric).sum())
                answers.append(_answer(court, entrant, metric, question, total))
    return answers


def compare(court: Court, one: Entrant, other: Entrant, metric: str | None = None) -> Answer:
    """By how much the first is better for the same people: one answer, in which what people have in common cancels."""
    by = parsed(metric)[0] if metric else court.settled.metrics[0]
    question = query("compare", one.submission.sha256, other.submission.sha256, by)
    court.check_left([question])
    with due(court, [one.submission, other.submission]):
        if (known := court.answered(question)) is not None:
            return known
        people = court.people()
        each = [values(e.submission.lists(people, longest([by])), people, by) for e in (one, other)]
        gap = each[0] - each[1]
        sums = np.array([gap.sum(), (gap * gap // ONE).sum()])  # both move by at most ONE with one person
        court.spend(question, f"compare {by}")
        spread = variance(norm(2), court.settled.rho_each)
        noisy = sums + draw(gaussian(spread), 2, court.chance().derive("compare", question))
        n, deviation = court.settled.people, sqrt(spread) / ONE
        value = noisy[0] / ONE / n
        squares = max(0.0, (noisy[1] / ONE + NORMAL * deviation) / n - value**2)
        found = Answer(
            question, "compare", one.name, one.submission.sha256, by, ledger.now(), float(value),
            _noise(court, float(value), deviation), NORMAL * sqrt(squares / n), other=other.name,
            owner_only=one.owner_only or other.owner_only,
        )  # fmt: skip
        with court.locked():
            return court.keep(found)


def norm(tables: int) -> int:
    """The L2 norm, rounded up, of one person in so many sums."""
    return int(np.ceil(ONE * sqrt(tables)))


def query(*parts: str) -> str:
    """The name of a question."""
    return sha256("\0".join(parts).encode()).hexdigest()


@contextmanager
def due(court: Court, submissions: Sequence[Submission]) -> Iterator[None]:
    """The answer comes at a time that was fixed beforehand, or at a multiple of it; 0: at once, for experiments."""
    begin, whole = time.monotonic(), court.settled.seconds
    if whole and any(s.kind == "network" for s in submissions):
        most = court.settled.people + 6 * sqrt(court.settled.count_variance)
        whole += most * (court.settled.each + 0.02)
    try:
        yield
    except RecveilError:  # another one took the last answer meanwhile: this too is said at that time
        _wait(begin, whole)
        raise
    _wait(begin, whole)


def _wait(begin: float, whole: float) -> None:
    if whole:
        time.sleep(whole - (time.monotonic() - begin) % whole)


def _answer(court: Court, entrant: Entrant, metric: str, question: str, total: int) -> Answer:
    court.spend(question, f"score {metric}")
    spread = variance(ONE, court.settled.rho_each)
    noisy = total + int(draw(gaussian(spread), 1, court.chance().derive("score", question))[0])
    n = court.settled.people
    value = noisy / ONE / n
    bounded = min(max(value, 0.0), 1.0)
    found = Answer(
        question, "score", entrant.name, entrant.submission.sha256, metric, ledger.now(), value,
        _noise(court, value, sqrt(spread) / ONE), NORMAL * sqrt(bounded * (1 - bounded) / n),
        reference=entrant.reference, owner_only=entrant.owner_only,
    )  # fmt: skip
    with court.locked():
        return court.keep(found)


def _noise(court: Court, value: float, deviation: float) -> float:
    """Half of a 95% interval: the noise of the sum, and that of the number of people by which it is divided."""
    spread = deviation**2 + value**2 * court.settled.count_variance
    return NORMAL * sqrt(spread) / court.settled.people


def _known(court: Court, question: str) -> Answer:
    found = court.answered(question)
    assert found is not None
    return found


def keep_file(court: Court, path: Path, found: Submission) -> None:
    """A copy of what was answered, by its hash."""
    folder = court.path / SUBMISSIONS
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{found.sha256}{path.suffix}"
    if target.exists():
        return
    part = folder / f".{found.sha256}.part"
    shutil.copyfile(path, part)
    if sha256(part.read_bytes()).hexdigest() != found.sha256:
        part.unlink()
        raise RecveilError(f"{path} was changed while it was read; nothing was spent")
    part.replace(target)


def checked_name(name: str) -> str:
    """A name for the board: a line of text, shown as it is and never as markup."""
    called = name.strip()
    if not called or len(called) > LONGEST_NAME or not called.isprintable():
        raise RecveilError(f"--name is a line of 1 to {LONGEST_NAME} letters that can be printed")
    return called
