"""A reproduction in parts: each is a piece of work whose claims can be kept, so that a run that was stopped goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recveil.evaluation.cache import Cache, digest
from recveil.papers.claim import Claim

Step = Callable[[], None]  # called after each step of a part
Progress = Callable[[int, int], None]  # told how many steps of how many are done


@dataclass(frozen=True)
class Part:
    """A named piece of a reproduction, and in how many steps it is done."""

    name: str
    make: Callable[[Step], Iterable[Claim]]
    steps: int = 1


@dataclass(frozen=True)
class Kept:
    """Claims of parts that were finished before, by paper, part, program and the content of the data sets."""

    cache: Cache = field(default_factory=lambda: Cache(None))
    key: tuple[object, ...] = ()

    def get(self, part: Part) -> list[Claim] | None:
        found = self.cache.get(*self.key, part.name)
        return None if found is None else [Claim(**record) for record in found]

    def put(self, part: Part, claims: Sequence[Claim]) -> None:
        self.cache.put([c.record() for c in claims], *self.key, part.name)


def kept(cache: Cache, paper: str, files: Iterable[Path]) -> Kept:
    """What is kept of a paper on these files; a file that is not there counts as such."""
    contents = [(path.name, digest(path.read_bytes()) if path.is_file() else None) for path in files]
    return Kept(cache, ("reproduce", paper, contents))


def quiet(done: int, of: int) -> None:
    """Tells nobody."""


def gather(parts: Sequence[Part], told: Progress = quiet, before: Kept = Kept()) -> list[Claim]:  # noqa: B008
    """The claims of all parts in their order; those kept from before are not made again."""
    done, of = 0, sum(part.steps for part in parts)
    claims: list[Claim] = []
    for part in parts:
        found = before.get(part)
        end = done + part.steps
        if found is None:

            def step(end: int = end) -> None:
                nonlocal done
                done = min(done + 1, end)
                told(done, of)

            found = list(part.make(step))
            before.put(part, found)
        claims += found
        if done < end:
            done = end
            told(done, of)
    return claims
