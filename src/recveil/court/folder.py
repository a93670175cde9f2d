"""The court: a folder of the owner's alone. court.json has what was settled when it was made, and no figure of the data
but the noisy number of people; people.npz the people, key the key of all its noise, answers.jsonl what was answered.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from recveil.court import people
from recveil.court.people import Histories
from recveil.dp.budget import epsilon_of, rho_of
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.randomness import Source
from recveil.releases import hash_chain, ledger

COUNTING = 0.05  # of the budget: the number of people, counted once
COURT, PEOPLE, KEY, ITEMS, ANSWERS = "court.json", "people.npz", "key", "items.parquet", "answers.jsonl"
PROOF = "docs/guarantees/judge.md"


@dataclass(frozen=True)
class Settled:
    """What was settled when a court was made; all of it may be shown."""

    name: str  # of the court, by chance
    date: str
    unit: str
    share: float
    epsilon: float
    delta: float
    scores: int  # answers that the budget is for
    metrics: tuple[str, ...]
    step: float  # of the ladder
    find: float
    like: float | None
    people: int  # with noise
    count_variance: int
    seconds: float  # after which an answer comes
    each: float  # seconds that a model may take for one person
    given: str
    ledger: str
    seeded: bool

    @property
    def rho(self) -> float:
        """All that the court may spend, as a budget of Gaussian noise."""
        return rho_of(self.epsilon, self.delta)

    @property
    def rho_each(self) -> float:
        """What one answer costs."""
        return self.rho * (1 - COUNTING) / self.scores


@dataclass(frozen=True)
class Answer:
    """What was answered: a mean with the parts of its 95% interval, or on the ladder whether it was better.

    `noise` is about the judged people, `sample` about all people like them. `kind`: score, compare or ladder.
    """

    query: str
    kind: str
    name: str
    sha256: str
    metric: str
    date: str
    value: float | None = None
    noise: float | None = None
    sample: float | None = None
    better: bool | None = None
    other: str | None = None  # with what it was compared
    reference: bool = False
    owner_only: bool = False


@dataclass(frozen=True)
class Court:
    """An open court."""

    path: Path
    settled: Settled

    @property
    def ledger(self) -> Path:
        return (self.path / self.settled.ledger).resolve()

    def people(self) -> Histories:
        return people.load(self.path / PEOPLE)

    def items(self) -> pl.Series:
        """The public catalogue; an item's number is its place in it."""
        return pl.read_parquet(self.path / ITEMS)["item"]

    def chance(self) -> Source:
        try:
            return Source(bytes.fromhex((self.path / KEY).read_text()), self.settled.seeded)
        except (OSError, ValueError):
            raise RecveilError(f"{self.path / KEY} cannot be read: without it no noise can be drawn") from None

    def answers(self) -> list[Answer]:
        file = self.path / ANSWERS
        try:
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            return [Answer(**json.loads(line)) for line in lines]
        except (OSError, ValueError, TypeError):
            raise RecveilError(f"{file} cannot be read: a court keeps its answers there") from None

    def answered(self, query: str) -> Answer | None:
        return next((a for a in self.answers() if a.query == query), None)

    def keep(self, answer: Answer) -> Answer:
        """Add an answer, unless the same question was answered meanwhile; the court is locked for it."""
        if (same := self.answered(answer.query)) is not None:
            return same
        lines = [json.dumps(vars(a)) + "\n" for a in [*self.answers(), answer]]
        with written(self.path / ANSWERS, private=True) as file:
            file.write("".join(lines).encode())
        return answer

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For this process alone; others wait."""
        handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    # --- the budget -------------------------------------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """The lines of this court in its ledger."""
        return [e for e in hash_chain.read(self.ledger) if e.get("court") == self.settled.name]

    @property
    def left(self) -> int:
        """How many more answers the budget allows."""
        spent = sum(line["rho"] for line in self.lines())
        return max(0, int((self.settled.rho - spent) / self.settled.rho_each + 1e-6))

    def check_left(self, queries: list[str]) -> None:
        """Raise before any work where the budget is not for that many more answers."""
        paid = {line["query"] for line in self.lines()}
        wanted = len([q for q in queries if q not in paid])
        if wanted > self.left:
            raise RecveilError(
                f"{wanted} more answers are asked for, and the budget of this court is for {self.left}; nothing was "
                "spent: ask for fewer metrics, take the ladder (--ladder), or make another court"
            )

    def spend(self, query: str, what: str, rho: float | None = None) -> None:
        """Enter an answer in the ledger, on the disk before its noise is drawn; once, since its noise is drawn once."""
        cost = self.settled.rho_each if rho is None else rho
        promise = Guarantee(
            f"An answer of a court, with noise: {what}.",
            status="proved",
            epsilon=epsilon_of(cost, self.settled.delta),
            delta=self.settled.delta,
            unit=self.settled.unit,
            neighbours=NEIGHBOURS[self.settled.unit],
            proof=PROOF,
            rho=cost,
        )
        line = ledger.entry(f"judge:{what}", promise.as_experiment() if self.settled.seeded else promise)
        line |= {"court": self.settled.name, "query": query, "people": [0.0, self.settled.share]}
        with hash_chain.locked(self.ledger) as chain:
            mine = [e for e in chain.entries if e.get("court") == self.settled.name]
            if any(e["query"] == query for e in mine):
                return
            if sum(e["rho"] for e in mine) + cost > self.settled.rho * (1 + 1e-9):
                raise RecveilError("the budget of this court is spent; nothing was drawn")
            if not self.settled.seeded:
                ledger.refuse(chain.entries, line, outside=False)
            chain.add(line)


def open_court(path: str | Path) -> Court:
    """A court from its folder."""
    path = Path(path)
    try:
        found = json.loads((path / COURT).read_text())
        found["metrics"] = tuple(found["metrics"])
        return Court(path, Settled(**{field.name: found[field.name] for field in fields(Settled)}))
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError(f"{path} is not a court; recveil judge new makes one") from None


def put(court: Court, histories: Histories, items: pl.Series, chance: Source) -> None:
    """Write all of a court into its folder, which is for its owner alone and is there already."""
    histories.save(court.path / PEOPLE)
    with written(court.path / ITEMS) as file:
        pl.DataFrame({"item": items}).write_parquet(file)
    with written(court.path / KEY, private=True) as file:
        file.write(chance.key().astype("<u8").tobytes().hex().encode())
    with written(court.path / COURT, private=True) as file:
        file.write((json.dumps(asdict(court.settled), indent=1) + "\n").encode())
