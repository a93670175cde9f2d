"""Every paper by its short name: the data sets that it needs, and the function that makes its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import get_args

from recveil.errors import RecveilError
from recveil.evaluation.cache import Cache
from recveil.papers.claim import MEANINGS, Claim, Verdict
from recveil.papers.datasets import DATASETS, missing
from recveil.papers.parts import Kept, Progress, kept, quiet


@dataclass(frozen=True)
class Paper:
    """Its room in this package is imported when it is asked for. `may` are data sets that it can do without."""

    title: str
    room: str
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    drawn: bool = True  # whether its figures are drawn where a folder for them is given

    def claims(self, folder: Path, told: Progress, figures: Path | None, before: Kept) -> list[Claim]:
        reproduce: Callable[..., list[Claim]] = import_module(f"recveil.papers.{self.room}").reproduce
        drawn = {"figures": figures} if self.drawn else {}
        return reproduce(folder, told, before=before, **drawn)


PAPERS = {
    "clicks": Paper("Clicks: what a click gives and gives away", "clicks", ("ml-100k", "jester"), drawn=False),
    "mask": Paper("MASK: recommendation from randomised data", "mask", ("ml-100k", "ml-1m")),
    "mbrw": Paper("MBRW: synthetic clickstreams", "mbrw", ("yahoo-music-mbrw",), ("ml-1m", "diginetica")),
    "pritop": Paper("PriTop: tags by topics", "pritop", ("hetrec-movielens", "hetrec-lastfm")),
    "shuffle-nnn": Paper("Shuffle-NNN: rating masking", "shuffle_nnn", ("ml-100k", "goodbooks-10k")),
}


def reproduce(
    name: str,
    folder: Path,
    told: Progress = quiet,
    figures: Path | None = None,
    cache: Cache = Cache(None),
) -> list[Claim]:
    """The claims of a paper. Parts that the cache knows are not made again, unless their figures are to be drawn."""
    paper = PAPERS[name]
    if absent := missing(paper.needs, folder):
        where = "; ".join(" ".join(line.strip() for line in d.lines()) for d in absent)
        raise RecveilError(f"{folder} lacks data sets of {name}. {where}")
    files = [path for d in (*paper.needs, *paper.may) for path in DATASETS[d].paths(folder)]
    before = Kept() if figures else kept(cache, name, files)
    return paper.claims(folder, told, figures, before)


def record(name: str, claims: list[Claim]) -> dict[str, object]:
    """The answer as plain data: numbers and words, no data."""
    from recveil import __version__

    return {
        "paper": name,
        "title": PAPERS[name].title,
        "version": __version__,
        "claims": [c.record() for c in claims],
        "counts": counts(claims),
        "verdicts": {verdict: MEANINGS[verdict] for verdict in counts(claims)},
    }


def counts(claims: list[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict; the best verdicts first."""
    number = {v: sum(c.verdict == v for c in claims) for v in get_args(Verdict)}
    return {v: n for v, n in number.items() if n}
